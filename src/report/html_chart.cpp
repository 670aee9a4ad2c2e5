#include "report/html_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/json_text.h"
#include "core/text.h"
#include "report/axis.h"
#include "report/html_text.h"
#include "report/report_json.h"
#include "report/text_chart.h"

namespace aplomb::report {
namespace {

constexpr double k_width = 2000;  // of the drawing's own coordinates; the page stretches them
constexpr double k_height = 1000;
constexpr std::size_t k_sparse = 60;  // up to so many samples each gets a dot
constexpr std::size_t k_most_more = 24;

bool drawable(const ReportSeries& series) { return series.chart.size() >= 2; }

struct Steps {
  std::int64_t first = 0;
  std::int64_t last = 1;
};

/// Charts of one run share their steps, so that one can be read below the other. A series that
/// counts something else (epochs) keeps its own.
Steps steps_of(const ChartSpec& spec, const Report& report) {
  Steps own{spec.lines.front()->first_step, spec.lines.front()->last_step};
  for (const ReportSeries* line : spec.lines) {
    own.first = std::min(own.first, line->first_step);
    own.last = std::max(own.last, line->last_step);
  }
  Steps all = own;
  for (const ReportSeries& series : report.series) {
    if (!drawable(series)) continue;
    all.first = std::min(all.first, series.first_step);
    all.last = std::max(all.last, series.last_step);
  }
  const double share = static_cast<double>(own.last - own.first) /
                       std::max(1.0, static_cast<double>(all.last - all.first));
  Steps chosen = share >= 0.5 ? all : own;
  if (chosen.last == chosen.first) ++chosen.last;
  return chosen;
}

double part_along(const Steps& steps, std::int64_t step) {
  return std::clamp((static_cast<double>(step) - static_cast<double>(steps.first)) /
                        (static_cast<double>(steps.last) - static_cast<double>(steps.first)),
                    0.0, 1.0);
}

struct Extent {
  double least = 0;
  double most = 0;
  bool any = false;
  bool can_log = true;     // every finite value is positive
  bool log_first = false;  // and they span decades
};

Extent extent_of(const ChartSpec& spec) {
  Extent extent;
  for (const ReportSeries* line : spec.lines) {
    for (const ChartPoint& point : line->chart) {
      if (!std::isfinite(point.value)) continue;
      extent.least = extent.any ? std::min(extent.least, point.value) : point.value;
      extent.most = extent.any ? std::max(extent.most, point.value) : point.value;
      extent.any = true;
    }
    // A schedule's end near 0 is no reason to hide its shape.
    extent.log_first = extent.log_first || (line->role != "lr" && wants_log_scale(line->chart));
  }
  extent.can_log = extent.any && extent.least > 0;
  extent.log_first = extent.log_first && extent.can_log;
  return extent;
}

int x_of(const Steps& steps, std::int64_t step) {
  return static_cast<int>(std::lround(part_along(steps, step) * k_width));
}
int y_of(const Axis& axis, double value) {
  return static_cast<int>(std::lround((1 - axis.part_of(value)) * k_height));
}

std::string line_path(const ReportSeries& series, const Steps& steps, const Axis& axis) {
  std::string path;
  bool down = false;
  std::int64_t before = series.chart.front().step;
  for (const ChartPoint& point : series.chart) {
    if (point.step < before) down = false;  // a restart: no line back
    before = point.step;
    if (!std::isfinite(point.value)) {
      down = false;
      continue;
    }
    path +=
        fmt::format("{}{} {}", down ? "L" : "M", x_of(steps, point.step), y_of(axis, point.value));
    down = true;
  }
  return path;
}

/// Round dots: strokes of no length, which keep their shape however the drawing is stretched. All
/// samples of a sparse series, else only those that stand alone between NaNs.
std::string dot_path(const ReportSeries& series, const Steps& steps, const Axis& axis) {
  std::string path;
  const auto& chart = series.chart;
  for (std::size_t i = 0; i < chart.size(); ++i) {
    if (!std::isfinite(chart[i].value)) continue;
    const bool alone = (i == 0 || !std::isfinite(chart[i - 1].value)) &&
                       (i + 1 == chart.size() || !std::isfinite(chart[i + 1].value));
    if (chart.size() > k_sparse && !alone) continue;
    path += fmt::format("M{} {}h0", x_of(steps, chart[i].step), y_of(axis, chart[i].value));
  }
  return path;
}

std::string nonfinite_path(const ReportSeries& series, const Steps& steps) {
  std::string path;
  int last = -1;
  for (const ChartPoint& point : series.chart) {
    if (std::isfinite(point.value)) continue;
    const int x = x_of(steps, point.step);
    if (x != last) path += fmt::format("M{} {}h0", x, 30);
    last = x;
  }
  return path;
}

/// Grid and lines on one scale, with the labels of its ticks.
std::string scale_group(const ChartSpec& spec, const Steps& steps, const Axis& axis) {
  std::string grid;
  for (const double tick : ticks(axis, 3))
    grid += fmt::format("M0 {}H{}", y_of(axis, tick), k_width);
  std::string out = fmt::format("<g class=\"{}\"><path class=\"grid\" d=\"{}\"/>",
                                axis.log ? "log" : "lin", grid);
  for (std::size_t i = spec.lines.size(); i-- > 0;) {  // the first one on top
    const ReportSeries& line = *spec.lines[i];
    out += fmt::format("<path class=\"line l{}\" d=\"{}\"/>", i, line_path(line, steps, axis));
    const std::string dots = dot_path(line, steps, axis);
    if (!dots.empty()) out += fmt::format("<path class=\"dots l{}\" d=\"{}\"/>", i, dots);
  }
  return out + "</g>";
}

std::string tick_text(const ReportSeries& series, double value) {
  return series.role.ends_with("memory_bytes") ? core::show_bytes(value) : value_label(value);
}

std::string y_labels(const ChartSpec& spec, const Axis& axis) {
  std::string out = fmt::format("<div class=\"y {}\">", axis.log ? "log" : "lin");
  for (const double tick : ticks(axis, 3)) {
    out += fmt::format("<span style=\"top:{:.2f}%\">{}</span>", (1 - axis.part_of(tick)) * 100,
                       tick_text(*spec.lines.front(), tick));
  }
  return out + "</div>";
}

std::string x_labels(const Steps& steps) {
  const Axis axis{static_cast<double>(steps.first), static_cast<double>(steps.last), false};
  std::string out = "<div class=\"x\">";
  for (const double tick : ticks(axis, 4)) {
    if (tick != std::floor(tick)) continue;
    out += fmt::format("<span style=\"left:{:.2f}%\">{}</span>", axis.part_of(tick) * 100,
                       step_label(tick));
  }
  return out + "</div>";
}

/// Where symptoms were seen on these series.
std::string bands(const ChartSpec& spec, const Report& report, const Steps& steps) {
  std::string out;
  std::set<std::pair<int, int>> drawn;
  for (const ReportSymptom& symptom : report.symptoms) {
    if (symptom.severity == "note" || !is_seen_on(symptom, spec)) continue;
    const int from = x_of(steps, symptom.first_step);
    const int width = std::max(10, x_of(steps, symptom.last_step) - from);
    if (!drawn.insert({from, width}).second) continue;
    out += fmt::format(
        "<rect class=\"band {}\" x=\"{}\" y=\"0\" width=\"{}\" "
        "height=\"{}\"><title>{}</title></rect>",
        escape(symptom.severity), std::min(from, static_cast<int>(k_width) - width), width,
        k_height, escape(symptom.summary));
  }
  return out;
}

/// The step at which the first trouble begins, on every chart.
const ReportSymptom* first_trouble(const Report& report) {
  for (const ReportSymptom& symptom : report.symptoms) {
    if (symptom.severity != "note" && !symptom.series.empty()) return &symptom;
  }
  return nullptr;
}

std::string mark(const Report& report, const Steps& steps) {
  const ReportSymptom* trouble = first_trouble(report);
  if (trouble == nullptr || trouble->first_step < steps.first || trouble->first_step > steps.last) {
    return {};
  }
  const double part = part_along(steps, trouble->first_step);
  return fmt::format("<div class=\"mark {}{}\" style=\"left:{:.2f}%\"><span>step {}</span></div>",
                     escape(trouble->severity), part > 0.8 ? " end" : "", part * 100,
                     trouble->first_step);
}

std::string from_to(const ReportSeries& series) {
  std::string text =
      tick_text(series, series.first) + " \xE2\x86\x92 " + tick_text(series, series.last);
  if (series.nonfinite > 0) {
    text += fmt::format(", {} of {} not finite", series.nonfinite, series.points);
  }
  return text;
}

std::string caption(const ChartSpec& spec, const Extent& extent) {
  std::string out = "<figcaption><b>" + escape(spec.title) + "</b>";
  for (std::size_t i = 0; i < spec.lines.size(); ++i) {
    const ReportSeries& line = *spec.lines[i];
    out += fmt::format("<span class=\"key l{}\">{}{}</span>", i,
                       spec.lines.size() > 1 ? escape(line.name) + " " : "", from_to(line));
  }
  if (extent.can_log) {
    out += fmt::format(
        "<button type=\"button\" class=\"scale\" aria-label=\"{} scale\">{}</button>",
        extent.log_first ? "linear" : "logarithmic", extent.log_first ? "log" : "linear");
  }
  return out + "</figcaption>";
}

const ReportSeries* by_role(const Report& report, std::string_view role) {
  for (const ReportSeries& series : report.series) {
    if (series.role == role && drawable(series)) return &series;
  }
  return nullptr;
}

struct Titled {
  const char* title;
  std::vector<const char*> roles;
};

/// What a reader looks at first, in this order; roles in a row share a chart.
const std::vector<Titled>& main_charts() {
  static const std::vector<Titled> charts = {
      {"Loss", {"loss", "eval_loss"}},
      {"Reward", {"reward", "reward_std"}},
      {"Gradient norm", {"grad_norm"}},
      {"Learning rate", {"lr"}},
      {"KL divergence from the reference", {"kl"}},
      {"Entropy", {"entropy"}},
      {"Completion length", {"completion_length"}},
      {"Groups without spread of reward", {"frac_reward_zero_std"}},
      {"Importance ratio", {"is_ratio_min", "is_ratio_max"}},
      {"Loss scale", {"loss_scale"}}};
  return charts;
}

}  // namespace

ChartPlan plan_charts(const Report& report) {
  ChartPlan plan;
  std::set<const ReportSeries*> used;
  for (const Titled& wanted : main_charts()) {
    ChartSpec spec{wanted.title, {}};
    for (const char* role : wanted.roles) {
      if (const ReportSeries* series = by_role(report, role)) spec.lines.push_back(series);
    }
    used.insert(spec.lines.begin(), spec.lines.end());
    if (!spec.lines.empty()) plan.main.push_back(std::move(spec));
  }
  for (const ReportSeries& series : report.series) {
    if (!drawable(series) || used.contains(&series) || series.role == "epoch") continue;
    const bool flat = series.min == series.max && series.nonfinite == 0;
    if (!flat && plan.more.size() < k_most_more) plan.more.push_back({series.name, {&series}});
  }
  return plan;
}

bool is_seen_on(const ReportSymptom& symptom, const ChartSpec& spec) {
  return std::any_of(spec.lines.begin(), spec.lines.end(),
                     [&](const ReportSeries* line) { return line->name == symptom.series; });
}

std::string html_chart(const ChartSpec& spec, const Report& report, std::size_t id) {
  const Steps steps = steps_of(spec, report);
  const Extent extent = extent_of(spec);
  const Axis linear = padded_axis(extent.least, extent.most, false);
  std::string groups = scale_group(spec, steps, linear);
  std::string labels = y_labels(spec, linear);
  if (extent.can_log) {
    const Axis log = padded_axis(extent.least, extent.most, true);
    groups += scale_group(spec, steps, log);
    labels += y_labels(spec, log);
  }
  std::string bad;
  for (const ReportSeries* line : spec.lines) bad += nonfinite_path(*line, steps);
  if (!bad.empty()) groups += "<path class=\"bad\" d=\"" + bad + "\"/>";
  const std::string alt = spec.title + ": " + from_to(*spec.lines.front());
  return fmt::format(
      "<figure class=\"chart\" data-id=\"{}\" data-scale=\"{}\">{}<div class=\"plot\">{}"
      "<div class=\"area\" tabindex=\"0\" role=\"img\" aria-label=\"{}\">"
      "<svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" "
      "aria-hidden=\"true\">{}{}</svg>{}</div>{}"
      "</div></figure>\n",
      id, extent.log_first ? "log" : "lin", caption(spec, extent), labels, escape(alt), k_width,
      k_height, bands(spec, report, steps), groups, mark(report, steps), x_labels(steps));
}

namespace {

/// Six digits are more than a chart shows, and a third of the bytes.
nlohmann::ordered_json rounded(double value) {
  return core::parse_number(core::show_number(value, 6)).value_or(value);
}

}  // namespace

std::string chart_data(const std::vector<ChartSpec>& specs, const Report& report) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const ChartSpec& spec : specs) {
    const Steps steps = steps_of(spec, report);
    Json lines = Json::array();
    for (const ReportSeries* line : spec.lines) {
      Json at = Json::array();
      Json values = Json::array();
      for (const ChartPoint& point : line->chart) {
        at.push_back(point.step);
        values.push_back(std::isfinite(point.value) ? rounded(point.value)
                                                    : Json(core::show_number(point.value)));
      }
      lines.push_back({{"name", line->name},
                       {"unit", line->role.ends_with("memory_bytes") ? "bytes" : ""},
                       {"steps", std::move(at)},
                       {"values", std::move(values)}});
    }
    all.push_back({{"first", steps.first}, {"last", steps.last}, {"lines", std::move(lines)}});
  }
  make_visible(all);
  return escape_json(core::json_text(all));
}

}  // namespace aplomb::report
