#pragma once
/// BestEvaluation: the held-out losses of a run as far as anything is decided by them: the first,
/// the last, the best with its step, and how long ago that was.

#include <cmath>
#include <cstdint>
#include <optional>

namespace aplomb::train::loop {

class BestEvaluation {
 public:
  /// Of the model after `step` steps. A loss that is not finite is never the best.
  void note(std::int64_t step, double loss) {
    note_earlier(step, loss);
    ++since_best_;
    if (!std::isfinite(loss) || (best_step_ >= 0 && loss >= best_loss_)) return;
    best_loss_ = loss;
    best_step_ = step;
    since_best_ = 0;
  }
  /// One that stands in the journal of a run that is resumed: what was best comes from restore().
  void note_earlier(std::int64_t step, double loss) {
    if (!first_) first_ = loss;
    last_ = loss;
    last_step_ = step;
  }
  void restore(std::int64_t best_step, double best_loss, std::int64_t since_best) {
    best_step_ = best_step;
    best_loss_ = best_loss;
    since_best_ = since_best;
  }
  /// The run went back to `step`: what was best behind it is gone.
  void roll_back(std::int64_t step) {
    if (best_step_ > step) best_step_ = -1;
  }

  std::int64_t best_step() const { return best_step_; }  ///< -1: none
  double best_loss() const { return best_loss_; }
  std::int64_t since_best() const { return since_best_; }  ///< evaluations that were no better
  std::int64_t last_step() const { return last_step_; }    ///< of the latest evaluation; -1: none
  std::optional<double> first() const { return first_; }
  std::optional<double> last() const { return last_; }

 private:
  std::int64_t best_step_ = -1;
  double best_loss_ = 0;
  std::int64_t since_best_ = 0;
  std::int64_t last_step_ = -1;
  std::optional<double> first_, last_;
};

}  // namespace aplomb::train::loop
