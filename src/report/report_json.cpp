#include "report/report_json.h"

#include <algorithm>
#include <cmath>

#include "core/json_text.h"
#include "core/text.h"

namespace aplomb::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json plain(const ReportValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const double held = std::get<double>(value);
  // Counts and sizes read as they were written: 8, not 8.0 (exact below 2^53).
  if (std::isfinite(held) && held == std::floor(held) && std::fabs(held) < 9007199254740992.0) {
    return static_cast<std::int64_t>(held);
  }
  return std::isfinite(held) ? Json(held) : Json(core::show_number(held));
}

Json plain(const std::map<std::string, ReportValue>& values) {
  Json out = Json::object();
  for (const auto& [key, value] : values) out[key] = plain(value);
  return out;
}

Json texts(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const std::string& each : list) out.push_back(each);
  return out;
}

Json json_of(const std::vector<Evidence>& list) {
  Json out = Json::array();
  for (const Evidence& each : list) {
    out.push_back({{"path", each.path},
                   {"line", each.line},
                   {"step", each.step ? Json(*each.step) : Json(nullptr)},
                   {"text", each.text}});
  }
  return out;
}

Json json_of(const ReportInput& input);
Json json_of(const ReportSeries& series);
Json json_of(const ReportSymptom& symptom);
Json json_of(const ReportRemedy& remedy);
Json json_of(const ReportWeight& weight);
Json json_of(const ReportCause& cause);
Json json_of(const ReportRuledOut& rival);
Json json_of(const ReportHealthFinding& finding);
Json json_of(const ReportExperiment& experiment);
Json json_of(const ReportFinding& finding);
Json json_of(const ReportRun& run);

template <class T>
Json list_of(const std::vector<T>& list) {
  Json out = Json::array();
  for (const T& each : list) out.push_back(json_of(each));
  return out;
}

Json json_of(const ReportInput& input) {
  return {{"path", input.path},
          {"kind", input.kind},
          {"steps", input.steps},
          {"warnings", texts(input.warnings)}};
}

Json json_of(const ReportSeries& series) {
  Json out = {{"name", series.name},
              {"points", series.points},
              {"first_step", series.first_step},
              {"last_step", series.last_step},
              {"min", number(series.min)},
              {"max", number(series.max)},
              {"first", number(series.first)},
              {"last", number(series.last)}};
  if (!std::isfinite(series.last)) out["last_text"] = core::show_number(series.last);
  out["nonfinite"] = series.nonfinite;
  out["role"] = series.role;
  out["path"] = series.path;
  Json chart = Json::array();
  for (const ChartPoint& point : series.chart) {
    Json pair = Json::array({point.step, number(point.value)});
    if (!std::isfinite(point.value)) pair.push_back(core::show_number(point.value));
    chart.push_back(std::move(pair));
  }
  out["chart"] = std::move(chart);
  return out;
}

Json json_of(const ReportSymptom& symptom) {
  return {{"id", symptom.id},
          {"severity", symptom.severity},
          {"first_step", symptom.first_step},
          {"last_step", symptom.last_step},
          {"series", symptom.series},
          {"summary", symptom.summary},
          {"evidence", json_of(symptom.evidence)}};
}

Json json_of(const ReportRemedy& remedy) {
  Json rendered = Json::object();
  for (const auto& [framework, text] : remedy.rendered) rendered[framework] = text;
  return {{"text", remedy.text}, {"set", plain(remedy.set)}, {"rendered", std::move(rendered)}};
}

Json json_of(const ReportWeight& weight) {
  return {{"when", weight.when},
          {"weight", number(weight.weight)},
          {"because", weight.because},
          {"evidence", json_of(weight.evidence)}};
}

Json json_of(const ReportCause& cause) {
  return {{"id", cause.id},
          {"family", cause.family},
          {"title", cause.title},
          {"probability", number(cause.probability)},
          {"because", cause.because},
          {"evidence", json_of(cause.evidence)},
          {"remedies", list_of(cause.remedies)},
          {"verify", cause.verify},
          {"weights", list_of(cause.weights)},
          {"references", texts(cause.references)}};
}

