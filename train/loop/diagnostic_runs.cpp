#include "train/loop/diagnostic_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "train/loop/live_judge.h"

namespace aplomb::train::loop {
namespace {

// The bf16 stability checklist: on a handful of samples the loss drops to near 0. A tenth of a nat
// is a probability of 0.9 for every token.
constexpr double k_learned = 0.1;
constexpr std::int64_t k_overfit_steps = 300;
// Below half of where it began it learns, if slowly.
constexpr double k_on_the_way = 0.5;

constexpr std::int64_t k_range_steps = 140;  // twenty a decade
constexpr double k_range_from = 1e-7;
constexpr double k_range_to = 1;
constexpr double k_broken = 4;  // x the best smoothed loss: fastai's stop
constexpr double k_smooth = 0.98;
constexpr double k_safety = 10;  // below the best: fastai's rule of a tenth of the minimum

// bf16 has 8 bits of mantissa: a product is off by 2^-9 of itself at most, and losses of healthy
// bf16 runs stay that near. Ten times that is no rounding any more.
constexpr double k_apart = 10.0 / 512;

double mean_of_last(const std::vector<ProbeStep>& steps, std::size_t count) {
  count = std::min(count, steps.size());
  double sum = 0;
  for (std::size_t i = steps.size() - count; i < steps.size(); ++i) sum += steps[i].loss;
  return sum / static_cast<double>(count);
}

bool all_finite(const std::vector<ProbeStep>& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const ProbeStep& step) {
    return std::isfinite(step.loss) && std::isfinite(step.grad_norm);
  });
}

bool no_gradient(const std::vector<ProbeStep>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const ProbeStep& step) { return step.grad_norm == 0; });
}

}  // namespace

Answer overfit_one_batch(Trainee& trainee, const text::TokenBatch& batch, double lr,
                         std::vector<ProbeStep>* seen) {
  if (batch.counted() == 0)
    return {false, "no token of the batch counts in the loss: the labels are all masked"};
  ProbePlan plan;
  plan.steps = k_overfit_steps;
  plan.max_grad_norm = 1;
  plan.lr = [lr](std::int64_t step) {
    return lr * std::min(1.0, static_cast<double>(step + 1) / 10);
  };
  plan.batch = [&](std::int64_t) { return batch; };
  plan.enough = [](const std::vector<ProbeStep>& steps) {
    return steps.back().loss < k_learned / 2;
  };
  const std::vector<ProbeStep> steps = probe(trainee, plan);
  if (seen != nullptr) *seen = steps;
  const double first = steps.front().loss;
  const double last = steps.back().loss;
  const std::string way =
      fmt::format("loss {} -> {} in {} steps on one batch", core::show_number(first),
                  core::show_number(last), steps.size());
  if (!all_finite(steps)) {
    return {false, fmt::format("{}: not finite at step {}; --compare-precision tells whether the "
                               "format is to blame, --lr-range-test whether the rate is",
                               way, steps.size())};
  }
  if (last < k_learned)
    return {true, way + ": it can learn; what is wrong with a longer run is in data or schedule"};
  if (no_gradient(steps))
    return {false, way + ": the gradient is exactly 0; nothing that trains has a part in the loss"};
  if (last < k_on_the_way * first) {
    return {false, way +
                       ": it learns, but slowly; a learning rate 3 to 10 times higher "
                       "(--lr-range-test finds it), or a higher rank"};
  }
  return {false, way +
                     ": it cannot learn even one batch; look at labels, at what trains, and at "
                     "the learning rate"};
}

