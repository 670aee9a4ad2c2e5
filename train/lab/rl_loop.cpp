#include "train/lab/rl_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "guard/trouble.h"
#include "train/loop/gradients.h"
#include "train/loop/optimizer.h"
#include "train/loop/schedule.h"
#include "train/loop/snapshots.h"

namespace aplomb::train::lab {
namespace {

using torch::Tensor;

constexpr double k_correction_cap = 3.0;       // TRL's vllm_importance_sampling_cap
constexpr std::int64_t k_snapshot_steps = 10;  // as the healthy run of lab_run.h

GuardOptions guard_of(const GrpoConfig& config, bool in_force) {
  GuardOptions guard;
  guard.max_norm = config.max_grad_norm;
  guard.loss_has_level = false;
  if (in_force) return guard;
  guard.skip_nonfinite = guard.spikes = guard.reset_momentum = guard.lower_lr = false;
  guard.rollback_retries = guard.most_skips_in_a_row = 0;
  return guard;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double share(const std::vector<bool>& of) {
  return static_cast<double>(std::count(of.begin(), of.end(), true)) /
         static_cast<double>(of.size());
}

/// What is measured between two records, averaged when they are written: as trainers do, NaN is
/// left out, and where nothing else stays there is no value.
class Metrics {
 public:
  void add(const std::string& name, double value) {
    if (sums_.find(name) == sums_.end()) order_.push_back(name);
    Sum& sum = sums_[name];
    if (std::isnan(value)) return;
    sum.total += value;
    ++sum.count;
  }

  void move_to(GrpoRecord& record) {
    for (const std::string& name : order_) {
      const Sum& sum = sums_[name];
      record.values.emplace_back(
          name,
          sum.count > 0 ? std::optional(sum.total / static_cast<double>(sum.count)) : std::nullopt);
    }
    order_.clear();
    sums_.clear();
  }

 private:
  struct Sum {
    double total = 0;
    std::int64_t count = 0;
  };
  std::vector<std::string> order_;
  std::map<std::string, Sum> sums_;
};

class GrpoLoop {
 public:
  GrpoLoop(const GrpoConfig& config, const GrpoBugs& bugs, bool guarded)
      : config_(config),
        bugs_(bugs),
        problems_(sums_up_to(config.largest, config.seed)),
        guard_(guard_of(config, guarded)) {
    torch::manual_seed(config.seed);
    policy_ = make_policy(config.model);
    run_.warm_start_loss = warm_start(*policy_, problems_, config.warm_start);
    if (config.beta != 0) reference_ = frozen_copy(*policy_, config.model);
    if (config.own_sampler) sampler_ = frozen_copy(*policy_, config.model);
    for (const auto& [name, tensor] : policy_->trainable_parameters()) {
      parameters_.push_back({name, tensor});
      run_.parameters += tensor.numel();
    }
    optimizer_ = std::make_unique<loop::AdamW>(
        parameters_, loop::AdamW::Settings{.lr = config.learning_rate, .weight_decay = 0});
    run_.problems = static_cast<std::int64_t>(problems_.size());
    if (!guarded) return;
    std::vector<loop::NamedTensor> all = parameters_;
    for (loop::NamedTensor& each : optimizer_->state()) all.push_back(std::move(each));
    snapshots_.emplace(std::move(all));
  }

  GrpoRun run() {
    const auto begin = std::chrono::steady_clock::now();
    const loop::Schedule schedule(loop::Schedule::Shape::linear, 0, config_.max_steps);
    try {
      while (step_ < config_.max_steps && !run_.halted) learn(schedule);
    } catch (
        const c10::Error& fault) {  // a policy whose probabilities are NaN cannot be drawn from
      run_.error = fault.what_without_backtrace();
    }
    run_.seconds = seconds_since(begin);
    return std::move(run_);
  }

 private:
  struct Samples {
    Completions completions;
    GrpoInput input;  ///< all but log_probs
  };

  /// One batch of samples, and the updates that are made on it.
  void learn(const loop::Schedule& schedule) {
    step_begin_ = std::chrono::steady_clock::now();
    maybe_snapshot();
    const Samples samples = draw();
    for (std::int64_t i = 0; i < config_.num_iterations && step_ < config_.max_steps; ++i) {
      if (!update(samples, schedule.factor(step_))) break;
      step_begin_ = std::chrono::steady_clock::now();
    }
    if (sampler_ && !bugs_.never_synced) copy_weights(*policy_, *sampler_);
  }

  /// None in the midst of trouble, where the guard would not count it.
  void maybe_snapshot() {
    if (!snapshots_ || calm_ < guard::k_sustained_run) return;
    if (snapshot_step_ >= 0 && step_ - snapshot_step_ < k_snapshot_steps) return;
    snapshots_->take(step_, {0, drawn_});
    guard_.note_snapshot(step_);
    snapshot_step_ = step_;
  }

  std::vector<Problem> next_prompts() {
    std::vector<Problem> chosen;
    chosen.reserve(static_cast<std::size_t>(config_.prompts));
    for (std::int64_t i = 0; i < config_.prompts; ++i)
      chosen.push_back(problems_[static_cast<std::size_t>(drawn_++) % problems_.size()]);
    return chosen;
  }

  Samples draw() {
    const std::vector<Problem> prompts = next_prompts();
    model::LanguageModel& sampler = sampler_ ? *sampler_ : *policy_;
    const double temperature =
        bugs_.sampler_temperature > 0 ? bugs_.sampler_temperature : config_.temperature;
    Samples samples;
    samples.completions = sample(
        sampler, prompts,
        {config_.num_generations, config_.max_completion_length, temperature, config_.top_k});
    GrpoInput& input = samples.input;
    input.mask = samples.completions.mask;
    note_completions(samples.completions);
    score(prompts, samples);
    const torch::NoGradGuard no_grad;
    // With one update a batch the policy before it is the policy at hand: update() takes it so.
    if (sampler_ || config_.num_iterations > 1)
      input.old = view_tokens(*policy_, samples.completions, config_.temperature).log_probs;
    if (reference_)
      input.reference =
          view_tokens(*reference_, samples.completions, config_.temperature).log_probs;
    if (sampler_) compare_with_sampler(samples);
    return samples;
  }

  void note_completions(const Completions& completions) {
    tokens_ += completions.tokens();
    std::vector<double> all, ended;
    for (std::size_t i = 0; i < completions.lengths.size(); ++i) {
      all.push_back(static_cast<double>(completions.lengths[i]));
      if (completions.ended[i]) ended.push_back(all.back());
    }
    if (ended.empty()) ended.push_back(0);
    const auto note = [&](const std::string& what, const std::vector<double>& lengths) {
      double sum = 0;
      for (const double each : lengths) sum += each;
      const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
      metrics_.add("completions/mean_" + what, sum / static_cast<double>(lengths.size()));
      metrics_.add("completions/min_" + what, *least);
      metrics_.add("completions/max_" + what, *most);
    };
    metrics_.add("num_tokens", static_cast<double>(tokens_));
    note("length", all);
    metrics_.add("completions/clipped_ratio", 1 - share(completions.ended));
    note("terminated_length", ended);
  }

  /// Rewards and advantages. A completion that no function can score is NaN.
  void score(const std::vector<Problem>& prompts, Samples& samples) {
    const auto rows = static_cast<std::int64_t>(samples.completions.texts.size());
    const auto functions = static_cast<std::int64_t>(config_.rewards.size());
    Tensor scores = torch::zeros({functions, rows});
    for (std::int64_t f = 0; f < functions; ++f) {
      const RewardFunction& function = config_.rewards[static_cast<std::size_t>(f)];
      float* at = scores[f].data_ptr<float>();
      for (std::int64_t i = 0; i < rows; ++i) {
        at[i] = static_cast<float>(
            function.score(prompts[static_cast<std::size_t>(i / config_.num_generations)],
                           samples.completions.texts[static_cast<std::size_t>(i)]));
      }
      const Advantages alone = group_advantages(scores[f], config_.num_generations);
      metrics_.add("rewards/" + function.name + "/mean", alone.reward);
      metrics_.add("rewards/" + function.name + "/std",
                   std::isnan(alone.reward) ? alone.reward : alone.reward_std);
    }
    const Tensor unscored = torch::isnan(scores).all(0);
    const Tensor rewards =
        torch::nansum(scores, 0).masked_fill(unscored, std::numeric_limits<float>::quiet_NaN());
    const Advantages advantages = group_advantages(rewards, config_.num_generations);
    if (unscored.any().item<bool>())
      warn("All reward functions returned None for some completions; they are left out.");
    samples.input.advantages = advantages.values;
    metrics_.add("reward", advantages.reward);
    metrics_.add("reward_std", advantages.reward_std);
    metrics_.add("frac_reward_zero_std", advantages.frac_zero_std);
  }

  void compare_with_sampler(Samples& samples) {
    GrpoInput& input = samples.input;
    Tensor reported = samples.completions.log_probs;
    if (bugs_.raw_sampler_log_probs)
      reported = view_tokens(*sampler_, samples.completions, 1.0).log_probs;
    const Tensor counted = input.mask > 0;
    const Tensor apart = (input.old - reported).masked_select(counted);
    input.correction = (input.old - reported).exp().clamp_max(k_correction_cap);
    const Tensor ratios = input.correction.masked_select(counted);
    metrics_.add("sampling/sampling_logp_difference/mean", apart.abs().mean().item<double>());
    metrics_.add("sampling/sampling_logp_difference/max", apart.abs().max().item<double>());
    metrics_.add("sampling/importance_sampling_ratio/min", ratios.min().item<double>());
    metrics_.add("sampling/importance_sampling_ratio/mean", ratios.mean().item<double>());
    metrics_.add("sampling/importance_sampling_ratio/max", ratios.max().item<double>());
  }

  /// False: these samples are done with, the guard went back or ended the run.
  bool update(const Samples& samples, double factor) {
    const TokenView view = view_tokens(*policy_, samples.completions, config_.temperature);
    GrpoInput input = samples.input;
    input.log_probs = view.log_probs;
    if (!input.old.defined()) input.old = view.log_probs.detach();
    const GrpoLoss loss = grpo_loss(
        input, {config_.epsilon, config_.epsilon, bugs_.kl_sign * config_.beta, config_.loss_type});
    const Tensor entropy = masked_mean(view.entropy, input.mask);
    const Tensor total = loss.loss - bugs_.entropy_sign * config_.entropy_coef * entropy;
    policy_->zero_grad();
    total.backward();
    if (bugs_.gradients_cleared) policy_->zero_grad(/*set_to_none=*/false);
    if (!apply(total.item<double>(), factor)) return false;
    if (config_.beta != 0) metrics_.add("kl", loss.kl);
    metrics_.add("entropy", entropy.item<double>());
    metrics_.add("clip_ratio/low_mean", loss.clip_low);
    metrics_.add("clip_ratio/high_mean", loss.clip_high);
    metrics_.add("clip_ratio/region_mean", loss.clip_low + loss.clip_high);
    metrics_.add("step_time", seconds_since(step_begin_));
    losses_ += total.item<double>();
    if (step_ % config_.logging_steps == 0) record(factor);
    return true;
  }

  /// Judges the gradients and acts; false where no step was made, forward or left out.
  bool apply(double loss, double factor) {
    const torch::NoGradGuard no_grad;
    GuardStep judged;
    judged.step = step_ + 1;
    judged.loss = loss;
    judged.lr = factor * config_.learning_rate;
    judged.groups = scan_.read(parameters_);
    const GuardVerdict verdict = guard_.step(judged);
    norm_ = verdict.grad_norm;
    const bool speaks = !verdict.reason().empty();
    calm_ = speaks || !verdict.takes_step() ? 0 : calm_ + 1;
    if (speaks && verdict.action != GuardAction::proceed) run_.guard_acts.push_back(step_ + 1);
    run_.halted = verdict.action == GuardAction::halt;
    if (run_.halted) return false;
    if (verdict.action == GuardAction::rollback && roll_back(verdict)) return false;
    ++step_;
    if (!verdict.takes_step()) return true;
    if (verdict.reset_momentum) optimizer_->reset_momentum();
    loop::scale_gradients(parameters_, verdict.scale, verdict.group_scales);
    optimizer_->step(factor * verdict.lr_factor);
    return true;
  }

  /// False where there is no such snapshot: the step is left out instead.
  bool roll_back(const GuardVerdict& verdict) {
    const auto data = snapshots_ ? snapshots_->restore(verdict.rollback_step) : std::nullopt;
    if (!data) return false;
    step_ = snapshot_step_ = verdict.rollback_step;
    drawn_ = data->index + static_cast<std::int64_t>(verdict.skip_steps) * config_.prompts;
    return true;
  }

  void record(double factor) {
    GrpoRecord record;
    record.step = step_;
    record.values = {{"loss", losses_ / static_cast<double>(config_.logging_steps)},
                     {"grad_norm", norm_},
                     {"learning_rate", config_.learning_rate * factor}};
    metrics_.move_to(record);
    record.values.emplace_back("epoch",
                               static_cast<double>(drawn_) / static_cast<double>(problems_.size()));
    losses_ = 0;
    run_.records.push_back(std::move(record));
  }

  void warn(const std::string& text) {
    const auto known = std::find_if(run_.warnings.begin(), run_.warnings.end(),
                                    [&](const auto& each) { return each.second == text; });
    if (known == run_.warnings.end()) run_.warnings.emplace_back(step_, text);
  }

  const GrpoConfig& config_;
  const GrpoBugs& bugs_;
  std::vector<Problem> problems_;
  std::shared_ptr<model::LanguageModel> policy_, reference_, sampler_;
  std::vector<loop::NamedTensor> parameters_;
  std::unique_ptr<loop::AdamW> optimizer_;
  Guard guard_;
  loop::GradientScan scan_{1};
  std::optional<loop::Snapshots> snapshots_;
  std::int64_t snapshot_step_ = -1;
  std::int64_t calm_ = guard::k_sustained_run;  ///< steps in a row of which the guard said nothing
  double norm_ = 0;
  Metrics metrics_;
  GrpoRun run_;
  std::int64_t step_ = 0;
  std::int64_t drawn_ = 0;  ///< prompts
  std::int64_t tokens_ = 0;
  double losses_ = 0;
  std::chrono::steady_clock::time_point step_begin_;
};

}  // namespace

std::optional<double> GrpoRecord::get(const std::string& name) const {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  return std::nullopt;
}

GrpoRun run_grpo(const GrpoConfig& config, const GrpoBugs& bugs, bool guarded) {
  return GrpoLoop(config, bugs, guarded).run();
}

}  // namespace aplomb::train::lab
