#pragma once
/// Weights of a model from and to Hugging Face folders.

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "train/model/language_model.h"

namespace aplomb::train::model {

struct LoadedWeights {
  std::uint64_t bytes = 0;          ///< read
  std::vector<std::string> unused;  ///< tensors of the folder that the model has no place for
};

/// Fills every parameter from the folder's safetensors (one file, or shards with an index), cast to
/// the parameter's dtype. Names may lack the leading `model.`. All of it is checked before the
/// first weight is copied. Errors: not_found, not_readable, bad_format (weights missing, shards
/// missing or torn, shapes that differ from config.json: named, with what the files' reader said),
/// unsupported (quantised weights).
core::Result<LoadedWeights> load_weights(LanguageModel& model, const std::string& folder);

/// What a file of weights holds at most, unless told otherwise.
inline constexpr std::uint64_t k_shard_bytes = 5'000'000'000;

/// Writes config.json and model.safetensors, adapters merged into the weights, floating weights in
/// `dtype`; where they take more than `max_shard_bytes`, shards with an index instead. Existing
/// files are replaced only when the new ones are whole. Errors: not_writable.
core::Result<void> save_full(const LanguageModel& model, const std::string& folder,
                             torch::Dtype dtype, std::uint64_t max_shard_bytes = k_shard_bytes);

/// A safetensors file of these tensors in this order, contiguous; written under another name,
/// synced and moved into place. Errors: not_writable (with the system's reason: no space, no
/// permission), unsupported (a dtype that the format lacks).
core::Result<void> write_safetensors(
    const std::string& path, const std::vector<std::pair<std::string, torch::Tensor>>& tensors);
/// Likewise a text.
core::Result<void> write_text(const std::string& path, const std::string& text);

}  // namespace aplomb::train::model
