#pragma once
/// Guard: judges every optimizer step of a running training before it is taken.
///
///     aplomb::Guard guard({.max_norm = 1.0});
///     ... forward, backward ...
///     aplomb::GuardVerdict verdict = guard.step({.step = n, .loss = loss, .groups = statistics});
///     if (verdict.action == aplomb::GuardAction::clip) multiply the gradients by verdict.scale;
///     if (verdict.takes_step()) optimizer.step();
///
/// Promises:
/// - Same options and same statistics give the same verdict, bit for bit, on every rank that runs
///   this binary on a CPU with the same libm code path: no clock, no address, no random number has
///   a part in it. Ranks therefore feed statistics that were reduced over all ranks.
/// - No NaN, outlier, restart or warm-up poisons what it knows: non-finite samples never enter a
///   statistic, outliers are judged and kept out, a lasting new level is adopted.
/// - It fails open. An internal failure makes the guard step aside: it says why in the verdict of
///   that step, and from then on only clips at `max_norm` (as the call that it replaces would).
/// - It is silent on a healthy run: the verdict is `proceed`, or `clip` at the user's own max_norm.
///
/// Not thread-safe: one Guard a training loop. A step costs about 1 us and allocates nothing but
/// where a reason is told. Nothing throws but the constructor (std::bad_alloc).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace aplomb {

namespace guard {
class GuardCore;
}  // namespace guard

/// Strongest last: where two policies disagree the stronger one wins.
enum class GuardAction : std::uint8_t {
  proceed,   ///< take the step
  clip,      ///< multiply the gradients by `scale`, each group's by `group_scales`, then step
  skip,      ///< drop these gradients; the weights and the optimizer's state stay as they are
  rollback,  ///< go back to the snapshot of `rollback_step` and leave out `skip_steps` batches
  halt,      ///< nothing the guard may do helps: stop, and say `reason`
};

/// `proceed`, `clip`, ...
std::string_view name(GuardAction action);

/// Statistics of one group's gradients (a module, a parameter group, or all of them), as stored:
/// whatever loss scale they still carry. The scan's TensorStats has both numbers.
struct GuardGroup {
  std::uint64_t nonfinite = 0;  ///< NaN and Inf elements
  double sum_squares = 0;       ///< over the finite elements
};

struct GuardStep {
  std::int64_t step = 0;  ///< optimizer step, counted by the caller; may go back on a restart
  std::optional<double> loss =
      std::nullopt;  ///< mean over the whole (accumulated, reduced) batch; NaN allowed
  std::optional<double> lr = std::nullopt;  ///< of the first parameter group, by the schedule
  double loss_scale = 1;                    ///< by which the loss was multiplied before backward
  bool unscaled = false;  ///< the gradients of `groups` were divided by it already
  std::span<const GuardGroup> groups = {};  ///< may be empty: then only the loss is judged
};

struct GuardOptions {
  /// Global-norm clipping, max_norm / (norm + 1e-6) as torch.nn.utils.clip_grad_norm_; 0: off.
  double max_norm = 0;
  /// The same for each group by itself; 0: off.
  double max_group_norm = 0;
  bool skip_nonfinite = true;  ///< skip a step with a NaN or Inf in loss or gradients
  bool spikes = true;          ///< clip outliers of the gradient norm, skip bad batches
  bool reset_momentum = true;  ///< ask for a momentum reset after a spike that was not averted
  bool lower_lr = true;        ///< lower the learning rate after it, and warm it up again
  bool loss_has_level = true;  ///< false for policy losses (GRPO, PPO): only gradients are judged
  std::uint32_t rollback_retries = 3;      ///< how often a rollback may be asked for; 0: never
  std::uint32_t most_skips_in_a_row = 20;  ///< non-finite steps in a row before halt; 0: never
  /// The guard keeps the loss scale itself (verdict.loss_scale); PyTorch's GradScaler has these
  /// defaults. False: a loss scale that somebody else keeps is only judged.
  bool keeps_loss_scale = false;
  double initial_loss_scale = 65536;
  double loss_scale_growth = 2;
  double loss_scale_backoff = 0.5;
  std::uint32_t loss_scale_interval = 2000;
};

struct GuardVerdict {
  static constexpr std::size_t k_most_reason = 240;

  GuardAction action = GuardAction::proceed;
  /// To multiply all gradients by before the step: undoes the loss scale, and clips. 1: leave them.
  double scale = 1;
  /// One factor a group, on top of `scale`; empty: none. Valid until the next call.
  std::span<const double> group_scales;
  double grad_norm = 0;   ///< global norm of the unscaled gradients; NaN where one is non-finite
  double loss_scale = 1;  ///< to multiply the next loss by
  double lr_factor = 1;   ///< to multiply the schedule's learning rate by, this step
  bool reset_momentum = false;      ///< zero the optimizer's first moments before this step
  bool aside = false;               ///< the guard has failed and stepped aside
  std::int64_t rollback_step = -1;  ///< with `rollback`: the snapshot to go back to
  std::uint64_t skip_steps = 0;     ///< with `rollback`: batches after the snapshot to leave out
  std::string_view policy;          ///< slug of the policy that decided or speaks; empty: none

  /// What was decided and why, with the numbers; empty on a step that nobody speaks about. May
  /// stand beside `proceed`: an alarm, a verified rollback.
  std::string_view reason() const { return {text_, text_size_}; }
  bool takes_step() const { return action == GuardAction::proceed || action == GuardAction::clip; }

  /// For policies: sets `reason`, cut at k_most_reason.
  void say(std::string_view policy_slug, std::string_view text);

 private:
  char text_[k_most_reason] = {};
  std::size_t text_size_ = 0;
};

struct GuardCounts {
  std::uint64_t steps = 0;
  std::uint64_t clipped = 0;
  std::uint64_t skipped = 0;
  std::uint64_t rollbacks = 0;
};

class Guard {
 public:
  explicit Guard(const GuardOptions& options = {});
  ~Guard();
  Guard(Guard&&) noexcept;
  Guard& operator=(Guard&&) noexcept;

  GuardVerdict step(const GuardStep& step) noexcept;

  /// The caller has kept weights and optimizer state as they are before the batch after `step`. The
  /// last two are remembered, with what the guard knew then.
  void note_snapshot(std::int64_t step) noexcept;

  const GuardCounts& counts() const noexcept;

  /// What the guard has learned, as a small versioned byte string for the checkpoint (about
  /// 5 KB, and as much for each snapshot).
  /// A guard with the same options that loads it gives the same verdicts as one that went on.
  std::string save() const;
  /// False, and the guard unchanged, where the bytes are no such state (or of a later version).
  bool load(std::string_view state) noexcept;

 private:
  std::unique_ptr<guard::GuardCore> core_;
};

}  // namespace aplomb
