#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "report/plan_view.h"
#include "report/report_json.h"

namespace aplomb::report {
namespace {

using nlohmann::ordered_json;
using plan::Part;

ordered_json json_of(const plan::Bytes& bytes) {
  ordered_json out;
  for (std::size_t i = 0; i < plan::k_parts; ++i) {
    const auto part = static_cast<Part>(i);
    out[std::string(plan::name(part))] = bytes[part];
  }
  out["total"] = bytes.total();
  return out;
}

ordered_json model_json(const plan::Plan& plan) {
  const plan::ModelShape& shape = plan.shape;
  return {{"name", shape.name},
          {"type", shape.type},
          {"known_family", shape.known_family},
          {"error", shape.error},
          {"parameters", plan.step.parameters},
          {"active_parameters", plan::active_parameters_of(shape)},
          {"trained_parameters", plan.step.trained},
          {"layers", shape.layers},
          {"hidden", shape.hidden},
          {"vocabulary", shape.vocab}};
}

ordered_json training_json(const plan::Training& training) {
  return {{"method", plan::name(training.method)},
          {"quantised", training.quantisation.on},
          {"optimizer", plan::name(training.optimizer)},
          {"weights_bytes_each", training.precision.stored},
          {"autocast", training.precision.autocast > 0},
          {"checkpointing", training.checkpointing},
          {"attention", training.kernels.attention_name},
          {"micro_batch", training.batch.micro},
          {"accumulation", training.batch.accumulation},
          {"length", training.batch.length},
          {"gpus", training.parallelism.gpus},
          {"data_parallel", training.ranks()},
          {"zero", training.parallelism.zero},
          {"tensor_parallel", training.parallelism.tensor},
          {"context_parallel", training.parallelism.context},
          {"pipeline_parallel", training.parallelism.pipeline}};
}

ordered_json memory_json(const plan::Plan& plan) {
  ordered_json parts = ordered_json::array();
  for (const PlanRow& row : plan_rows(plan)) {
    parts.push_back({{"name", row.name},
                     {"meaning", row.meaning},
                     {"bytes", row.bytes},
                     {"detail", row.detail}});
  }
  ordered_json moments = ordered_json::array();
  for (const plan::Moment& each : plan.step.moments)
    moments.push_back({{"name", each.name}, {"peak", json_of(each.peak)}});
  return {{"parts", parts},
          {"needed_bytes", plan.needed_bytes},
          {"capacity_bytes", plan.capacity_bytes},
          {"fits", plan.fits},
          {"peak_at", plan.step.peak_at},
          {"peak", json_of(plan.step.peak)},
          {"after_forward", json_of(plan.step.kept)},
          {"after_backward", json_of(plan.step.whole)},
          {"moments", moments},
          {"host_bytes", plan.step.host_bytes}};
}

ordered_json speed_json(const plan::Plan& plan) {
  if (plan.tokens_per_s <= 0) return nullptr;
  const plan::Step& step = plan.step;
  return {{"step_s", step.step_s},
          {"tokens_per_s", plan.tokens_per_s},
          {"tokens_per_step", step.tokens},
          {"mfu", plan.mfu},
          {"bound", plan.bound},
          {"products_s", step.product_s},
          {"memory_s", step.memory_s},
          {"optimizer_s", step.optimizer_s},
          {"exchange_s", step.exchange_s},
          {"exposed_s", step.exposed_s},
          {"host_s", step.host_s},
          {"flops", step.flops},
          {"figures_verified", plan.rates_verified}};
}

ordered_json value_json(const core::Value& value) {
  return std::visit([](const auto& each) { return ordered_json(each); }, value);
}

}  // namespace

std::string plan_json(const PlanView& view) {
  const plan::Plan& plan = view.plan;
  ordered_json out = {{"schema", "aplomb.plan/1"},
                      {"model", model_json(plan)},
                      {"training", training_json(plan.training)},
                      {"gpu", {{"name", plan.gpu}, {"memory_bytes", plan.capacity_bytes}}},
                      {"memory", memory_json(plan)},
                      {"speed", speed_json(plan)}};
  if (plan.epoch_s) out["epoch"]["seconds"] = *plan.epoch_s;
  if (plan.epoch_cost) out["epoch"]["cost"] = *plan.epoch_cost;
  out["assumed"] = ordered_json::array();
  for (const plan::Assumption& each : plan.assumed)
    out["assumed"].push_back({{"setting", each.setting}, {"text", each.text}});
  if (view.asked_for_ladder) {
    out["ladder"] = ordered_json::array();
    for (const plan::Rung& rung : view.ladder) {
      ordered_json set;
      for (const auto& [name, value] : rung.set) set[name] = value_json(value);
      out["ladder"].push_back({{"id", rung.id},
                               {"text", rung.text},
                               {"set", set},
                               {"needed_bytes", rung.needed_bytes},
                               {"saved_bytes", rung.saved_bytes},
                               {"slowdown", rung.slowdown},
                               {"fits", rung.fits}});
    }
  }
  make_visible(out);  // and valid: dump() stops the program at bytes that are no UTF-8
  return core::json_text(out, 2) + "\n";
}

}  // namespace aplomb::report
