#include <aplomb/guard.h>

#include <algorithm>
#include <utility>

#include "core/pair_table.h"
#include "guard/guard_core.h"

namespace aplomb {

namespace guard {

#define APLOMB_MEMBER(slug) std::unique_ptr<Policy> make_##slug##_policy(const GuardOptions&);
#include "guard/roster.def"
#undef APLOMB_MEMBER

std::vector<std::unique_ptr<Policy>> make_policies(const GuardOptions& options) {
  std::vector<std::unique_ptr<Policy>> all;
#define APLOMB_MEMBER(slug) all.push_back(make_##slug##_policy(options));
#include "guard/roster.def"
#undef APLOMB_MEMBER
  std::erase(all, nullptr);
  return all;
}

std::vector<PolicySpec> policy_specs() {
  GuardOptions all;
  all.max_norm = 1;
  all.skip_nonfinite = all.spikes = all.lower_lr = all.reset_momentum = true;
  all.rollback_retries = 1;
  std::vector<PolicySpec> specs;
  for (const auto& policy : make_policies(all)) specs.push_back(policy->spec());
  return specs;
}

}  // namespace guard

std::string_view name(GuardAction action) {
  static constexpr std::pair<GuardAction, std::string_view> k_names[] = {
      {GuardAction::proceed, "proceed"},
      {GuardAction::clip, "clip"},
      {GuardAction::skip, "skip"},
      {GuardAction::rollback, "rollback"},
      {GuardAction::halt, "halt"}};
  return core::second_of(k_names, action).value_or("unknown");
}

void GuardVerdict::say(std::string_view policy_slug, std::string_view text) {
  policy = policy_slug;
  text_size_ = std::min(text.size(), k_most_reason);
  std::copy_n(text.begin(), text_size_, text_);
}

Guard::Guard(const GuardOptions& options)
    : core_(std::make_unique<guard::GuardCore>(options, guard::make_policies(options))) {}
Guard::~Guard() = default;
Guard::Guard(Guard&&) noexcept = default;
Guard& Guard::operator=(Guard&&) noexcept = default;

GuardVerdict Guard::step(const GuardStep& step) noexcept { return core_->step(step); }
void Guard::note_snapshot(std::int64_t step) noexcept { core_->note_snapshot(step); }
const GuardCounts& Guard::counts() const noexcept { return core_->counts(); }
std::string Guard::save() const { return core_->save(); }

bool Guard::load(std::string_view state) noexcept {
  try {
    auto fresh = std::make_unique<guard::GuardCore>(core_->options(),
                                                    guard::make_policies(core_->options()));
    if (!fresh->load(state)) return false;
    core_ = std::move(fresh);
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace aplomb
