#include "report/redact.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <set>

#include "core/text.h"
#include "knowledge/document.h"

namespace aplomb::report {
namespace {

/// What a value must look like beyond the pattern.
enum class Look { any, given, random, pure_chance };

struct Rule {
  std::string kind;
  std::unique_ptr<RE2> pattern;  ///< its first group that matched goes; without groups, all of it
  Look look = Look::any;
};

constexpr int k_most_groups = 4;
/// Shorter names are parts of too many words of ours (`ann` of `ann_loss`). Judgement.
constexpr std::size_t k_least_of_a_part = 6;

std::string words_of(const knowledge::Node& list) {
  std::string all;
  for (const knowledge::Node& each : list.items()) {
    if (!all.empty()) all += '|';
    for (const char c : each.text().value_or("")) {
      if (c == '_') {
        all += "[_\\-. ]?";
      } else {
        all += c;
      }
    }
  }
  return all;
}

bool is_name_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/// Between a name and its value: `=`, `: `, `": "`, `=>`; YAML's block scalars and continued lines.
constexpr std::string_view k_assigned =
    R"re(\\?["']?\s{0,3}(?::=|=>|==|[:=])[ \t]*(?:[|>][\-+]?[ \t]*)?(?:\\?\r?\n[ \t]+)?)re";
constexpr std::string_view k_value =
    R"re((?:[bruf]{0,2}\\?"([^"\n]{3,})|[bruf]{0,2}\\?'([^'\n]{3,})|([^\s"'<>,;&{}\[\]()$*\\][^\s"',;&}\])\\]{2,})))re";

void add(std::vector<Rule>& rules, std::string kind, const std::string& pattern, Look look) {
  RE2::Options quiet;
  quiet.set_log_errors(false);
  auto made = std::make_unique<RE2>(pattern, quiet);
  if (made->ok()) rules.push_back({std::move(kind), std::move(made), look});
}

std::vector<Rule> make_rules() {
  const knowledge::Node book = knowledge::file("secrets.yaml");
  std::vector<Rule> rules;
  for (const knowledge::Node& each : book["forms"].items()) {
    std::string pattern(each["pattern"].text().value_or(""));
    const bool word =
        !pattern.empty() && (is_name_byte(pattern.front()) || pattern.starts_with("(?:") ||
                             (pattern.front() == '[' && !pattern.starts_with("[?")));
    add(rules, "token", word ? "\\b" + pattern : pattern, Look::any);
  }
  for (const knowledge::Node& each : book["beside"].items()) {
    add(rules, "token",
        fmt::format(
            R"re((?i:{})[^\n]{{0,40}}?(?:^|[^A-Za-z0-9+/_\-])({})(?:$|[^A-Za-z0-9+/_=\-]))re",
            each["word"].text().value_or(""), each["pattern"].text().value_or("")),
        Look::any);
  }
  const std::string always = words_of(book["names"]["always"]);
  const std::string sometimes = words_of(book["names"]["if_random"]);
  add(rules, "token",
      fmt::format(R"re((?i)(?:{})[A-Za-z0-9_.\-]*{}{})re", always, k_assigned, k_value),
      Look::given);
  add(rules, "token",
      fmt::format(R"re((?i)--?[A-Za-z0-9_\-]*(?:{})[A-Za-z0-9_\-]*[ \t]+(?:\\\r?\n[ \t]*)?{})re",
                  always, k_value),
      Look::given);
  add(rules, "token",
      fmt::format(R"re((?i)(?:^|[^A-Za-z0-9])(?:[A-Za-z0-9]+[_\-.])*(?:{}){}{})re", sometimes,
                  k_assigned, k_value),
      Look::random);
  add(rules, "token",
      fmt::format(R"re((?i)--(?:[A-Za-z0-9]+[_\-])*(?:{})[ \t]+{})re", sometimes, k_value),
      Look::random);
  add(rules, "token", R"(([A-Za-z0-9+_=\-]{28,}))", Look::pure_chance);
  for (const knowledge::Node& each : book["identities"].items()) {
    add(rules, std::string(each["kind"].text().value_or("")),
        std::string(each["pattern"].text().value_or("")), Look::any);
  }
  return rules;
}

const std::vector<Rule>& the_rules() {
  static const std::vector<Rule> all = make_rules();
  return all;
}

double entropy_bits(std::string_view text) {
  std::array<double, 256> count{};
  for (const char c : text) count[static_cast<unsigned char>(c)] += 1;
  double bits = 0;
  for (const double n : count) {
    if (n > 0)
      bits -=
          n / static_cast<double>(text.size()) * std::log2(n / static_cast<double>(text.size()));
  }
  return bits;
}

