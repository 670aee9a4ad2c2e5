#include "report/redact_report.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace aplomb::report {
namespace {

class ReportRedactor {
 public:
  explicit ReportRedactor(Redactor& redact) : redact_(redact) {}

  /// Of a text that was shortened the cut word goes too, at its end and within it: half of a key or
  /// of an address is no longer known by its look. Within, what looks like a word of
  /// a language stays.
  void text(std::string& each) {
    constexpr std::string_view k_cut = "...";
    std::string whole;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = each.find(k_cut, from)) != std::string::npos;) {
      std::size_t word = at;
      while (word > from &&
             std::string_view(" \t\n`").find(each[word - 1]) == std::string_view::npos)
        --word;
      const bool is_end = at + k_cut.size() == each.size() && each.size() > k_least_cut;
      whole.append(each, from,
                   (is_end || may_be_cut(each.substr(word, at - word)) ? word : at) - from);
      whole += k_cut;
      from = at + k_cut.size();
    }
    each = redact_(whole.append(each, from, std::string::npos));
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
  void change(ReportChange& each) {
    std::map<std::string, ReportValue> both = {{each.name, each.before}};
    values(both);
    each.before = std::get<std::string>(both.begin()->second);
    both.begin()->second = each.after;
    values(both);
    each.after = std::get<std::string>(both.begin()->second);
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
  /// No word of a language: of digits, of capitals within, or longer than words are.
  static bool may_be_cut(std::string_view word) {
    if (word.size() < 4) return false;
    return word.size() > k_longest_word ||
           !std::isalpha(static_cast<unsigned char>(word.front())) ||
           !std::all_of(word.begin() + 1, word.end(),
                        [](unsigned char each) { return std::islower(each) != 0; });
  }

  static constexpr std::size_t k_longest_word = 20;
  /// Nothing is shortened to fewer bytes than this that may hold a key (evidence.h: 200).
  static constexpr std::size_t k_least_cut = 56;
  Redactor& redact_;
};

Report redact_once(Report report, ReportRedactor all) {
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
  if (report.seen_before) {
    all.text(report.seen_before->name);
    for (ReportChange& each : report.seen_before->changed) all.change(each);
  }
  all.values(report.settings);
  all.values(report.summary);
  return report;
}

}  // namespace

Report redact_report(Report report, Redactor& redact) {
  // A path names somebody whom only a later text says to be a user.
  return redact_once(redact_once(std::move(report), ReportRedactor(redact)),
                     ReportRedactor(redact));
}

}  // namespace aplomb::report
