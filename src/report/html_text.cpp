#include "report/html_text.h"

#include <fmt/format.h>

#include "core/text.h"

namespace aplomb::report {

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : core::sanitize_lines(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string escape_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string prose(std::string_view text) {
  const std::string safe = escape(text);
  std::string out;
  bool code = false;
  for (std::size_t at = 0; at < safe.size(); ++at) {
    const bool paired = safe[at] == '`' && (code || safe.find('`', at + 1) != std::string::npos);
    if (!paired) {
      out += safe[at];
      continue;
    }
    out += code ? "</code>" : "<code>";
    code = !code;
  }
  return out;
}

}  // namespace aplomb::report
