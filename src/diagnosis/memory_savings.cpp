#include "diagnosis/memory_savings.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/text.h"

namespace aplomb {
namespace {

constexpr double k_master_and_moments = 12;  // bytes a parameter: fp32 weight and two moments
constexpr double k_moments = 8;
constexpr double k_moments_8bit = 2;
constexpr double k_gradient = 2;
constexpr double k_layer_bytes = 34;  // per token and hidden unit, 16-bit activations
constexpr double k_score_bytes = 5;   // per head and pair of tokens
constexpr double k_kept_bytes = 2;    // a checkpointed layer keeps its input
constexpr double k_bytes_16_to_4_bit = 1.5;
constexpr double k_worth_telling = 64.0 * 1024 * 1024;

class Savings {
 public:
  explicit Savings(FactTable& facts) : facts_(facts) {}

  void say() {
    activations();
    states();
    if (is_adapter() && !known("quant.bits"))
      tell("quantised", number("model.params"), k_bytes_16_to_4_bit);
  }

 private:
  bool known(const char* name) const { return facts_.find(name) != nullptr; }
  std::optional<double> number(const char* name) const {
    const Fact* fact = facts_.find(name);
    const double* value = fact == nullptr ? nullptr : as_number(fact->value);
    return value != nullptr && *value > 0 ? std::optional(*value) : std::nullopt;
  }
  bool is(const char* name, std::string_view word) const {
    const Fact* fact = facts_.find(name);
    const std::string* text = fact == nullptr ? nullptr : as_text(fact->value);
    return text != nullptr && *text == word;
  }
  bool is_on(const char* name) const {
    const Fact* fact = facts_.find(name);
    const bool* truth = fact == nullptr ? nullptr : std::get_if<bool>(&fact->value);
    return truth != nullptr && *truth;
  }
  bool is_adapter() const {
    return is("peft.method", "lora") || is("peft.method", "qlora") || is("peft.method", "dora");
  }

  void tell(const char* rung, std::optional<double> amount, double factor = 1) {
    if (!amount || *amount * factor < k_worth_telling) return;
    constexpr double k_gib = 1024.0 * 1024 * 1024;
    // Two digits: these are estimates.
    facts_.set({std::string("saving.") + rung,
                "about " + show_number(*amount * factor / k_gib, 2) + " GiB",
                "",
                {}});
  }

  /// What forward keeps for backward.
  void activations() {
    const auto micro = number("batch.micro");
    const auto length = number("data.max_length");
    const auto hidden = number("model.hidden");
    const auto layers = number("model.layers");
    if (!micro || !length || !hidden || !layers) return;
    const double tokens = *micro * *length;
    const double inputs = k_kept_bytes * tokens * *hidden * *layers;
    const double layer = k_layer_bytes * tokens * *hidden;
    const auto heads = number("model.heads");
    const double scores =
        is("attn.impl", "eager") && heads ? k_score_bytes * *heads * tokens * *length : 0;
    const bool checkpointed = is_on("memory.gradient_checkpointing");
    const double held = checkpointed ? inputs + layer + scores : (layer + scores) * *layers;
    if (*micro >= 2) tell("half_micro", held / 2);
    tell("half_length", held / 2);
    if (!checkpointed) tell("checkpointing", held - inputs - layer - scores);
    if (scores > 0) tell("no_scores", checkpointed ? scores : scores * *layers);
  }

  /// Optimizer state and gradients of what trains.
  void states() {
    auto trained = number("model.trainable_params");
    if (!trained && !is_adapter()) trained = number("model.params");
    if (!trained) return;
    const bool plain = is("precision.compute", "fp32");
    const double state = plain ? k_moments : k_master_and_moments;
    if (is("optim.name", "adamw") || is("optim.name", "adam"))
      tell("adam_8bit", trained, k_moments - k_moments_8bit);
    tell("offload", trained, state);
    auto ranks = number("batch.world");
    if (!ranks) ranks = number("dist.world_size");
    if (!ranks) ranks = number("env.gpu_count");
    if (ranks && *ranks >= 2) tell("zero2", trained, (state + k_gradient) * (1 - 1 / *ranks));
  }

  FactTable& facts_;
};

}  // namespace

void add_saving_facts(FactTable& facts) { Savings(facts).say(); }

}  // namespace aplomb
