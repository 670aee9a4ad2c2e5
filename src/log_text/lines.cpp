#include "log_text/lines.h"

#include <algorithm>
#include <cstring>

#include "core/utf8.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_none = std::string_view::npos;
constexpr char k_escape = '\x1b';

std::size_t find_byte(std::string_view text, char byte, std::size_t from) {
  if (from >= text.size()) return k_none;
  const void* hit = std::memchr(text.data() + from, byte, text.size() - from);
  return hit == nullptr ? k_none
                        : static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
}

/// Where the escape sequence at `text[at]` ends (one past it).
std::size_t end_of_escape(std::string_view text, std::size_t at) {
  std::size_t i = at + 1;
  if (i >= text.size()) return i;
  if (text[i] == '[') {  // CSI: parameters, then one final byte 0x40..0x7E
    for (++i; i < text.size(); ++i) {
      if (text[i] >= '@' && text[i] <= '~') return i + 1;
    }
    return i;
  }
  if (text[i] == ']') {  // OSC: up to BEL or ESC backslash
    for (++i; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == k_escape) return std::min(i + 2, text.size());
    }
    return i;
  }
  return i + 1;
}

}  // namespace

void strip_terminal_codes(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == k_escape) {
      i = end_of_escape(text, i);
    } else if (text[i] == '\b') {
      // Keras of old draws its bar anew after as many backspaces: only what follows is seen.
      std::size_t run = 0;
      while (i < text.size() && text[i] == '\b') {
        ++run;
        ++i;
      }
      out.resize(out.size() - std::min(run, out.size()));
    } else {
      out.push_back(text[i++]);
    }
  }
}

void Utf16Decoder::decode(std::string_view part, std::string& out) {
  std::size_t i = 0;
  if (odd_ && !part.empty()) {
    const auto second = static_cast<unsigned char>(part[i++]);
    const unsigned first = *odd_;
    odd_.reset();
    put(big_endian_ ? (first << 8U | second) : (static_cast<unsigned>(second) << 8U | first), out);
  }
  for (; i + 1 < part.size(); i += 2) {
    const unsigned a = static_cast<unsigned char>(part[i]);
    const unsigned b = static_cast<unsigned char>(part[i + 1]);
    put(big_endian_ ? (a << 8U | b) : (b << 8U | a), out);
  }
  if (i < part.size()) odd_ = static_cast<unsigned char>(part[i]);
}

void Utf16Decoder::put(std::uint32_t unit, std::string& out) {
  if (unit >= 0xD800 && unit < 0xDC00) {
    high_ = unit;
    return;
  }
  std::uint32_t code = unit;
  if (unit >= 0xDC00 && unit < 0xE000) {
    code = high_ != 0 ? 0x10000 + ((high_ - 0xD800) << 10U) + (unit - 0xDC00) : 0xFFFD;
  }
  high_ = 0;
  if (code == 0xFEFF) return;  // byte order mark
  core::append_utf8(out, code);
}

/// Byte order marks, UTF-16 without one (every second byte of English is NUL), and how much of the
/// head is no text at all.
void LineSplitter::look_at_head() {
  const std::string_view head = part_.substr(0, std::min<std::size_t>(part_.size(), 4096));
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) {
    utf16_.emplace(head[0] == '\xFE');
    return;
  }
  if (head.starts_with("\xEF\xBB\xBF")) at_ = 3;
  std::size_t nul[2] = {0, 0};
  std::size_t control = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    const auto byte = static_cast<unsigned char>(head[i]);
    if (byte == 0) ++nul[i % 2];
    if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t' && byte != '\b' &&
        byte != 0x1b && byte != '\f' && byte != '\a') {
      ++control;
    }
  }
  const std::size_t half = head.size() / 2;
  if (half >= 8 && std::max(nul[0], nul[1]) > half * 7 / 10 &&
      std::min(nul[0], nul[1]) < half / 10) {
    utf16_.emplace(nul[0] > nul[1]);
  } else if (!head.empty()) {
    control_frac_ = static_cast<double>(control) / static_cast<double>(head.size());
  }
}

/// Parts that are left out begin and end where lines do.
void LineSplitter::leap(const input::Gap& gap) {
  part_offset_ += gap.bytes;
  number_ = gap.lines + (gap.inside ? 1 : 0);
  line_open_ = gap.inside;
  gap_ = gap;
}

