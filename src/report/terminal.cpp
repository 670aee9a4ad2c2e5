#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "report/chart_order.h"
#include "report/renderer.h"
#include "report/terminal_text.h"
#include "report/text_chart.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

constexpr std::size_t k_gutter = 10;  // columns of the labels at the left

/// The page of one report. Each section adds its lines; what does not fit is said to be left out.
class Page {
 public:
  Page(const Report& report, const RenderOptions& options)
      : report_(report),
        options_(options),
        paint_(options.colour),
        width_(static_cast<std::size_t>(std::clamp(options.width, 40, 200))),
        shared_(shared_folder(report)) {}

  std::string text() {
    verdict();
    fix();
    health();
    seen();
    why();
    before();
    charts();
    others();
    ruled_out();
    next();
    notes();
    runs();
    unread();
    footer();
    return std::move(out_);
  }

 private:
  // --- lines -----------------------------------------------------------------------------------
  void line(std::string_view text) {
    out_ += text;
    out_ += '\n';
  }

  /// A label in the gutter and text beside it, wrapped; at most `most` lines of it.
  void row(Style label_style, std::string_view label, Style style, std::string_view text,
           std::size_t most = 99) {
    std::vector<std::string> lines = wrap(text, width_ - k_gutter);
    if (lines.size() > most) {
      lines.resize(most);
      lines.back() = fit(lines.back() + " ...", width_ - k_gutter);
      if (!lines.back().ends_with("...")) lines.back() += "...";
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string_view left = i == 0 ? label : "";
      const std::size_t pad = k_gutter > left.size() ? k_gutter - left.size() : 1;
      line(paint_(label_style, left) + std::string(pad, ' ') + paint_(style, lines[i]));
    }
  }
  void more(Style style, std::string_view text, std::size_t most = 99) {
    row(Style::plain, "", style, text, most);
  }
  void gap() {
    if (!out_.ends_with("\n\n")) out_ += '\n';
  }

  // --- sections --------------------------------------------------------------------------------
  void verdict() {
    const std::string headline = summary_text(report_, "headline");
    switch (report_.verdict) {
      case Verdict::healthy:
        row(Style::good, "HEALTHY", Style::bold, healthy_line(headline), 3);
        return;
      case Verdict::insufficient_evidence:
        row(Style::warn, "UNCLEAR", Style::bold, unclear_line(headline));
        return;
      case Verdict::warning:
        row(Style::warn, "WARNING", Style::bold, claim(report_));
        return;
      case Verdict::unstable:
        row(Style::bad, "UNSTABLE", Style::bold, claim(report_));
        return;
      case Verdict::failed:
        row(Style::bad, "FAILED", Style::bold, claim(report_));
        return;
    }
  }

  std::string healthy_line(const std::string& headline) const {
    const std::string seen = summary_text(report_, "seen");
    return seen.empty() ? headline : "Nothing wrong: " + seen;
  }
  /// Never that nothing is wrong where lines below say otherwise, unless what they say is in order by
  /// nature.
  std::string unclear_line(const std::string& headline) const {
    if (!summary_text(report_, "in_order").empty()) return headline;
    const std::string seen = summary_text(report_, "seen");
    const std::vector<Evidence> lines = evidence();
    if (!seen.empty() && !is_quoted(seen, lines))
      return "Not enough evidence to name a cause. Seen: " + seen;
    const bool told = !report_.health.against.empty() || !report_.health.missing.empty();
    return lines.empty() || told
               ? headline
               : "Not enough evidence to name a cause; what speaks of one is below";
  }

  /// What keeps an unclear run from being called healthy, beyond the headline.
  void health() {
    if (report_.verdict != Verdict::insufficient_evidence) return;
    const std::string headline = summary_text(report_, "headline");
    std::size_t shown = 0;
    const auto tell = [&](const char* label, const std::vector<ReportHealthFinding>& found) {
      for (const ReportHealthFinding& each : found) {
        if (headline.find(each.because) != std::string::npos) continue;
        if (!options_.verbose && shown >= 2) return;
        row(Style::bold, shown++ == 0 ? label : "", Style::plain, each.because, 2);
      }
    };
    tell("Against", report_.health.against);
    tell("Missing", report_.health.missing);
    if (options_.verbose) tell("Shown", report_.health.shown);
  }

