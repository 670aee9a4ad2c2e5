#include "knowledge/written_value.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/text.h"

namespace aplomb::knowledge {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (core::iequals(text, word)) return true;
  }
  return false;
}

/// `number` times the factor of the unit that follows it; nothing where the unit is not in the
/// table.
template <std::size_t N>
std::optional<double> with_unit(std::string_view text,
                                const std::pair<std::string_view, double> (&units)[N]) {
  const core::NumberPrefix head = core::parse_number_prefix(text);
  if (head.size == 0) return std::nullopt;
  const std::string_view unit = core::trim(text.substr(head.size));
  for (const auto& [name, factor] : units) {
    if (core::iequals(unit, name)) return head.value * factor;
  }
  return std::nullopt;
}

constexpr std::pair<std::string_view, double> k_time_units[] = {
    {"", 1},         {"s", 1},        {"sec", 1},
    {"seconds", 1},  {"ms", 1e-3},    {"milliseconds", 1e-3},
    {"min", 60},     {"m", 60},       {"minutes", 60},
    {"minute", 60},  {"h", 3600},     {"hour", 3600},
    {"hours", 3600}, {"days", 86400}, {"day", 86400},
};

/// `h:mm:ss` as Python prints a timedelta.
std::optional<double> clock_seconds(std::string_view text) {
  double seconds = 0;
  int fields = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    const auto field = core::parse_number(text.substr(0, colon));
    if (!field || *field < 0 || ++fields > 3) return std::nullopt;
    seconds = seconds * 60 + *field;
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  return fields == 3 ? std::optional(seconds) : std::nullopt;
}

}  // namespace

std::string_view unquote(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '"' || text.front() == '\'' || text.front() == '`');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

bool is_yes(std::string_view text) { return one_of(text, {"true", "yes", "on", "1", "enabled"}); }
bool is_no(std::string_view text) { return one_of(text, {"false", "no", "off", "0", "disabled"}); }

bool says_nothing(std::string_view text) {
  return text.empty() ||
         one_of(text, {"auto", "null", "none", "~", "???", "undefined", "...", "required"}) ||
         text.find("${") != std::string_view::npos;
}

std::optional<double> written_number(std::string_view text) {
  if (const auto plain = core::parse_number(text)) return plain;
  if (!text.empty() && text.back() == '%') {
    const auto share = core::parse_number(core::trim(text.substr(0, text.size() - 1)));
    return share ? std::optional(*share / 100) : std::nullopt;
  }
  core::NumberPrefix head = core::parse_number_prefix(text);
  if (head.size == 0) return std::nullopt;
  double value = head.value;
  text = core::trim(text.substr(head.size));
  while (!text.empty()) {
    const bool power = text.substr(0, 2) == "**";
    const char sign = text.front();
    if (sign != '*' && sign != '/') return std::nullopt;
    text = core::trim(text.substr(power ? 2 : 1));
    head = core::parse_number_prefix(text);
    if (head.size == 0) return std::nullopt;
    value = power         ? std::pow(value, head.value)
            : sign == '*' ? value * head.value
                          : value / head.value;
    text = core::trim(text.substr(head.size));
  }
  return value;
}

std::optional<double> written_count(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ',') digits += c;
  }
  if (const auto plain = written_number(digits)) {
    return *plain >= 0 && *plain == std::floor(*plain) ? plain : std::nullopt;
  }
  static constexpr std::pair<std::string_view, double> k_suffixes[] = {
      {"K", 1e3},       {"M", 1e6},       {"B", 1e9},   {"G", 1e9},  {"T", 1e12},
      {"million", 1e6}, {"billion", 1e9}, {"steps", 1}, {"step", 1}, {"tokens", 1},
      {"samples", 1},   {"images", 1},    {"epochs", 1}};
  return with_unit(digits, k_suffixes);
}

std::optional<double> written_bytes(std::string_view text) {
  static constexpr double k_kib = 1024;
  static constexpr double k_mib = k_kib * 1024;
  static constexpr double k_gib = k_mib * 1024;
  static constexpr std::pair<std::string_view, double> k_units[] = {
      {"", 1},        {"B", 1},       {"KB", k_kib},        {"KiB", k_kib},
      {"MB", k_mib},  {"MiB", k_mib}, {"M", k_mib},         {"GB", k_gib},
      {"GiB", k_gib}, {"G", k_gib},   {"TB", k_gib * 1024}, {"TiB", k_gib * 1024}};
  return with_unit(text, k_units);
}

std::optional<double> written_seconds(std::string_view text) {
  if (const auto plain = with_unit(text, k_time_units)) return plain;
  if (const auto clock = clock_seconds(text)) return clock;
  const std::size_t open = text.find("timedelta(");
  if (open == std::string_view::npos || text.back() != ')') return std::nullopt;
  const std::string_view inside = text.substr(open + 10, text.size() - open - 11);
  const std::size_t equals = inside.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const auto amount = written_number(core::trim(inside.substr(equals + 1)));
  if (!amount) return std::nullopt;
  for (const auto& [name, factor] : k_time_units) {
    if (core::iequals(core::trim(inside.substr(0, equals)), name)) return *amount * factor;
  }
  return std::nullopt;
}

std::string_view written_version(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string_view head = text.substr(0, text.find_first_of(" ,;|()\t"));
  const bool marked = head.size() > 1 && (head[0] == 'v' || head[0] == 'V') && is_digit(head[1]);
  if (marked) head.remove_prefix(1);
  return !head.empty() && is_digit(head[0]) && head.size() <= 60 ? head : std::string_view();
}

}  // namespace aplomb::knowledge
