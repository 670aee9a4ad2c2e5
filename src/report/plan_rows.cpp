#include <fmt/format.h>

#include <array>
#include <utility>

#include "knowledge/framework.h"
#include "knowledge/render.h"
#include "report/plan_view.h"

namespace aplomb::report {
namespace {

using plan::Part;

std::string width_text(int bytes) { return bytes == 4 ? "fp32" : "16-bit"; }

std::string detail_of(const plan::Plan& plan, Part part) {
  const plan::Training& training = plan.training;
  const plan::Step& step = plan.step;
  switch (part) {
    case Part::weights:
      return fmt::format("{} parameters{}", show_count(step.parameters),
                         training.quantisation.on
                             ? fmt::format(", {:.0f}-bit base", training.quantisation.bits)
                             : ", " + width_text(training.precision.stored));
    case Part::adapter:
      return fmt::format("{} parameters, fp32", show_count(step.adapter));
    case Part::gradients:
      return fmt::format("{} trained parameters", show_count(step.trained));
    case Part::optimizer:
      return fmt::format("{}{}", plan::name(training.optimizer),
                         training.precision.master ? " and fp32 master weights" : "");
    case Part::activations:
      return fmt::format("{:.0f} x {:.0f} tokens{}",
                         training.batch.micro * training.batch.sequences,
                         training.batch.length / training.parallelism.context,
                         training.checkpointing ? ", checkpointed" : "");
    case Part::scores:
      return training.kernels.attention_name + " attention stores them";
    case Part::logits:
      return fmt::format(
          "{:.0f} x {:.0f} x {:.0f}", training.batch.micro * training.batch.sequences,
          training.rollouts.grpo ? training.rollouts.completion + 1 : training.batch.length,
          plan.shape.vocab);
    case Part::cache:
      return training.rollouts.engine
                 ? fmt::format("{:.0f} % of the card", 100 * training.rollouts.engine_share)
                 : "";
    default:
      return {};
  }
}

}  // namespace

std::string show_count(double count) {
  constexpr std::array<std::pair<double, const char*>, 4> k_scales = {
      {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [scale, letter] : k_scales) {
    if (count >= scale) return fmt::format("{:.3g} {}", count / scale, letter);
  }
  return fmt::format("{:.0f}", count);
}

std::vector<PlanRow> plan_rows(const plan::Plan& plan) {
  std::vector<PlanRow> rows;
  for (std::size_t i = 0; i < plan::k_parts; ++i) {
    const auto part = static_cast<Part>(i);
    const double bytes = plan.step.peak[part];
    if (bytes < 1) continue;
    rows.push_back({std::string(plan::name(part)), std::string(plan::meaning(part)), bytes,
                    detail_of(plan, part)});
  }
  if (plan.context_bytes > 0) {
    rows.push_back({"context", "CUDA context", plan.context_bytes,
                    plan.training.parallelism.gpus > 1 ? "and buffers of the collectives" : ""});
  }
  if (plan.margin_bytes > 0) rows.push_back({"margin", "fragmentation", plan.margin_bytes, ""});
  return rows;
}

std::string rung_settings(const PlanView& view, const plan::Rung& rung) {
  const knowledge::Framework* table = knowledge::find_framework(view.framework);
  std::string text;
  if (table != nullptr && !table->part) text = knowledge::render_settings(view.framework, rung.set);
  return text.empty() ? knowledge::say_settings(rung.set) : text;
}

}  // namespace aplomb::report