  void fix() {
    if (report_.verdict == Verdict::healthy) {
      row(Style::good, "Do", Style::plain, summary_text(report_, "first_action"));
      return;
    }
    if (needs_test(report_)) {
      either();
      return;
    }
    if (!is_answered(report_) || report_.causes.front().remedies.empty()) {
      row(Style::warn, "Do next", Style::plain, summary_text(report_, "first_action"));
      const std::string bring = summary_text(report_, "bring");
      if (!bring.empty()) row(Style::warn, "Bring", Style::plain, bring);
      return;
    }
    const std::vector<ReportRemedy>& remedies = report_.causes.front().remedies;
    const std::size_t shown =
        options_.verbose ? remedies.size() : std::min<std::size_t>(3, remedies.size());
    for (std::size_t i = 0; i < shown; ++i) {
      row(Style::good, i == 0 ? "Fix" : i == 1 ? "  or" : "", Style::plain, remedies[i].text, 4);
      if (i == 0 || options_.verbose) settings_of(remedies[i]);
    }
  }

  /// Two causes: first the test that tells them apart, then what to change by its outcome.
  void either() {
    if (const ReportExperiment* test = telling_experiment(report_)) {
      row(Style::good, "Test it", Style::plain, test->text, 3);
      if (!test->reads.empty()) more(Style::dim, test->reads, 3);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const ReportCause& cause = report_.causes[i];
      if (cause.remedies.empty()) continue;
      row(Style::good, i == 0 ? "Fix 1st" : "Fix 2nd", Style::plain, cause.remedies.front().text,
          3);
      settings_of(cause.remedies.front());
    }
  }

  /// The change in the keys of the user's framework, else in canonical names.
  void settings_of(const ReportRemedy& remedy) {
    auto found = remedy.rendered.find(summary_text(report_, "framework"));
    if (found == remedy.rendered.end()) found = remedy.rendered.find("generic");
    if (found == remedy.rendered.end()) return;
    const std::vector<std::string> lines = wrap(found->second, width_ - k_gutter - 2);
    const std::size_t most =
        options_.verbose ? lines.size() : std::min<std::size_t>(6, lines.size());
    for (std::size_t i = 0; i < most; ++i) more(Style::accent, "  " + lines[i]);
    if (most < lines.size()) more(Style::dim, "  ... (--verbose shows all)");
  }

  void seen() {
    if (report_.verdict == Verdict::healthy && !options_.verbose) return;
    gap();
    const std::vector<Evidence> lines = evidence();
    const std::string first = seen_text(report_);
    bool labelled = false;
    // A line that is quoted below is not told before.
    if (is_answered(report_) && !first.empty() && !is_quoted(first, lines)) {
      row(Style::bold, "Seen", Style::plain, first, 3);
      labelled = true;
    }
    std::size_t shown = 0;
    for (const ReportSymptom& symptom : report_.symptoms) {
      if (symptom.severity == "note" && !options_.verbose) continue;
      if (symptom.summary == first) continue;
      if (!options_.verbose && ++shown > 2) continue;
      row(Style::bold, labelled ? "" : "Seen", Style::plain, symptom.summary, 2);
      labelled = true;
    }
    for (const Evidence& each : lines) {
      evidence_line(labelled ? "" : "Seen", each);
      labelled = true;
    }
  }

  /// Whether one of the lines begins as the text does, however either was shortened.
  static bool is_quoted(std::string_view text, const std::vector<Evidence>& lines) {
    constexpr std::size_t k_telling = 60;
    const std::string_view head = text.substr(0, k_telling);
    return std::any_of(lines.begin(), lines.end(), [head](const Evidence& each) {
      return each.text.find(head) != std::string::npos;
    });
  }

  /// The lines that show it: of the first symptom, then of the first cause, each once.
  std::vector<Evidence> evidence() const {
    std::vector<Evidence> all;
    const auto take = [&all](const std::vector<Evidence>& from, std::size_t most) {
      for (const Evidence& each : from) {
        const bool held = std::any_of(all.begin(), all.end(), [&](const Evidence& other) {
          return other.path == each.path && other.line == each.line && other.text == each.text;
        });
        if (!held && !each.text.empty() && all.size() < most) all.push_back(each);
      }
    };
    const std::size_t most = options_.verbose ? 40 : 4;
    // What is no trouble by itself does not come before the lines that name the cause.
    const bool leads = !report_.symptoms.empty() &&
                       (report_.symptoms.front().severity != "note" || report_.causes.empty());
    if (leads) take(report_.symptoms.front().evidence, options_.verbose ? most : 2);
    if (!report_.causes.empty()) take(report_.causes.front().evidence, most);
    for (const ReportSymptom& symptom : report_.symptoms) take(symptom.evidence, most);
    return all;
  }

