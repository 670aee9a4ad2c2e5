#include "config_text/nested_text.h"

#include <algorithm>

#include "core/text.h"

namespace aplomb::config_text {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_name(char c) { return is_word(c) || c == '.'; }
bool is_quote(char c) { return c == '"' || c == '\''; }
bool opens(char c) { return c == '{' || c == '[' || c == '('; }
bool closes(char c) { return c == '}' || c == ']' || c == ')'; }

/// Where the string that starts at `at` (a quote) ends: one past its closing quote. A string that
/// is not closed on its line (triple quotes: in the text) is taken to end before the line break.
std::size_t string_end(std::string_view text, std::size_t at) {
  const char quote = text[at];
  if (text.substr(at, 3) == std::string(3, quote)) {
    const std::size_t end = text.find(text.substr(at, 3), at + 3);
    return end == std::string_view::npos ? text.size() : end + 3;
  }
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    } else if (text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

/// One past a comment that starts at `at`, or `at` where none does: `# ...`, `// ...`, `/* ... */`.
std::size_t comment_end(std::string_view text, std::size_t at) {
  const std::string_view two = text.substr(at, 2);
  const bool after_blank = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t' ||
                           text[at - 1] == '\n' || text[at - 1] == ',' || closes(text[at - 1]) ||
                           opens(text[at - 1]);
  if (text[at] == '#' || (two == "//" && after_blank)) {
    const std::size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end;
  }
  if (two == "/*") {
    const std::size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  return at;
}

std::string_view last_name(std::string_view dotted) {
  const std::size_t dot = dotted.rfind('.');
  return dot == std::string_view::npos ? dotted : dotted.substr(dot + 1);
}

bool is_type(std::string_view name) {
  static constexpr std::string_view k_types[] = {"float", "int",   "str", "bool",
                                                 "list",  "tuple", "Any"};
  return std::find(std::begin(k_types), std::end(k_types), name) != std::end(k_types);
}

class NestedParser {
 public:
  NestedParser(std::string_view text, std::uint64_t line, std::uint64_t offset)
      : text_(text), line_(line), base_(offset) {
    frames_.push_back({});
  }

  std::vector<ConfigEntry> parse() {
    while (at_ < text_.size() && entries_.size() < k_most_entries) step();
    while (frames_.size() > 1) close();
    return std::move(entries_);
  }

 private:
  struct Frame {
    char open = 0;     // 0 at the outside
    std::string path;  // of the members
    std::string call;  // keywords belong to this call
    std::string key;   // read and waiting for its value
    bool has_key = false;
    std::size_t item = 0;  // number of the next item without a key
    std::string joined;    // scalar items so far
    bool scalars_only = true;
    std::uint64_t line = 0;  // of the bracket
    std::size_t start = 0;
  };

  void step() {
    const char c = text_[at_];
    if (const std::size_t end = comment_end(text_, at_); end != at_) {
      advance(end);
    } else if (c == '\n') {
      if (frames_.size() == 1) frames_.back().has_key = false;
      advance(at_ + 1);
    } else if (opens(c)) {
      open(c, {});
    } else if (closes(c)) {
      if (frames_.size() > 1) close();
      advance(at_ + 1);
    } else if (c == ',' || c == ';') {
      frames_.back().has_key = false;
      advance(at_ + 1);
    } else if (is_quote(c)) {
      string_token();
    } else if (is_name(c) || c == '-' || c == '+' || c == '$' || c == '<') {
      bare_token();
    } else {
      advance(at_ + 1);
    }
  }

  void advance(std::size_t to) {
    line_ += static_cast<std::uint64_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                   text_.begin() + static_cast<std::ptrdiff_t>(to),
                                                   '\n'));
    at_ = to;
  }

  /// The sign after a possible key at `end`: `:` or a single `=`; its position, or npos.
  std::size_t sign_after(std::size_t end) const {
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
    if (end >= text_.size()) return std::string_view::npos;
    const char next = end + 1 < text_.size() ? text_[end + 1] : '\0';
    if (text_[end] == '=' && next != '=') return end;
    if (text_[end] == ':' && next == '=') return end + 1;  // hydra's and Python's :=
    return text_[end] == ':' && next != ':' ? end : std::string_view::npos;
  }

  void take_key(std::string_view key, std::size_t sign) {
    frames_.back().key = std::string(key);
    frames_.back().has_key = true;
    advance(sign + 1);
  }

  void string_token() {
    const std::size_t start = at_;
    const std::size_t end = string_end(text_, at_);
    const bool triple = text_.substr(at_, 3) == std::string(3, text_[at_]);
    const std::size_t skip = triple ? 3 : 1;
    const std::size_t length = end - start >= 2 * skip ? end - start - 2 * skip : 0;
    const std::string_view inside = text_.substr(start + skip, length);
    const std::size_t sign = sign_after(end);
    if (!frames_.back().has_key && sign != std::string_view::npos && text_[sign] == ':') {
      take_key(inside, sign);
      return;
    }
    scalar(inside, start, end - start, true);
    advance(end);
  }

  /// A key, the name of a call, or a bare value (number, word, expression up to the next comma,
  /// bracket or line end).
  void bare_token() {
    const std::size_t start = at_;
    std::size_t end = at_;
    while (end < text_.size() &&
           (is_name(text_[end]) || (text_[end] == '-' && end + 1 < text_.size() &&
                                    is_word(text_[end + 1]) && !frames_.back().has_key)))
      ++end;
    const std::string_view name = text_.substr(start, end - start);
    const std::size_t sign = name.empty() ? std::string_view::npos : sign_after(end);
    if (frames_.back().has_key && sign != std::string_view::npos && text_[sign] == '=') {
      // `lr: float = 0.1` keeps its key; in `optimizer: lr = 0.1` the nearer key wins.
      if (is_type(name)) {
        advance(sign + 1);
      } else {
        take_key(name, sign);
      }
      return;
    }
    if (!frames_.back().has_key && sign != std::string_view::npos) {
      take_key(name, sign);
      return;
    }
    if (end < text_.size() && text_[end] == '(' && !name.empty()) {
      advance(end);
      open('(', name);
      return;
    }
    if (!frames_.back().has_key && frames_.back().open == 0) {
      advance(std::max(end, start + 1));  // a word of a statement
      return;
    }
    end = expression_end(start);
    const std::string_view value = core::trim(text_.substr(start, end - start));
    scalar(value, start, value.size(), false);
    advance(std::max(end, start + 1));
  }

  /// Bare values run to the next comma, closing bracket, comment or line end; a call or a bracket
  /// in them ends them too, so that its keywords are seen.
  std::size_t expression_end(std::size_t at) const {
    const bool outside = frames_.back().open == 0;
    for (; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == ',' || c == '\n' || c == '\r' || c == ';' || closes(c)) break;
      if (opens(c) && (outside || c != '[')) {
        // `timedelta(minutes=30)` is one value; other calls are entered.
        const std::string_view so_far = text_.substr(0, at);
        if (!so_far.ends_with("timedelta")) break;
        const std::size_t close_at = text_.find(')', at);
        if (close_at == std::string_view::npos) break;
        at = close_at;
        continue;
      }
      if (comment_end(text_, at) != at || (c == ' ' && key_follows(at))) break;
    }
    return at;
  }

