#include "train/loop/trainer.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"
#include "guard/trouble.h"
#include "train/loop/machine.h"
#include "train/loop/random_state.h"
#include "train/text/shuffle.h"

namespace aplomb::train::loop {
namespace {

using Clock = MetricsWindow::Clock;

std::int64_t tokens_of(const text::TokenBatch& batch) {
  return std::count_if(batch.segments.begin(), batch.segments.end(),
                       [](std::int64_t segment) { return segment >= 0; });
}

/// Micro-batches of the next optimizer step: steps do not reach across epochs.
std::int64_t passes_of(const text::BatchStream& data, std::int64_t accumulation) {
  const std::int64_t left = data.batches_per_epoch() - data.position().index;
  return std::min(accumulation, left > 0 ? left : data.batches_per_epoch());
}

/// The position `steps` optimizer steps after `from`.
text::DataPosition advance(text::DataPosition from, std::uint64_t steps, std::int64_t accumulation,
                           std::int64_t batches) {
  const std::int64_t per_epoch = (batches + accumulation - 1) / accumulation;
  const std::int64_t step =
      (from.index + accumulation - 1) / accumulation + static_cast<std::int64_t>(steps);
  return {from.epoch + step / per_epoch, step % per_epoch * accumulation};
}

std::vector<at::Tensor> tensors_of(const std::vector<NamedTensor>& named) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(named.size());
  for (const NamedTensor& each : named) tensors.push_back(each.tensor);
  return tensors;
}

/// Of what a rank draws in a step (dropout): other numbers on each, the same after a resume.
std::uint64_t step_seed(std::uint64_t seed, std::int64_t step, int rank) {
  return text::mixed(text::mixed(seed, static_cast<std::uint64_t>(step)),
                     static_cast<std::uint64_t>(rank));
}

std::vector<NamedTensor> all_state(Trainee& trainee, Optimizer& optimizer) {
  std::vector<NamedTensor> all = trainee.trainable();
  for (NamedTensor& each : optimizer.state()) all.push_back(std::move(each));
  return all;
}

// As the guard's own policy counts it (guard/trouble.h).
constexpr std::int64_t k_calm_before_snapshot = guard::k_sustained_run;

// As long as finding a loss scale may take: 65536 is halved 16 times to reach 1.
constexpr std::int64_t k_calibration_steps = 20;

// Two snapshots may take so much of the memory that is free before the first step.
constexpr double k_snapshot_share = 0.25;

}  // namespace

Trainer::Trainer(TrainerParts parts, TrainerPlan plan)
    : parts_(parts),
      plan_(std::move(plan)),
      group_(parts_.group),
      buckets_(group_, tensors_of(parts_.trainee.trainable())),
      guard_(plan_.guard),
      scan_(plan_.threads),
      judge_({plan_.schedule.total_steps(), plan_.cadence.logging_steps, plan_.guard.max_norm,
              plan_.vocab_size}),
      ladder_(plan_.rung_steps > 0 ? parts_.trainee.attentions() : std::vector<std::string>(),
              plan_.rung_steps, plan_.rungs_by_speed && group_.size() == 1),
      loss_scale_(plan_.guard.keeps_loss_scale ? plan_.guard.initial_loss_scale : 1) {
  if (plan_.snapshot_steps <= 0 || plan_.guard.rollback_retries == 0) return;
  snapshots_.emplace(all_state(parts_.trainee, parts_.optimizer));
  const std::uint64_t available = available_bytes();
  const double bytes = static_cast<double>(snapshots_->bytes());
  const bool fits = available == 0 || bytes < k_snapshot_share * static_cast<double>(available);
  if (group_.all(fits)) return;
  parts_.journal.say(fmt::format(
      "guard: no snapshots in memory: two of them take {}, {} is free; a rollback is not possible",
      core::show_bytes(bytes), core::show_bytes(static_cast<double>(available))));
  snapshots_.reset();
}

