#include "guard/guard_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/text.h"
#include "guard/clip_norm.h"

namespace aplomb::guard {
namespace {

constexpr std::uint32_t k_magic = 0x44475041;  // "APGD"
constexpr std::uint16_t k_version = 2;

std::uint64_t nonfinite_in(std::span<const GuardGroup> groups) {
  std::uint64_t count = 0;
  for (const GuardGroup& group : groups) count += group.nonfinite;
  return count;
}

/// Of the unscaled gradients; NaN where one of them is not finite. Added up in the order given.
double global_norm(const GuardStep& step) {
  if (nonfinite_in(step.groups) > 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (const GuardGroup& group : step.groups) sum += group.sum_squares;
  return std::sqrt(sum) / gradient_scale(step);
}

}  // namespace

void Decision::raise(GuardAction action, std::string_view slug, std::string_view text) {
  if (action <= verdict_.action) return;
  verdict_.action = action;
  verdict_.say(slug, text);
}

void Decision::clip(double scale, std::string_view slug, std::string_view text) {
  if (!(scale < clip_scale_)) return;
  clip_scale_ = scale;
  if (verdict_.action > GuardAction::clip) return;
  verdict_.action = GuardAction::clip;
  if (!text.empty()) verdict_.say(slug, text);
}

void Decision::alarm(std::string_view slug, std::string_view text) {
  if (verdict_.action <= GuardAction::clip) verdict_.say(slug, text);
}

GuardCore::GuardCore(const GuardOptions& options, std::vector<std::unique_ptr<Policy>> policies)
    : options_(options), policies_(std::move(policies)), loss_scale_(options.initial_loss_scale) {
  if (!options_.keeps_loss_scale) loss_scale_ = 1;
}

GuardVerdict GuardCore::step(const GuardStep& step) noexcept {
  GuardVerdict verdict;
  try {
    verdict = aside_ ? judge_plainly(step) : judge(step);
  } catch (const std::exception& error) {
    verdict = judge_plainly(step);
    step_aside(verdict, error.what());
  } catch (...) {
    verdict = judge_plainly(step);
    step_aside(verdict, "an unknown exception");
  }
  ++counts_.steps;
  if (verdict.action == GuardAction::clip) ++counts_.clipped;
  if (verdict.action == GuardAction::skip) ++counts_.skipped;
  if (verdict.action == GuardAction::rollback) ++counts_.rollbacks;
  loss_scale_ = verdict.loss_scale;
  return verdict;
}

GuardVerdict GuardCore::judge(const GuardStep& step) {
  GuardVerdict verdict;
  verdict.loss_scale = options_.keeps_loss_scale ? loss_scale_ : step.loss_scale;
  verdict.grad_norm =
      step.groups.empty() ? std::numeric_limits<double>::quiet_NaN() : global_norm(step);
  const StepAssessment assessment = look(step, verdict.grad_norm);
  Decision decision(verdict);
  for (const auto& policy : policies_) policy->judge(step, assessment, decision);
  verdict.scale = decision.clip_scale() / gradient_scale(step);
  if (options_.max_group_norm > 0 && verdict.takes_step()) {
    group_scales_.resize(step.groups.size());
    if (clip_groups(step, options_.max_group_norm, group_scales_)) {
      verdict.action = GuardAction::clip;
      verdict.group_scales = group_scales_;
    }
  }
  for (const auto& policy : policies_) policy->settle(step, assessment, verdict);
  if (verdict.action == GuardAction::rollback) restore_watches(verdict.rollback_step);
  // A measure was taken: what the loss does from here on is judged afresh.
  if (assessment.climbing) climb_.rebase();
  return verdict;
}

StepAssessment GuardCore::look(const GuardStep& step, double norm) {
  StepAssessment assessment;
  assessment.nonfinite_grads = nonfinite_in(step.groups);
  if (!step.groups.empty()) assessment.norm = norm_.judge(norm);
  if (!step.loss) return assessment;
  if (options_.loss_has_level) {
    assessment.loss = loss_.judge(*step.loss);
    assessment.loss_run = loss_.run();
    assessment.loss_shifted = loss_.shifted();
    climb_.add(*step.loss);
    assessment.climbing = climb_.climbing();
    assessment.climb_from = climb_.best();
    assessment.climb_to = climb_.now();
  } else {
    assessment.loss.given = true;
    assessment.loss.value = *step.loss;
    assessment.loss.finite = std::isfinite(*step.loss);
  }
  return assessment;
}

/// What is left of a guard that stepped aside: the clipping that it replaced, and the loss scale's
/// own rule where it keeps one (without it fp16 training would not go on at all).
GuardVerdict GuardCore::judge_plainly(const GuardStep& step) {
  GuardVerdict verdict;
  verdict.aside = true;
  verdict.loss_scale = options_.keeps_loss_scale ? loss_scale_ : step.loss_scale;
  verdict.scale = 1 / gradient_scale(step);
  if (step.groups.empty()) return verdict;
  verdict.grad_norm = global_norm(step);
  if (!std::isfinite(verdict.grad_norm)) {
    if (!options_.keeps_loss_scale) return verdict;
    verdict.action = GuardAction::skip;
    verdict.loss_scale *= options_.loss_scale_backoff;
    return verdict;
  }
  const double scale = clip_scale_for(options_.max_norm, verdict.grad_norm);
  if (scale < 1) verdict.action = GuardAction::clip;
  verdict.scale *= scale;
  return verdict;
}

void GuardCore::step_aside(GuardVerdict& verdict, std::string_view what) {
  aside_ = true;
  std::string text = "the guard failed (";
  text.append(what.substr(0, 120)).append(") and steps aside: training goes on without it");
  verdict.say("guard", text);
}

void GuardCore::note_snapshot(std::int64_t step) noexcept {
  if (aside_) return;
  try {
    core::StateArchive archive;
    serialize_watches(archive);
    std::swap(snapshots_[0], snapshots_[1]);
    snapshots_[1] = {true, step, archive.take()};
    for (const auto& policy : policies_) policy->note_snapshot(step);
  } catch (...) {
    aside_ = true;  // without a reason: no verdict is being given
  }
}

void GuardCore::restore_watches(std::int64_t step) {
  for (const Snapshot& snapshot : snapshots_) {
    if (!snapshot.taken || snapshot.step != step) continue;
    core::StateArchive archive(snapshot.watches);
    serialize_watches(archive);
    if (!archive.ok()) throw std::runtime_error("a kept snapshot of its statistics is damaged");
    climb_.rebase();
    return;
  }
}

void GuardCore::serialize_watches(core::StateArchive& archive) {
  loss_.serialize(archive);
  norm_.serialize(archive);
  climb_.serialize(archive);
}

void GuardCore::serialize(core::StateArchive& archive) {
  std::uint32_t magic = k_magic;
  std::uint16_t version = k_version;
  archive.field(magic);
  archive.field(version);
  if (magic != k_magic || version != k_version) return archive.reject();
  serialize_watches(archive);
  for (Snapshot& snapshot : snapshots_) {
    archive.field(snapshot.taken);
    archive.field(snapshot.step);
    archive.field(snapshot.watches);
  }
  archive.field(counts_.steps);
  archive.field(counts_.clipped);
  archive.field(counts_.skipped);
  archive.field(counts_.rollbacks);
  archive.field(loss_scale_);
  archive.field(aside_);
  auto policies = static_cast<std::uint32_t>(policies_.size());
  archive.field(policies);
  if (policies != policies_.size()) return archive.reject();
  for (const auto& policy : policies_) {
    policy->serialize(archive);
    if (!archive.ok()) return;
  }
}

std::string GuardCore::save() {
  core::StateArchive archive;
  serialize(archive);
  return archive.take();
}

bool GuardCore::load(std::string_view state) {
  core::StateArchive archive(state);
  serialize(archive);
  if (options_.keeps_loss_scale && !(loss_scale_ > 0 && std::isfinite(loss_scale_))) return false;
  return archive.ok() && archive.at_end();
}

}  // namespace aplomb::guard