bool LineSplitter::load() {
  part_offset_ += part_bytes_;
  part_ = bytes_.next();
  if (const input::Gap gap = bytes_.gap(); gap.bytes > 0 && !part_.empty()) leap(gap);
  part_bytes_ = part_.size();
  at_ = 0;
  if (part_.empty()) return false;
  if (!started_) {
    started_ = true;
    look_at_head();
  }
  if (utf16_) {
    decoded_.clear();
    utf16_->decode(part_, decoded_);
    part_ = decoded_;
  }
  has_cr_ = find_byte(part_, '\r', 0) != k_none;
  has_escape_ = find_byte(part_, k_escape, 0) != k_none || find_byte(part_, '\b', 0) != k_none;
  next_newline_ = at_;
  next_cr_ = at_;
  if (next_newline_ < part_.size() && part_[next_newline_] != '\n') {
    next_newline_ = find_byte(part_, '\n', at_);
  }
  next_cr_ = has_cr_ ? find_byte(part_, '\r', at_) : k_none;
  return true;
}

/// The next `\n` or `\r` at or after `from`; npos where the part holds none. Each byte is looked at
/// once.
std::size_t LineSplitter::find_end(std::size_t from) {
  if (next_newline_ != k_none && next_newline_ < from) next_newline_ = find_byte(part_, '\n', from);
  if (!has_cr_) return next_newline_;
  if (next_cr_ != k_none && next_cr_ < from) next_cr_ = find_byte(part_, '\r', from);
  return std::min(next_newline_, next_cr_);
}

void LineSplitter::carry(std::string_view piece) {
  if (!carrying_) {
    carrying_ = true;
    carry_overflow_ = false;
    carry_.clear();
    carry_offset_ = part_offset_ + (utf16_ ? 2 * at_ : at_);
  }
  const std::size_t room = k_max_line_bytes - carry_.size();
  carry_.append(piece.substr(0, room));
  if (piece.size() > room && !carry_overflow_) {
    carry_overflow_ = true;
    if (too_long_++ == 0) first_too_long_offset_ = carry_offset_;
  }
}

std::string_view LineSplitter::clean(std::string_view text) {
  if (text.size() > k_max_line_bytes) {
    if (too_long_++ == 0) first_too_long_offset_ = part_offset_ + at_;
    text = text.substr(0, k_max_line_bytes);
  }
  if (!has_escape_) return text;
  const bool dirty = find_byte(text, k_escape, 0) != k_none || find_byte(text, '\b', 0) != k_none;
  if (!dirty) return text;
  strip_terminal_codes(text, cleaned_);
  return cleaned_;
}

/// What stands behind the last line end.
bool LineSplitter::rest(Line& line, bool has_escape) {
  if (!carrying_) return false;
  carrying_ = false;
  has_escape_ = has_escape;
  if (!line_open_) ++number_;
  line = {clean(carry_), number_, carry_offset_, false};
  return true;
}

bool LineSplitter::next(Line& line) {
  while (true) {
    if (at_ >= part_.size()) {
      const bool escapes_before = has_escape_;
      if (!load()) return rest(line, escapes_before);
      has_escape_ = has_escape_ || (carrying_ && escapes_before);
      continue;
    }
    const std::size_t end = find_end(at_);
    if (end == k_none) {
      carry(part_.substr(at_));
      at_ = part_.size();
      continue;
    }
    const bool goes_on = line_open_;
    if (!goes_on) ++number_;
    line_open_ = part_[end] != '\n';  // after a lone `\r` the next piece is of the same line
    line.number = number_;
    line.whole = true;
    if (carrying_) {
      carry(part_.substr(at_, end - at_));
      carrying_ = false;
      line.text = clean(carry_);
      line.offset = carry_offset_;
    } else {
      line.text = clean(part_.substr(at_, end - at_));
      line.offset = part_offset_ + (utf16_ ? 2 * at_ : at_);
    }
    at_ = end + 1;
    // The `\n` of a `\r\n` closes the line and is no line of its own.
    if (!line.text.empty() || !(goes_on || line_open_)) return true;
  }
}

}  // namespace aplomb::log_text
