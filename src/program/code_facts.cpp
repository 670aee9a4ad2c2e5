#include "program/code_facts.h"

#include <algorithm>

#include "core/text.h"
#include "knowledge/code_book.h"
#include "prose/claims.h"

namespace aplomb::program {
namespace code {
namespace {

constexpr std::size_t k_reach = 24;
/// A statement of more is data, not code; the rest of its line is not looked at.
constexpr std::size_t k_most_tokens = 2000;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The end of the string that begins at `at` (its quote), past the quote; the line's end where it
/// is open.
std::size_t string_end(std::string_view line, std::size_t at) {
  const char quote = line[at];
  std::size_t end = at + 1;
  while (end < line.size() && line[end] != quote) end += line[end] == '\\' ? 2 : 1;
  return std::min(end + 1, line.size());
}

/// The end of the name or number that begins at `at`; a number goes on over its point and exponent.
std::size_t word_end(std::string_view line, std::size_t at) {
  const bool number = line[at] >= '0' && line[at] <= '9';
  std::size_t end = at + 1;
  for (; end < line.size(); ++end) {
    const char c = line[end];
    const char before = line[end - 1];
    const bool sign_of_exponent = (c == '-' || c == '+') && (before == 'e' || before == 'E');
    if (!is_name(c) && !(number && (c == '.' || sign_of_exponent))) break;
  }
  return end;
}

/// The end of the sign at `at`: two characters for `+=`, `==` and their kin, else one.
std::size_t sign_end(std::string_view line, std::size_t at) {
  const bool pair = at + 1 < line.size() && line[at + 1] == '=' &&
                    std::string_view("+-*/=!<>").find(line[at]) != std::string_view::npos;
  return at + (pair ? 2 : 1);
}

int depth_behind(char c, int depth) {
  if (c == '(' || c == '[' || c == '{') return depth + 1;
  if (c == ')' || c == ']' || c == '}') return std::max(0, depth - 1);
  return depth;
}

bool meets(const std::string& word, const std::string& token) {
  if (word == "_") return true;
  const bool open_head = word.size() > 1 && word.front() == '*';
  const bool open_tail = word.size() > 1 && word.back() == '*' && word != "**";
  if (!open_head && !open_tail) return word == token;
  const std::string_view core = std::string_view(word).substr(
      open_head ? 1 : 0, word.size() - (open_head ? 1 : 0) - (open_tail ? 1 : 0));
  const bool text = !core.empty() && core.front() == '\'';
  if (token.empty() || (!is_name(token.front()) && !text)) return false;
  if (open_head && open_tail) return token.find(core) != std::string::npos;
  return open_head ? token.ends_with(core) : token.starts_with(core);
}

constexpr std::size_t k_most_bound = 8;  // tokens of an expression that a `<name>` stands for

/// What `<name>` stands for in the statement at hand.
struct Bound {
  std::string_view name;
  std::size_t at = 0;
  std::size_t count = 0;
};

bool is_bound_name(const std::string& word) {
  return word.size() > 2 && word.front() == '<' && word.back() == '>';
}

/// How many tokens from `at` on may be one argument: up to its comma, or the bracket that closes
/// the call.
std::size_t argument_length(const std::vector<std::string>& tokens, std::size_t at) {
  int depth = 0;
  std::size_t end = at;
  for (; end < tokens.size() && end - at < k_most_bound; ++end) {
    const std::string& token = tokens[end];
    if (depth == 0 && (token == "," || token == "=" || token == ")" || token == "]")) break;
    depth = depth_behind(token.front(), depth);
  }
  return end - at;
}

bool matches_from(const std::vector<std::string>& pattern, std::size_t word,
                  const std::vector<std::string>& tokens, std::size_t at,
                  const std::vector<Bound>& bound);

/// `<name>`: any argument at its first place, the same one at every further place.
bool matches_bound(const std::vector<std::string>& pattern, std::size_t word,
                   const std::vector<std::string>& tokens, std::size_t at,
                   const std::vector<Bound>& bound) {
  const std::string& name = pattern[word];
  const auto known = std::find_if(bound.begin(), bound.end(),
                                  [&](const Bound& each) { return each.name == name; });
  const std::size_t length = argument_length(tokens, at);
  if (length == 0) return false;
  if (known == bound.end()) {
    std::vector<Bound> more = bound;
    more.push_back({name, at, length});
    return matches_from(pattern, word + 1, tokens, at + length, more);
  }
  const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(known->at);
  return length == known->count &&
         std::equal(first, first + static_cast<std::ptrdiff_t>(length),
                    tokens.begin() + static_cast<std::ptrdiff_t>(at)) &&
         matches_from(pattern, word + 1, tokens, at + length, bound);
}

bool matches_from(const std::vector<std::string>& pattern, std::size_t word,
                  const std::vector<std::string>& tokens, std::size_t at,
                  const std::vector<Bound>& bound) {
  for (; word < pattern.size(); ++word, ++at) {
    if (pattern[word] == "...") {
      const std::size_t last = std::min(at + k_reach, tokens.size());
      for (std::size_t next = at; next <= last; ++next) {
        if (matches_from(pattern, word + 1, tokens, next, bound)) return true;
      }
      return false;
    }
    if (is_bound_name(pattern[word])) return matches_bound(pattern, word, tokens, at, bound);
    if (pattern[word] == "$") {  // the end of the statement
      if (at != tokens.size()) return false;
      continue;
    }
    if (at >= tokens.size() || !meets(pattern[word], tokens[at])) return false;
  }
  return true;
}

}  // namespace

int add_tokens(std::string_view line, int depth, std::vector<std::string>& tokens) {
  for (std::size_t at = 0; at < line.size() && tokens.size() <= code::k_most_tokens;) {
    const char c = line[at];
    if (c == '#') break;
    std::size_t end = at;
    if (c == '"' || c == '\'') {
      end = string_end(line, at);
      tokens.push_back("'" + std::string(line.substr(at + 1, end - at - 1)));
      if (tokens.back().size() > 1) tokens.back().pop_back();
    } else {
      end = is_name(c) ? word_end(line, at) : sign_end(line, at);
      if (static_cast<unsigned char>(c) > ' ') tokens.emplace_back(line.substr(at, end - at));
      depth = depth_behind(c, depth);
    }
    at = end;
  }
  return depth;
}

std::vector<std::string> pattern_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& tokens) {
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (matches_from(pattern, 0, tokens, at, {})) return true;
  }
  return false;
}

}  // namespace code

