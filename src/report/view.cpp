#include "report/view.h"

#include <fmt/format.h>

#include <algorithm>

namespace aplomb::report {
namespace {

// The words of the headline, src/diagnosis/standing.cpp
constexpr double k_sure = 0.8;
constexpr double k_likely = 0.5;
/// Judgement: what is less than a quarter as likely as the first is listed, and not put beside it.
constexpr double k_near = 0.25;

}  // namespace

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
  if (std::string seen = summary_text(report, "seen"); !seen.empty()) return seen;
  if (!is_answered(report)) return summary_text(report, "headline");
  const ReportWeight* heaviest = nullptr;
  for (const ReportWeight& each : report.causes.front().weights) {
    if (each.because.empty() || each.weight <= 0) continue;
    if (heaviest == nullptr || each.weight > heaviest->weight) heaviest = &each;
  }
  return heaviest == nullptr ? std::string() : heaviest->because;
}

bool is_either(const Report& report) {
  return is_answered(report) && report.causes.size() > 1 &&
         report.causes[0].probability < k_likely &&
         report.causes[1].probability >= k_near * report.causes[0].probability;
}

bool needs_test(const Report& report) {
  if (!is_either(report)) return false;
  const std::vector<ReportRemedy>& one = report.causes[0].remedies;
  const std::vector<ReportRemedy>& other = report.causes[1].remedies;
  if (one.empty() || other.empty() || one.front().set.empty()) return true;
  const auto& keys = other.front().set;
  return one.front().set.size() != keys.size() ||
         !std::equal(one.front().set.begin(), one.front().set.end(), keys.begin(),
                     [](const auto& a, const auto& b) { return a.first == b.first; });
}

std::string claim(const Report& report) {
  if (!is_answered(report)) return summary_text(report, "headline");
  const auto sure = [&report](const ReportCause& cause) {
    return fmt::format("{} ({})", cause_title(report, cause), show_percent(cause.probability));
  };
  // Where both together are less likely than not, a third may well be it.
  const bool two =
      is_either(report) && report.causes[0].probability + report.causes[1].probability >= k_likely;
  if (is_either(report))
    return (two ? "One of: " : "Perhaps one of: ") + sure(report.causes[0]) +
           ", or: " + sure(report.causes[1]);
  const ReportCause& first = report.causes.front();
  return fmt::format("{} ({})", cause_claim(first), show_percent(first.probability));
}

std::string seen_before_text(const Report& report) {
  if (!report.seen_before) return {};
  const ReportSeenBefore& seen = *report.seen_before;
  std::string text = fmt::format("the same symptoms and cause on {} in run {} ({})", seen.date,
                                 seen.run, seen.name);
  if (seen.times > 1) text += fmt::format(", {} times in all", seen.times);
  if (seen.ended_by.empty()) return text + ".";
  text +=
      fmt::format("; on {} run {} of the same program was healthy", seen.ended_date, seen.ended_by);
  constexpr std::size_t k_most = 4;
  const auto told = [](const std::string& value) { return value.empty() ? "not set" : value; };
  for (std::size_t i = 0; i < seen.changed.size() && i < k_most; ++i) {
    const ReportChange& each = seen.changed[i];
    text += fmt::format("{} {} {} (was {})", i == 0 ? " with" : ",", each.name, told(each.after),
                        told(each.before));
  }
  if (seen.changed.size() > k_most)
    text += fmt::format(" and {} more settings", seen.changed.size() - k_most);
  if (seen.changed.empty()) text += ", with no setting known to differ";
  return text + ".";
}

const ReportExperiment* telling_experiment(const Report& report) {
  if (report.experiments.empty()) return nullptr;
  if (is_either(report)) {
    for (const ReportExperiment& each : report.experiments) {
      const auto names = [&each](const ReportCause& cause) {
        return std::find(each.separates.begin(), each.separates.end(), cause.id) !=
               each.separates.end();
      };
      if (names(report.causes[0]) && names(report.causes[1])) return &each;
    }
  }
  return &report.experiments.front();
}

std::string cause_claim(const ReportCause& cause) {
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

}  // namespace aplomb::report
