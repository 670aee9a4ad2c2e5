#include "log_text/foreign_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "core/letters.h"
#include "core/text.h"
#include "knowledge/document.h"

namespace aplomb::log_text {
namespace {

struct Name {
  std::string english;
  bool seconds = false;  ///< only before a number of seconds: `daten=0.31s`
};

/// Names in lower case (of ASCII letters; the file has others in both cases) and their phrases' most words.
struct Book {
  std::map<std::string, Name, std::less<>> names;
  std::size_t most_words = 1;
  std::size_t longest = 0;  ///< bytes of a name
};

const Book& book() {
  static const Book all = [] {
    Book made;
    for (const knowledge::Node& node : knowledge::file("languages.yaml").items()) {
      const std::string is = knowledge::text_of(node, "is");
      const bool seconds = knowledge::text_of(node, "of") == "seconds";
      for (const std::string& name : knowledge::texts_of(node, "names")) {
        const auto words = static_cast<std::size_t>(std::count(name.begin(), name.end(), ' ')) + 1;
        made.most_words = std::max(made.most_words, words);
        made.longest = std::max(made.longest, name.size());
        made.names.emplace(core::lower(name), Name{is, seconds});
      }
    }
    return made;
  }();
  return all;
}

bool is_foreign(char c) { return static_cast<unsigned char>(c) >= 0x80; }
bool is_any_letter(char c) { return core::is_letter(c) || is_foreign(c); }

/// Punctuation of full width, which stands where others write `:`, `,` and brackets.
constexpr std::array<std::pair<std::string_view, char>, 7> k_wide = {{{"\uFF1A", ':'},
                                                                      {"\uFF0C", ','},
                                                                      {"\uFF1D", '='},
                                                                      {"\uFF08", '('},
                                                                      {"\uFF09", ')'},
                                                                      {"\u3001", ','},
                                                                      {"\u3000", ' '}}};

std::optional<char> wide_at(std::string_view text, std::size_t at) {
  for (const auto& [wide, plain] : k_wide) {
    if (text.substr(at).starts_with(wide)) return plain;
  }
  return std::nullopt;
}

/// Where the word that begins at `at` ends: letters, and `_` between them.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (at < text.size() && (is_any_letter(text[at]) || text[at] == '_' || text[at] == '\'')) {
    if (is_foreign(text[at]) && wide_at(text, at)) break;
    ++at;
  }
  return at;
}

const Name* find(std::string_view word) {
  const auto found = book().names.find(core::lower(word));
  return found == book().names.end() ? nullptr : &found->second;
}

/// `训练损失` -> train_loss: a word of names without anything between, each as long as it can be.
std::optional<Name> joined(std::string_view word) {
  Name name;
  while (!word.empty()) {
    std::size_t size = std::min(word.size(), book().longest);
    const Name* part = nullptr;
    for (; size > 0 && part == nullptr; --size) part = find(word.substr(0, size));
    if (part == nullptr) return std::nullopt;
    name.english += (name.english.empty() ? "" : "_") + part->english;
    name.seconds = name.seconds || part->seconds;
    word.remove_prefix(size + 1);
  }
  return name;
}

/// `val_verlust` -> val_loss. Nothing where no part is a name of another language.
std::optional<Name> name_of(std::string_view word) {
  if (const Name* whole = find(word)) return *whole;
  Name name;
  bool any = false;
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find('_', at), word.size());
    const std::string_view part = word.substr(at, end - at);
    const Name* known = find(part);
    std::optional<Name> made;
    if (known == nullptr && !part.empty() && is_foreign(part.front())) made = joined(part);
    if (made) known = &*made;
    any = any || known != nullptr;
    name.english += (at == 0 ? "" : "_") + (known != nullptr ? known->english : std::string(part));
    name.seconds = name.seconds || (known != nullptr && known->seconds);
    at = end + 1;
  }
  return any ? std::optional<Name>(name) : std::nullopt;
}

