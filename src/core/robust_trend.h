#pragma once
/// RobustTrend: where a noisy series stands now and how far a new sample is from there, in units of
/// the series' own noise. One outlier, a burst of them, a step to a new level or a change of the
/// noise does not poison it:
///
/// - level = median of the last 32 accepted samples; noise = quartile spread of the last 256
/// one-step residuals, so a
///   steady fall of the loss does not count as noise;
/// - a sample further than k_outlier from the level is judged and then kept out of both windows;
/// - 12 outliers in a row on one side are no outliers but a new level: the level window starts
/// again from them.
///
/// (OLMo-core's rule enters the spike into its deviation and so misses the next one; a NaN in its
/// window skips 129 steps; an EMA never forgets a NaN. Here none of them enters.)
///
/// Input: finite samples only. Memory: 5 KB. Cost: about 60 ns a sample.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/robust_window.h"

namespace aplomb::core {

struct TrendJudgement {
  bool judged = false;   ///< false in the first k_warmup samples: level and noise are not yet known
  double level = 0;      ///< before this sample
  double noise = 0;      ///< sigma of the residuals, > 0
  double z = 0;          ///< (sample - level) / noise, drift of the series allowed for
  bool outlier = false;  ///< kept out of the statistics
  bool shifted = false;  ///< this sample completed a step to a new level
};

class RobustTrend {
 public:
  static constexpr std::size_t k_warmup = 8;
  static constexpr double k_outlier =
      6.0;  ///< sigma; the customary 6-sigma rule (OLMo-core, SkipStep)
  static constexpr std::size_t k_shift_run =
      12;  ///< more than any spike of single bad batches lasts

  TrendJudgement update(double sample);

  double level() const { return level_.median(); }
  /// Never 0: floored at 1e-4 of the level, below which printed digits end.
  double noise() const;
  std::uint64_t accepted() const { return accepted_; }

  void serialize(StateArchive& archive);

 private:
  void accept(double sample, double level);
  bool note_outlier(double sample, bool above);

  SortedWindow<32> level_;
  SortedWindow<256> residual_;
  std::array<double, k_shift_run> pending_{};
  std::size_t pending_size_ = 0;
  bool pending_above_ = false;
  std::uint64_t accepted_ = 0;
};

}  // namespace aplomb::core
