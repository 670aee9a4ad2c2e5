#pragma once
#include <string_view>

namespace aplomb::core {

/// How much a symptom, an event or a defect matters. `note` never changes the verdict.
enum class Severity { note, warning, unstable, failed };

constexpr std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::unstable:
      return "unstable";
    case Severity::failed:
      return "failed";
  }
  return "note";
}

}  // namespace aplomb::core
