#pragma once
/// ScoreLines: scores that a program prints in words of its own, outside its records of training.
///
///     exact match before training: 0.000          [judge] step 20 mean score 2.50/10  e.g. [...]
///     exact match after training: 0.000           after adapting:  ppl major 4.050 minor 8.647
///     12/200 right                                samples: mmd 0.3086  |x| mean 11.65
///
/// What such a score did beside a loss that falls is told by one event a kind: `score-none` (it is 0
/// whenever it is printed), `score-worse` (it ends worse than it began), `score-unmoved` (it ends where it
/// began, far from its best). `name`, `first`, `last` and `count` are caught. O(1) memory: the first names,
/// and of each its first, best and last value.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"
#include "record/score_course.h"

namespace aplomb::log_text {

class ScoreLines {
 public:
  static constexpr std::size_t k_most_scores = 32;

  /// A line that holds no record of training.
  void line(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  struct Place {
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    std::string text;
  };
  struct Score {
    std::string name;
    record::ScoreCourse course;
    Place place;  ///< of the last one
  };

  void note(std::string name, bool more_is_better, bool share, double value, bool ends,
            const Place& place);

  std::vector<Score> scores_;
};

}  // namespace aplomb::log_text
