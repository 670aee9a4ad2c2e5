#include "detectors/support.h"

#include <fmt/format.h>

namespace aplomb::detectors {

std::string at_step(const RunContext& context, std::int64_t step) {
  return fmt::format("{} {}", context.step_word(), step);
}

std::string over_steps(const RunContext& context, std::int64_t first, std::int64_t last) {
  if (first == last) return at_step(context, first);
  return fmt::format("{}s {} to {}", context.step_word(), first, last);
}

std::string percent(double share) {
  const double value = 100 * share;
  return value > 0 && value < 1 ? fmt::format("{:.1f} %", value) : fmt::format("{:.0f} %", value);
}

std::string series_name(const RunContext& context, const Reading& reading,
                        std::string_view fallback) {
  if (reading.series < context.series_names.size()) return context.series_names[reading.series];
  return std::string(fallback);
}

void add_evidence(Symptom& symptom, const record::Origin& origin) {
  constexpr std::size_t k_most = 8;
  if (symptom.evidence.size() < k_most) {
    symptom.evidence.push_back(origin);
  } else {
    symptom.evidence.back() = origin;
  }
}

Symptom withdrawal(std::string_view id, std::string_view series) {
  Symptom symptom;
  symptom.id = std::string(id);
  symptom.series = std::string(series);
  return symptom;
}

}  // namespace aplomb::detectors
