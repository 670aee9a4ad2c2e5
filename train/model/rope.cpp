#include "train/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aplomb::train::model {
namespace {

using torch::Tensor;

/// base^(-2 i / D) for i in [0, D / 2).
Tensor plain_frequencies(double base, std::int64_t dims) {
  const Tensor exponent = torch::arange(0, dims, 2, torch::kFloat32) / static_cast<double>(dims);
  return 1.0 / torch::pow(base, exponent);
}

/// Long wavelengths are slowed by the factor, short ones stay, between them it is blended.
Tensor llama3_frequencies(const RopeScaling& rope, const Tensor& plain) {
  const Tensor wavelength = 2 * std::numbers::pi / plain;
  const auto trained = static_cast<double>(rope.original_max_positions);
  const double low = trained / rope.low_freq_factor;
  const double high = trained / rope.high_freq_factor;
  const Tensor slowed = torch::where(wavelength > low, plain / rope.factor, plain);
  const Tensor smooth = (trained / wavelength - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  const Tensor blended = (1 - smooth) * slowed / rope.factor + smooth * slowed;
  const Tensor between = (wavelength >= high).logical_and(wavelength <= low);
  return torch::where(between, blended, slowed);
}

/// The dimension that makes `turns` turns over the trained length.
double yarn_dimension(const ModelConfig& config, double turns) {
  const auto dims = static_cast<double>(config.attention.head_dim);
  const auto trained = static_cast<double>(config.rope.original_max_positions);
  return dims * std::log(trained / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(config.rope_theta));
}

Tensor yarn_frequencies(const ModelConfig& config, const Tensor& plain) {
  double low = yarn_dimension(config, config.rope.beta_fast);
  double high = yarn_dimension(config, config.rope.beta_slow);
  if (config.rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(config.attention.head_dim - 1));
  if (low == high) high += 0.001;  // a ramp of no width
  const Tensor ramp =
      ((torch::arange(config.attention.head_dim / 2, torch::kFloat32) - low) / (high - low))
          .clamp(0, 1);
  return plain / config.rope.factor * ramp + plain * (1 - ramp);
}

double yarn_attention_factor(const RopeScaling& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  const auto scale = [&](double weight) {
    return rope.factor <= 1 ? 1.0 : 0.1 * weight * std::log(rope.factor) + 1;
  };
  if (rope.mscale.value_or(0) != 0 && rope.mscale_all_dim.value_or(0) != 0) {
    return scale(*rope.mscale) / scale(*rope.mscale_all_dim);
  }
  return scale(1);
}

}  // namespace

RopeFrequencies rope_frequencies(const ModelConfig& config, std::int64_t length) {
  const RopeScaling& rope = config.rope;
  const Tensor plain = plain_frequencies(config.rope_theta, config.attention.head_dim);
  switch (rope.kind) {
    case RopeScaling::Kind::none:
      return {plain, 1};
    case RopeScaling::Kind::linear:
      return {plain / rope.factor, 1};
    case RopeScaling::Kind::dynamic: {
      const auto used = static_cast<double>(std::max(length, config.max_positions));
      const auto dims = static_cast<double>(config.attention.head_dim);
      const double stretch =
          rope.factor * used / static_cast<double>(config.max_positions) - (rope.factor - 1);
      return {plain_frequencies(config.rope_theta * std::pow(stretch, dims / (dims - 2)),
                                config.attention.head_dim),
              1};
    }
    case RopeScaling::Kind::llama3:
      return {llama3_frequencies(rope, plain), 1};
    case RopeScaling::Kind::yarn:
      return {yarn_frequencies(config, plain), yarn_attention_factor(rope)};
  }
  return {plain, 1};
}

const RopeTable& Rope::table(std::int64_t length, torch::Device device) {
  // A dynamic table of another length turns at other speeds, so a longer one does not serve.
  const bool same_speed =
      config_.rope.kind != RopeScaling::Kind::dynamic ||
      std::max(length, config_.max_positions) == std::max(length_, config_.max_positions);
  if (table_.cos.defined() && table_.cos.device() == device && length <= length_ && same_speed)
    return table_;
  const torch::NoGradGuard no_grad;
  const RopeFrequencies frequencies = rope_frequencies(config_, length);
  const Tensor angles = torch::arange(length, torch::kFloat32).unsqueeze(1) * frequencies.inverse;
  table_ = {(angles.cos() * frequencies.attention_factor).to(device),
            (angles.sin() * frequencies.attention_factor).to(device)};
  length_ = length;
  return table_;
}

}  // namespace aplomb::train::model
