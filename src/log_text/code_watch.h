#pragma once
/// CodeWatch: program text among the lines of a log (some trainers print their own source first),
/// whose assignments look like metrics: `learning_rate = 0.5`.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "core/text.h"

namespace aplomb::log_text {

class CodeWatch {
 public:
  /// Whether the line is of a program by how it begins.
  bool begins(std::string_view text, std::uint64_t number) {
    return noted(begins_like_code(core::trim(text)), number);
  }
  /// Whether the line is of a program, by its ends or, if it assigns, by the lines before it.
  bool is_code(std::string_view text, std::uint64_t number) {
    const std::string_view body = core::trim(text);
    if (noted(begins_like_code(body) || body.ends_with(';') || body.ends_with("){"), number))
      return true;
    const bool near = last_line_ != 0 && number - last_line_ < k_reach;
    return near && is_assignment(body);
  }

 private:
  static constexpr std::uint64_t k_reach = 40;  // lines: program text around an assignment

  bool noted(bool code, std::uint64_t number) {
    if (code) last_line_ = number;
    return code;
  }

  /// What begins a line of a program and no line of a log.
  static bool begins_like_code(std::string_view text) {
    static constexpr std::array<std::string_view, 22> k_heads = {
        "def ", "class ", "import ", "return ",    "elif ",  "else:",   "#include", "//",
        "/*",   "const ", "static ", "constexpr ", "print(", "print0(", "assert ",  "@torch",
        "if (", "for (",  "while ",  "self.",      "with ",  "parser."};
    return std::any_of(k_heads.begin(), k_heads.end(),
                       [text](std::string_view head) { return text.starts_with(head); });
  }

  /// `name = 0.5`, the whole line.
  static bool is_assignment(std::string_view text) {
    const std::size_t sign = text.find(" = ");
    if (sign == std::string_view::npos || sign == 0) return false;
    return text.substr(0, sign).find_first_of(" :|,[(") == std::string_view::npos;
  }

  std::uint64_t last_line_ = 0;
};

}  // namespace aplomb::log_text
