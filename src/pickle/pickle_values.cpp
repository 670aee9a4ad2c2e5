// The opcodes that make plain values and containers: numbers, texts, bytes, lists, tuples, dicts.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "core/text.h"
#include "core/utf8.h"
#include "pickle/pickle_machine.h"

namespace aplomb::pickle {
namespace {

/// Python's `raw-unicode-escape`: `\u20ac` and `\U0001f600`; all other bytes are Latin-1.
std::string unescape_unicode(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const bool escape = raw[i] == '\\' && i + 1 < raw.size();
    const std::size_t digits = !escape ? 0 : raw[i + 1] == 'u' ? 4 : raw[i + 1] == 'U' ? 8 : 0;
    std::uint32_t code = static_cast<unsigned char>(raw[i]);
    if (digits > 0 && i + 1 + digits < raw.size()) {
      const char* begin = raw.data() + i + 2;
      std::uint32_t parsed = 0;
      if (std::from_chars(begin, begin + digits, parsed, 16).ptr == begin + digits) {
        code = parsed;
        i += 1 + digits;
      }
    }
    core::append_utf8(out, code);
  }
  return out;
}

/// Up to three octal digits from `at` on; gives the place of the last one.
std::size_t append_octal(std::string& out, std::string_view raw, std::size_t at) {
  std::uint32_t code = 0;
  std::size_t end = at;
  while (end < std::min(at + 3, raw.size()) && raw[end] >= '0' && raw[end] <= '7')
    code = code * 8 + static_cast<std::uint32_t>(raw[end++] - '0');
  core::append_utf8(out, code & 0xFFU);
  return end - 1;
}

/// Python's escapes of protocol 0: `\n`, `\x41`, `\101`, `\\`.
std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    const char kind = raw[++i];
    if (kind >= '0' && kind <= '7') {
      i = append_octal(out, raw, i);
      continue;
    }
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits > 0 && i + digits < raw.size()) {
      std::uint32_t code = 0;
      const char* begin = raw.data() + i + 1;
      if (std::from_chars(begin, begin + digits, code, 16).ptr == begin + digits) {
        core::append_utf8(out, code);
        i += digits;
        continue;
      }
    }
    constexpr std::string_view k_short = "ntrabfv";
    const std::size_t which = k_short.find(kind);
    out += which == std::string_view::npos ? kind : "\n\t\r\a\b\f\v"[which];
  }
  return out;
}

}  // namespace

void Machine::push_text(PickleKind kind, std::string_view value) {
  PickleNode made;
  made.kind = kind;
  made.text = value;
  push(std::move(made));
}

void Machine::push_long(std::string_view raw) {
  if (raw.size() > 8) return push_text(PickleKind::bytes, raw);
  PickleNode made;
  made.kind = PickleKind::integer;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8U * i);
  }
  const bool negative = !raw.empty() && (static_cast<unsigned char>(raw.back()) & 0x80U) != 0;
  if (negative && raw.size() < 8) value |= ~std::uint64_t{0} << (8U * raw.size());
  made.number = static_cast<std::int64_t>(value);
  push(std::move(made));
}

void Machine::push_line_number(bool is_long) {
  std::string_view digits = line();
  PickleNode made;
  if (!is_long && (digits == "00" || digits == "01")) {
    made.kind = PickleKind::boolean;
    made.number = digits == "01" ? 1 : 0;
    push(std::move(made));
    return;
  }
  if (!digits.empty() && digits.back() == 'L') digits.remove_suffix(1);
  made.kind = PickleKind::integer;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, made.number);
  if (parsed.ec == std::errc::result_out_of_range) return push_text(PickleKind::text, digits);
  if (parsed.ec != std::errc() || parsed.ptr != end) return broken("a number that is none");
  push(std::move(made));
}

void Machine::push_quoted() {
  std::string_view raw = line();
  if (raw.size() < 2 || raw.front() != raw.back() || (raw.front() != '\'' && raw.front() != '"')) {
    return broken("a string without quotes");
  }
  raw = raw.substr(1, raw.size() - 2);
  push_text(PickleKind::text, document_.owned.emplace_back(unescape(raw)));
}