struct Mix {
  std::size_t upper = 0;
  std::size_t lower = 0;
  std::size_t digits = 0;
};

Mix mix_of(std::string_view text) {
  Mix mix;
  for (const char c : text) {
    mix.upper += c >= 'A' && c <= 'Z' ? 1U : 0U;
    mix.lower += c >= 'a' && c <= 'z' ? 1U : 0U;
    mix.digits += c >= '0' && c <= '9' ? 1U : 0U;
  }
  return mix;
}

/// Letters and digits mixed, not a path, not a number: `token: 8f3kd02mc81q`. English has 2.5 bits a
/// character over so short a text, random alphanumerics of 12 characters 3.3 or more.
bool looks_random(std::string_view value) {
  if (value.size() < 10 || core::parse_number(value)) return false;
  const Mix mix = mix_of(value);
  return mix.digits > 0 && mix.upper + mix.lower > 0 && entropy_bits(value) >= 2.8 &&
         value.find("//") == std::string_view::npos && value.front() != '/';
}

/// One piece between dashes that mixes both cases and digits evenly: base64, not a model's name. Of
/// 24 random characters of base64 the entropy is 4.1 bits or more in 99 of 100 cases.
bool looks_like_chance(std::string_view value) {
  if (value.starts_with("_Z")) return false;  // a mangled name of C++
  while (!value.empty()) {
    const std::size_t end = value.find_first_of("-_");
    const std::string_view piece = value.substr(0, end);
    const Mix mix = mix_of(piece);
    if (piece.size() >= 24 && mix.upper >= 3 && mix.lower >= 3 && mix.digits >= 2 &&
        entropy_bits(piece) >= 3.9) {
      return true;
    }
    if (end == std::string_view::npos) break;
    value.remove_prefix(end + 1);
  }
  return false;
}

bool says_nothing(std::string_view value) {
  static constexpr std::array<std::string_view, 12> k_words = {
      "none", "null", "nil",  "true",      "false",    "yes",
      "no",   "...",  "****", "undefined", "required", "optional"};
  if (value.front() == '<' || value.front() == '$' || value.front() == '*') return true;
  const std::string low = core::lower(core::trim(value));
  return std::find(k_words.begin(), k_words.end(), low) != k_words.end();
}

/// Owners of repositories that everybody uses, in any case.
const std::set<std::string, std::less<>>& public_owners() {
  static const std::set<std::string, std::less<>> all = [] {
    std::set<std::string, std::less<>> found;
    const knowledge::Node book = knowledge::file("secrets.yaml");
    for (const knowledge::Node& each : book["public_owners"].items())
      found.emplace(each.text().value_or(""));
    return found;
  }();
  return all;
}

/// Names that say nothing about anybody: of roles, of folders that everybody has.
bool is_harmless(std::string_view kind, std::string_view name) {
  static constexpr std::array<std::string_view, 85> k_words = {
      "root",     "user",        "localhost",    "host",        "ubuntu",    "none",
      "None",     "null",        "True",         "true",        "127.0.0.1", "0.0.0.0",
      "False",    "false",       "data",         "datasets",    "dataset",   "models",
      "model",    "checkpoints", "checkpoint",   "lib",         "lib64",     "bin",
      "envs",     "cache",       ".cache",       "shared",      "tmp",       "runs",
      "run",      "outputs",     "output",       "logs",        "log",       "code",
      "src",      "conda",       "miniconda3",   "venv",        "home",      "users",
      "share",    "include",     "etc",          "opt",         "usr",       "var",
      "default",  "nobody",      "admin",        "public",      "common",    "runner",
      "jovyan",   "cluster",     "transformers", "auto",        "c10d",      "static",
      "local",    "memory",      "device",       "side",        "cpu",       "buffer",
      "token",    "tokens",      "email",        "entity",      "address",   "project",
      "projects", "password",    "name",         "alpine",      "orion",     "jusers",
      "group",    "wheel",       "staff",        "kube-system", "pass",      "scratch",
      "work"};
  if (name.empty() || name.front() == '<') return true;
  if (kind == "token") return false;
  if (kind == "entity" && public_owners().count(name) > 0) return true;
  return std::find(k_words.begin(), k_words.end(), name) != k_words.end();
}

bool goes(const Rule& rule, std::string_view value) {
  if (is_harmless(rule.kind, value)) return false;
  switch (rule.look) {
    case Look::any:
      return true;
    case Look::given:
      return !says_nothing(value);
    case Look::random:
      return !says_nothing(value) && looks_random(value);
    case Look::pure_chance:
      return looks_like_chance(value);
  }
  return true;
}

}  // namespace