  void evidence_line(std::string_view label, const Evidence& each) {
    std::string place = fit_tail(short_path(each.path, shared_), 36);
    if (each.line > 0) place += ":" + std::to_string(each.line);
    const std::size_t room = width_ - k_gutter;
    const std::string together = place + ": " + each.text;
    const std::vector<std::string> parts = wrap(fit(together, 2 * room - 4), room - 2);
    for (std::size_t i = 0; i < parts.size(); ++i)
      row(Style::bold, i == 0 ? label : "", Style::dim, (i == 0 ? "" : "  ") + parts[i]);
  }

  void why() {
    if (report_.causes.empty() || !is_answered(report_)) return;
    const ReportCause& first = report_.causes.front();
    if (!first.because.empty())
      row(Style::bold, is_either(report_) ? "Why 1st" : "Why", Style::plain, first.because,
          options_.verbose ? 99 : 4);
    if (!options_.verbose) return;
    for (const ReportWeight& weight : first.weights) {
      more(Style::dim, fmt::format("{:+.1f}  {}", weight.weight,
                                   weight.because.empty() ? weight.when : weight.because));
    }
  }

  void before() {
    const std::string text = seen_before_text(report_);
    if (!text.empty()) row(Style::bold, "Before", Style::plain, "Seen before: " + text, 4);
  }

  void charts() {
    std::vector<const ReportSeries*> order = chart_order(report_);
    order.resize(std::min<std::size_t>(order.size(), options_.verbose ? 5 : 2));
    for (const ReportSeries* series : order) chart(*series);
  }

  void chart(const ReportSeries& series) {
    TextChartOptions how;
    how.width = width_;
    how.unicode = options_.unicode;
    how.mark = mark_of(report_, series);
    if (series.nonfinite == series.points) {
      gap();
      line(paint_(Style::bold, fit(series.name, width_ - 40)) +
           fmt::format("  not finite in all {} samples", series.points));
      return;
    }
    if (series.min == series.max && series.nonfinite == 0) {
      gap();
      line(paint_(Style::bold, fit(series.name, width_ - 32)) + "  " +
           core::show_number(series.min) + fmt::format(" in all {} samples", series.points));
      return;
    }
    const auto lines = text_chart(series.chart, how, paint_);
    if (lines.empty()) return;
    gap();
    std::string title = series.name + (wants_log_scale(series.chart) ? " (log scale)" : "");
    if (series.nonfinite > 0)
      title += fmt::format(", {} of {} not finite", series.nonfinite, series.points);
    line(paint_(Style::bold, fit(title, width_)));
    for (const std::string& each : lines) line(each);
  }

  void others() {
    const std::size_t from = is_either(report_) ? 2 : is_answered(report_) ? 1 : 0;
    std::size_t shown = 0;
    if (report_.verdict == Verdict::healthy) return;
    for (std::size_t i = from; i < report_.causes.size() && i < options_.most_causes; ++i) {
      const ReportCause& cause = report_.causes[i];
      if (cause.probability < 0.01 && !options_.verbose) continue;
      if (shown++ == 0) gap();
      const char* label = shown > 1 ? "" : is_answered(report_) ? "Or else" : "Perhaps";
      odds(label, Style::plain, cause.probability, cause_title(report_, cause));
    }
    if (shown > 0 && report_.unknown_probability >= 0.01) {
      odds("", Style::dim, report_.unknown_probability, "something that aplomb does not know");
    }
  }

  /// Rivals that somebody would think of, and why not.
  void ruled_out() {
    if (report_.ruled_out.empty() || report_.verdict == Verdict::healthy) return;
    gap();
    const std::size_t most = options_.verbose ? report_.ruled_out.size()
                                              : std::min<std::size_t>(2, report_.ruled_out.size());
    for (std::size_t i = 0; i < most; ++i) {
      const ReportRuledOut& each = report_.ruled_out[i];
      std::string place;
      if (!each.evidence.empty() && each.evidence.front().line > 0) {
        const Evidence& line = each.evidence.front();
        place = fmt::format(" ({}:{})", fit_tail(short_path(line.path, shared_), 36), line.line);
      }
      row(Style::bold, i == 0 ? "Not" : "", Style::dim, each.title + ": " + each.because + place,
          2);
    }
  }

