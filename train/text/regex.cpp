#define PCRE2_CODE_UNIT_WIDTH 8
#include "train/text/regex.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <array>

namespace aplomb::train::text {

namespace {

constexpr std::string_view k_spaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

constexpr std::string_view k_words = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

/// What stands for `\` + `escaped` in the pattern; nothing for what cannot be said.
std::optional<std::string> translated_escape(char escaped, bool in_class) {
  switch (escaped) {
    case 's':
      return in_class ? std::string(k_spaces) : fmt::format("[{}]", k_spaces);
    case 'w':
      return in_class ? std::string(k_words) : fmt::format("[{}]", k_words);
    case 'S':
    case 'W':
      if (in_class) return std::nullopt;
      return fmt::format("[^{}]", escaped == 'S' ? k_spaces : k_words);
    case 'h':
    case 'H':
    case 'b':
    case 'B':
      return std::nullopt;
    default:
      return std::string{'\\', escaped};
  }
}

/// The pattern as PCRE2 must be given it; an Error for what it cannot be given.
core::Result<std::string> translated(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const auto meant = translated_escape(pattern[++i], in_class);
      if (!meant)
        return core::fail(core::ErrorCode::unsupported,
                          fmt::format("the pattern \"{}\" uses \\{}{}", pattern, pattern[i],
                                      in_class ? " in a class" : ""));
      out += *meant;
      continue;
    }
    if (in_class && c == '&' && pattern.substr(i, 2) == "&&")
      return core::fail(core::ErrorCode::unsupported,
                        fmt::format("the pattern \"{}\" intersects classes (&&)", pattern));
    if (c == '[' && !in_class) {
      in_class = true;
      out += c;
      if (pattern.substr(i + 1, 1) == "^") out += pattern[++i];
      if (pattern.substr(i + 1, 1) == "]") out += pattern[++i];
      continue;
    }
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

/// One thread's place for the bounds of a match.
pcre2_match_data* match_data() {
  struct Free {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };
  thread_local const std::unique_ptr<pcre2_match_data, Free> data(
      pcre2_match_data_create(1, nullptr));
  return data.get();
}

}  // namespace

struct Regex::Code {
  explicit Code(pcre2_code* made) : code(made) {}
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  pcre2_code* code;
  bool compiled = false;  ///< to machine code
};

core::Result<Regex> Regex::compile(std::string_view pattern) {
  const core::Result<std::string> text = translated(pattern);
  if (!text) return tl::unexpected<core::Error>(text.error());
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text->data()), text->size(),  // NOLINT: bytes
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 256> message{};
    pcre2_get_error_message(error, message.data(), message.size());
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("the pattern \"{}\" does not compile: {} at character {}", pattern,
                    reinterpret_cast<const char*>(message.data()), offset));  // NOLINT
  }
  auto made = std::make_shared<Code>(code);
  made->compiled = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
  Regex regex;
  regex.code_ = std::move(made);
  return regex;
}

Regex Regex::literal(std::string_view text) {
  Regex regex;
  regex.literal_ = text;
  return regex;
}

std::optional<Match> Regex::find(std::string_view text, std::size_t from) const {
  if (!code_) {
    const std::size_t at = text.find(literal_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return Match{.begin = at, .end = at + literal_.size()};
  }
  pcre2_match_data* data = match_data();
  const auto* bytes = reinterpret_cast<PCRE2_SPTR>(text.data());  // NOLINT: bytes
  int count = PCRE2_ERROR_JIT_STACKLIMIT;
  if (code_->compiled)
    count = pcre2_jit_match(code_->code, bytes, text.size(), from, 0, data, nullptr);
  if (count == PCRE2_ERROR_JIT_STACKLIMIT)  // runs of a megabyte: the interpreter's heap takes them
    count = pcre2_match(code_->code, bytes, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                        data, nullptr);
  if (count < 0) return std::nullopt;
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data);
  return Match{.begin = bounds[0], .end = bounds[1]};
}

}  // namespace aplomb::train::text
