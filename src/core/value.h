#pragma once
/// Value: what a Setting, a Fact or a caught part of an error message holds: a truth, a number or a
/// text.

#include <cmath>
#include <string>
#include <variant>

namespace aplomb::core {

using Value = std::variant<bool, double, std::string>;

inline bool is_true(const Value& value) {
  const auto* flag = std::get_if<bool>(&value);
  return flag != nullptr && *flag;
}
inline const double* as_number(const Value& value) { return std::get_if<double>(&value); }
inline const std::string* as_text(const Value& value) { return std::get_if<std::string>(&value); }

/// The value for people and for JSON text: `true`, `0.0002`, `bf16`.
std::string show(const Value& value);

}  // namespace aplomb::core
