/// Trials as JSON: what a sweep leaves, and what its workers hand back.

#include <nlohmann/json.hpp>

#include "core/pair_table.h"
#include "train/lab/trial.h"

namespace aplomb::train::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<Style, std::string_view> k_styles[] = {
    {Style::own, "own"}, {Style::hf, "hf"}, {Style::plain, "plain"}};

Json json_of(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<std::int64_t> step_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<std::int64_t>());
}

Json json_of(const std::optional<Alarm>& alarm) {
  if (!alarm) return nullptr;
  return {{"step", alarm->step}, {"severity", name(alarm->severity)}, {"what", alarm->what}};
}

std::optional<Alarm> alarm_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  Alarm found{json.at("step").get<std::int64_t>(), core::Severity::warning,
              json.at("what").get<std::string>()};
  for (const core::Severity each : {core::Severity::unstable, core::Severity::failed}) {
    if (json.at("severity").get<std::string>() == name(each)) found.severity = each;
  }
  return found;
}

Json json_of(const Opinion& opinion) {
  Json guesses = Json::array();
  for (const Guess& each : opinion.guesses)
    guesses.push_back({{"cause", each.cause}, {"probability", each.probability}});
  return {{"verdict", opinion.verdict},
          {"causes", guesses},
          {"worst_symptom", opinion.worst_symptom},
          {"alarm", opinion.has_alarm}};
}

Opinion opinion_from(const Json& json) {
  Opinion opinion;
  opinion.verdict = json.at("verdict").get<std::string>();
  opinion.worst_symptom = json.at("worst_symptom").get<std::string>();
  opinion.has_alarm = json.at("alarm").get<bool>();
  for (const Json& each : json.at("causes"))
    opinion.guesses.push_back(
        {each.at("cause").get<std::string>(), each.at("probability").get<double>()});
  return opinion;
}

// JSON knows no NaN: such losses travel as null.
Json number(double value) { return Json(value); }
double number_from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

}  // namespace

std::string_view name(Style style) { return core::second_of(k_styles, style).value_or("?"); }

std::optional<Style> style_named(std::string_view name) { return core::first_of(k_styles, name); }

Json to_json(const Trial& trial) {
  Json json;
  json["fault"] = trial.fault;
  json["family"] = trial.family;
  json["seed"] = trial.seed;
  json["style"] = name(trial.style);
  json["truth"] = trial.causes;
  json["harm"] = json_of(trial.harm);
  json["before"] = json_of(trial.before);
  json["alarm"] = json_of(trial.alarm);
  json["guard_alarm"] = json_of(trial.guard_alarm);
  json["lead"] = json_of(trial.lead());
  json["diagnosis"] = json_of(trial.opinion);
  json["log_alone"] = json_of(trial.log_opinion);
  json["guarded"] = trial.guarded;
  json["guarded_harm"] = json_of(trial.guarded_harm);
  json["guard_halted"] = trial.guard_halted;
  json["first_loss"] = number(trial.first_loss);
  json["last_loss"] = number(trial.last_loss);
  json["twin_last_loss"] = number(trial.twin_last_loss);
  json["seconds"] = trial.seconds;
  return json;
}

Trial trial_of(const Json& json) {
  Trial trial;
  trial.fault = json.at("fault").get<std::string>();
  trial.family = json.at("family").get<std::string>();
  trial.seed = json.at("seed").get<std::uint64_t>();
  trial.style = style_named(json.at("style").get<std::string>()).value_or(Style::own);
  trial.causes = json.at("truth").get<std::vector<std::string>>();
  trial.harm = step_of(json.at("harm"));
  trial.before = alarm_from(json.at("before"));
  trial.alarm = alarm_from(json.at("alarm"));
  trial.guard_alarm = step_of(json.at("guard_alarm"));
  trial.opinion = opinion_from(json.at("diagnosis"));
  trial.log_opinion = opinion_from(json.at("log_alone"));
  trial.guarded = json.at("guarded").get<bool>();
  trial.guarded_harm = step_of(json.at("guarded_harm"));
  trial.guard_halted = json.at("guard_halted").get<bool>();
  trial.first_loss = number_from(json.at("first_loss"));
  trial.last_loss = number_from(json.at("last_loss"));
  trial.twin_last_loss = number_from(json.at("twin_last_loss"));
  trial.seconds = json.at("seconds").get<double>();
  return trial;
}

}  // namespace aplomb::train::lab
