#pragma once
/// LanguageModel: a causal language model of the Llama family, its loss and its adapters.
///
///     auto model = load_model("SmolLM2-135M", {.base = torch::kBFloat16, .compute =
///     torch::kBFloat16}); if (!model) return model.error(); auto attached =
///     attach_adapter(**model, {.rank = 8, .alpha = 16}); LossSum loss = (*model)->loss(batch);
///     (loss.sum / loss.count).backward();
///
/// Parameters carry Hugging Face's names; adapters add `<layer>.lora_A`, `.lora_B` and
/// `.lora_magnitude` (adapter.h). Nothing trains until attach_adapter() or train_all_parameters().
///
/// Shape legend: B rows, T columns, F hidden size, V vocabulary.

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "train/model/decoder.h"
#include "train/model/model_config.h"
#include "train/model/model_options.h"
#include "train/model/module.h"
#include "train/text/batch.h"

namespace aplomb::train::model {

/// A batch on the device of the model, as the decoder wants it.
struct ModelInput {
  torch::Tensor ids;         ///< [B, T] int64
  torch::Tensor positions;   ///< [B, T] int64
  torch::Tensor segments;    ///< [B, T] int64; undefined where no row packs several documents
  torch::Tensor predicting;  ///< [N] int64: places in B * T whose next token counts
  torch::Tensor targets;     ///< [N] int64: those tokens
  std::int64_t length = 0;   ///< highest position + 1
};

/// The token at column c is predicted by column c - 1 of the same document; a label whose document
/// begins there does not count. Ids outside [0, vocabulary) or vectors of the wrong size throw
/// c10::Error: they are faults of the caller.
ModelInput make_input(const text::TokenBatch& batch, std::int64_t vocabulary, torch::Device device);

struct LossSum {
  torch::Tensor sum;            ///< scalar, fp32, with its graph: what to divide and run backward()
  std::int64_t count = 0;       ///< tokens that count; 0: `sum` is 0 and has no graph
  torch::Tensor cross_entropy;  ///< scalar, fp32, without graph: `sum` without the z-loss
  torch::Tensor log_z_squares;  ///< scalar, fp32: sum of (log Z)^2, for the logit drift
};

class LanguageModel : public Module {
 public:
  /// Weights are left uninitialised: see load_weights() and initialise_weights().
  LanguageModel(const ModelConfig& config, const ModelOptions& options);

  const ModelConfig& config() const { return config_; }
  const ModelOptions& options() const { return options_; }

  /// Normed states of the last layer, [B, T, F], in the compute dtype.
  torch::Tensor hidden(const ModelInput& input);
  /// [B, T, V] in fp32.
  torch::Tensor logits(const ModelInput& input);
  /// Never holds the logits of more than a chunk of tokens (cross_entropy.h).
  LossSum loss(const text::TokenBatch& batch);
  LossSum loss(const ModelInput& input);

  /// Another kernel of attention, from the next pass on.
  void set_attention(Attention kind);
  /// Full fine-tuning: every parameter becomes fp32 and trains.
  void train_all_parameters();
  /// Those that train, in the order of named_parameters().
  std::vector<std::pair<std::string, torch::Tensor>> trainable_parameters() const;

 private:
  ModelConfig config_;
  ModelOptions options_;
  Rope rope_;
  std::shared_ptr<DecoderStack> model_;
  std::shared_ptr<Linear> lm_head_;  ///< not registered where embeddings are tied
};

/// Reads config.json and the weights. Errors: as read_model_config() and load_weights().
core::Result<std::shared_ptr<LanguageModel>> load_model(const std::string& folder,
                                                        const ModelOptions& options);

}  // namespace aplomb::train::model