core::Result<Outcome> Trainer::run() {
  if (auto agreed = agree(); !agreed) return tl::unexpected(agreed.error());
  if (plan_.begins) {
    if (auto begun = plan_.begins(); !begun) return tl::unexpected(begun.error());
  }
  parts_.trainee.set_training(true);
  if (!ladder_.empty()) parts_.trainee.set_attention(ladder_.rung());
  window_.start(Clock::now());
  Ending ending = Ending::complete;
  while (step_ < plan_.schedule.total_steps()) {
    if (stops()) {
      ending = Ending::interrupted;
      break;
    }
    maybe_snapshot();
    const auto began = Clock::now();
    const Pass pass = accumulate();
    const std::int64_t before = step_;
    const bool taken = apply(pass);
    advance_attention(taken, pass, std::chrono::duration<double>(Clock::now() - began).count());
    if (!halt_reason_.empty()) {
      ending = Ending::halted;
      break;
    }
    if (step_ <= before) continue;  // rolled back
    log(pass);
    auto goes_on = evaluate_and_save_if_due();
    if (!goes_on) return tl::unexpected(goes_on.error());
    if (!*goes_on) {
      ending = Ending::early_stop;
      break;
    }
  }
  clear_gradients();
  if (ending != Ending::halted && ending != Ending::interrupted &&
      evaluations_.last_step() != step_)
    evaluate();
  if (ending != Ending::halted && saved_at_ != step_) {
    if (auto saved = save(); !saved) return tl::unexpected(saved.error());
  }
  return conclude(ending);
}

Outcome Trainer::conclude(Ending ending) {
  tell(judge_.finish());
  Outcome outcome;
  outcome.ending = ending;
  outcome.reason = halt_reason_;
  outcome.steps = step_;
  outcome.last_loss = last_loss_;
  outcome.first_eval_loss = evaluations_.first();
  outcome.last_eval_loss = evaluations_.last();
  outcome.best_step = evaluations_.best_step();
  outcome.healthy = judge_.healthy() && ending != Ending::halted;
  outcome.guard = guard_.counts();
  return outcome;
}

std::vector<text::TokenBatch> Trainer::draw(Pass& pass) {
  std::vector<text::TokenBatch> batches;
  const std::int64_t passes = passes_of(parts_.data, plan_.accumulation);
  for (std::int64_t i = 0; i < passes; ++i) {
    batches.push_back(parts_.data.next());
    pass.counted += batches.back().counted();
    pass.tokens += tokens_of(batches.back());
    const auto& samples = batches.back().samples;
    pass.samples.insert(pass.samples.end(), samples.begin(), samples.end());
  }
  double counts[] = {static_cast<double>(pass.counted), static_cast<double>(pass.tokens)};
  group_.sum(counts);
  pass.counted = static_cast<std::int64_t>(counts[0]);
  pass.tokens = static_cast<std::int64_t>(counts[1]);
  return batches;
}

Trainer::Pass Trainer::accumulate() {
  Pass pass;
  std::vector<text::TokenBatch> batches = draw(pass);
  std::erase_if(batches, [](const text::TokenBatch& each) { return each.counted() == 0; });
  clear_gradients();
  if (!group_.is_alone()) seed_all(step_seed(plan_.seed, step_, group_.rank()));
  // Every token that counts weighs the same, however micro-batches and ranks cut them up. A batch
  // in which nothing counts has the loss 0 and no gradient.
  const double weight = 1.0 / static_cast<double>(std::max<std::int64_t>(pass.counted, 1));
  at::Tensor sum;
  for (const text::TokenBatch& batch : batches) {
    group_.check();
    const at::Tensor loss = parts_.trainee.loss_sum(batch);
    if (&batch == &batches.back()) buckets_.arm();
    (loss * (weight * loss_scale_)).backward();
    const at::Tensor part = loss.detach().to(at::kDouble);
    sum = sum.defined() ? sum + part : part;
  }
  // Where nothing counts on any rank, there are no gradients either.
  if (pass.counted > 0) buckets_.finish();
  double ends[] = {sum.defined() ? sum.item<double>() : 0,
                   !group_.is_alone() && plan_.wants_stop() ? 1.0 : 0.0};
  group_.sum(ends);
  stop_agreed_ = ends[1] > 0;
  pass.loss = ends[0] * weight;
  return pass;
}

