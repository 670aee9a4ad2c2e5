#pragma once
/// Optimizer: takes a step with the gradients that the parameters carry.
///
///     auto optimizer = make_optimizer(trainable, flags, peak);
///     optimizer->step(schedule.factor(step));
///
/// State is named after the parameters, so that a checkpoint finds it again whatever their order:
/// `exp_avg.<parameter>`, `exp_avg_sq.<parameter>`, `step.<parameter>`,
/// `momentum_buffer.<parameter>`.

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "train/loop/options.h"

namespace aplomb::train::loop {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// Parameters that are treated alike, and how; numbers under torch's names: lr, initial_lr, beta1,
/// beta2, eps, weight_decay, momentum, ns_steps.
struct OptimizerGroupInfo {
  std::vector<std::pair<std::string, double>> numbers;
  std::vector<std::string> parameters;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Learning rates are their peaks times `factor`. A parameter without a gradient stays as it is.
  virtual void step(double factor) = 0;
  /// First moments to zero: what a bad batch left in them is forgotten.
  virtual void reset_momentum() = 0;
  /// Everything that a later step depends on, by reference: copy from it to save, into it to load.
  virtual std::vector<NamedTensor> state() = 0;
  /// For people and for tools; `factor` is that of the next step. Empty: not told.
  virtual std::vector<OptimizerGroupInfo> groups(double /*factor*/) const { return {}; }
};

/// torch.optim.AdamW's arithmetic, by the same fused kernel (`fused=True`).
class AdamW final : public Optimizer {
 public:
  struct Settings {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.01;  ///< of parameters that decays() says so of
  };
  AdamW(const std::vector<NamedTensor>& parameters, const Settings& settings);
  void step(double factor) override;
  void reset_momentum() override;
  std::vector<NamedTensor> state() override;
  std::vector<OptimizerGroupInfo> groups(double factor) const override;

 private:
  struct Group {
    double weight_decay = 0;
    std::vector<std::string> names;
    std::vector<at::Tensor> parameters, first, second, steps;
  };
  static void step_group(const Group& group, const Settings& settings, double lr);

  Settings settings_;
  Group groups_[2];  // that decays, and that does not
};

/// torch.optim.Muon's arithmetic: momentum, orthogonalised by five Newton-Schulz rounds in bf16.
/// Matrices only. (Jordan et al., https://kellerjordan.github.io/posts/muon)
class Muon final : public Optimizer {
 public:
  struct Settings {
    double lr = 0.02;
    double momentum = 0.95;
    double weight_decay = 0.1;
  };
  Muon(std::vector<NamedTensor> parameters, const Settings& settings);
  void step(double factor) override;
  void reset_momentum() override;
  std::vector<NamedTensor> state() override;
  std::vector<OptimizerGroupInfo> groups(double factor) const override;

 private:
  Settings settings_;
  std::vector<NamedTensor> parameters_;
  std::vector<at::Tensor> momentum_;
};

/// Whether weight decay applies to a parameter: not to norms and biases. By the name, as
/// transformers' Trainer decides it (get_decay_parameter_names).
bool decays(std::string_view parameter);

/// Whether Muon takes a parameter: matrices, but for embeddings and the output head, which AdamW
/// keeps (as Muon's authors do).
bool is_for_muon(const NamedTensor& parameter);

/// What `flags` ask for; `peak`: learning rate of AdamW.
std::unique_ptr<Optimizer> make_optimizer(const std::vector<NamedTensor>& trainable,
                                          const OptimFlags& flags, double peak);

}  // namespace aplomb::train::loop
