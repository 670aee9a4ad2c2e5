#include "store/past_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <set>

#include "core/pair_table.h"
#include "core/text.h"
#include "report/chart_order.h"
#include "report/redact.h"
#include "report/report_json.h"
#include "report/view.h"

namespace aplomb::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t k_most_series = 12;
constexpr std::size_t k_most_list = 64;  // causes, symptoms
constexpr std::size_t k_most_settings = 2000;
constexpr std::size_t k_most_paths = 64;
constexpr std::size_t k_most_text = 1000;

std::string cut(std::string text) {
  if (text.size() > k_most_text) {
    text.resize(k_most_text);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U)
      text.pop_back();
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80U) text.pop_back();
  }
  return text;
}

/// Keys and passwords are no part of a memory; names of users, hosts and folders are the user's own.
std::string without_secrets(const std::string& name, const std::string& value) {
  static const std::set<std::string, std::less<>> k_own = {"user",    "host",  "home",  "email",
                                                           "address", "phone", "entity"};
  report::Redactor redact({});
  const std::string lead = name.empty() ? std::string() : name + " = ";
  const std::string out = redact(lead + value);
  const std::map<std::string, std::size_t> found = redact.counts();
  const bool secret = std::any_of(found.begin(), found.end(),
                                  [](const auto& each) { return !k_own.contains(each.first); });
  if (!secret) return value;
  return out.starts_with(lead) ? out.substr(lead.size()) : "<secret>";
}

std::string text_of(const ReportValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return core::show_number(*number, 6);
  return std::get<std::string>(value);
}

bool is_environment(std::string_view name) {
  return name.starts_with("env.") || name.starts_with("hardware.");
}

std::string sample(std::int64_t step, double value) { return fmt::format("{} {}", step, value); }

/// The series that people call the run's: its loss, else the first of its charts.
const ReportSeries* lead_of(const Report& report) {
  const ReportSeries* lead = nullptr;
  for (const ReportSeries& each : report.series) {
    if (each.points == 0) continue;
    if (each.role == "loss") return &each;
    if (lead == nullptr) lead = &each;
  }
  return lead;
}

double number_in(const Report& report, const char* key) {
  const auto found = report.summary.find(key);
  const auto* number =
      found == report.summary.end() ? nullptr : std::get_if<double>(&found->second);
  return number == nullptr ? 0 : *number;
}

