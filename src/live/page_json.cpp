#include "live/page_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/json_text.h"
#include "core/text.h"
#include "discovery/run_layout.h"
#include "report/report_json.h"
#include "task/stages.h"

namespace aplomb::live {
namespace {

constexpr std::size_t k_most_marks = 200;  // of a kind: more are a carpet, not marks

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Json mark(const char* kind, Json series, std::int64_t from, std::int64_t to, std::string label,
          const char* severity) {
  return {{"kind", kind}, {"series", std::move(series)}, {"from", from},
          {"to", to},     {"label", std::move(label)},   {"severity", severity}};
}

const char* severity_of_mark(const std::string& severity) {
  if (severity == "note") return "info";
  return severity == "warning" ? "warning" : "error";
}

void add_restarts(Json& marks, const record::Run& run) {
  const record::Series* lead = lead_of(run);
  if (lead == nullptr) return;
  std::size_t count = 0;
  for (std::size_t i = 1; i < lead->size() && count < k_most_marks; ++i) {
    if (lead->segment[i] == lead->segment[i - 1]) continue;
    ++count;
    marks.push_back(mark("restart", nullptr, lead->step[i], lead->step[i], "restarted", "warning"));
  }
}

void add_checkpoints(Json& marks, const record::Run& run) {
  std::set<std::int64_t> steps;
  for (const record::Source& source : run.sources) {
    if (const auto step = discovery::place_of(source.path, {}).checkpoint) steps.insert(*step);
  }
  std::size_t left = k_most_marks;
  for (auto step = steps.rbegin(); step != steps.rend() && left > 0; ++step, --left)
    marks.push_back(mark("checkpoint", nullptr, *step, *step, "checkpoint", "info"));
}

/// The last ones where there are many; with the reason that the guard gave.
void add_guard_acts(Json& marks, const record::Run& run) {
  std::size_t left = k_most_marks;
  for (auto each = run.events.rbegin(); each != run.events.rend() && left > 0; ++each) {
    if (!each->kind.starts_with("guard-") || each->kind == "guard-note" || !each->step) continue;
    --left;
    const char* severity = each->severity == core::Severity::note      ? "info"
                           : each->severity == core::Severity::warning ? "warning"
                                                                       : "error";
    marks.push_back(mark("guard", nullptr, *each->step, *each->step, each->text, severity));
  }
}

}  // namespace

Json wire(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

std::string line_of(Json value) {
  report::make_visible(value);
  return core::json_text(value);
}

std::vector<std::string> page_names(const record::Run& run) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const record::Series& each : run.series) {
    if (run.find(each.name) == &each) taken.insert(each.name);
  }
  for (const record::Series& each : run.series) {
    if (run.find(each.name) == &each) {
      names.push_back(each.name);
      continue;
    }
    std::string name = each.rank >= 0
                           ? each.name + " (rank " + std::to_string(each.rank) + ")"
                           : each.name + " (" + file_name(run.sources[each.source].path) + ")";
    const std::string plain = name;
    for (int i = 2; !taken.insert(name).second; ++i) name = plain + " #" + std::to_string(i);
    names.push_back(std::move(name));
  }
  return names;
}

std::string unit_of(record::Role role) {
  const std::string_view word = record::name(role);
  if (word.ends_with("_per_s")) return "1/s";
  if (word.ends_with("_bytes")) return "bytes";
  return word.ends_with("_time_s") ? "s" : "";
}

const record::Series* lead_of(const record::Run& run) {
  for (const record::Role role : {record::Role::loss, record::Role::reward, record::Role::eval_loss,
                                  record::Role::loss_component, record::Role::lr}) {
    if (const record::Series* series = run.primary(role)) return series;
  }
  const record::Series* most = nullptr;
  for (const record::Series& each : run.series) {
    if (!each.empty() && (most == nullptr || each.count > most->count)) most = &each;
  }
  return most;
}

Json marks_of(const record::Run& run, const Report& report, const std::vector<std::string>& names) {
  Json marks = Json::array();
  for (const ReportSymptom& each : report.symptoms) {
    if (marks.size() >= k_most_marks) break;
    const bool known = std::find(names.begin(), names.end(), each.series) != names.end();
    marks.push_back(mark("symptom", known ? Json(each.series) : Json(nullptr), each.first_step,
                         each.last_step, each.summary, severity_of_mark(each.severity)));
  }
  add_restarts(marks, run);
  add_checkpoints(marks, run);
  add_guard_acts(marks, run);
  std::size_t stages = 0;
  for (const task::Stage& stage : task::stages_of(run)) {
    if (++stages > k_most_marks) break;
    marks.push_back(mark("stage", nullptr, stage.step, stage.step, stage.told_by, "info"));
  }
  return marks;
}

Json ranks_of(const record::Run& run, const RankNews& news) {
  std::map<std::string, std::set<int>> sharing;  // by path: whose samples it holds
  for (const record::Series& each : run.series) {
    if (each.rank >= 0 && !each.empty()) sharing[run.sources[each.source].path].insert(each.rank);
  }
  struct Last {
    std::int64_t step = 0;
    std::optional<double> at;
  };
  std::map<int, Last> last;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    const record::Series& each = run.series[i];
    if (each.rank < 0 || each.empty()) continue;
    const auto later = news.step.find(i);
    const std::int64_t step = later != news.step.end() ? later->second : each.step[each.size() - 1];
    Last& known = last.try_emplace(each.rank, Last{step, {}}).first->second;
    known.step = std::max(known.step, step);
    first = std::max(first, step);
    std::optional<double> at;
    const std::string& path = run.sources[each.source].path;
    if (const auto seen = news.seen_at.find(i); seen != news.seen_at.end()) {
      at = seen->second;
    } else if (const auto file = news.written.find(path);
               file != news.written.end() && sharing[path].size() == 1) {
      at = file->second;
    }
    if (at) known.at = known.at ? std::max(*known.at, *at) : *at;
  }
  Json ranks = Json::array();
  if (last.size() < 2) return ranks;
  for (const auto& [rank, known] : last) {
    ranks.push_back({{"rank", rank},
                     {"step", known.step},
                     {"last_at", known.at ? Json(*known.at) : Json(nullptr)},
                     {"behind", first - known.step}});
  }
  return ranks;
}

Json memory_of(const record::Run& run) {
  const auto last = [&](record::Role role) -> Json {
    const record::Series* series = run.primary(role);
    if (series == nullptr || series->empty() || !std::isfinite(series->value.back()))
      return nullptr;
    return series->value.back();
  };
  Json memory = {{"device_bytes", last(record::Role::memory_bytes)},
                 {"host_bytes", last(record::Role::host_memory_bytes)}};
  return memory["device_bytes"].is_null() && memory["host_bytes"].is_null() ? Json(nullptr)
                                                                            : memory;
}

Json report_of_page(const Report& report) {
  Json value = report::report_json(report);
  if (value.contains("series")) {
    for (Json& each : value["series"]) {
      if (each.contains("chart")) each["chart"] = Json::array();
    }
  }
  return value;
}

Json buckets_json(const std::string& name, const Buckets& buckets) {
  Json min = Json::array();
  Json max = Json::array();
  for (const double each : buckets.min) min.push_back(wire(each));
  for (const double each : buckets.max) max.push_back(wire(each));
  return {{"name", name},
          {"steps", buckets.steps},
          {"min", std::move(min)},
          {"max", std::move(max)},
          {"exact", buckets.exact}};
}

}  // namespace aplomb::live
