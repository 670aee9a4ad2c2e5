#include "train/dist/group.h"

#include "train/dist/nccl.h"

namespace aplomb::train::dist {
namespace {

// A connection breaks a moment before the reason for it is told.
constexpr std::chrono::seconds k_reason_patience{3};
constexpr int k_cannot = 2;

at::Tensor view_of(std::span<double> values) {
  return at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kDouble);
}

}  // namespace

core::Result<std::unique_ptr<Group>> Group::join(const World& world, const GroupOptions& options) {
  std::unique_ptr<Group> group(new Group);
  group->world_ = world;
  if (world.size == 1) return group;
  auto links = meet(world, options.patience);
  if (!links) return tl::unexpected(links.error());
  group->store_ = std::move(links->store);
  group->ring_ = c10::make_intrusive<RingBackend>(world.rank, world.size, std::move(links->next),
                                                  std::move(links->previous));
  ControlHooks hooks;
  hooks.on_lost = [whole = group.get()] {
    whole->ring_->abort();
    if (c10d::Backend* nccl = whole->breakable_) nccl->abort();
  };
  hooks.on_stuck = options.on_stuck;
  group->control_ =
      std::make_unique<Control>(world.rank, std::move(links->control), std::move(hooks));
  return group;
}

Group& Group::alone() {
  static Group alone;
  return alone;
}

void Group::use(const at::Device& device) {
  if (is_alone() || !device.is_cuda()) return;
  nccl_ = open_nccl(store_, rank(), size());
  breakable_ = nccl_.get();
}

void Group::check() const {
  if (control_ && control_->is_lost()) throw GroupLost(control_->lost({}));
}

void Group::sum(std::span<double> values) {
  if (is_alone()) return;
  std::vector<at::Tensor> tensors = {view_of(values)};
  wait(ring_->allreduce(tensors, {}));
}

bool Group::any(bool value) {
  double number = value ? 1 : 0;
  sum({&number, 1});
  return number > 0;
}

void Group::from_first(std::span<std::byte> bytes) {
  if (is_alone() || bytes.empty()) return;
  from_first(at::from_blob(bytes.data(), {static_cast<std::int64_t>(bytes.size())}, at::kByte));
}

void Group::from_first(const at::Tensor& tensor) {
  if (is_alone()) return;
  std::vector<at::Tensor> tensors = {tensor.detach()};
  wait(ring_->broadcast(tensors, {}));
}

c10::intrusive_ptr<c10d::Work> Group::begin_sum(const at::Tensor& tensor) {
  std::vector<at::Tensor> tensors = {tensor};
  if (nccl_ && tensor.is_cuda()) return nccl_->allreduce(tensors, {});
  return ring_->allreduce(tensors, {});
}

void Group::wait(const c10::intrusive_ptr<c10d::Work>& work) {
  try {
    work->wait();
  } catch (const c10::Error& fault) {
    const std::string reason = control_->lost(k_reason_patience);
    throw GroupLost(reason.empty() ? fault.what_without_backtrace() : reason);
  }
}

int Group::leave(int status, const std::string& reason, std::string* unheard) {
  if (is_alone()) return status;
  if (is_first()) {
    control_->end(status, status == k_cannot ? "rank 0: " + reason : std::string());
    return status;
  }
  if (status == k_cannot) {
    if (!control_->fail(reason)) *unheard = reason;
    return k_cannot;
  }
  const auto end = control_->wait_end();
  if (end) return end->status;
  *unheard = control_->lost({});
  return k_cannot;
}

}  // namespace aplomb::train::dist
