#include "report/redact.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <array>
#include <memory>

namespace aplomb::report {
namespace {

struct Rule {
  const char* kind;
  const char* pattern;  ///< its first group is what goes; the rest of the match stays
};

/// In this order: the particular before the general, so that a key inside a URL goes as a key.
/// Token shapes are those that the services document: Hugging Face hf_, OpenAI and others sk-,
/// GitHub gh?_, AWS AKIA, Google AIza, Slack xox?-, Weights & Biases 40 hexadecimal digits after a
/// word that says key.
constexpr Rule k_rules[] = {
    {"token",
     R"((\b(?:hf_|sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AIza|ya29\.)[A-Za-z0-9_\-]{16,}))"},
    {"token", R"(\b((?:AKIA|ASIA)[A-Z0-9]{16})\b)"},
    {"token", R"((?i)\bbearer\s+([A-Za-z0-9._~+/\-]{12,}=*))"},
    {"token",
     R"re((?i)(?:api[_-]?key|secret|token|passw(?:or)?d|credential)s?["']?\s*[:=]\s*["']?([A-Za-z0-9._~+/\-]{12,}=*))re"},
    {"token", R"((?i)(?:wandb|netrc|login|key)[^\n]{0,40}?\b([0-9a-f]{40})\b)"},
    {"token", R"(://[^/\s:@]+:([^/\s@]+)@)"},
    {"email", R"(\b([A-Za-z0-9._%+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)*\.[A-Za-z]{2,}))"},
    {"user", R"((?:/home/|/Users/|\\Users\\|/scratch/users/|/data/users/)([A-Za-z0-9._\-]+))"},
    {"user",
     R"((?i)\b(?:user(?:name)?|logname|owner)["']?\s*[:=]\s*["']?([A-Za-z][A-Za-z0-9._\-]*))"},
    {"user", R"(\b([a-z][a-z0-9._\-]*)@[A-Za-z0-9][A-Za-z0-9.\-]*[:\s$#])"},
    {"host", R"(@([A-Za-z0-9][A-Za-z0-9.\-]*)[:\s$#])"},
    {"host", R"((?m)^\[?([A-Za-z][A-Za-z0-9.\-]*):\d+:\d+ \[\d+\] NCCL)"},
    {"host",
     R"re((?i)\b(?:master_addr|hostname|nodelist|node_?name|rdzv_endpoint|host)["']?\s*[:=]\s*["']?([A-Za-z][A-Za-z0-9.\-]*))re"},
    {"host", R"(://(?:[^/\s@]*@)?((?:[A-Za-z0-9\-]+\.)+(?:internal|local|lan|corp|intra)))"},
    {"address", R"(\b((?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})\b)"},
    {"address", R"(\b((?:[0-9a-fA-F]{1,4}:){3,7}(?::?[0-9a-fA-F]{1,4})+)\b)"},
    // An IPv4 address, not a version: versions of four parts stand behind `==`, `v`, `-` or `_`,
    // addresses do not.
    {"address",
     R"((?:^|[^=]=|[\s\[('"<>@/:])((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3})(?:$|[\s\])'"<>/:,;]))"},
};

const std::vector<std::unique_ptr<RE2>>& compiled() {
  static const std::vector<std::unique_ptr<RE2>> all = [] {
    std::vector<std::unique_ptr<RE2>> patterns;
    for (const Rule& rule : k_rules) patterns.push_back(std::make_unique<RE2>(rule.pattern));
    return patterns;
  }();
  return all;
}

/// Names that say nothing about anybody.
bool is_harmless(std::string_view kind, std::string_view name) {
  static constexpr std::array<std::string_view, 12> k_words = {
      "root", "user", "localhost", "host", "ubuntu",    "none",
      "None", "null", "True",      "true", "127.0.0.1", "0.0.0.0"};
  if (name.empty() || name.front() == '<') return true;
  if (kind == "token") return false;
  for (const std::string_view word : k_words) {
    if (name == word) return true;
  }
  return false;
}

bool is_name_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

}  // namespace

Redactor::Redactor(RedactNames names) : names_(std::move(names)) {}

std::string Redactor::stand_in(std::string_view kind, std::string_view name) {
  auto& of_kind = seen_[std::string(kind)];
  const auto known = of_kind.find(name);
  const std::size_t number = known != of_kind.end() ? known->second : of_kind.size() + 1;
  if (known == of_kind.end()) of_kind.emplace(std::string(name), number);
  return fmt::format("<{}-{}>", kind, number);
}

void Redactor::replace_known(std::string& text, std::string_view kind,
                             const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.size() < 3 || is_harmless(kind, name)) continue;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      const bool whole = (at == 0 || !is_name_byte(text[at - 1])) &&
                         (at + name.size() == text.size() || !is_name_byte(text[at + name.size()]));
      if (!whole) {
        at += name.size();
        continue;
      }
      const std::string other = stand_in(kind, name);
      text.replace(at, name.size(), other);
      at += other.size();
    }
  }
}

std::string Redactor::operator()(std::string_view input) {
  std::string text(input);
  replace_known(text, "user", names_.users);
  replace_known(text, "host", names_.hosts);
  for (std::size_t i = 0; i < std::size(k_rules); ++i) {
    std::string out;
    re2::StringPiece found[2];
    std::size_t done = 0;  // bytes of `text` that are in `out`
    std::size_t from = 0;
    while (from <= text.size() &&
           compiled()[i]->Match(text, from, text.size(), RE2::UNANCHORED, found, 2)) {
      const auto begin = static_cast<std::size_t>(found[1].data() - text.data());
      const std::string_view name(found[1].data(), found[1].size());
      out.append(text, done, begin - done);
      out +=
          is_harmless(k_rules[i].kind, name) ? std::string(name) : stand_in(k_rules[i].kind, name);
      done = begin + name.size();
      from = done > from ? done : from + 1;
    }
    if (done == 0) continue;
    out.append(text, done, std::string::npos);
    text = std::move(out);
  }
  return text;
}

std::map<std::string, std::size_t> Redactor::counts() const {
  std::map<std::string, std::size_t> all;
  for (const auto& [kind, names] : seen_) all[kind] = names.size();
  return all;
}

}  // namespace aplomb::report
