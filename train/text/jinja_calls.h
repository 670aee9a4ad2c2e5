#pragma once
/// Filters, tests, methods and functions of the Jinja interpreter.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/text/jinja_value.h"

namespace aplomb::train::text::jinja {

/// Jinja would allow it; no template needs it, and without it no value can contain itself.
inline constexpr std::string_view k_nested_namespace = "a namespace cannot hold a namespace";

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument `name`, which is the `place`-th by position.
  const Value* get(std::size_t place, std::string_view name) const;
  std::string text(std::size_t place, std::string_view name, std::string_view fallback) const;
};

/// What a call came to; `error` where it could not be done. Nothing at all: there is none of that
/// name.
struct Outcome {
  Value value;
  std::string error;
};

std::optional<Outcome> apply_filter(std::string_view name, const Value& value,
                                    const Arguments& arguments);
std::optional<Outcome> apply_test(std::string_view name, const Value& value,
                                  const Arguments& arguments);
std::optional<Outcome> call_method(const Value& object, std::string_view name,
                                   const Arguments& arguments);
std::optional<Outcome> call_builtin(std::string_view name, const Arguments& arguments);
bool is_builtin(std::string_view name);

/// The elements of a list, the keys of a mapping, the characters of a text; nothing for the rest.
std::optional<List> elements_of(const Value& value);

}  // namespace aplomb::train::text::jinja
