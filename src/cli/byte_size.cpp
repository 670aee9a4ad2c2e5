#include "cli/byte_size.h"

#include <string>

#include "core/text.h"

namespace aplomb::cli {

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  const core::NumberPrefix number = core::parse_number_prefix(text);
  if (number.size == 0 || !(number.value >= 0 && number.value <= 9e15)) return std::nullopt;
  std::string unit = core::lower(text.substr(number.size));
  for (const std::string_view tail : {"ib", "b"}) {
    if (!unit.ends_with(tail)) continue;
    unit.resize(unit.size() - tail.size());
    break;
  }
  constexpr std::string_view k_units = "kmgt";
  double factor = 1;
  if (!unit.empty()) {
    const std::size_t power = k_units.find(unit[0]);
    if (unit.size() > 1 || power == std::string_view::npos) return std::nullopt;
    for (std::size_t i = 0; i <= power; ++i) factor *= 1024;
  }
  if (number.value * factor > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(number.value * factor);
}

}  // namespace aplomb::cli
