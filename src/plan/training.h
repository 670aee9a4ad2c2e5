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

/// How the frozen base under an adapter is stored (QLoRA).
struct Quantisation {
  bool on = false;
  double bits = 4;
  bool double_quant = false;  ///< the scales of the blocks are quantised as well
};

/// The low-rank matrices that are trained beside a frozen base.
struct AdapterSize {
  double rank = 8;
  double dropout = 0;
  std::vector<std::string> targets;  ///< empty: every linear layer
  std::vector<std::string> saved_modules;
  int width = 4;  ///< bytes a parameter: peft casts them up
};

struct Precision {
  int stored = 4;       ///< bytes a parameter of the base
  int autocast = 0;     ///< bytes that products are cast to; 0: as stored
  bool master = false;  ///< fp32 copies of 16-bit weights in the optimizer (DeepSpeed, Megatron)
};

/// Operators that are one kernel where the model's code has several.
struct Kernels {
  Attention attention = Attention::fused;
  std::string attention_name = "sdpa";
  bool fused_loss = false;    ///< logits never stand as a whole
  bool fused_layers = false;  ///< Liger kernels
};

struct Batch {
  double micro = 1;      ///< sequences a GPU and pass
  double sequences = 1;  ///< a sample: 2 where pairs are compared (DPO)
  double accumulation = 1;
  double length = 2048;  ///< tokens a sequence
};

/// How the model, its data and its states are shared out over GPUs.
struct Parallelism {
  double gpus = 1;  ///< data-parallel ranks x the ways below
  double nodes = 1;
  double tensor = 1;      ///< ways each layer is split
  double context = 1;     ///< ways the sequence is split
  double pipeline = 1;    ///< ways the stack of layers is split
  bool sequence = false;  ///< between the split products the sequence is split as well
  int zero = 0;           ///< what is sharded: 1 optimizer, 2 gradients too, 3 weights too
  bool ddp = false;
  bool fsdp = false;
  bool deepspeed = false;
  double bucket_bytes = 0;  ///< of gradients on their way between ranks

  double ranks() const;  ///< data-parallel ranks: shards of ZeRO and FSDP
};

/// What waits in the host's memory.
struct Offload {
  bool activations = false;
  bool optimizer = false;
  bool weights = false;
};

/// Completions that the model (or an engine on the same card) writes before each step.
struct Rollouts {
  bool grpo = false;
  double completion = 0;  ///< tokens of it that are scored; 0: all
  double generations = 0;
  double batch = 0;         ///< completions that are written at a time
  bool engine = false;      ///< vLLM or SGLang on the same card
  double engine_share = 0;  ///< of the card
};

struct Training {
  Method method = Method::full;
  Quantisation quantisation;
  AdapterSize adapter;
  Precision precision;
  Optimizer optimizer = Optimizer::adamw;
  Kernels kernels;
  bool checkpointing = false;  ///< layers are computed again in backward
  bool cpu = false;
  bool reference = false;  ///< a frozen copy of the model beside it
  Batch batch;
  Parallelism parallelism;
  Offload offload;
  Rollouts rollouts;

  double ranks() const { return parallelism.ranks(); }
  /// Tokens of a pass on one GPU.
  double tokens() const {
    return batch.micro * batch.sequences * batch.length / parallelism.context;
  }
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