namespace {

using Tokens = std::vector<std::string>;

/// A pattern of the code book, its texts as tokens.
struct Pattern {
  const knowledge::CodeEntry* entry = nullptr;
  const knowledge::CodePattern* source = nullptr;
  std::vector<Tokens> any, unless, then;
};

std::vector<Tokens> patterns_of(const std::vector<std::string>& texts) {
  std::vector<Tokens> made;
  for (const std::string& text : texts) made.push_back(code::pattern_of(text));
  return made;
}

/// In the order of the book: what a pattern is built on comes before it.
const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = [] {
    std::vector<Pattern> made;
    for (const knowledge::CodeEntry& entry : knowledge::code_book().entries) {
      for (const knowledge::CodePattern& each : entry.patterns)
        made.push_back({&entry, &each, patterns_of(each.any), patterns_of(each.unless),
                        patterns_of(each.then)});
    }
    return made;
  }();
  return all;
}

bool any_matches(const std::vector<Tokens>& patterns, const Tokens& tokens) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const Tokens& pattern) { return code::matches(pattern, tokens); });
}

std::size_t indent_of(std::string_view line) {
  constexpr std::size_t k_tab = 8;
  std::size_t indent = 0;
  for (const char c : line) {
    if (c != ' ' && c != '\t') break;
    indent = c == ' ' ? indent + 1 : (indent / k_tab + 1) * k_tab;
  }
  return indent;
}

