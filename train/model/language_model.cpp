#include "train/model/language_model.h"

#include <algorithm>
#include <set>

#include "train/model/attention.h"
#include "train/model/cross_entropy.h"
#include "train/model/weights.h"

namespace aplomb::train::model {
namespace {

using torch::Tensor;

void check_sizes(const text::TokenBatch& batch, std::int64_t vocabulary) {
  const auto size = static_cast<std::size_t>(batch.rows * batch.columns);
  TORCH_CHECK(batch.ids.size() == size && batch.labels.size() == size &&
                  batch.positions.size() == size && batch.segments.size() == size,
              "[model] a batch of ", batch.rows, " x ", batch.columns,
              " whose vectors are of other sizes");
  for (const std::int64_t id : batch.ids) {
    TORCH_CHECK(id >= 0 && id < vocabulary, "[model] token id ", id,
                " is outside the vocabulary of ", vocabulary);
  }
}

/// Whether some row holds a second document; padding behind a document needs no mask, for what
/// comes before never sees it.
bool packs(const text::TokenBatch& batch) {
  return std::any_of(batch.segments.begin(), batch.segments.end(),
                     [](std::int64_t each) { return each > 0; });
}

}  // namespace

ModelInput make_input(const text::TokenBatch& batch, std::int64_t vocabulary,
                      torch::Device device) {
  check_sizes(batch, vocabulary);
  std::vector<std::int64_t> predicting, targets;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    for (std::int64_t column = 1; column < batch.columns; ++column) {
      const auto at = static_cast<std::size_t>(row * batch.columns + column);
      if (batch.labels[at] == text::k_ignored || batch.segments[at] != batch.segments[at - 1])
        continue;
      TORCH_CHECK(batch.labels[at] >= 0 && batch.labels[at] < vocabulary, "[model] label ",
                  batch.labels[at], " is outside the vocabulary of ", vocabulary);
      predicting.push_back(static_cast<std::int64_t>(at) - 1);
      targets.push_back(batch.labels[at]);
    }
  }
  const auto matrix = [&](const std::vector<std::int64_t>& from) {
    return torch::tensor(from, torch::kInt64).view({batch.rows, batch.columns}).to(device);
  };
  ModelInput input;
  input.ids = matrix(batch.ids);
  input.positions = matrix(batch.positions);
  if (packs(batch)) input.segments = matrix(batch.segments);
  input.predicting = torch::tensor(predicting, torch::kInt64).to(device);
  input.targets = torch::tensor(targets, torch::kInt64).to(device);
  for (const std::int64_t each : batch.positions) input.length = std::max(input.length, each + 1);
  return input;
}

LanguageModel::LanguageModel(const ModelConfig& config, const ModelOptions& options)
    : config_(config), options_(options), rope_(config) {
  model_ = register_module("model", std::make_shared<DecoderStack>(config, options));
  const auto of = torch::TensorOptions(options.device).dtype(options.base);
  if (config.tie_embeddings) {
    lm_head_ = std::make_shared<Linear>(0, 0, false, of);
    lm_head_->weight = model_->embed_tokens->weight;  // the same tensor
  } else {
    lm_head_ = register_module(
        "lm_head", std::make_shared<Linear>(config.hidden_size, config.vocab_size, false, of));
  }
}

Tensor LanguageModel::hidden(const ModelInput& input) {
  LayerInput to_layers{input.positions, rope_.table(input.length, options_.device), {}};
  for (const std::int64_t window :
       std::set<std::int64_t>(config_.attention.windows.begin(), config_.attention.windows.end())) {
    to_layers.masks[window] =
        attention_mask(input.segments, input.ids.size(1), window, options_.device);
  }
  return model_->forward(input.ids, to_layers);
}

Tensor LanguageModel::logits(const ModelInput& input) {
  return torch::linear(hidden(input), lm_head_->weight_as(options_.compute)).to(torch::kFloat32);
}

LossSum LanguageModel::loss(const text::TokenBatch& batch) {
  return loss(make_input(batch, config_.vocab_size, options_.device));
}

LossSum LanguageModel::loss(const ModelInput& input) {
  const std::int64_t count = input.targets.size(0);
  if (count == 0) {
    const Tensor zero =
        torch::zeros({}, torch::TensorOptions(options_.device).dtype(torch::kFloat32));
    return {zero, 0, zero, zero};
  }
  const Tensor states =
      hidden(input).view({-1, config_.hidden_size}).index_select(0, input.predicting);
  const CrossEntropy loss = cross_entropy(states, lm_head_->weight_as(options_.compute),
                                          input.targets, options_.z_loss, options_.loss_chunk);
  return {loss.total, count, loss.cross_entropy, loss.z};
}

void LanguageModel::set_attention(Attention kind) {
  options_.attention = kind;
  model_->set_attention(kind);
}

void LanguageModel::train_all_parameters() {
  for (Tensor& each : parameters()) {
    each.set_data(each.detach().to(torch::kFloat32));
    each.requires_grad_(true);
  }
}

std::vector<std::pair<std::string, Tensor>> LanguageModel::trainable_parameters() const {
  std::vector<std::pair<std::string, Tensor>> found;
  for (const auto& each : named_parameters()) {
    if (each.value().requires_grad()) found.emplace_back(each.key(), each.value());
  }
  return found;
}

core::Result<std::shared_ptr<LanguageModel>> load_model(const std::string& folder,
                                                        const ModelOptions& options) {
  const auto config = read_model_config(folder);
  if (!config) return tl::unexpected(config.error());
  auto model = std::make_shared<LanguageModel>(*config, options);
  const auto loaded = load_weights(*model, folder);
  if (!loaded) return tl::unexpected(loaded.error());
  return model;
}

}  // namespace aplomb::train::model
