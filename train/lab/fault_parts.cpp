#include "train/lab/fault_parts.h"

#include <nlohmann/json.hpp>

namespace aplomb::train::lab {

Prediction predict(model::LanguageModel& model, const text::TokenBatch& batch, std::int64_t shift) {
  const model::ModelInput input = model::make_input(batch, model.config().vocab_size, torch::kCPU);
  const std::int64_t kept = batch.columns - shift;
  const at::Tensor labels =
      at::tensor(batch.labels, at::kLong).view({batch.rows, batch.columns}).narrow(1, shift, kept);
  return {model.logits(input).narrow(1, 0, kept).reshape({-1, model.config().vocab_size}),
          labels.reshape({-1})};
}

at::Tensor mean_cross_entropy(const Prediction& prediction) {
  return at::cross_entropy_loss(prediction.logits, prediction.labels, {}, at::Reduction::Mean,
                                text::k_ignored);
}

void set_initializer_range(model::ModelConfig& model, double deviation) {
  auto json = nlohmann::ordered_json::parse(model.text);
  json["initializer_range"] = deviation;
  model = *model::parse_model_config(json.dump(2), "config.json");
}

at::Tensor as_sum(const at::Tensor& mean, const text::TokenBatch& batch) {
  return mean * static_cast<double>(batch.counted());
}

Fault make_fault(FaultText text, Harm harm, GuardRole guard, const char* guard_because,
                 std::function<void(LabRun&)> change) {
  Fault fault;
  fault.id = text.id;
  fault.summary = text.summary;
  fault.causes = std::move(text.causes);
  fault.accept_because = text.accept_because;
  fault.harm = std::move(harm);
  fault.guard = guard;
  fault.guard_because = guard_because;
  fault.run = trained(std::move(change));
  return fault;
}

Fault from_step(std::int64_t step, Fault fault) {
  fault.begins = step;
  return fault;
}

Fault make_code_fault(FaultText text, Harm harm, GuardRole guard, const char* guard_because,
                      std::function<void(LabRun&)> change) {
  Fault fault =
      make_fault(std::move(text), std::move(harm), guard, guard_because, std::move(change));
  fault.in_code = true;
  return fault;
}

}  // namespace aplomb::train::lab
