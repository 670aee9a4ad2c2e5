/// What `aplomb check` found, for a terminal: one finding after another, the line to change first.
///
///     FAILED    The card has no bf16 units
///     train.yaml:14: bf16: true
///     Why       Cards before Ampere ...
///     Fix       Compute in fp16 with dynamic loss scaling
///                 fp16: true

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "report/renderer.h"
#include "report/terminal_text.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

constexpr std::size_t k_gutter = 10;

class Listing {
 public:
  Listing(const Report& report, const RenderOptions& options)
      : report_(report),
        options_(options),
        paint_(options.colour),
        width_(static_cast<std::size_t>(std::clamp(options.width, 40, 120))),
        shared_(shared_folder(report)) {}

  std::string text() {
    head();
    std::size_t shown = 0;
    const std::size_t most = options_.verbose ? report_.findings.size() : k_most;
    for (const ReportFinding& each : report_.findings) {
      if (each.severity == "note" || shown >= most) continue;
      ++shown;
      finding(each);
    }
    left_out(shown);
    notes();
    unread();
    footer();
    return std::move(out_);
  }

 private:
  static constexpr std::size_t k_most = 12;  ///< findings on a screen or two

  void line(const std::string& text) { out_ += text + '\n'; }
  void row(Style label_style, std::string_view label, Style style, std::string_view text,
           std::size_t most) {
    std::vector<std::string> lines = wrap(text, width_ - k_gutter);
    if (lines.size() > most) {
      lines.resize(most);
      lines.back() = fit(lines.back() + " ...", width_ - k_gutter);
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      PaintedLine painted(paint_);
      painted.add(label_style, fmt::format("{:<{}}", i == 0 ? label : "", k_gutter));
      painted.add(style, lines[i]);
      line(painted.text());
    }
  }

  std::size_t count(std::string_view severity) const {
    return static_cast<std::size_t>(
        std::count_if(report_.findings.begin(), report_.findings.end(),
                      [&](const ReportFinding& each) { return each.severity == severity; }));
  }

  void head() {
    const std::string headline = summary_text(report_, "headline");
    switch (report_.verdict) {
      case Verdict::healthy:
        return row(Style::good, "READY", Style::bold, headline, 3);
      case Verdict::insufficient_evidence:
        return row(Style::warn, "UNCLEAR", Style::bold, headline, 3);
      case Verdict::warning:
        return row(Style::warn, "WARNING", Style::bold, headline, 3);
      case Verdict::unstable:
        return row(Style::bad, "UNSTABLE", Style::bold, headline, 3);
      case Verdict::failed:
        return row(Style::bad, "FAILED", Style::bold, headline, 3);
    }
  }

  void finding(const ReportFinding& each) {
    line("");
    const Style style = each.severity == "warning" ? Style::warn : Style::bad;
    std::string label = each.severity;
    label.front() = static_cast<char>(label.front() - 'a' + 'A');
    row(style, label, Style::bold, each.title, 3);
    places(each);
    const std::size_t most = options_.verbose ? 99 : 5;
    if (!each.because.empty()) row(Style::bold, "Why", Style::plain, each.because, most);
    for (std::size_t i = 0; i < each.remedies.size() && (i < 3 || options_.verbose); ++i) {
      row(Style::good, i == 0 ? "Fix" : "", Style::plain, each.remedies[i].text, 4);
      if (i == 0) settings_of(each.remedies[i]);
    }
    if (!options_.verbose) return;
    std::string names = each.id;
    for (const std::string& reference : each.references) names += ", " + reference;
    row(Style::dim, "Rule", Style::dim, names, 4);
  }

  void places(const ReportFinding& each) {
    const std::size_t most = options_.verbose ? each.evidence.size() : 3;
    for (std::size_t i = 0; i < each.evidence.size() && i < most; ++i) {
      const Evidence& place = each.evidence[i];
      std::string text = fit_tail(short_path(place.path, shared_), 40);
      if (place.line > 0) text += ":" + std::to_string(place.line);
      if (!place.text.empty()) text += ": " + place.text;
      line(paint_(Style::dim, fmt::format("{:<{}}", i == 0 ? "At" : "", k_gutter) +
                                  fit(text, width_ - k_gutter)));
    }
  }

