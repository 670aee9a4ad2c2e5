#include <fmt/format.h>

#include <set>

#include "core/version.h"
#include "report/html_chart.h"
#include "report/html_sections.h"
#include "report/html_text.h"
#include "report/page_assets.h"
#include "report/renderer.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

/// The page may run its one script and style itself; it may load nothing, send nothing, and be
/// framed nowhere. A log line that slipped through escaping could still do nothing.
std::string policy() {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'",
      k_page_script_sha256);
}

std::string head(const Report& report) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"aplomb "
      "{}\">\n"
      "<title>{}: {}</title>\n<style>{}</style>\n</head>\n",
      policy(), core::version(), name(report.verdict), escape(summary_text(report, "headline")),
      k_page_style);
}

std::string top_bar(const Report& report) {
  return "<div class=\"top\"><b>aplomb</b><span class=\"run\">" +
         escape(summary_text(report, "run")) +
         "</span><button type=\"button\" id=\"theme\" hidden aria-label=\"light or "
         "dark\">auto</button></div>\n";
}

/// What the colours of the charts mean: only those that are there.
std::string legend(const ChartPlan& plan, const Report& report) {
  bool bad = false;
  std::set<std::string> severities;
  for (const ChartSpec& spec : plan.main) {
    for (const ReportSeries* line : spec.lines) bad = bad || line->nonfinite > 0;
    for (const ReportSymptom& symptom : report.symptoms) {
      if (symptom.severity != "note" && is_seen_on(symptom, spec))
        severities.insert(symptom.severity);
    }
  }
  std::string out;
  if (bad) out += "<span><i class=\"r\"></i>NaN or Inf</span>";
  for (const std::string& each : severities) {
    out += "<span><i class=\"s " + escape(each) + "\"></i>" +
           escape(each == "failed"     ? "failure"
                  : each == "unstable" ? "instability"
                                       : each) +
           "</span>";
  }
  return out.empty() ? out : "<p class=\"legend\">" + out + "</p>";
}

std::string charts(const ChartPlan& plan, const Report& report) {
  if (plan.main.empty() && plan.more.empty()) return {};
  std::size_t id = 0;
  std::string out = "<section><h2>Charts</h2><div class=\"charts\">";
  for (const ChartSpec& spec : plan.main) out += html_chart(spec, report, id++);
  out += "</div>" + legend(plan, report);
  if (!plan.more.empty()) {
    out += fmt::format(
        "<p></p><details><summary>More series ({})</summary><div class=\"inner charts\">",
        plan.more.size());
    for (const ChartSpec& spec : plan.more) out += html_chart(spec, report, id++);
    out += "</div></details>";
  }
  return out + "</section>\n";
}

std::string footer(const Report& report) {
  std::string out = "<footer>aplomb " + escape(core::version());
  const auto seconds = report.summary.find("seconds");
  if (seconds != report.summary.end()) {
    if (const auto* taken = std::get_if<double>(&seconds->second)) {
      out += fmt::format(" \xC2\xB7 diagnosed in {:.2g} s", *taken);
    }
  }
  return out + " \xC2\xB7 this page loads nothing and sends nothing</footer>\n";
}

class HtmlRenderer : public Renderer {
 public:
  std::string slug() const override { return "html"; }
  std::string summary() const override { return "one self-contained page with charts"; }
  std::string render(const Report& report, const RenderOptions& /*options*/) const override {
    const ChartPlan plan = plan_charts(report);
    std::vector<ChartSpec> specs = plan.main;
    specs.insert(specs.end(), plan.more.begin(), plan.more.end());
    const std::string details = report::inputs(report) + report::settings(report);
    return head(report) + "<body>\n<main class=\"page\">\n" + top_bar(report) +
           report::hero(report) + report::action(report) + report::before(report) +
           report::findings(report) + charts(plan, report) + report::why(report) +
           report::health(report) + report::symptoms(report) + report::other_causes(report) +
           report::ruled_out(report) + report::experiments(report) + report::runs(report) +
           (details.empty() ? "" : "<section><h2>Read</h2>" + details + "</section>\n") +
           footer(report) + "</main>\n<script type=\"application/json\" id=\"samples\">" +
           chart_data(specs, report) + "</script>\n<script>" + k_page_script +
           "</script>\n</body>\n</html>\n";
  }
};

}  // namespace

std::unique_ptr<Renderer> make_html_renderer() { return std::make_unique<HtmlRenderer>(); }

}  // namespace aplomb::report
