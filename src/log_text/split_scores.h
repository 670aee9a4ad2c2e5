#pragma once
/// SplitScores: what a program prints of other data than the held-out ones of its training, in a line
/// behind the last of those.
///
///     epoch 30 | train rmse 0.2035 | val rmse 0.2818      the held-out data of training
///     TEST rmse 0.4669   persistence 0.6232               other data: 1.66 times as far off
///     scoring next quarter: bce=1.9340 auc=0.6419         behind `valid_auc=1.0000`
///     │ mse/holdout │ 0.34 │                              a row of a table that is drawn
///
/// Keeps the last line of held-out scores and the first lines behind it; they are read at the end, so
/// that a line costs two searches. One event, `score-elsewhere`, for the measure that lost most
/// (`name_text`, `held_out`, `elsewhere`, `is_loss`), where it lost more than other data explain.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::log_text {

class SplitScores {
 public:
  /// Any line, as it was printed.
  void line(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  struct Place {
    std::string text;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
  };

  std::uint64_t held_out_lines_ = 0;
  Place held_out_;            ///< the last line of held-out scores
  std::vector<Place> after_;  ///< lines with numbers behind it
};

}  // namespace aplomb::log_text
