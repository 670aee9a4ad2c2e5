#pragma once
/// Model and optimizer of a LabRun as the Trainer sees them, with the hooks around them.

#include <memory>
#include <string>
#include <vector>

#include "train/lab/lab_run.h"

namespace aplomb::train::lab {

class LabTrainee final : public loop::Trainee {
 public:
  LabTrainee(std::shared_ptr<model::LanguageModel> model, const LabRun& lab);
  /// Steps are told by this trainer; before it is there, the first is at hand.
  void follow(const loop::Trainer& trainer, const text::BatchStream& data) {
    trainer_ = &trainer;
    data_ = &data;
  }
  Place place() const { return place_; }

  at::Tensor loss_sum(const text::TokenBatch& batch) override;
  const std::vector<loop::NamedTensor>& trainable() const override { return parameters_; }
  void set_training(bool training) override;
  core::Result<void> save(const std::string& folder) override;
  core::Result<void> load(const std::string& folder) override;

 private:
  std::shared_ptr<model::LanguageModel> model_;
  const Hooks& hooks_;
  torch::Dtype stored_;
  std::vector<loop::NamedTensor> parameters_;  ///< all of the model's, frozen ones too
  const loop::Trainer* trainer_ = nullptr;
  const text::BatchStream* data_ = nullptr;  ///< what is trained on
  Place place_;
};

/// By the options, or the fault's own; with the hooks around its step.
std::unique_ptr<loop::Optimizer> make_lab_optimizer(const LabRun& lab,
                                                    const loop::TrainOptions& options,
                                                    const LabTrainee& trainee);

}  // namespace aplomb::train::lab
