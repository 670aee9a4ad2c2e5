#include <fmt/format.h>

#include "report/html_remedy.h"
#include "report/html_sections.h"
#include "report/html_text.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

std::string place_of(const Evidence& place, const std::string& shared) {
  std::string where = escape(short_path(place.path, shared));
  if (place.line > 0) where += ":" + std::to_string(place.line);
  std::string out = "<li><span class=\"where\">" + where + "</span>";
  if (!place.text.empty()) out += "<span class=\"text\">" + escape(place.text) + "</span>";
  return out + "</li>";
}

std::string finding_html(const ReportFinding& each, const Report& report,
                         const std::string& shared) {
  std::string out = fmt::format("<ul class=\"symptoms\"><li class=\"{}\"><b>{}</b></li></ul>",
                                escape(each.severity), escape(each.title));
  if (!each.evidence.empty()) {
    out += "<ul class=\"lines\">";
    for (const Evidence& place : each.evidence) out += place_of(place, shared);
    out += "</ul>";
  }
  if (!each.because.empty()) out += "<p>" + prose(each.because) + "</p>";
  return out + remedies_html(each.remedies, summary_text(report, "framework"));
}

}  // namespace

std::string findings(const Report& report) {
  if (report.findings.empty()) return {};
  const std::string shared = shared_folder(report);
  std::string out = "<section><h2>Findings</h2>";
  for (const ReportFinding& each : report.findings) out += finding_html(each, report, shared);
  return out + "</section>\n";
}

}  // namespace aplomb::report