RangeTest lr_range_test(Trainee& trainee,
                        const std::function<text::TokenBatch(std::int64_t)>& batch,
                        std::vector<ProbeStep>* seen) {
  ProbePlan plan;
  plan.steps = k_range_steps;
  plan.lr = [](std::int64_t step) {
    const double way = static_cast<double>(step) / static_cast<double>(k_range_steps - 1);
    return k_range_from * std::pow(k_range_to / k_range_from, way);
  };
  plan.batch = batch;
  double average = 0, best = INFINITY, best_lr = 0;
  bool broke = false;
  std::int64_t count = 0;
  plan.enough = [&](const std::vector<ProbeStep>& steps) {
    average = k_smooth * average + (1 - k_smooth) * steps.back().loss;
    const double smooth = average / (1 - std::pow(k_smooth, static_cast<double>(++count)));
    if (smooth < best) {
      best = smooth;
      best_lr = steps.back().lr;
    }
    broke = steps.back().loss > k_broken * best;
    return broke;
  };
  const std::vector<ProbeStep> steps = probe(trainee, plan);
  if (seen != nullptr) *seen = steps;
  RangeTest test;
  broke = broke || !all_finite(steps);
  test.breaks_at = broke ? steps.back().lr : 0;
  test.best_lr = best_lr;
  test.suggested = best_lr / k_safety;
  const double fall = steps.front().loss - best;
  test.answer.good = fall > k_apart * steps.front().loss;
  if (!test.answer.good) {
    test.answer.verdict = fmt::format(
        "no learning rate from {:g} to {:g} brings the loss down from {}: --overfit-one-batch "
        "tells "
        "whether it can learn at all",
        k_range_from, steps.back().lr, core::show_number(steps.front().loss));
    return test;
  }
  test.answer.verdict = fmt::format(
      "the loss stands lowest at a learning rate of {:.2g} ({} -> {}){}; take about {:.1g} "
      "as the peak",
      best_lr, core::show_number(steps.front().loss), core::show_number(best),
      broke ? fmt::format(" and breaks at {:.2g}", test.breaks_at) : "", test.suggested);
  return test;
}

Answer compare_precisions(const std::vector<PrecisionRun>& runs) {
  const PrecisionRun& base = runs.front();
  std::string text;
  bool good = all_finite(base.steps);
  if (!good) {
    return {false, fmt::format("{} itself is not finite at step {}: it is not the precision",
                               base.name, base.steps.size())};
  }
  const double level = mean_of_last(base.steps, 5);
  text = fmt::format("{} ends at {}", base.name, core::show_number(level));
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const PrecisionRun& run = runs[i];
    if (!all_finite(run.steps)) {
      good = false;
      text += fmt::format("; {} is not finite at step {}: its range or precision is to blame",
                          run.name, run.steps.size());
      continue;
    }
    const double own = mean_of_last(run.steps, 5);
    const bool apart = std::fabs(own - level) > k_apart * std::fabs(level);
    good = good && !apart;
    text += fmt::format("; {} at {} ({})", run.name, core::show_number(own),
                        apart ? "apart by more than its rounding" : "the same but for rounding");
  }
  return {good, text};
}

Answer judge_minimal(const std::vector<ProbeStep>& steps) {
  LiveJudge judge({static_cast<std::int64_t>(steps.size()), 1, 1.0, 0});
  std::string said;
  bool good = true;
  const auto take = [&](const std::vector<Said>& all) {
    for (const Said& each : all) {
      if (each.severity < core::Severity::warning) continue;
      good = false;
      said += "; " + each.text;
    }
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Record record;
    record.step = static_cast<std::int64_t>(i) + 1;
    record.loss = steps[i].loss;
    record.grad_norm = steps[i].grad_norm;
    take(judge.observe(record));
  }
  good = good && all_finite(steps);
  const std::string way =
      fmt::format("{} steps in fp32 with eager attention: loss {} -> {}", steps.size(),
                  core::show_number(steps.front().loss), core::show_number(steps.back().loss));
  if (good) {
    return {true, way +
                      ": model, tokenizer and data work together; what breaks a longer run is one "
                      "of the settings that this one leaves out"};
  }
  return {false, way + said + ": the fault is in model, tokenizer or data, not in the settings"};
}

}  // namespace aplomb::train::loop