  /// The change in the keys of the user's framework, else in canonical names.
  void settings_of(const ReportRemedy& remedy) {
    auto found = std::find_if(remedy.rendered.begin(), remedy.rendered.end(), [](const auto& each) {
      return each.first != "generic" && !each.first.ends_with("command line");
    });
    if (found == remedy.rendered.end()) found = remedy.rendered.find("generic");
    if (found == remedy.rendered.end()) return;
    for (const std::string& each : wrap(found->second, width_ - k_gutter - 2))
      line(paint_(Style::accent, std::string(k_gutter + 2, ' ') + each));
  }

  void left_out(std::size_t shown) {
    const std::size_t all = report_.findings.size() - count("note");
    if (shown >= all) return;
    line("");
    line(paint_(Style::dim, fmt::format("... {} more (--verbose shows all)", all - shown)));
  }

  /// Notes on the program stand on nearly every script: their titles, in one row.
  std::string notes_on_program() const {
    std::vector<std::string> titles;
    for (const ReportFinding& each : report_.findings) {
      if (each.severity != "note" || !each.id.starts_with("code.")) continue;
      if (std::find(titles.begin(), titles.end(), each.title) == titles.end())
        titles.push_back(each.title);
    }
    std::string text;
    for (const std::string& each : titles) text += (text.empty() ? "" : "; ") + each;
    return text;
  }

  void notes() {
    std::size_t shown = 0;
    for (const ReportFinding& each : report_.findings) {
      if (each.severity != "note") continue;
      if (!options_.verbose && each.id.starts_with("code.")) continue;
      if (!options_.verbose && shown >= 8) break;
      if (shown++ == 0) line("");
      std::string text = each.title;
      if (!each.because.empty()) text += ". " + each.because;
      row(Style::bold, shown == 1 ? "Note" : "", Style::plain, text, options_.verbose ? 99 : 2);
      if (options_.verbose) remedy_of_note(each);
    }
    if (const std::string text = notes_on_program(); !options_.verbose && !text.empty()) {
      if (shown == 0) line("");
      row(Style::bold, shown == 0 ? "Note" : "", Style::plain, text, 2);
    }
  }

  /// Where a note was seen and what to write there.
  void remedy_of_note(const ReportFinding& each) {
    if (each.remedies.empty()) return;
    if (!each.evidence.empty() && each.evidence.front().line > 0) places(each);
    row(Style::good, "Fix", Style::plain, each.remedies.front().text, 4);
    settings_of(each.remedies.front());
  }

  void unread() {
    std::size_t shown = 0;
    for (const ReportInput& input : report_.inputs) {
      for (const std::string& warning : input.warnings) {
        if (!options_.verbose && shown >= 4) return;
        if (shown++ == 0) line("");
        row(Style::warn, shown == 1 ? "Not read" : "", Style::plain,
            fit_tail(short_path(input.path, shared_), 36) + ": " + warning, 2);
      }
    }
  }

  void footer() {
    line("");
    std::string read =
        fmt::format("{} file{} read", report_.inputs.size(), report_.inputs.size() == 1 ? "" : "s");
    if (shared_.size() > 1) read += " in " + fit_tail(shared_, 40);
    if (const std::string framework = summary_text(report_, "framework"); !framework.empty())
      read += ", " + framework;
    if (const std::string card = summary_text(report_, "card"); !card.empty()) read += ", " + card;
    if (!report_.findings.empty() && !options_.verbose)
      read += ". More: --verbose (with the rules' names, for aplomb explain), --html FILE";
    for (const std::string& each : wrap(read, width_)) line(paint_(Style::dim, each));
  }

  const Report& report_;
  const RenderOptions& options_;
  Paint paint_;
  std::size_t width_;
  std::string shared_;
  std::string out_;
};

class FindingsRenderer : public Renderer {
 public:
  std::string slug() const override { return "findings"; }
  std::string summary() const override { return "what a check found, for a terminal"; }
  std::string render(const Report& report, const RenderOptions& options) const override {
    return Listing(report, options).text();
  }
};

}  // namespace

std::unique_ptr<Renderer> make_findings_renderer() { return std::make_unique<FindingsRenderer>(); }

}  // namespace aplomb::report
