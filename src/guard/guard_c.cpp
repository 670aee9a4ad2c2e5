#include <aplomb/guard.h>
#include <aplomb/guard_c.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct aplomb_guard {
  aplomb::Guard guard;
  std::vector<aplomb::GuardGroup> groups;
};

namespace {

template <std::size_t N>
void put(char (&to)[N], std::string_view text) {
  const std::size_t size = std::min(text.size(), N - 1);
  std::copy_n(text.begin(), size, to);
  to[size] = '\0';
}

aplomb::GuardOptions options_of(const aplomb_guard_options& from) {
  aplomb::GuardOptions to;
  to.max_norm = from.max_norm;
  to.max_group_norm = from.max_group_norm;
  to.skip_nonfinite = from.skip_nonfinite != 0;
  to.spikes = from.spikes != 0;
  to.reset_momentum = from.reset_momentum != 0;
  to.lower_lr = from.lower_lr != 0;
  to.loss_has_level = from.loss_has_level != 0;
  to.rollback_retries = from.rollback_retries;
  to.most_skips_in_a_row = from.most_skips_in_a_row;
  to.keeps_loss_scale = from.keeps_loss_scale != 0;
  to.initial_loss_scale = from.initial_loss_scale;
  to.loss_scale_growth = from.loss_scale_growth;
  to.loss_scale_backoff = from.loss_scale_backoff;
  to.loss_scale_interval = from.loss_scale_interval;
  return to;
}

}  // namespace

extern "C" {

void aplomb_guard_default_options(aplomb_guard_options* options) {
  const aplomb::GuardOptions from;
  *options = {};
  options->size = sizeof *options;
  options->max_norm = from.max_norm;
  options->max_group_norm = from.max_group_norm;
  options->initial_loss_scale = from.initial_loss_scale;
  options->loss_scale_growth = from.loss_scale_growth;
  options->loss_scale_backoff = from.loss_scale_backoff;
  options->loss_scale_interval = from.loss_scale_interval;
  options->rollback_retries = from.rollback_retries;
  options->most_skips_in_a_row = from.most_skips_in_a_row;
  options->skip_nonfinite = from.skip_nonfinite ? 1 : 0;
  options->spikes = from.spikes ? 1 : 0;
  options->reset_momentum = from.reset_momentum ? 1 : 0;
  options->lower_lr = from.lower_lr ? 1 : 0;
  options->loss_has_level = from.loss_has_level ? 1 : 0;
  options->keeps_loss_scale = from.keeps_loss_scale ? 1 : 0;
}

void aplomb_guard_default_step(aplomb_guard_step_info* step) {
  *step = {};
  step->size = sizeof *step;
  step->loss_scale = 1;
}

aplomb_guard* aplomb_guard_new(const aplomb_guard_options* options) {
  if (options != nullptr && options->size != sizeof *options) return nullptr;
  try {
    const aplomb::GuardOptions chosen =
        options != nullptr ? options_of(*options) : aplomb::GuardOptions{};
    return new aplomb_guard{aplomb::Guard(chosen), {}};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void aplomb_guard_free(aplomb_guard* guard) { delete guard; }

void aplomb_guard_step(aplomb_guard* guard, const aplomb_guard_step_info* step,
                       const aplomb_guard_group* groups, size_t group_count, double* group_scales,
                       aplomb_guard_verdict* verdict) {
  aplomb::GuardStep asked;
  asked.step = step->step;
  if (step->has_loss != 0) asked.loss = step->loss;
  if (step->has_lr != 0) asked.lr = step->lr;
  asked.loss_scale = step->loss_scale;
  asked.unscaled = step->unscaled != 0;
  try {
    guard->groups.resize(group_count);
    for (std::size_t i = 0; i < group_count; ++i)
      guard->groups[i] = {groups[i].nonfinite, groups[i].sum_squares};
    asked.groups = guard->groups;
  } catch (const std::bad_alloc&) {
    asked.groups = {};  // only the loss is judged
  }
  const aplomb::GuardVerdict answer = guard->guard.step(asked);
  *verdict = {};
  verdict->size = sizeof *verdict;
  verdict->action = static_cast<int32_t>(answer.action);
  verdict->scale = answer.scale;
  verdict->grad_norm = answer.grad_norm;
  verdict->loss_scale = answer.loss_scale;
  verdict->lr_factor = answer.lr_factor;
  verdict->reset_momentum = answer.reset_momentum ? 1 : 0;
  verdict->aside = answer.aside ? 1 : 0;
  verdict->rollback_step = answer.rollback_step;
  verdict->skip_steps = answer.skip_steps;
  put(verdict->policy, answer.policy);
  put(verdict->reason, answer.reason());
  if (group_scales == nullptr) return;
  std::fill_n(group_scales, group_count, 1.0);
  std::copy(answer.group_scales.begin(), answer.group_scales.end(), group_scales);
}

void aplomb_guard_note_snapshot(aplomb_guard* guard, int64_t step) {
  guard->guard.note_snapshot(step);
}

size_t aplomb_guard_save(const aplomb_guard* guard, void* bytes, size_t capacity) {
  try {
    const std::string state = guard->guard.save();
    if (bytes != nullptr && state.size() <= capacity)
      std::memcpy(bytes, state.data(), state.size());
    return state.size();
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

int aplomb_guard_load(aplomb_guard* guard, const void* bytes, size_t size) {
  return guard->guard.load({static_cast<const char*>(bytes), size}) ? 1 : 0;
}

}  // extern "C"