Json value_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double value_from(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

/// Of a part the least, the greatest and the first that is not finite.
void keep_extremes(const std::vector<ChartPoint>& points, std::size_t begin, std::size_t end,
                   std::set<std::size_t>& kept) {
  std::optional<std::size_t> least;
  std::optional<std::size_t> greatest;
  std::optional<std::size_t> odd;
  for (std::size_t i = begin; i < end; ++i) {
    if (!std::isfinite(points[i].value)) {
      if (!odd) odd = i;
      continue;
    }
    if (!least || points[i].value < points[*least].value) least = i;
    if (!greatest || points[i].value > points[*greatest].value) greatest = i;
  }
  for (const auto& each : {least, greatest, odd}) {
    if (each) kept.insert(*each);
  }
}

std::string string_in(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found == value.end() || found->is_null() ? std::string() : cut(found->get<std::string>());
}

template <class Each>
void each_of(const Json& value, const char* key, std::size_t most, Each each) {
  const auto found = value.find(key);
  if (found == value.end() || !found->is_array()) return;
  for (std::size_t i = 0; i < found->size() && i < most; ++i) each((*found)[i]);
}

std::map<std::string, std::string> texts_in(const Json& value, const char* key) {
  std::map<std::string, std::string> out;
  const auto found = value.find(key);
  if (found == value.end() || !found->is_object()) return out;
  for (const auto& item : found->items()) {
    if (out.size() >= k_most_settings) break;
    out[cut(item.key())] = cut(item.value().get<std::string>());
  }
  return out;
}

Json json_of_series(const PastSeries& series) {
  Json chart = Json::array();
  for (const ChartPoint& each : series.chart)
    chart.push_back(Json::array({each.step, value_json(each.value)}));
  return {{"name", series.name},
          {"role", series.role},
          {"points", series.points},
          {"chart", std::move(chart)}};
}

PastSeries series_from(const Json& value) {
  PastSeries out{string_in(value, "name"),
                 string_in(value, "role"),
                 value.at("points").get<std::uint64_t>(),
                 {}};
  each_of(value, "chart", PastSeries::k_most_points, [&](const Json& point) {
    out.chart.push_back({point.at(0).get<std::int64_t>(), value_from(point.at(1))});
  });
  return out;
}

Helped helped_from(std::string_view word) {
  for (const Helped each : {Helped::yes, Helped::no, Helped::worse}) {
    if (word == name(each)) return each;
  }
  return Helped::unknown;
}

PastRun read(const Json& value) {
  PastRun run;
  run.id = string_in(value, "id");
  run.origin = string_in(value, "origin");
  run.program = string_in(value, "program");
  run.name = string_in(value, "name");
  run.host = string_in(value, "host");
  each_of(value, "paths", k_most_paths,
          [&](const Json& each) { run.paths.push_back(cut(each.get<std::string>())); });
  run.began = value.value("began", 0.0);
  run.ended = value.value("ended", 0.0);
  if (value.contains("status") && value["status"].is_number())
    run.status = value["status"].get<int>();
  run.verdict = string_in(value, "verdict");
  run.headline = string_in(value, "headline");
  run.is_answered = value.value("answered", false);
  run.steps = value.value("steps", std::uint64_t{0});
  each_of(value, "causes", k_most_list, [&](const Json& each) {
    run.causes.push_back(
        {string_in(each, "id"), string_in(each, "title"), each.value("probability", 0.0)});
  });
  each_of(value, "symptoms", k_most_list, [&](const Json& each) {
    run.symptoms.push_back({string_in(each, "id"), string_in(each, "severity"),
                            each.value("first_step", std::int64_t{0}),
                            each.value("last_step", std::int64_t{0}), string_in(each, "summary")});
  });
  run.settings = texts_in(value, "settings");
  run.environment = texts_in(value, "environment");
  each_of(value, "series", k_most_series,
          [&](const Json& each) { run.series.push_back(series_from(each)); });
  run.previous = string_in(value, "previous");
  each_of(value, "changed", k_most_settings, [&](const Json& each) {
    run.changed.push_back(
        {string_in(each, "name"), string_in(each, "before"), string_in(each, "after")});
  });
  run.helped = helped_from(string_in(value, "helped"));
  const Json same = value.value("same", Json::object());
  run.lead_path = string_in(same, "path");
  run.lead_first = string_in(same, "first");
  run.lead_last = string_in(same, "last");
  run.kinds = string_in(same, "kinds");
  return run;
}

void take_findings(PastRun& run, const Report& report) {
  for (const ReportCause& each : report.causes) {
    if (run.causes.size() < k_most_list)
      run.causes.push_back({each.id, each.title, each.probability});
  }
  for (const ReportSymptom& each : report.symptoms) {
    if (run.symptoms.size() < k_most_list)
      run.symptoms.push_back({each.id, each.severity, each.first_step, each.last_step,
                              cut(without_secrets({}, each.summary))});
  }
}

void take_settings(PastRun& run, const Report& report) {
  for (const auto& [name, value] : report.settings) {
    auto& place = is_environment(name) ? run.environment : run.settings;
    if (place.size() >= k_most_settings) continue;
    std::string text = text_of(value);
    if (std::holds_alternative<std::string>(value)) text = cut(without_secrets(name, text));
    place[name] = std::move(text);
  }
  if (const std::string framework = report::summary_text(report, "framework"); !framework.empty())
    run.environment["framework"] = framework;
}

}  // namespace

std::string_view name(Helped helped) {
  static constexpr std::pair<Helped, std::string_view> k_names[] = {{Helped::yes, "yes"},
                                                                    {Helped::no, "no"},
                                                                    {Helped::worse, "worse"},
                                                                    {Helped::unknown, "unknown"}};
  return core::second_of(k_names, helped).value_or("unknown");
}

std::vector<ChartPoint> decimated(const std::vector<ChartPoint>& points, std::size_t most) {
  if (points.size() <= most || most < 6) return points;
  std::vector<ChartPoint> out;
  const std::size_t parts = (most - 2) / 3;  // the first and the last sample stay by themselves
  std::set<std::size_t> kept = {0, points.size() - 1};
  for (std::size_t part = 0; part < parts; ++part)
    keep_extremes(points, points.size() * part / parts, points.size() * (part + 1) / parts, kept);
  out.reserve(kept.size());
  for (const std::size_t i : kept) out.push_back(points[i]);
  return out;
}

