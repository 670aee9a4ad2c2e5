#pragma once
/// CheckpointLines: a checkpoint that is loaded while newer ones were saved before.
///
///     step 1200 val loss 2.0201, saved ckpt/step_1200
///     ...
///     loaded ckpt/step_900
///
/// One event `older-checkpoint-loaded`, with `loaded` and `newest`; names without a number, and the best or averaged
/// ones, are chosen for another reason. O(1) memory.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::log_samples {

class CheckpointLines {
 public:
  void line(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  struct Saved {
    std::string stem;  ///< the name without its number: `ckpt/step_`
    double newest = 0;
  };
  std::vector<Saved> saved_;
  std::string text_;  ///< of the line that loads an older one; empty: none
  double loaded_ = 0;
  double newest_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace aplomb::log_samples
