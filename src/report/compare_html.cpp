#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "core/version.h"
#include "report/chart_points.h"
#include "report/compare_view.h"
#include "report/html_chart.h"
#include "report/html_text.h"
#include "report/page_assets.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

using compare::Comparison;
using compare::Judgement;
using compare::Metric;
using compare::Reach;
using compare::SettingDifference;

constexpr std::size_t k_open_charts = 4;
constexpr std::size_t k_most_charts = 24;

constexpr const char* k_compare_style =
    ".cmp{border-collapse:collapse;font-size:.92rem;width:100%}"
    ".cmp td,.cmp th{padding:.28rem .8rem .28rem 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--rule)}"
    ".cmp .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".cmp th{font-weight:600;color:var(--soft);font-size:.82rem}"
    ".cmp .far td{font-weight:650}.cmp small{display:block;color:var(--soft);font-weight:400;"
    "overflow-wrap:anywhere}.wide{overflow-x:auto}.cmp td:first-child{white-space:nowrap}";

/// One metric of both runs as the charts of the page take it.
struct Drawn {
  std::string title;
  ReportSeries a;
  ReportSeries b;
};

ReportSeries drawn_series(const char* name, const Metric& metric,
                          const std::vector<double>& values) {
  record::Series series;
  series.name = name;
  series.value = values;
  for (const double at : metric.pairs.at)
    series.step.push_back(static_cast<std::int64_t>(std::llround(at)));
  ReportSeries out;
  out.name = name;
  out.role = record::name(metric.role);
  out.points = values.size();
  out.first_step = series.step.front();
  out.last_step = series.step.back();
  out.first = values.front();
  out.last = values.back();
  for (const double value : values) {
    if (!std::isfinite(value)) {
      ++out.nonfinite;
      continue;
    }
    out.min = std::isnan(out.min) ? value : std::min(out.min, value);
    out.max = std::isnan(out.max) ? value : std::max(out.max, value);
  }
  out.chart = chart_points(series);
  return out;
}

class ComparisonPage {
 public:
  explicit ComparisonPage(const Comparison& comparison) : comparison_(comparison) {
    for (const Metric& metric : comparison.metrics) {
      if (metric.role == record::Role::other || metric.pairs.size() < 2) continue;
      if (drawn_.size() == k_most_charts) break;
      drawn_.push_back({core::sanitize(metric.name), drawn_series("A", metric, metric.pairs.a),
                        drawn_series("B", metric, metric.pairs.b)});
    }
    for (const Drawn& each : drawn_) specs_.push_back({each.title, {&each.a, &each.b}});
  }

  std::string html() const {
    return head() + "<body>\n<main class=\"page\">\n" +
           "<div class=\"top\"><b>aplomb</b><span class=\"run\">compare</span><button "
           "type=\"button\" id=\"theme\" hidden aria-label=\"light or "
           "dark\">auto</button></div>\n" +
           hero() + runs() + metrics() + charts() + settings() + levels() + remarks() +
           "<footer>aplomb " + escape(core::version()) +
           " \xC2\xB7 this page loads nothing and sends nothing</footer>\n</main>\n"
           "<script type=\"application/json\" id=\"samples\">" +
           chart_data(specs_, no_report_) + "</script>\n<script>" + k_page_script +
           "</script>\n</body>\n</html>\n";
  }

