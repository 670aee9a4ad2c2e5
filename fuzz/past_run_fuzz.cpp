/// Fuzzes what the store's process is told by one that has read hostile files: a run as JSON. What is taken is bounded, and
/// is the same when it is written and read again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "store/past_run.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Json = nlohmann::ordered_json;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return 0;
  const auto run = aplomb::store::past_run_from(value);
  if (!run) return 0;
  for (const auto& each : run->series) {
    if (each.chart.size() > aplomb::store::PastSeries::k_most_points) std::abort();
  }
  const auto again = aplomb::store::past_run_from(aplomb::store::json_of(*run));
  if (!again || again->series.size() != run->series.size() ||
      again->causes.size() != run->causes.size())
    std::abort();
  return 0;
}