/// Whether a value stands behind a name: `= 3`, `: 0.4`, ` 12`; of seconds, one with its unit.
bool value_follows(std::string_view rest, bool seconds) {
  std::size_t at = 0;
  while (at < rest.size() && (rest[at] == '"' || rest[at] == '\'' || rest[at] == ']')) ++at;
  for (int signs = 0; at < rest.size(); ++at) {
    const char c = rest[at];
    if ((c == '=' || c == ':' || c == '|') && ++signs == 1) continue;
    if (c == ' ' || c == '\t') continue;
    if (is_foreign(c)) {
      const auto plain = wide_at(rest, at);
      if (!plain || (*plain != ':' && *plain != '=' && *plain != ' ')) return false;
      at += 2;
      continue;
    }
    break;
  }
  rest.remove_prefix(at);
  const std::size_t sign = !rest.empty() && (rest[0] == '-' || rest[0] == '+') ? 1 : 0;
  const bool digit = rest.size() > sign && rest[sign] >= '0' && rest[sign] <= '9';
  if (!seconds)
    return digit || core::iequals(rest.substr(0, 3), "nan") ||
           core::iequals(rest.substr(0, 3), "inf");
  const std::size_t unit = rest.find_first_not_of("0123456789.,e-+", sign);
  return digit && unit != std::string_view::npos &&
         (rest[unit] == 's' || rest.substr(unit).starts_with("ms"));
}

/// The name that begins at `at`, as many words as belong to it, and where it ends.
struct Found {
  Name name;
  std::size_t end = 0;
};

std::optional<Found> found_at(std::string_view line, std::size_t at) {
  std::vector<std::size_t> ends = {end_of_word(line, at)};
  while (ends.size() < book().most_words && ends.back() + 1 < line.size() &&
         line[ends.back()] == ' ' && is_any_letter(line[ends.back() + 1]))
    ends.push_back(end_of_word(line, ends.back() + 1));
  for (std::size_t words = ends.size(); words > 0; --words) {
    const std::string_view text = line.substr(at, ends[words - 1] - at);
    std::optional<Name> name;
    if (words == 1) {
      name = name_of(text);
    } else if (const Name* phrase = find(text)) {
      name = *phrase;
    }
    if (name && value_follows(line.substr(ends[words - 1]), name->seconds))
      return Found{*name, ends[words - 1]};
  }
  return std::nullopt;
}

/// Whether a word may begin here: no letter before it.
bool begins_at(std::string_view line, std::size_t at) {
  if (!is_any_letter(line[at])) return false;
  if (at >= 3 && wide_at(line, at - 3)) return true;
  return at == 0 || !(is_any_letter(line[at - 1]) || line[at - 1] == '_');
}

}  // namespace

std::string english_name(std::string_view key) {
  std::string english;
  for (std::size_t at = 0; at < key.size();) {
    const std::size_t end = end_of_word(key, at);
    if (end == at) {
      english += key[at++];
      continue;
    }
    const auto name = name_of(key.substr(at, end - at));
    english += name ? name->english : std::string(key.substr(at, end - at));
    at = end;
  }
  return english;
}

ForeignNames::ForeignNames(std::string_view head) {
  // `loss：0.31`: the names are known, what stands between is not.
  any_ = std::any_of(k_wide.begin(), k_wide.begin() + 1,
                     [head](const auto& each) { return head.find(each.first) != head.npos; });
  for (std::size_t at = 0; at < head.size() && !any_;) {
    if (!is_any_letter(head[at])) {
      ++at;
      continue;
    }
    any_ = begins_at(head, at) && found_at(head, at).has_value();
    at = std::max(at + 1, end_of_word(head, at));
  }
}

std::string_view ForeignNames::english(std::string_view line) {
  if (!any_) return line;
  line_.clear();
  std::size_t kept = 0;  // of the line, already in line_
  for (std::size_t at = 0; at < line.size();) {
    if (!is_any_letter(line[at])) {
      ++at;
      continue;
    }
    if (const auto plain = is_foreign(line[at]) ? wide_at(line, at) : std::nullopt) {
      line_.append(line.substr(kept, at - kept)).push_back(*plain);
      kept = at = at + 3;
      continue;
    }
    if (begins_at(line, at)) {
      if (const auto found = found_at(line, at)) {
        line_.append(line.substr(kept, at - kept)).append(found->name.english);
        kept = at = found->end;
        continue;
      }
    }
    at = std::max(at + 1, end_of_word(line, at));
  }
  if (kept == 0) return line;
  return line_.append(line.substr(kept));
}

std::string mistakes_of_languages() {
  std::map<std::string, std::string> said;
  for (const knowledge::Node& node : knowledge::file("languages.yaml").items()) {
    const std::string is = knowledge::text_of(node, "is");
    if (is.empty()) return "an entry says no English name";
    for (const std::string& name : knowledge::texts_of(node, "names")) {
      const auto [known, first] = said.emplace(core::lower(name), is);
      if (!first && known->second != is) return name + " is " + known->second + " and " + is;
    }
  }
  return said.empty() ? "languages.yaml holds nothing" : "";
}

}  // namespace aplomb::log_text