 private:
  std::string head() const {
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
        "'sha256-{}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n"
        "<title>compare: {}</title>\n<style>{}{}</style>\n</head>\n",
        k_page_script_sha256, name(comparison_.verdict), k_page_style, k_compare_style);
  }

  std::string hero() const {
    const auto [look, chip] = [&]() -> std::pair<const char*, const char*> {
      switch (comparison_.verdict) {
        case Judgement::identical:
          return {"healthy", "identical"};
        case Judgement::same:
          return {"healthy", "no difference beyond noise"};
        case Judgement::differ:
          return {"failed", "the runs differ"};
        case Judgement::unknown:
          break;
      }
      return {"warning", "cannot be said"};
    }();
    return fmt::format(
        "<header class=\"hero {}\"><span class=\"chip\">{}</span><h1>{}</h1><p class=\"lead\">{}"
        "</p></header>\n",
        look, chip, escape(compare_headline(comparison_)),
        prose("Do: " + compare_advice(comparison_)));
  }

  std::string run(const char* label, const compare::RunBrief& brief) const {
    return fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td>"
        "<td class=\"n\">{}</td></tr>",
        label, escape(core::sanitize(brief.name)), brief.samples,
        escape(show_place(comparison_.axis, brief.first)),
        escape(show_place(comparison_.axis, brief.last)), brief.settings);
  }

  std::string runs() const {
    std::string out =
        "<section><h2>Runs</h2><div class=\"wide\"><table class=\"cmp\"><tr><th></th><th>from</th>"
        "<th class=\"n\">samples</th><th class=\"n\">reach</th><th class=\"n\">settings</th></tr>";
    out += run("A", comparison_.a) + run("B", comparison_.b);
    for (const compare::RunBrief& each : comparison_.seeds) out += run("seed of A", each);
    for (const compare::RunBrief& each : comparison_.b_seeds) out += run("seed of B", each);
    return out + "</table></div></section>\n";
  }

  std::string metric(const Metric& metric) const {
    const compare::Ending& end = metric.ending;
    const auto apart = metric.apart();
    return fmt::format(
        "<tr{}><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}{}</td>"
        "<td class=\"n\">{}</td><td>{}</td></tr>",
        metric.beyond ? " class=\"far\"" : "", escape(core::sanitize(metric.name)),
        core::show_number(end.a), core::show_number(end.b), end.difference() > 0 ? "+" : "",
        core::show_number(end.difference(), 3),
        end.basis == compare::Basis::none ? "?" : core::show_number(end.noise, 2),
        apart ? escape(show_place(comparison_.axis, metric.pairs.at[*apart])) : "-");
  }

  std::string metrics() const {
    const std::string header =
        "<table class=\"cmp\"><tr><th>at the end</th><th class=\"n\">A</th><th class=\"n\">B</th>"
        "<th class=\"n\">B - A</th><th class=\"n\">noise</th><th>apart from</th></tr>";
    std::string known;
    std::string rest;
    for (const Metric& each : comparison_.metrics)
      (each.role == record::Role::other ? rest : known) += metric(each);
    std::string out = "<section><h2>Metrics</h2><div class=\"wide\">" + header + known +
                      "</table></div><p class=\"soft small\">Bold: more than noise.</p>";
    if (!rest.empty())
      out += "<details><summary>Metrics of no known meaning</summary><div class=\"inner wide\">" +
             header + rest + "</table></div></details>";
    return out + "</section>\n";
  }

  std::string charts() const {
    if (specs_.empty()) return {};
    std::string out = "<section><h2>Charts</h2><div class=\"charts\">";
    for (std::size_t id = 0; id < specs_.size(); ++id) {
      if (id == k_open_charts)
        out += fmt::format(
            "</div><p></p><details><summary>More metrics ({})</summary><div class=\"inner "
            "charts\">",
            specs_.size() - k_open_charts);
      out += html_chart(specs_[id], no_report_, id);
    }
    return out + (specs_.size() > k_open_charts ? "</div></details>" : "</div>") + "</section>\n";
  }

  static std::string side(const std::optional<compare::SettingSide>& side,
                          const std::string& folder) {
    if (!side) return "<span class=\"soft\">not stated</span>";
    std::string out = "<code>" + escape(core::sanitize(core::show(side->value))) + "</code>";
    if (side->path.empty()) return out;
    out += "<small>" + escape(core::sanitize(short_path(side->path, folder)));
    if (side->line > 0) out += fmt::format(":{}", side->line);
    return out + "</small>";
  }

  std::string settings_of(Reach reach, const char* title) const {
    std::string rows;
    for (const SettingDifference& each : comparison_.settings) {
      if (each.reach != reach) continue;
      rows += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
                          escape(each.name), side(each.a, comparison_.a.name + "/"),
                          side(each.b, comparison_.b.name + "/"));
    }
    if (rows.empty()) return {};
    return fmt::format(
        "<div class=\"wide\"><table class=\"cmp\"><tr><th>{}</th><th>A</th><th>B</th></tr>{}"
        "</table></div>",
        title, rows);
  }

  std::string settings() const {
    const std::string out = settings_of(Reach::training, "change training") +
                            settings_of(Reach::seed, "seeds") +
                            settings_of(Reach::execution, "execution") +
                            settings_of(Reach::environment, "environment") +
                            settings_of(Reach::bookkeeping, "logs and checkpoints");
    return out.empty() ? out : "<section><h2>Settings</h2>" + out + "</section>\n";
  }

  std::string levels() const {
    if (comparison_.levels.empty()) return {};
    std::string out =
        "<section><h2>Speed and memory</h2><div class=\"wide\"><table class=\"cmp\"><tr><th></th>"
        "<th class=\"n\">A</th><th class=\"n\">B</th><th class=\"n\">B / A</th></tr>";
    for (const compare::Level& each : comparison_.levels)
      out += fmt::format(
          "<tr{}><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">x {}"
          "</td></tr>",
          each.clear() ? " class=\"far\"" : "", escape(each.name), show_level(each, each.a),
          show_level(each, each.b), core::show_number(each.ratio(), 3));
    return out +
           "</table></div><p class=\"soft small\">Median (quartiles), of memory the most. Bold: "
           "quartiles apart. Machines differ from hour to hour: only 1.5 times the time or 1.3 "
           "times the memory enter the verdict."
           "</p></section>\n";
  }

  std::string remarks() const {
    std::vector<std::string> all;
    if (const std::string noise = compare_noise(comparison_); !noise.empty())
      all.push_back("Noise: " + noise);
    for (const std::string& note : comparison_.notes) all.push_back(core::sanitize(note));
    for (const compare::Refused& each : comparison_.refused)
      all.push_back("Left out: " + core::sanitize(each.name + ": " + each.why));
    if (all.empty()) return {};
    std::string out = "<section><h2>How this was judged</h2>";
    for (const std::string& each : all) out += "<p class=\"soft\">" + prose(each) + "</p>";
    return out + "</section>\n";
  }

  const Comparison& comparison_;
  const Report no_report_;  // the charts shade a report's symptoms: here are none
  std::vector<Drawn> drawn_;
  std::vector<ChartSpec> specs_;
};

}  // namespace

std::string compare_html(const Comparison& comparison) { return ComparisonPage(comparison).html(); }

}  // namespace aplomb::report