std::string without_disguise(std::string_view text) {
  static const RE2 k_disguise(
      "\\x1b\\[[0-9;?]*[ -/]*[@-~]|[\\x{200b}-\\x{200f}\\x{2060}-\\x{2064}\\x{feff}\\x{00ad}]|"
      "<U\\+(?:200[B-F]|206[0-4]|FEFF|00AD)>");
  std::string plain(text);
  const bool any = text.find_first_of("\x1b\xe2\xef\xc2") != std::string_view::npos ||
                   text.find("<U+") != std::string_view::npos;
  if (any) RE2::GlobalReplace(&plain, k_disguise, "");
  return plain;
}

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
      // Names of files and folders are put together with underscores: `log_annette.txt`.
      const auto parts = [&](char c) {
        return !is_name_byte(c) || (c == '_' && name.size() >= k_least_of_a_part);
      };
      const bool whole = (at == 0 || parts(text[at - 1])) &&
                         (at + name.size() == text.size() || parts(text[at + name.size()]));
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

void Redactor::apply_rules(std::string& text) {
  for (const Rule& rule : the_rules()) {
    const int groups = std::min(rule.pattern->NumberOfCapturingGroups(), k_most_groups - 1);
    std::array<re2::StringPiece, k_most_groups> found;
    std::string out;
    std::size_t done = 0;  // bytes of `text` that are in `out`
    std::size_t from = 0;
    while (from <= text.size() && rule.pattern->Match(text, from, text.size(), RE2::UNANCHORED,
                                                      found.data(), groups + 1)) {
      std::size_t which = 0;
      for (int i = groups; i > 0; --i) {
        if (found[static_cast<std::size_t>(i)].data() != nullptr)
          which = static_cast<std::size_t>(i);
      }
      const auto begin = static_cast<std::size_t>(found[which].data() - text.data());
      const std::string_view value(found[which].data(), found[which].size());
      out.append(text, done, begin - done);
      if (goes(rule, value)) {
        out += stand_in(rule.kind, value);
        done = begin + value.size();
        from = done > from ? done : from + 1;
        continue;
      }
      // What is left may begin inside the value: `key: password: x`.
      done = begin;
      from = std::max(from + 1, begin + (rule.look == Look::pure_chance ? value.size() : 1));
    }
    if (out.empty() && done == 0) continue;
    out.append(text, done, std::string::npos);
    text = std::move(out);
  }
}

std::string Redactor::operator()(std::string_view input) {
  std::string text = without_disguise(input);
  apply_rules(text);
  replace_all_known(text);
  return text;
}

std::string Redactor::again(std::string_view redacted) {
  std::string text(redacted);
  replace_all_known(text);
  return text;
}

void Redactor::replace_all_known(std::string& text) {
  replace_known(text, "user", names_.users);
  replace_known(text, "host", names_.hosts);
  // Who was named once beside a word that tells is meant wherever the name stands.
  for (const char* kind : {"user", "host", "entity"}) {
    const auto known = seen_.find(kind);
    if (known == seen_.end()) continue;
    std::vector<std::string> names;
    for (const auto& [name, number] : known->second) {
      if (name.size() >= 4) names.push_back(name);
    }
    replace_known(text, kind, names);
  }
}

std::map<std::string, std::size_t> Redactor::counts() const {
  std::map<std::string, std::size_t> all;
  for (const auto& [kind, names] : seen_) all[kind] = names.size();
  return all;
}

std::vector<Replaced> Redactor::replaced() const {
  std::vector<Replaced> all;
  for (const auto& [kind, names] : seen_) {
    std::vector<std::pair<std::size_t, std::string_view>> order;
    for (const auto& [name, number] : names) order.emplace_back(number, name);
    std::sort(order.begin(), order.end());
    for (const auto& [number, name] : order) {
      const std::string shown =
          kind == "token"
              ? fmt::format(
                    "{}... ({} characters)",
                    core::sanitize(name.substr(0, std::min<std::size_t>(4, name.size() / 3))),
                    name.size())
              : core::shorten(core::sanitize(std::string(name)), 60);
      all.push_back({fmt::format("<{}-{}>", kind, number), shown});
    }
  }
  return all;
}

bool is_secret_file(std::string_view name) {
  const std::string low = core::lower(name);
  const knowledge::Node files = knowledge::file("secrets.yaml")["files"];
  const auto any = [&](std::string_view list, const auto& fits) {
    for (const knowledge::Node& each : files[list].items()) {
      if (fits(each.text().value_or("?"))) return true;
    }
    return false;
  };
  return any("names", [&](std::string_view each) { return low == each; }) ||
         any("endings", [&](std::string_view each) { return low.ends_with(each); }) ||
         any("beginnings", [&](std::string_view each) { return low.starts_with(each); });
}

}  // namespace aplomb::report