Json json_of(const ReportRuledOut& rival) {
  return {{"id", rival.id},
          {"title", rival.title},
          {"because", rival.because},
          {"evidence", json_of(rival.evidence)}};
}

Json json_of(const ReportHealthFinding& finding) {
  return {{"because", finding.because}, {"evidence", json_of(finding.evidence)}};
}

Json json_of(const ReportHealth& health) {
  return {{"shown", list_of(health.shown)},
          {"against", list_of(health.against)},
          {"missing", list_of(health.missing)}};
}

Json json_of(const ReportExperiment& experiment) {
  return {{"text", experiment.text},
          {"separates", texts(experiment.separates)},
          {"reads", experiment.reads}};
}

Json json_of(const ReportFinding& finding) {
  return {{"id", finding.id},
          {"severity", finding.severity},
          {"title", finding.title},
          {"because", finding.because},
          {"evidence", json_of(finding.evidence)},
          {"remedies", list_of(finding.remedies)},
          {"leads_to", texts(finding.leads_to)},
          {"references", texts(finding.references)}};
}

Json json_of(const ReportRun& run) {
  return {{"name", run.name},
          {"verdict", name(run.verdict)},
          {"headline", run.headline},
          {"cause", run.cause},
          {"steps", run.steps}};
}

Json json_of(const ReportSeenBefore& seen) {
  Json changed = Json::array();
  for (const ReportChange& each : seen.changed)
    changed.push_back({{"name", each.name}, {"before", each.before}, {"after", each.after}});
  Json ended = nullptr;
  if (!seen.ended_by.empty()) {
    ended = {{"run", seen.ended_by}, {"date", seen.ended_date}, {"changed", std::move(changed)}};
  }
  return {{"run", seen.run},     {"name", seen.name},   {"date", seen.date},
          {"cause", seen.cause}, {"times", seen.times}, {"symptoms", texts(seen.symptoms)},
          {"ended_by", ended}};
}

std::string one_line(const Json& value) {
  Json seen = value;
  make_visible(seen);
  return core::json_text(seen);
}

void write(const Json& value, std::size_t indent, std::string& out) {
  const bool nested = value.is_structured() && std::any_of(value.begin(), value.end(), [](auto& e) {
                        return e.is_structured() && !e.empty();
                      });
  if (value.empty() || !value.is_structured() || (value.is_array() && !nested)) {
    out += one_line(value);
    return;
  }
  const std::string margin(indent + 2, ' ');
  out += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& item : value.items()) {
    out += first ? "\n" : ",\n";
    first = false;
    out += margin;
    if (value.is_object()) out += one_line(Json(item.key())) + ": ";
    write(item.value(), indent + 2, out);
  }
  out += "\n" + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

void make_visible(nlohmann::ordered_json& value) {
  if (value.is_string()) {
    value = core::sanitize_lines(value.get_ref<const std::string&>());
  } else if (value.is_structured()) {
    for (Json& each : value) make_visible(each);
  }
}

nlohmann::ordered_json report_json(const Report& report) {
  Json out = {{"schema", Report::k_schema},
              {"inputs", list_of(report.inputs)},
              {"series", list_of(report.series)},
              {"verdict", name(report.verdict)},
              {"symptoms", list_of(report.symptoms)},
              {"causes", list_of(report.causes)},
              {"ruled_out", list_of(report.ruled_out)},
              {"health", json_of(report.health)},
              {"unknown_probability", number(report.unknown_probability)},
              {"experiments", list_of(report.experiments)},
              {"findings", list_of(report.findings)},
              {"runs", list_of(report.runs)},
              {"settings", plain(report.settings)},
              {"summary", plain(report.summary)}};
  if (report.seen_before) out["seen_before"] = json_of(*report.seen_before);
  return out;
}

std::string json_text(const nlohmann::ordered_json& value) {
  std::string out;
  write(value, 0, out);
  out += '\n';
  return out;
}

}  // namespace aplomb::report
