#include "train/model/gradient_checkpointing.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace aplomb::train::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Run = std::function<Tensor(const Tensor&)>;

struct HeldRun : torch::CustomClassHolder {
  explicit HeldRun(Run held) : run(std::move(held)) {}
  Run run;
};

at::Generator generator_of(const Tensor& x) {
  return x.is_cpu() ? at::detail::getDefaultCPUGenerator()
                    : at::globalContext().defaultGenerator(x.device());
}

Tensor random_state(at::Generator generator) {
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

void set_random_state(at::Generator generator, const Tensor& state) {
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(state);
}

class Checkpointed : public torch::autograd::Function<Checkpointed> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, at::TensorList trained,
                        const Run& run) {
    ctx->saved_data["random"] = random_state(generator_of(x));
    ctx->saved_data["run"] = c10::IValue::make_capsule(c10::make_intrusive<HeldRun>(run));
    variable_list kept = {x};
    kept.insert(kept.end(), trained.begin(), trained.end());
    ctx->save_for_backward(kept);
    return run(x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    variable_list inputs = ctx->get_saved_variables();
    const auto held = ctx->saved_data["run"].toCapsule();
    const auto& run = static_cast<const HeldRun&>(*held).run;
    const bool wants_x = ctx->needs_input_grad(0);
    variable_list found;
    {
      const at::AutoGradMode with_gradients(true);
      const Tensor x = inputs[0].detach().requires_grad_(wants_x);
      const at::Generator generator = generator_of(x);
      const Tensor now = random_state(generator);
      set_random_state(generator, ctx->saved_data["random"].toTensor());
      const Tensor y = run(x);
      set_random_state(generator, now);
      inputs[0] = x;
      variable_list wanted(wants_x ? inputs.begin() : inputs.begin() + 1, inputs.end());
      found = torch::autograd::grad({y}, wanted, gradients, false, false, true);
    }
    if (!wants_x) found.insert(found.begin(), Tensor());
    found.emplace_back();  // run
    return found;
  }
};

}  // namespace

Tensor run_checkpointed(const Run& run, const Tensor& x, const std::vector<Tensor>& trained) {
  return Checkpointed::apply(x, at::TensorList(trained), run);
}

}  // namespace aplomb::train::model
