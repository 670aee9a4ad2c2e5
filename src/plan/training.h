#pragma once
/// Training: how a model is trained, as far as memory and time depend on it, from settings in
/// whatever framework's words; what nothing states is assumed, and said.

#include <string>
#include <vector>

#include "plan/known.h"
#include "plan/model_shape.h"

namespace aplomb::plan {

enum class Method { full, lora, dora };
enum class Attention { eager, fused };  ///< scores stored, or one kernel (SDPA, FlashAttention)
enum class Optimizer { adamw, adamw_8bit, adafactor, lion, lion_8bit, muon, sgd, sgd_momentum };

// There is one of it a plan: its fields stand by subject, not by size.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct Training {
  Method method = Method::full;
  bool quantised = false;  ///< the frozen base in 4 or 8 bits
  double bits = 4;
  bool double_quantised = false;
  double rank = 8;
  double adapter_dropout = 0;
  std::vector<std::string> targets;  ///< empty: every linear layer
  std::vector<std::string> saved_modules;

  int stored = 4;       ///< bytes a parameter of the base
  int autocast = 0;     ///< bytes that products are cast to; 0: as stored
  int adapter = 4;      ///< bytes a parameter of an adapter: peft casts them up
  bool master = false;  ///< fp32 copies of 16-bit weights in the optimizer (DeepSpeed, Megatron)
  Optimizer optimizer = Optimizer::adamw;
  Attention attention = Attention::fused;
  std::string attention_name = "sdpa";
  bool checkpointing = false;
  bool offload_activations = false;
  bool fused_loss = false;    ///< logits never stand as a whole
  bool fused_layers = false;  ///< Liger kernels
  bool cpu = false;

  double micro = 1;      ///< sequences a GPU and pass
  double sequences = 1;  ///< a sample: 2 where pairs are compared (DPO)
  double accumulation = 1;
  double length = 2048;  ///< tokens a sequence
  double gpus = 1;       ///< data-parallel ranks x the ways below
  double nodes = 1;
  double tensor = 1;      ///< ways each layer is split
  double context = 1;     ///< ways the sequence is split
  double pipeline = 1;    ///< ways the stack of layers is split
  bool sequence = false;  ///< between the split products the sequence is split as well
  int zero = 0;           ///< what is sharded: 1 optimizer, 2 gradients too, 3 weights too
  bool ddp = false;
  bool fsdp = false;
  bool deepspeed = false;
  bool offload_optimizer = false;
  bool offload_weights = false;
  double bucket_bytes = 0;  ///< of gradients on their way between ranks

  bool grpo = false;
  double completion = 0;  ///< tokens of it that are scored; 0: all
  double generations = 0;
  bool reference = false;   ///< a frozen copy of the model beside it
  bool engine = false;      ///< vLLM or SGLang on the same card
  double engine_share = 0;  ///< of the card
  double generation_batch = 0;

  double ranks() const;  ///< data-parallel ranks: shards of ZeRO and FSDP
  double tokens() const { return micro * sequences * length / context; }
};

/// One thing that no input stated.
struct Assumption {
  std::string setting;
  std::string text;
};

Training training_of(const Known& known, const ModelShape& shape, std::string_view framework,
                     std::vector<Assumption>& assumed);

std::string_view name(Method method);
std::string_view name(Optimizer optimizer);
/// `QLoRA`, `full fine-tuning`
std::string describe(const Training& training);

}  // namespace aplomb::plan
