#pragma once
/// What an Event's pattern caught, by name, for facts that compare events over ranks.

#include <optional>
#include <string>

#include "core/value.h"
#include "record/run.h"

namespace aplomb::diagnosis {

/// Nothing where nothing of that name was caught, or no number.
inline std::optional<double> caught(const record::Event& event, const char* name) {
  const auto found = event.caught.find(name);
  const double* value = found == event.caught.end() ? nullptr : core::as_number(found->second);
  return value == nullptr ? std::nullopt : std::optional<double>(*value);
}

/// -1 where nothing of that name was caught, or no number: counts and sizes are never negative.
inline double caught_number(const record::Event& event, const char* name) {
  return caught(event, name).value_or(-1);
}

/// Empty where nothing of that name was caught.
inline std::string caught_text(const record::Event& event, const char* name) {
  const auto found = event.caught.find(name);
  return found == event.caught.end() ? std::string() : core::show(found->second);
}

}  // namespace aplomb::diagnosis
