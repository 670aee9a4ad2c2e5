#pragma once
/// BaselineLines: what a program prints of a solution that needs no training, to compare with.
///
///     mean-image baseline mse on val: 0.0740
///     seasonal naive mae 0.136
///     baseline order-up-to-32 policy: ep_return 100.41
///     majority class accuracy = 0.612
///
/// An event `baseline-printed` for each of the first few, with `value` and `name_text` (the measure: `mse`).
/// O(1) memory.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::log_samples {

class BaselineLines {
 public:
  void line(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  struct Baseline {
    std::string text;
    std::string name;
    double value = 0;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
  };
  std::vector<Baseline> found_;
};

}  // namespace aplomb::log_samples