  /// Whether the blank at `at` ends a value because `name=` stands behind it: `r=8 alpha=16
  /// dropout=0.1`.
  bool key_follows(std::size_t at) const {
    while (at < text_.size() && text_[at] == ' ') ++at;
    const std::size_t start = at;
    while (at < text_.size() && is_name(text_[at])) ++at;
    return at > start && at + 1 < text_.size() && text_[at] == '=' && text_[at + 1] != '=';
  }

  void open(char bracket, std::string_view name) {
    Frame& parent = frames_.back();
    if (frames_.size() >= k_deepest_nesting) {
      advance(at_ + 1);
      return;
    }
    Frame frame;
    frame.open = bracket;
    frame.line = line_;
    frame.start = at_;
    frame.path = parent.path;
    if (parent.has_key) {
      frame.path = joined_path(parent.path, parent.key);
    } else if (parent.open == '[') {
      frame.path = joined_path(parent.path, std::to_string(parent.item++));
    } else if (parent.open == '(') {
      // The numbers of a tuple are not the call's own: `Adam(weights, 1e-3, (0.5, 0.99))`.
      const std::string place = "#" + std::to_string(parent.item++);
      if (name.empty() && !parent.call.empty()) frame.path = joined_path(parent.path, place);
    }
    parent.scalars_only = false;
    const std::string_view call = last_name(name);
    if (!call.empty() && call != "dict" && call != "OrderedDict") {
      // What was called is a value of its own: `optimizer = AdamW(...)`.
      if (parent.has_key) {
        entry(frame.path, parent.call, call, at_ - call.size(), 0, line_);
        entries_.back().is_call = true;
      }
      frame.call = std::string(call);
      frame.path.clear();
    } else {
      frame.call = parent.call;
    }
    parent.has_key = false;
    frames_.push_back(std::move(frame));
    advance(at_ + 1);
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const bool list = frame.open == '[' || frame.open == '(';
    if (list && frame.scalars_only && frame.item > 0 && !frame.path.empty()) {
      entry(frame.path, frame.call, frame.joined, frame.start,
            at_ < text_.size() ? at_ + 1 - frame.start : 0, frame.line);
      entries_.back().is_list = true;
    }
    frames_.back().has_key = false;
  }

  void scalar(std::string_view value, std::size_t start, std::size_t size, bool quoted) {
    Frame& frame = frames_.back();
    if (frame.has_key) {
      entry(joined_path(frame.path, frame.key), frame.call, value, start, size, line_);
      entries_.back().quoted = quoted;
      frame.has_key = false;
      frame.scalars_only = false;
      return;
    }
    if (frame.open != '[' && frame.open != '(') return;
    const std::string number = std::to_string(frame.item++);
    const std::string path =
        frame.open == '(' && frame.path.empty() ? "#" + number : joined_path(frame.path, number);
    entry(path, frame.call, value, start, size, line_);
    entries_.back().quoted = quoted;
    if (frame.joined.size() < 4096) {
      if (frame.item > 1) frame.joined += ',';
      frame.joined += value;
    }
  }

  static std::string joined_path(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
  }

  void entry(std::string path, const std::string& call, std::string_view value, std::size_t start,
             std::size_t size, std::uint64_t line) {
    entries_.push_back({std::move(path), call, std::string(value.substr(0, 4096)), line,
                        base_ + start, size, false, false, false, false});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t line_;
  std::uint64_t base_;
  std::vector<Frame> frames_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

std::vector<ConfigEntry> parse_nested(std::string_view text, std::uint64_t line,
                                      std::uint64_t offset) {
  return NestedParser(text, line, offset).parse();
}

int open_brackets(std::string_view text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (is_quote(text[at])) {
      at = string_end(text, at);
      continue;
    }
    if (const std::size_t end = comment_end(text, at); end != at) {
      at = end;
      continue;
    }
    depth += opens(text[at]) ? 1 : closes(text[at]) ? -1 : 0;
    ++at;
  }
  return depth;
}

}  // namespace aplomb::config_text
