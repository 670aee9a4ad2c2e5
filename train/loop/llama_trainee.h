#pragma once
/// LlamaTrainee: a model of the Llama family, opened or drawn as the options say, with what trains.

#include <memory>
#include <string>

#include "train/loop/device.h"
#include "train/loop/options.h"
#include "train/loop/trainee.h"
#include "train/model/adapter.h"
#include "train/model/language_model.h"

namespace aplomb::train::loop {

/// Where and in which formats a run computes.
struct Placement {
  torch::Device device = torch::kCPU;
  torch::Dtype compute = torch::kFloat32;
  std::string compute_name = "fp32";  ///< fp32 | bf16 | fp16
  std::string why;                    ///< one phrase for people
  std::optional<Card> card;           ///< of a GPU, where the driver tells
};
/// By the flags, else by what the device can (choose_format). Fails where the device is not there.
/// `local_rank`: which GPU `auto` and `cuda` mean.
core::Result<Placement> choose_placement(const PrecisionFlags& flags, int local_rank = 0);

class LlamaTrainee final : public Trainee {
 public:
  /// Errors: those of the model's reader, and what cannot be adapted.
  static core::Result<std::unique_ptr<LlamaTrainee>> open(const TrainOptions& options,
                                                          const Placement& placement);

  at::Tensor loss_sum(const text::TokenBatch& batch) override;
  const std::vector<NamedTensor>& trainable() const override { return trainable_; }
  std::string saved_name(const std::string& parameter) const override;
  void set_training(bool training) override;
  std::vector<std::string> attentions() const override { return {"eager", "sdpa"}; }
  void set_attention(const std::string& rung) override;
  core::Result<void> save(const std::string& folder) override;
  core::Result<void> load(const std::string& folder) override;

  /// Full weights with the adapter merged in, in fp32.
  core::Result<void> save_merged(const std::string& folder);
  const model::ModelConfig& config() const { return model_->config(); }
  bool has_adapter() const { return has_adapter_; }
  std::int64_t trainable_count() const;

 private:
  LlamaTrainee(std::shared_ptr<model::LanguageModel> model, std::string base)
      : model_(std::move(model)), base_(std::move(base)) {}

  std::shared_ptr<model::LanguageModel> model_;
  std::string base_;
  std::uint64_t shard_bytes_ = 0;
  model::AdapterOptions adapter_;
  bool has_adapter_ = false;
  std::vector<NamedTensor> trainable_;
};

}  // namespace aplomb::train::loop