bool Trainer::apply(const Pass& pass) {
  const double factor = plan_.schedule.factor(step_);
  GuardStep judged;
  judged.step = step_ + 1;
  if (pass.counted > 0) judged.loss = pass.loss;
  judged.lr = factor * plan_.peak_lr;
  judged.loss_scale = loss_scale_;
  judged.groups = judged_gradients();
  const GuardVerdict verdict = guard_.step(judged);
  grad_norm_ = verdict.grad_norm;
  loss_scale_ = verdict.loss_scale;
  lr_ = factor * verdict.lr_factor * plan_.peak_lr;
  const bool calm = verdict.reason().empty() && verdict.takes_step();
  calm_ = calm ? calm_ + 1 : 0;
  tell(verdict);
  if (!verdict.takes_step() && plan_.where) parts_.journal.note(batch_of(pass));
  if (verdict.action == GuardAction::halt) {
    halt_reason_ = verdict.reason();
    return false;
  }
  if (verdict.action == GuardAction::rollback) {
    roll_back(verdict);
    return false;
  }
  ++step_;
  if (!verdict.takes_step()) {
    ++skipped_;
    return false;
  }
  if (verdict.reset_momentum) parts_.optimizer.reset_momentum();
  scale_gradients(parts_.trainee.trainable(), verdict.scale, verdict.group_scales);
  parts_.optimizer.step(factor * verdict.lr_factor);
  return true;
}

/// A loss scale is found by overflows: the first is told, those that follow stand in the log.
void Trainer::tell(const GuardVerdict& verdict) {
  calibrating_ = plan_.guard.keeps_loss_scale && step_ < k_calibration_steps &&
                 verdict.action == GuardAction::skip && verdict.loss_scale > 1 &&
                 verdict.policy == "loss_scale";
  if (verdict.reason().empty()) return;
  const std::string text = fmt::format("guard: step {}: {} ({}): {}", step_ + 1,
                                       name(verdict.action), verdict.policy, verdict.reason());
  if (calibrating_ && calibration_told_) return parts_.journal.note(text);
  parts_.journal.warn(text);
  if (!calibrating_) return;
  calibration_told_ = true;
  parts_.journal.say("guard: a few of these find the loss scale; more stand in train.log");
}

void Trainer::roll_back(const GuardVerdict& verdict) {
  const auto data = snapshots_ ? snapshots_->restore(verdict.rollback_step) : std::nullopt;
  if (!data) {
    parts_.journal.warn(fmt::format(
        "guard: the snapshot of step {} is gone (the run was resumed since); this batch is left "
        "out instead",
        verdict.rollback_step));
    ++step_;
    ++skipped_;
    return;
  }
  step_ = snapshot_step_ = verdict.rollback_step;
  const text::DataPosition next =
      advance(*data, verdict.skip_steps, plan_.accumulation, parts_.data.batches_per_epoch());
  if (const auto found = parts_.data.seek(next); !found) parts_.journal.warn(found.error().text);
  // Checkpoints of the steps that are taken back hold what went wrong.
  for (const std::int64_t each : parts_.store.steps()) {
    if (each > step_ && group_.is_first()) parts_.store.remove(each);
  }
  saved_at_ = std::min(saved_at_, step_);
  evaluations_.roll_back(step_);
}

void Trainer::clear_gradients() {
  for (const NamedTensor& each : parts_.trainee.trainable()) each.tensor.mutable_grad().reset();
}

void Trainer::advance_attention(bool good, const Pass& pass, double seconds) {
  const AttentionLadder::Move move = ladder_.note(good, pass.tokens, seconds);
  if (!move.said.empty()) parts_.journal.say(move.said);
  if (!move.to.empty()) parts_.trainee.set_attention(move.to);
}