PastRun past_run_of(const Report& report) {
  PastRun run;
  run.name = report::summary_text(report, "run");
  run.verdict = name(report.verdict);
  run.headline = cut(without_secrets({}, report::summary_text(report, "headline")));
  run.is_answered = report::is_answered(report);
  run.steps = static_cast<std::uint64_t>(std::max(0.0, number_in(report, "steps")));
  take_findings(run, report);
  take_settings(run, report);
  for (const ReportSeries* each : report::chart_order(report)) {
    if (run.series.size() >= k_most_series) break;
    run.series.push_back(
        {each->name, each->role, each->points, decimated(each->chart, PastSeries::k_most_points)});
  }
  if (const ReportSeries* lead = lead_of(report)) {
    run.lead_path = lead->path;
    run.lead_first = sample(lead->first_step, lead->first);
    run.lead_last = sample(lead->last_step, lead->last);
  }
  std::set<std::string> kinds;
  for (const ReportInput& each : report.inputs) {
    if (each.kind == "unknown") continue;
    kinds.insert(each.kind);
    if (run.paths.size() < k_most_paths) run.paths.push_back(each.path);
    if (run.lead_path.empty()) run.lead_path = each.path;
  }
  for (const std::string& each : kinds) run.kinds += (run.kinds.empty() ? "" : " ") + each;
  return run;
}

Json json_of(const PastRun& run) {
  Json causes = Json::array();
  for (const PastCause& each : run.causes)
    causes.push_back({{"id", each.id}, {"title", each.title}, {"probability", each.probability}});
  Json symptoms = Json::array();
  for (const PastSymptom& each : run.symptoms) {
    symptoms.push_back({{"id", each.id},
                        {"severity", each.severity},
                        {"first_step", each.first_step},
                        {"last_step", each.last_step},
                        {"summary", each.summary}});
  }
  Json changed = Json::array();
  for (const ReportChange& each : run.changed)
    changed.push_back({{"name", each.name}, {"before", each.before}, {"after", each.after}});
  Json series = Json::array();
  for (const PastSeries& each : run.series) series.push_back(json_of_series(each));
  Json out = {{"schema", PastRun::k_schema},
              {"id", run.id},
              {"origin", run.origin},
              {"program", run.program},
              {"name", run.name},
              {"host", run.host},
              {"paths", run.paths},
              {"began", run.began},
              {"ended", run.ended},
              {"status", run.status ? Json(*run.status) : Json(nullptr)},
              {"verdict", run.verdict},
              {"headline", run.headline},
              {"answered", run.is_answered},
              {"steps", run.steps},
              {"causes", std::move(causes)},
              {"symptoms", std::move(symptoms)},
              {"settings", run.settings},
              {"environment", run.environment},
              {"previous", run.previous.empty() ? Json(nullptr) : Json(run.previous)},
              {"changed", std::move(changed)},
              {"helped", name(run.helped)},
              {"series", std::move(series)},
              {"same",
               {{"path", run.lead_path},
                {"first", run.lead_first},
                {"last", run.lead_last},
                {"kinds", run.kinds}}}};
  report::make_visible(out);
  return out;
}

core::Result<PastRun> past_run_from(const Json& value) {
  try {
    return read(value);
  } catch (const Json::exception& fault) {
    return core::fail(core::ErrorCode::bad_format,
                      std::string("[store] a run that cannot be understood: ") + fault.what());
  }
}

std::vector<ReportChange> changes_between(const PastRun& before, const PastRun& after) {
  std::vector<ReportChange> out;
  const bool complete = before.kinds == after.kinds;
  for (const auto& [name, value] : before.settings) {
    const auto found = after.settings.find(name);
    if (found == after.settings.end() ? complete : found->second != value)
      out.push_back({name, value, found == after.settings.end() ? std::string() : found->second});
  }
  for (const auto& [name, value] : after.settings) {
    if (complete && !before.settings.contains(name)) out.push_back({name, {}, value});
  }
  std::sort(out.begin(), out.end(),
            [](const ReportChange& a, const ReportChange& b) { return a.name < b.name; });
  return out;
}

Helped helped(std::string_view verdict_before, std::string_view verdict_after) {
  static constexpr std::array<std::string_view, 4> k_from_worst = {"failed", "unstable", "warning",
                                                                   "healthy"};
  const auto* const before = std::find(k_from_worst.begin(), k_from_worst.end(), verdict_before);
  const auto* const after = std::find(k_from_worst.begin(), k_from_worst.end(), verdict_after);
  if (before == k_from_worst.end() || after == k_from_worst.end()) return Helped::unknown;
  return before < after ? Helped::yes : before == after ? Helped::no : Helped::worse;
}

std::string date_of(double seconds_since_1970) {
  const auto time = static_cast<std::time_t>(seconds_since_1970);
  std::tm local{};
  ::localtime_r(&time, &local);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &local);
  return text.data();
}

}  // namespace aplomb::store
