#include "core/value.h"

#include "core/text.h"

namespace aplomb::core {

std::string show(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return show_number(*number, 6);
  return std::get<std::string>(value);
}

}  // namespace aplomb::core
