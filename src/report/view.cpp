#include "report/view.h"

#include <fmt/format.h>

#include <algorithm>

namespace aplomb {

bool is_answered(const Report& report) {
  return !report.causes.empty() && report.verdict != Verdict::healthy &&
         report.verdict != Verdict::insufficient_evidence;
}

std::string summary_text(const Report& report, const std::string& key) {
  const auto found = report.summary.find(key);
  if (found == report.summary.end()) return {};
  const auto* text = std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

std::string seen_text(const Report& report) {
  const std::string seen = summary_text(report, "seen");
  return seen.empty() ? summary_text(report, "headline") : seen;
}

std::string cause_claim(const ReportCause& cause) {
  constexpr double k_sure = 0.8;  // the words of the headline, src/diagnosis/standing.cpp
  constexpr double k_likely = 0.5;
  if (cause.probability >= k_sure) return cause.title;
  return (cause.probability >= k_likely ? "Probably: " : "Perhaps: ") + cause.title;
}

std::string show_percent(double probability) {
  if (probability > 0.99) return "> 99 %";
  if (probability < 0.01) return "< 1 %";
  return fmt::format("{:.0f} %", probability * 100);
}

std::string cause_title(const Report& report, const ReportCause& cause) {
  const auto same =
      std::count_if(report.causes.begin(), report.causes.end(),
                    [&](const ReportCause& other) { return other.title == cause.title; });
  return same > 1 ? cause.title + " (" + cause.family + ")" : cause.title;
}

std::string shared_folder(const Report& report) {
  if (report.inputs.empty()) return {};
  std::string shared = report.inputs.front().path;
  for (const ReportInput& input : report.inputs) {
    const auto [end, other] =
        std::mismatch(shared.begin(), shared.end(), input.path.begin(), input.path.end());
    shared.erase(end, shared.end());
  }
  shared.erase(shared.rfind('/') + 1);  // npos + 1 is 0: no slash, nothing shared
  return shared;
}

std::string short_path(std::string_view path, std::string_view shared) {
  return std::string(path.starts_with(shared) ? path.substr(shared.size()) : path);
}

}  // namespace aplomb
