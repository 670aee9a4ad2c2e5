#include "train/loop/snapshots.h"

namespace aplomb::train::loop {

std::uint64_t Snapshots::bytes() const {
  std::uint64_t bytes = 0;
  for (const NamedTensor& each : tensors_) bytes += each.tensor.nbytes();
  return 2 * bytes;
}

void Snapshots::take(std::int64_t step, const text::DataPosition& data) {
  Kept kept;
  if (kept_.size() == 2) {  // its memory is used again
    kept = std::move(kept_.front());
    kept_.pop_front();
  }
  kept.step = step;
  kept.data = data;
  const at::NoGradGuard no_gradients;
  kept.copies.resize(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const at::Tensor& from = tensors_[i].tensor;
    if (!kept.copies[i].defined())
      kept.copies[i] =
          at::empty(from.sizes(), from.options().device(at::kCPU).requires_grad(false));
    kept.copies[i].copy_(from.detach());
  }
  kept_.push_back(std::move(kept));
}

std::optional<text::DataPosition> Snapshots::restore(std::int64_t step) {
  while (!kept_.empty() && kept_.back().step > step) kept_.pop_back();
  if (kept_.empty() || kept_.back().step != step) return std::nullopt;
  const Kept& kept = kept_.back();
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    at::Tensor to = tensors_[i].tensor.detach();
    to.copy_(kept.copies[i]);
  }
  return kept.data;
}

}  // namespace aplomb::train::loop
