#include "report/redact_report.h"

namespace aplomb::report {
namespace {

class ReportRedactor {
 public:
  explicit ReportRedactor(Redactor& redact) : redact_(redact) {}

  /// Of a text that was shortened the last word goes too: half of a key is no longer known by its
  /// look.
  void text(std::string& each) {
    constexpr std::string_view k_cut = "...";
    std::string whole = each;
    if (whole.size() > k_least_cut && whole.ends_with(k_cut)) {
      whole.resize(whole.size() - k_cut.size());
      const std::size_t word = whole.find_last_of(" \t\n");
      whole = redact_(word == std::string::npos ? std::string() : whole.substr(0, word + 1)) +
              std::string(k_cut);
      each = whole;
      return;
    }
    each = redact_(each);
  }
  void texts(std::vector<std::string>& list) {
    for (std::string& each : list) text(each);
  }
  /// A value is judged by its name as well: `api_key = x` is a secret, `x` need not look like one.
  void values(std::map<std::string, ReportValue>& values) {
    for (auto& [name, value] : values) {
      auto* written = std::get_if<std::string>(&value);
      if (written == nullptr) continue;
      const std::string lead = name + " = ";
      const std::string both = redact_(lead + *written);
      *written = both.starts_with(lead) ? both.substr(lead.size()) : redact_(*written);
    }
  }
  void evidence(std::vector<Evidence>& list) {
    for (Evidence& each : list) {
      text(each.path);
      text(each.text);
    }
  }
  void remedies(std::vector<ReportRemedy>& list) {
    for (ReportRemedy& each : list) {
      text(each.text);
      values(each.set);
      for (auto& [framework, change] : each.rendered) text(change);
    }
  }
  void cause(ReportCause& each) {
    text(each.title);
    text(each.because);
    text(each.verify);
    evidence(each.evidence);
    remedies(each.remedies);
    for (ReportWeight& weight : each.weights) {
      text(weight.because);
      evidence(weight.evidence);
    }
  }
  void health(std::vector<ReportHealthFinding>& list) {
    for (ReportHealthFinding& each : list) {
      text(each.because);
      evidence(each.evidence);
    }
  }
  void finding(ReportFinding& each) {
    text(each.title);
    text(each.because);
    evidence(each.evidence);
    remedies(each.remedies);
  }

 private:
  /// Nothing is shortened to fewer bytes than this that may hold a key (evidence.h: 200).
  static constexpr std::size_t k_least_cut = 56;
  Redactor& redact_;
};

}  // namespace

Report redact_report(Report report, Redactor& redact) {
  ReportRedactor all(redact);
  for (ReportInput& each : report.inputs) {
    all.text(each.path);
    all.texts(each.warnings);
  }
  for (ReportSeries& each : report.series) {
    all.text(each.name);
    all.text(each.path);
  }
  for (ReportSymptom& each : report.symptoms) {
    all.text(each.series);
    all.text(each.summary);
    all.evidence(each.evidence);
  }
  for (ReportCause& each : report.causes) all.cause(each);
  for (ReportRuledOut& each : report.ruled_out) {
    all.text(each.because);
    all.evidence(each.evidence);
  }
  all.health(report.health.shown);
  all.health(report.health.against);
  all.health(report.health.missing);
  for (ReportExperiment& each : report.experiments) {
    all.text(each.text);
    all.text(each.reads);
  }
  for (ReportFinding& each : report.findings) all.finding(each);
  for (ReportRun& each : report.runs) {
    all.text(each.name);
    all.text(each.headline);
  }
  all.values(report.settings);
  all.values(report.summary);
  return report;
}

}  // namespace aplomb::report
