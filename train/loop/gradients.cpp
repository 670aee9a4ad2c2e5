#include "train/loop/gradients.h"

#include <cmath>

#include "scan/scan.h"

namespace aplomb::train::loop {
namespace {

std::optional<scan::ScalarType> scan_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return scan::ScalarType::f32;
    case at::kDouble:
      return scan::ScalarType::f64;
    case at::kBFloat16:
      return scan::ScalarType::bf16;
    case at::kHalf:
      return scan::ScalarType::f16;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::span<const GuardGroup> GradientScan::read(const std::vector<NamedTensor>& parameters) {
  groups_.assign(parameters.size(), {});
  std::vector<at::Tensor> kept;  // contiguous copies live until the scan is done
  std::vector<scan::TensorView> views(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = parameters[i].tensor.grad();
    if (!gradient.defined()) continue;
    const auto type = scan_type(gradient.scalar_type());
    if (!gradient.is_cpu() || !type) {
      read_on_device(parameters);
      return groups_;
    }
    kept.push_back(gradient.contiguous());
    views[i] = {kept.back().const_data_ptr(), static_cast<std::uint64_t>(gradient.numel()), *type};
  }
  std::vector<scan::TensorStats> stats(parameters.size());
  scan::scan_many(views, stats, threads_);
  for (std::size_t i = 0; i < stats.size(); ++i)
    groups_[i] = {stats[i].nan + stats[i].inf, stats[i].sum_squares};
  return groups_;
}

/// All norms in one transfer; only a parameter whose norm is not finite is looked at more closely.
void GradientScan::read_on_device(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> gradients;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = parameters[i].tensor.grad();
    if (!gradient.defined()) continue;
    gradients.push_back(gradient);
    places.push_back(i);
  }
  if (gradients.empty()) return;
  std::vector<at::Tensor> norms = at::_foreach_norm(gradients, 2);
  for (at::Tensor& each : norms) each = each.to(at::kDouble);
  const at::Tensor all = at::stack(norms).cpu();
  const double* norm = all.const_data_ptr<double>();
  for (std::size_t i = 0; i < places.size(); ++i) {
    GuardGroup& group = groups_[places[i]];
    group.sum_squares = norm[i] * norm[i];
    if (std::isfinite(norm[i])) continue;
    const at::Tensor wide = gradients[i].to(at::kDouble);
    const at::Tensor finite = wide.isfinite();
    group.nonfinite = static_cast<std::uint64_t>(wide.numel() - finite.sum().item<std::int64_t>());
    group.sum_squares =
        wide.where(finite, at::zeros({}, wide.options())).square().sum().item<double>();
  }
}

void scale_gradients(const std::vector<NamedTensor>& parameters, double scale,
                     std::span<const double> group_scales) {
  if (scale == 1 && group_scales.empty()) return;
  std::vector<at::Tensor> gradients;
  std::vector<at::Scalar> factors;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = parameters[i].tensor.grad();
    if (!gradient.defined()) continue;
    gradients.push_back(gradient);
    factors.emplace_back(group_scales.empty() ? scale : scale * group_scales[i]);
  }
  if (gradients.empty()) return;
  const at::NoGradGuard no_gradients;
  at::_foreach_mul_(gradients, factors);
}

}  // namespace aplomb::train::loop
