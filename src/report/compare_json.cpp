#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/pair_table.h"
#include "core/text.h"
#include "report/compare_view.h"

namespace aplomb::report {
namespace {

using compare::Comparison;
using compare::Metric;
using nlohmann::ordered_json;

/// Numbers that are not finite become null, as everywhere in JSON.
ordered_json place_json(const Metric& metric, const std::optional<std::size_t>& index) {
  return index && *index < metric.pairs.size() ? ordered_json(metric.pairs.at[*index])
                                               : ordered_json(nullptr);
}

ordered_json brief_json(const compare::RunBrief& brief) {
  return {{"name", core::sanitize(brief.name)},
          {"samples", brief.samples},
          {"first", brief.first},
          {"last", brief.last},
          {"settings", brief.settings}};
}

ordered_json equal_json(const compare::EqualTo& equal) {
  ordered_json out = {{"last", nullptr}, {"first_difference", nullptr}};
  if (equal.last) out["last"] = *equal.last;
  if (equal.difference) {
    out["first_difference"] = *equal.difference;
    out["metric"] = core::sanitize(equal.metric);
  }
  return out;
}

std::string_view name_of(compare::Basis basis) {
  static constexpr std::pair<compare::Basis, std::string_view> k_names[] = {
      {compare::Basis::within, "within-run"},
      {compare::Basis::seeds, "seeds"},
      {compare::Basis::groups, "groups"},
      {compare::Basis::none, "none"}};
  return core::second_of(k_names, basis).value_or("none");
}

ordered_json metric_json(const Metric& metric) {
  const compare::Ending& end = metric.ending;
  return {{"name", core::sanitize(metric.name)},
          {"role", record::name(metric.role)},
          {"outcome", metric.outcome},
          {"pairs", metric.pairs.size()},
          {"interpolated", metric.pairs.between},
          {"first_bit_difference", place_json(metric, metric.likeness.bits)},
          {"first_difference", place_json(metric, metric.likeness.digits)},
          {"first_nonfinite_in_one", place_json(metric, metric.broken)},
          {"apart_from", place_json(metric, metric.apart())},
          {"end",
           {{"samples", end.samples},
            {"a", end.a},
            {"b", end.b},
            {"difference", end.difference()},
            {"noise", end.noise},
            {"noise_from", name_of(end.basis)},
            {"degrees_of_freedom", end.freedom},
            {"p", end.p},
            {"beyond_noise", metric.beyond}}}};
}

ordered_json side_json(const std::optional<compare::SettingSide>& side) {
  if (!side) return nullptr;
  ordered_json value = std::visit([](const auto& each) { return ordered_json(each); }, side->value);
  if (value.is_string()) value = core::sanitize(value.get<std::string>());
  return {{"value", value}, {"path", core::sanitize(side->path)}, {"line", side->line}};
}

ordered_json side_json(const compare::Level::Side& side) {
  return {{"low", side.low}, {"median", side.median}, {"high", side.high}, {"max", side.most}};
}

ordered_json ailment_json(const std::optional<compare::Ailment>& ailment) {
  if (!ailment) return nullptr;
  return {{"cause", ailment->cause},
          {"title", core::sanitize(ailment->title)},
          {"probability", ailment->probability},
          {"first_fix", core::sanitize(ailment->first_fix)}};
}

}  // namespace

std::string compare_json(const Comparison& comparison) {
  ordered_json out = {{"schema", "aplomb.compare/1"},
                      {"verdict", compare::name(comparison.verdict)},
                      {"headline", compare_headline(comparison)},
                      {"advice", compare_advice(comparison)},
                      {"noise", compare_noise(comparison)},
                      {"by", comparison.axis == compare::Axis::step ? "steps" : "tokens"},
                      {"leading_metric", core::sanitize(comparison.leading().name)},
                      {"runs", {{"a", brief_json(comparison.a)}, {"b", brief_json(comparison.b)}}},
                      {"equal",
                       {{"to_the_last_bit", equal_json(comparison.bits)},
                        {"but_for_rounding", equal_json(comparison.digits)}}}};
  out["ails"] = {{"a", ailment_json(comparison.ails_a)}, {"b", ailment_json(comparison.ails_b)}};
  out["runs"]["noise"] = ordered_json::array();
  for (const auto& each : comparison.seeds) out["runs"]["noise"].push_back(brief_json(each));
  for (const auto& each : comparison.b_seeds) out["runs"]["noise_b"].push_back(brief_json(each));
  out["metrics"] = ordered_json::array();
  for (const Metric& each : comparison.metrics) out["metrics"].push_back(metric_json(each));
  out["settings"] = ordered_json::array();
  for (const auto& each : comparison.settings)
    out["settings"].push_back({{"name", each.name},
                               {"reach", compare::name(each.reach)},
                               {"a", side_json(each.a)},
                               {"b", side_json(each.b)}});
  out["levels"] = ordered_json::array();
  for (const compare::Level& each : comparison.levels)
    out["levels"].push_back({{"name", each.name},
                             {"a", side_json(each.a)},
                             {"b", side_json(each.b)},
                             {"ratio", each.ratio()},
                             {"quartiles_apart", each.clear()}});
  out["left_out"] = ordered_json::array();
  for (const compare::Refused& each : comparison.refused)
    out["left_out"].push_back(
        {{"name", core::sanitize(each.name)}, {"why", core::sanitize(each.why)}});
  out["notes"] = ordered_json::array();
  for (const std::string& each : comparison.notes) out["notes"].push_back(core::sanitize(each));
  return core::json_text(out, 2) + "\n";
}

}  // namespace aplomb::report