constexpr std::size_t k_then_reach = 3;  // statements
constexpr std::size_t k_most_quote = 160;
constexpr std::string_view k_whole_program = "code.program";

}  // namespace

const CodeReader::Seen* CodeReader::find(const std::string& fact) const {
  const auto found =
      std::find_if(seen_.begin(), seen_.end(), [&](const Seen& seen) { return seen.fact == fact; });
  return found == seen_.end() ? nullptr : &*found;
}

void CodeReader::note(std::size_t pattern) {
  const bool is_known = std::any_of(seen_.begin(), seen_.end(),
                                    [&](const Seen& seen) { return seen.pattern == pattern; });
  if (is_known) return;
  seen_.push_back({patterns()[pattern].entry->id, open_.text, open_.line, open_.offset, pattern});
}

void CodeReader::line(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  if (number > k_most_lines) return;
  const std::string_view body = core::trim(line);
  if (body.empty()) return;
  if (open_.tokens.empty()) {
    open_.text = "code: " + core::shorten(core::sanitize(body), k_most_quote);
    open_.line = number;
    open_.offset = offset;
    open_.indent = indent_of(line);
  }
  depth_ = code::add_tokens(body, depth_, open_.tokens);
  ++open_lines_;
  const bool endless =
      open_lines_ >= k_most_statement_lines || open_.tokens.size() > code::k_most_tokens;
  // A bracket that a sentence leaves open is no statement that goes on.
  if (depth_ == 0 || endless || prose::reads_like_prose(body, false)) close();
}

/// Judges the statement that is complete now.
void CodeReader::close() {
  const std::vector<Pattern>& all = patterns();
  waits_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Pattern& pattern = all[i];
    Wait& wait = waits_[i];
    if (wait.left > 0) {
      --wait.left;
      if (pattern.source->indented && open_.indent < wait.indent) {
        wait.left = 0;  // the loop has ended
      } else if (any_matches(pattern.then, open_.tokens)) {
        note(i);
      }
    }
    if (pattern.any.empty() || !any_matches(pattern.any, open_.tokens)) continue;
    if (any_matches(pattern.unless, open_.tokens)) continue;
    if (pattern.then.empty()) {
      note(i);
    } else {
      wait = {k_then_reach, open_.indent};
    }
  }
  open_ = {};
  open_lines_ = 0;
  depth_ = 0;
}

/// What the text shows as a whole: all of `has` and nothing of `lacks`.
void CodeReader::judge_whole() {
  const std::vector<Pattern>& all = patterns();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const knowledge::CodePattern& asked = *all[i].source;
    const auto is_there = [&](const std::string& name) { return find(name) != nullptr; };
    if (asked.has.empty() || !std::all_of(asked.has.begin(), asked.has.end(), is_there) ||
        std::any_of(asked.lacks.begin(), asked.lacks.end(), is_there)) {
      continue;
    }
    Seen seen = *find(asked.has.front());
    seen.fact = all[i].entry->id;
    seen.pattern = i;
    seen_.push_back(std::move(seen));
  }
}

void CodeReader::finish(record::RunBuilder& build, record::SourceId source) {
  if (!open_.tokens.empty()) close();
  judge_whole();
  const bool is_program = find(std::string(k_whole_program)) != nullptr;
  for (const Seen& seen : seen_) {
    const std::vector<record::Origin> place = {{source, seen.line, seen.offset}};
    const bool is_first = find(seen.fact) == &seen;
    if (is_first) build.fact({seen.fact, true, seen.text, place});
    if (is_program && patterns()[seen.pattern].source->whole)
      build.fact({knowledge::mistake_fact(seen.fact), true, seen.text, place});
  }
  seen_.clear();
  waits_.clear();
}

}  // namespace aplomb::program