  void odds(std::string_view label, Style style, double probability, std::string_view title) {
    constexpr std::size_t k_percent = 8;
    const std::vector<std::string> lines = wrap(title, width_ - k_gutter - k_percent);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string share = i == 0 ? show_percent(probability) : "";
      row(Style::bold, i == 0 ? label : "", style, fmt::format("{:>6}  {}", share, lines[i]));
    }
  }

  void next() {
    if (report_.verdict == Verdict::healthy) return;
    if (!needs_test(report_) || options_.verbose) experiments();
    if (is_answered(report_) && !is_either(report_) && !report_.causes.front().verify.empty()) {
      row(Style::bold, "Verify", Style::plain, report_.causes.front().verify, 3);
    }
  }

  void experiments() {
    if (report_.experiments.empty()) return;
    const bool said = !is_answered(report_) &&
                      report_.experiments.front().text == summary_text(report_, "first_action");
    gap();
    const std::size_t most = options_.verbose ? report_.experiments.size() : 1;
    for (std::size_t i = 0; i < most; ++i) {
      const ReportExperiment& each = report_.experiments[i];
      if (!said || i > 0) row(Style::bold, i == 0 ? "Test it" : "", Style::plain, each.text, 3);
      if (!each.reads.empty())
        row(Style::bold, said && i == 0 ? "Read it" : "", Style::dim, each.reads, 3);
    }
  }

  /// What is worth knowing of a healthy run.
  void notes() {
    if (report_.verdict != Verdict::healthy || options_.verbose) return;
    std::size_t shown = 0;
    for (const ReportSymptom& symptom : report_.symptoms) {
      if (symptom.summary == seen_text(report_)) continue;
      if (shown++ >= 4) break;
      if (shown == 1) gap();
      row(Style::bold, shown == 1 ? "Note" : "", Style::plain, symptom.summary, 2);
    }
  }

  void runs() {
    if (report_.runs.size() < 2) return;
    gap();
    const std::size_t most = options_.verbose ? report_.runs.size() : 6;
    for (std::size_t i = 0; i < report_.runs.size() && i < most; ++i) {
      const ReportRun& run = report_.runs[i];
      row(Style::bold, i == 0 ? "Runs" : "", Style::plain,
          fit_tail(run.name, 30) + ": " + std::string(name(run.verdict)) + ", " + run.headline, 2);
    }
    if (report_.runs.size() > most)
      more(Style::dim, fmt::format("... {} more", report_.runs.size() - most));
  }

  void unread() {
    std::size_t shown = 0;
    std::size_t hidden = 0;
    for (const ReportInput& input : report_.inputs) {
      for (const std::string& warning : input.warnings) {
        if (!options_.verbose && shown >= 3) {
          ++hidden;
          continue;
        }
        if (shown++ == 0) gap();
        row(Style::warn, shown == 1 ? "Not read" : "", Style::plain,
            fit_tail(short_path(input.path, shared_), 36) + ": " + warning, 2);
      }
    }
    if (hidden > 0) more(Style::dim, fmt::format("... and {} more (--verbose)", hidden));
  }

  void footer() {
    gap();
    std::string read =
        fmt::format("{} file{} read", report_.inputs.size(), report_.inputs.size() == 1 ? "" : "s");
    if (shared_.size() > 1) read += " in " + fit_tail(shared_, 40);
    const auto steps = report_.summary.find("steps");
    if (steps != report_.summary.end() && show_value(steps->second) != "0")
      read += ", to step " + show_value(steps->second);
    if (const std::string framework = summary_text(report_, "framework"); !framework.empty()) {
      read += ", " + framework;
    }
    if (is_answered(report_))
      read += ". More: --verbose, --html FILE, aplomb explain " + report_.causes.front().id;
    for (const std::string& each : wrap(read, width_)) line(paint_(Style::dim, each));
  }

  static std::string show_value(const ReportValue& value) {
    const auto* number = std::get_if<double>(&value);
    return number == nullptr ? std::string() : fmt::format("{:.0f}", *number);
  }

  const Report& report_;
  const RenderOptions& options_;
  Paint paint_;
  std::size_t width_;
  std::string shared_;  // the folder of all inputs, left out of paths
  std::string out_;
};

class TerminalRenderer : public Renderer {
 public:
  std::string slug() const override { return "terminal"; }
  std::string summary() const override { return "text for a terminal, cause and fix first"; }
  std::string render(const Report& report, const RenderOptions& options) const override {
    return Page(report, options).text();
  }
};

}  // namespace

std::unique_ptr<Renderer> make_terminal_renderer() { return std::make_unique<TerminalRenderer>(); }

}  // namespace aplomb::report