/// Guard and Snapshots remember the same two: none is taken in the midst of trouble, where the
/// guard would not count it.
void Trainer::maybe_snapshot() {
  if (!snapshots_ || calm_ < k_calm_before_snapshot) return;
  if (snapshot_step_ >= 0 && step_ - snapshot_step_ < plan_.snapshot_steps) return;
  snapshots_->take(step_, parts_.data.position());
  guard_.note_snapshot(step_);
  snapshot_step_ = step_;
}

void Trainer::log(const Pass& pass) {
  last_loss_ = pass.loss;
  window_.add(pass.loss, pass.tokens);
  Record record;
  record.step = step_;
  if (!calibrating_ || !plan_.calibrates_in_silence) record.grad_norm = grad_norm_;
  record.lr = lr_;
  const text::DataPosition at = parts_.data.position();
  record.epoch =
      static_cast<double>(at.epoch) +
      static_cast<double>(at.index) / static_cast<double>(parts_.data.batches_per_epoch());
  const auto now = Clock::now();
  record.tokens_per_s = window_.tokens_per_s(now);
  record.step_time_s = window_.step_time_s(now);
  record.host_memory_bytes = static_cast<double>(resident_bytes());
  if (const auto held = plan_.device_memory ? plan_.device_memory() : std::nullopt)
    record.memory_bytes = static_cast<double>(*held);
  if (plan_.flops_per_token > 0 && plan_.peak_flops > 0)
    record.mfu = *record.tokens_per_s * plan_.flops_per_token / plan_.peak_flops;
  if (plan_.guard.keeps_loss_scale) record.loss_scale = loss_scale_;
  record.loss = window_.mean_loss();
  parts_.journal.progress(record);
  if (!plan_.cadence.records_at(step_) && step_ != plan_.schedule.total_steps()) return;
  parts_.journal.record(record);
  if (plan_.seen) plan_.seen(record);
  tell(judge_.observe(record));
  window_.clear(now);
}

void Trainer::tell(const std::vector<Said>& said) {
  for (const Said& each : said) {
    if (each.severity >= core::Severity::warning) {
      parts_.journal.warn(each.text);
    } else {
      parts_.journal.say(each.text);
    }
  }
}

std::optional<double> Trainer::evaluate() {
  if (parts_.eval == nullptr) return std::nullopt;
  const auto began = Clock::now();
  parts_.trainee.set_training(false);
  double totals[] = {0, 0};  // loss, tokens
  {
    const at::NoGradGuard no_gradients;
    (void)parts_.eval->seek({});  // its first batch always can be had
    for (std::int64_t i = 0; i < parts_.eval->batches_per_epoch(); ++i) {
      const text::TokenBatch batch = parts_.eval->next();
      if (batch.counted() == 0) continue;
      group_.check();
      totals[0] += parts_.trainee.loss_sum(batch).item<double>();
      totals[1] += static_cast<double>(batch.counted());
    }
  }
  group_.sum(totals);
  parts_.trainee.set_training(true);
  const double loss = totals[0] / std::max(totals[1], 1.0);
  evaluations_.note(step_, loss);
  Record record;
  record.step = step_;
  record.eval_loss = loss;
  parts_.journal.record(record);
  if (plan_.seen) plan_.seen(record);
  tell(judge_.observe(record));
  window_.leave_out(Clock::now() - began);
  return loss;
}

core::Result<bool> Trainer::evaluate_and_save_if_due() {
  const bool evaluates = parts_.eval != nullptr && plan_.cadence.evaluates_at(step_);
  if (evaluates) evaluate();
  const bool is_best = evaluates && plan_.best_at_end && evaluations_.best_step() == step_;
  if (plan_.cadence.saves_at(step_) || is_best) {
    if (auto saved = save(); !saved) return tl::unexpected(saved.error());
  }
  return !plan_.cadence.stops_after(evaluations_.since_best());
}

}  // namespace aplomb::train::loop
