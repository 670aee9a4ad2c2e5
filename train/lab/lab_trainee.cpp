#include "train/lab/lab_trainee.h"

#include "train/model/weights.h"

namespace aplomb::train::lab {
namespace {

class HookedOptimizer final : public loop::Optimizer {
 public:
  HookedOptimizer(std::unique_ptr<loop::Optimizer> inner, const Hooks& hooks,
                  const LabTrainee& trainee)
      : inner_(std::move(inner)), hooks_(hooks), trainee_(trainee) {}

  void step(double factor) override {
    if (hooks_.before_step) hooks_.before_step(trainee_.trainable(), trainee_.place());
    inner_->step(factor);
    if (hooks_.after_step) hooks_.after_step(trainee_.trainable(), trainee_.place());
  }
  void reset_momentum() override { inner_->reset_momentum(); }
  std::vector<loop::NamedTensor> state() override { return inner_->state(); }

 private:
  std::unique_ptr<loop::Optimizer> inner_;
  const Hooks& hooks_;
  const LabTrainee& trainee_;
};

}  // namespace

LabTrainee::LabTrainee(std::shared_ptr<model::LanguageModel> model, const LabRun& lab)
    : model_(std::move(model)), hooks_(lab.hooks), stored_(lab.stored) {
  for (const auto& each : model_->named_parameters())
    parameters_.push_back({each.key(), each.value()});
  model_->train();
  place_.step = 0;  // of no pass yet
}

at::Tensor LabTrainee::loss_sum(const text::TokenBatch& batch) {
  place_.training = model_->is_training();
  const std::int64_t step = trainer_ == nullptr ? 1 : trainer_->step() + 1;
  if (place_.training) {
    place_.pass = place_.step == step ? place_.pass + 1 : 0;
    place_.step = step;
    if (data_ != nullptr) {
      const text::DataPosition taken = data_->position();
      place_.drawn = taken.epoch * data_->batches_per_epoch() + taken.index;
    }
  }
  text::TokenBatch seen = batch;
  if (hooks_.batch) hooks_.batch(seen, place_);
  at::Tensor sum;
  if (hooks_.forward) {
    sum = hooks_.forward(*model_, seen, place_);
  } else {
    const model::LossSum loss = model_->loss(seen);
    sum = place_.training ? loss.sum : loss.cross_entropy;
  }
  return hooks_.loss ? hooks_.loss(sum, seen, place_) : sum;
}

void LabTrainee::set_training(bool training) { model_->train(training); }

core::Result<void> LabTrainee::save(const std::string& folder) {
  return model::save_full(*model_, folder, stored_);
}

core::Result<void> LabTrainee::load(const std::string& folder) {
  const auto loaded = model::load_weights(*model_, folder);
  if (!loaded) return tl::unexpected(loaded.error());
  return {};
}

std::unique_ptr<loop::Optimizer> make_lab_optimizer(const LabRun& lab,
                                                    const loop::TrainOptions& options,
                                                    const LabTrainee& trainee) {
  std::vector<loop::NamedTensor> parameters = trainee.trainable();
  if (lab.hooks.optimized) lab.hooks.optimized(parameters);
  auto inner = lab.hooks.optimizer
                   ? lab.hooks.optimizer(parameters, options)
                   : loop::make_optimizer(parameters, options.optim, options.peak_learning_rate());
  return std::make_unique<HookedOptimizer>(std::move(inner), lab.hooks, trainee);
}

}  // namespace aplomb::train::lab
