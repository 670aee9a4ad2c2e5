#include "core/utf8.h"

namespace aplomb::core {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&out, code](unsigned shift) {
    out.push_back(static_cast<char>(0x80U | ((code >> shift) & 0x3FU)));
  };
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xC0U | (code >> 6U)));
    tail(0);
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | (code >> 12U)));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0U | ((code >> 18U) & 0x07U)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace aplomb::core
