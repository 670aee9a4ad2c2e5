#include "train/dist/gradient_buckets.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace aplomb::train::dist {

/// Called by the engine once a parameter's gradient has arrived.
class GradientBuckets::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientBuckets& owner, std::size_t slot) : owner_(owner), slot_(slot) {}
  void operator()(const torch::autograd::Variable&) override { owner_.note(slot_); }

 private:
  GradientBuckets& owner_;
  std::size_t slot_;
};

GradientBuckets::GradientBuckets(Group& group, const std::vector<at::Tensor>& parameters,
                                 std::int64_t bucket_bytes, std::int64_t first_bytes)
    : group_(group) {
  if (group.is_alone()) return;
  slots_.resize(parameters.size());
  std::int64_t elements = 0;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const at::Tensor& each = parameters[i];
    const std::int64_t most = buckets_.size() <= 1 ? first_bytes : bucket_bytes;
    const bool fits = !buckets_.empty() && buckets_.back().flat.dtype() == each.dtype() &&
                      (elements + each.numel()) * each.element_size() <= most;
    if (!fits) {
      buckets_.push_back({at::empty({0}, each.options().requires_grad(false)), {}, 0, {}});
      elements = 0;
    }
    slots_[i] = {each, buckets_.size() - 1, elements, false};
    buckets_.back().slots.push_back(i);
    elements += each.numel();
    buckets_.back().missing = static_cast<std::size_t>(elements);  // its size, for now
    torch::autograd::impl::set_post_acc_grad_hooks(each, std::make_unique<Hook>(*this, i));
  }
  for (Bucket& each : buckets_) {
    each.flat = at::zeros({static_cast<std::int64_t>(each.missing)}, each.flat.options());
    each.missing = each.slots.size();
  }
}

GradientBuckets::~GradientBuckets() {
  for (const Slot& each : slots_)
    torch::autograd::impl::set_post_acc_grad_hooks(each.parameter, nullptr);
}

void GradientBuckets::arm() { armed_ = true; }

void GradientBuckets::note(std::size_t slot) {
  if (!armed_) return;
  TORCH_CHECK(!slots_[slot].ready,
              "[ranks] a gradient arrived twice in one backward pass: it was sent too early");
  take(slots_[slot]);
  launch_full();
}

/// The gradient's place is the bucket from here on: no second copy stays.
void GradientBuckets::take(Slot& slot) {
  const at::NoGradGuard no_gradients;
  Bucket& bucket = buckets_[slot.bucket];
  const at::Tensor view =
      bucket.flat.narrow(0, slot.offset, slot.parameter.numel()).view(slot.parameter.sizes());
  at::Tensor& gradient = slot.parameter.mutable_grad();
  if (gradient.defined()) {
    view.copy_(gradient);
  } else {
    view.zero_();
  }
  gradient = view;
  slot.ready = true;
  --bucket.missing;
}

void GradientBuckets::launch_full() {
  while (launched_ < buckets_.size() && buckets_[launched_].missing == 0) {
    Bucket& bucket = buckets_[launched_++];
    bucket.work = group_.begin_sum(bucket.flat);
  }
}

void GradientBuckets::finish() {
  armed_ = false;
  if (group_.is_alone()) return;
  for (std::size_t i = slots_.size(); i-- > 0;) {
    if (!slots_[i].ready) take(slots_[i]);
  }
  launch_full();
  for (Bucket& each : buckets_) {
    group_.wait(each.work);
    each.work.reset();
    each.missing = each.slots.size();
  }
  for (Slot& each : slots_) each.ready = false;
  launched_ = 0;
}

}  // namespace aplomb::train::dist
