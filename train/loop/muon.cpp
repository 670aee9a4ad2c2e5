#include <algorithm>
#include <cmath>

#include "train/loop/optimizer.h"

namespace aplomb::train::loop {
namespace {

// torch/optim/_muon.py (torch 2.13): coefficients, rounds and floor.
constexpr double k_a = 3.4445;
constexpr double k_b = -4.7750;
constexpr double k_c = 2.0315;
constexpr int k_rounds = 5;
constexpr double k_floor = 1e-7;

/// The nearest matrix with singular values of about 1.
at::Tensor orthogonal(const at::Tensor& matrix) {
  const bool tall = matrix.size(0) > matrix.size(1);
  at::Tensor x = matrix.to(at::kBFloat16);
  if (tall) x = x.t();
  x = x.div(x.norm().clamp(k_floor));
  for (int round = 0; round < k_rounds; ++round) {
    const at::Tensor gram = x.mm(x.t());
    const at::Tensor update = at::addmm(gram, gram, gram, k_b, k_c);
    x = at::addmm(x, update, x, k_a);
  }
  return tall ? x.t() : x;
}

/// AdamW and Muon side by side, each for its own parameters.
class Both final : public Optimizer {
 public:
  Both(std::unique_ptr<Optimizer> one, std::unique_ptr<Optimizer> other)
      : one_(std::move(one)), other_(std::move(other)) {}
  void step(double factor) override {
    one_->step(factor);
    other_->step(factor);
  }
  void reset_momentum() override {
    one_->reset_momentum();
    other_->reset_momentum();
  }
  std::vector<NamedTensor> state() override {
    std::vector<NamedTensor> all = one_->state();
    for (NamedTensor& each : other_->state()) all.push_back(std::move(each));
    return all;
  }
  std::vector<OptimizerGroupInfo> groups(double factor) const override {
    std::vector<OptimizerGroupInfo> all = one_->groups(factor);
    for (OptimizerGroupInfo& each : other_->groups(factor)) all.push_back(std::move(each));
    return all;
  }

 private:
  std::unique_ptr<Optimizer> one_;
  std::unique_ptr<Optimizer> other_;
};

}  // namespace

Muon::Muon(std::vector<NamedTensor> parameters, const Settings& settings)
    : settings_(settings), parameters_(std::move(parameters)) {
  for (const NamedTensor& each : parameters_)
    momentum_.push_back(at::zeros_like(each.tensor.detach()));
}

void Muon::step(double factor) {
  const at::NoGradGuard no_gradients;
  const double lr = settings_.lr * factor;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor parameter = parameters_[i].tensor.detach();
    const at::Tensor& gradient = parameters_[i].tensor.grad();
    if (!gradient.defined()) continue;
    momentum_[i].lerp_(gradient, 1 - settings_.momentum);
    const at::Tensor update = orthogonal(gradient.lerp(momentum_[i], settings_.momentum));
    const double tall =
        static_cast<double>(parameter.size(0)) / static_cast<double>(parameter.size(1));
    parameter.mul_(1 - lr * settings_.weight_decay);
    parameter.add_(update, -lr * std::sqrt(std::max(1.0, tall)));
  }
}

void Muon::reset_momentum() {
  for (at::Tensor& each : momentum_) each.zero_();
}

std::vector<NamedTensor> Muon::state() {
  std::vector<NamedTensor> all;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    all.push_back({"momentum_buffer." + parameters_[i].name, momentum_[i]});
  return all;
}

std::vector<OptimizerGroupInfo> Muon::groups(double factor) const {
  OptimizerGroupInfo group;
  group.numbers = {{"lr", settings_.lr * factor},
                   {"initial_lr", settings_.lr},
                   {"momentum", settings_.momentum},
                   {"weight_decay", settings_.weight_decay},
                   {"ns_steps", k_rounds}};
  for (const NamedTensor& each : parameters_) group.parameters.push_back(each.name);
  return {group};
}

bool is_for_muon(const NamedTensor& parameter) {
  const auto has = [&](const char* part) { return parameter.name.find(part) != std::string::npos; };
  return parameter.tensor.dim() == 2 && !has("embed_tokens") && !has("lm_head");
}

std::unique_ptr<Optimizer> make_optimizer(const std::vector<NamedTensor>& trainable,
                                          const OptimFlags& flags, double peak) {
  const AdamW::Settings adamw{peak, flags.adam_beta1, flags.adam_beta2, flags.adam_epsilon,
                              flags.weight_decay};
  if (flags.optim != "muon") return std::make_unique<AdamW>(trainable, adamw);
  std::vector<NamedTensor> matrices, others;
  for (const NamedTensor& each : trainable) (is_for_muon(each) ? matrices : others).push_back(each);
  return std::make_unique<Both>(
      std::make_unique<AdamW>(others, adamw),
      std::make_unique<Muon>(std::move(matrices), Muon::Settings{flags.muon_learning_rate, 0.95,
                                                                 flags.muon_weight_decay}));
}

}  // namespace aplomb::train::loop
