#pragma once
/// Models from scratch: `--init-random CONFIG`.

#include "core/result.h"
#include "train/model/language_model.h"

namespace aplomb::train::model {

/// Random weights from torch's generator: matrices and embeddings normal with
/// ModelConfig::initializer_range (0.02), those that write into the residual stream (o_proj,
/// down_proj) smaller by 1 / sqrt(2 layers) (GPT-2's technical report, section 2.3; so the stream's
/// variance does not grow with depth), norms 1, biases 0.
void initialise_weights(LanguageModel& model);

/// The same model with QK-norm (arXiv 2302.05442): that of a Llama or Mistral without biases and
/// windows is Qwen3's architecture, so what is saved is read everywhere. Errors: unsupported (the
/// architecture with QK-norm is none that others read).
core::Result<ModelConfig> with_qk_norm(const ModelConfig& config);

}  // namespace aplomb::train::model
