#pragma once
/// LoRA and DoRA on a LanguageModel: added, saved as and loaded from PEFT folders
/// (adapter_config.json, adapter_model.safetensors), merged.

#include <string>
#include <vector>

#include "core/result.h"
#include "train/model/language_model.h"

namespace aplomb::train::model {

struct AdapterOptions {
  std::int64_t rank = 8;
  double alpha = 16;  ///< what is added is scaled by alpha / rank (rank-stabilised: / sqrt(rank))
  double dropout = 0;
  /// Last parts of layers' names (`q_proj`, `self_attn.q_proj`), or `all-linear`: the seven
  /// matrices of every layer, not the head.
  std::vector<std::string> targets = {"all-linear"};
  bool dora = false;
  bool rank_stabilised = false;  ///< rsLoRA, arXiv 2312.03732
};

struct AttachedAdapter {
  std::int64_t layers = 0;      ///< linear layers that carry one
  std::int64_t parameters = 0;  ///< that train
};

/// Freezes the model and adds adapters that change nothing yet (B = 0; A from torch's generator).
/// Errors: bad_usage (a rank, alpha or dropout without sense, a target that no layer has: named,
/// with those there are; an adapter is there already).
core::Result<AttachedAdapter> attach_adapter(LanguageModel& model, const AdapterOptions& options);

/// The options in the adapter_config.json of a PEFT folder. Errors: not_found, bad_format,
/// unsupported (other methods than LoRA, biases or whole modules that train, ranks by layer).
core::Result<AdapterOptions> read_adapter_options(const std::string& folder);

/// attach_adapter() with the folder's options, and its weights; they go on training. The layers are
/// those that the folder has weights for. Errors: of both, and bad_format where weights and model
/// disagree.
core::Result<AttachedAdapter> load_adapter(LanguageModel& model, const std::string& folder);

/// A PEFT folder. `base` is what its config names as the base model (a folder or a hub name).
/// Errors: bad_usage (no adapter), not_writable.
core::Result<void> save_adapter(const LanguageModel& model, const AdapterOptions& options,
                                const std::string& folder, const std::string& base);

/// Puts every adapter into its weight, in the weight's own dtype; nothing trains afterwards.
void merge_adapter(LanguageModel& model);

}  // namespace aplomb::train::model
