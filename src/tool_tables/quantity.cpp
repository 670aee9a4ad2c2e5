#include "tool_tables/quantity.h"

#include <array>
#include <string>

#include "core/text.h"

namespace aplomb::tool_tables {
namespace {

struct Unit {
  std::string_view name;
  double scale;
};

constexpr double k_kib = 1024.0;
constexpr std::array<Unit, 28> k_units = {{
    {"b", 1},
    {"byte", 1},
    {"bytes", 1},
    {"kb", k_kib},
    {"kib", k_kib},
    {"k", k_kib},
    {"mb", 1048576.0},
    {"mib", 1048576.0},
    {"m", 1048576.0},
    {"gb", 1073741824.0},
    {"gib", 1073741824.0},
    {"g", 1073741824.0},
    {"tb", 1099511627776.0},
    {"tib", 1099511627776.0},
    {"s", 1},
    {"sec", 1},
    {"secs", 1},
    {"second", 1},
    {"seconds", 1},
    {"ms", 1e-3},
    {"us", 1e-6},
    {"\xC2\xB5s", 1e-6},
    {"ns", 1e-9},
    {"min", 60},
    {"minutes", 60},
    {"h", 3600},
    {"hours", 3600},
    {"%", 1},
}};

}  // namespace

std::optional<double> parse_quantity(std::string_view text) {
  text = core::trim(text);
  const core::NumberPrefix number = core::parse_number_prefix(text);
  if (number.size == 0) return std::nullopt;
  const std::string_view rest = core::trim(text.substr(number.size));
  if (rest.empty()) return number.value;
  for (const Unit& unit : k_units) {
    if (core::iequals(rest, unit.name)) return number.value * unit.scale;
  }
  return std::nullopt;
}

core::Value caught_value(std::string_view name, std::string_view text) {
  constexpr std::string_view k_as_text = "_text";
  const bool keep =
      name.size() > k_as_text.size() && name.substr(name.size() - k_as_text.size()) == k_as_text;
  if (!keep) {
    if (const auto number = parse_quantity(text)) return *number;
  }
  return core::sanitize(core::trim(text).substr(0, 200));
}

}  // namespace aplomb::tool_tables