bool Machine::number(unsigned char code) {
  PickleNode made;
  made.kind = PickleKind::integer;
  switch (code) {
    case 'N':
      push_id(0);  // node 0 is None
      return true;
    case 0x88:
    case 0x89:
      made.kind = PickleKind::boolean;
      made.number = code == 0x88 ? 1 : 0;
      push_shared(booleans_[code == 0x88 ? 1 : 0], std::move(made));
      return true;
    case 'J':
      made.number = static_cast<std::int32_t>(little(4));
      break;
    case 'K': {
      const std::uint64_t value = little(1);
      made.number = static_cast<std::int64_t>(value);
      push_shared(small_[value], std::move(made));
      return true;
    }
    case 'M':
      made.number = static_cast<std::int64_t>(little(2));
      break;
    case 'G': {
      const std::uint64_t bits = little(8);
      made.set_real(std::bit_cast<double>(__builtin_bswap64(bits)));
      break;
    }
    case 'F': {
      const auto parsed = core::parse_number(line());
      if (!parsed) broken("a number that is none");
      made.set_real(parsed.value_or(0));
      break;
    }
    case 'I':
    case 'L':
      push_line_number(code == 'L');
      return true;
    case 0x8a:
      push_long(take(little(1)));
      return true;
    case 0x8b:
      push_long(take(little(4)));
      return true;
    default:
      return false;
  }
  push(std::move(made));
  return true;
}

bool Machine::text(unsigned char code) {
  switch (code) {
    case 'S':
      push_quoted();
      return true;
    case 'V':
      push_text(PickleKind::text, document_.owned.emplace_back(unescape_unicode(line())));
      return true;
    case 'T':
      push_text(PickleKind::text, take(little(4)));
      return true;
    case 'U':
    case 0x8c:
      push_text(PickleKind::text, take(little(1)));
      return true;
    case 'X':
      push_text(PickleKind::text, take(little(4)));
      return true;
    case 0x8d:
      push_text(PickleKind::text, take(little(8)));
      return true;
    case 'B':
      push_text(PickleKind::bytes, take(little(4)));
      return true;
    case 'C':
      push_text(PickleKind::bytes, take(little(1)));
      return true;
    case 0x8e:
    case 0x96:
      push_text(PickleKind::bytes, take(little(8)));
      return true;
    case 0x97:  // NEXT_BUFFER: bytes that travel outside the pickle
      push_text(PickleKind::bytes, {});
      return true;
    case 0x98:  // READONLY_BUFFER
      return true;
    default:
      return false;
  }
}

void Machine::make_sequence(PickleKind kind, std::vector<NodeId> items) {
  used_.held += items.size();
  if (used_.held > k_most_items) return broken(fmt::format("more than {} items", k_most_items));
  PickleNode made;
  made.kind = kind;
  made.items = std::move(items);
  push(std::move(made));
}

bool Machine::container(unsigned char code) {
  switch (code) {
    case ']':
      make_sequence(PickleKind::list, {});
      return true;
    case ')':
      make_sequence(PickleKind::tuple, {});
      return true;
    case '}':
      make_sequence(PickleKind::dict, {});
      return true;
    case 0x8f:
      make_sequence(PickleKind::set, {});
      return true;
    case 'l':
      make_sequence(PickleKind::list, pop_mark());
      return true;
    case 't':
      make_sequence(PickleKind::tuple, pop_mark());
      return true;
    case 'd':
      make_sequence(PickleKind::dict, pop_mark());
      return true;
    case 0x91:
      make_sequence(PickleKind::set, pop_mark());
      return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<NodeId> items(static_cast<std::size_t>(code - 0x84));
      for (std::size_t i = items.size(); i-- > 0;) items[i] = pop();
      make_sequence(PickleKind::tuple, std::move(items));
      return true;
    }
    default:
      return false;
  }
}

void Machine::extend(NodeId target, const std::vector<NodeId>& items, unsigned char code) {
  judge_items(target, items, code);
  PickleNode& to = node(target);
  const bool takes = to.kind == PickleKind::list || to.kind == PickleKind::dict ||
                     to.kind == PickleKind::set || to.kind == PickleKind::object;
  if (!takes) return;
  used_.held += items.size();
  if (used_.held > k_most_items) return broken(fmt::format("more than {} items", k_most_items));
  to.items.insert(to.items.end(), items.begin(), items.end());
}

bool Machine::container_add(unsigned char code) {
  switch (code) {
    case 'a': {
      const NodeId item = pop();
      extend(top(), {item}, code);
      return true;
    }
    case 's': {
      const NodeId value = pop();
      const NodeId key = pop();
      extend(top(), {key, value}, code);
      return true;
    }
    case 'e':
    case 'u':
    case 0x90: {
      const std::vector<NodeId> items = pop_mark();
      if (code == 'u' && items.size() % 2 != 0) broken("a key without a value");
      extend(top(), items, code);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace aplomb::pickle
