#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "report/compare_view.h"
#include "report/terminal_page.h"
#include "report/text_chart.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

using compare::Comparison;
using compare::Judgement;
using compare::Level;
using compare::Metric;
using compare::Reach;
using compare::SettingDifference;

constexpr std::size_t k_most_rows = 14;
constexpr std::size_t k_most_one_sided = 4;  // settings that only one run states

class ComparePage : private TerminalPage {
 public:
  ComparePage(const Comparison& comparison, const RenderOptions& options)
      : TerminalPage(options), comparison_(comparison), options_(options) {}

  std::string text() {
    verdict();
    runs();
    outcomes();
    gap();
    settings();
    levels();
    remarks();
    return std::move(out_);
  }

 private:
  void outcomes() {
    gap();
    table();
    chart();
  }

  void verdict() {
    const auto [style, label] = [&]() -> std::pair<Style, const char*> {
      switch (comparison_.verdict) {
        case Judgement::identical:
          return {Style::good, "IDENTICAL"};
        case Judgement::same:
          return {Style::good, "SAME"};
        case Judgement::differ:
          return {Style::bad, "DIFFERS"};
        case Judgement::unknown:
          break;
      }
      return {Style::warn, "UNKNOWN"};
    }();
    row(style, label, Style::bold, compare_headline(comparison_));
    row(Style::accent, "Do", Style::plain, compare_advice(comparison_));
  }

  void run(std::string_view label, const compare::RunBrief& brief) {
    row(Style::accent, label, Style::plain,
        fmt::format("{}: {} samples, {} to {}", core::sanitize(brief.name), brief.samples,
                    show_place(comparison_.axis, brief.first),
                    show_place(comparison_.axis, brief.last)));
  }

  void runs() {
    gap();
    run("A", comparison_.a);
    run("B", comparison_.b);
    for (const compare::RunBrief& each : comparison_.seeds) run("Seed of A", each);
    for (const compare::RunBrief& each : comparison_.b_seeds) run("Seed of B", each);
    if (comparison_.verdict != Judgement::identical)
      row(Style::accent, "Equal", Style::plain, equal());
  }

  std::string equal() const {
    if (!comparison_.bits.last && !comparison_.bits.difference)
      return "not known: the runs log at different places";
    const auto upto = [&](const compare::EqualTo& equal) {
      if (!equal.difference)
        return "up to " + show_place(comparison_.axis, *equal.last) + ", the last";
      return (equal.last ? "up to " + show_place(comparison_.axis, *equal.last) : "nowhere") +
             fmt::format(" ({} differs at {})", core::sanitize(equal.metric),
                         show_place(comparison_.axis, *equal.difference));
    };
    if (!comparison_.bits.last && !comparison_.digits.last)
      return "nowhere: " + core::sanitize(comparison_.digits.metric) +
             " differs from the first sample";
    const std::string bits = upto(comparison_.bits);
    const std::string digits = upto(comparison_.digits);
    if (bits == digits) return "to the last bit " + bits;
    return "to the last bit " + bits + "; but for rounding " + digits;
  }

  void table() {
    if (comparison_.verdict == Judgement::identical && !options_.verbose) return;
    line(paint_(Style::dim, fmt::format("  {:<22}{:>11}{:>11}{:>11}{:>9}  {}", "at the end", "A",
                                        "B", "B - A", "noise", "apart from")));
    std::size_t shown = 0;
    for (const Metric& each : comparison_.metrics) {
      const bool worth = each.role != record::Role::other && shown < k_most_rows;
      if (!worth && !options_.verbose) continue;
      metric(each);
      ++shown;
    }
    if (shown < comparison_.metrics.size())
      line(paint_(Style::dim,
                  fmt::format("  {} more with --verbose", comparison_.metrics.size() - shown)));
    const bool any = std::any_of(comparison_.metrics.begin(), comparison_.metrics.end(),
                                 [](const Metric& each) { return each.beyond; });
    if (any) line(paint_(Style::dim, "  * more than noise"));
  }

  void metric(const Metric& metric) {
    const compare::Ending& end = metric.ending;
    const auto apart = metric.apart();
    const std::string noise =
        end.basis == compare::Basis::none ? "?" : core::show_number(end.noise, 2);
    const std::string text = fmt::format(
        "{} {:<22}{:>11}{:>11}{:>11}{:>9}  {}", metric.beyond ? "*" : " ",
        fit(core::sanitize(metric.name), 21), core::show_number(end.a), core::show_number(end.b),
        (end.difference() > 0 ? "+" : "") + core::show_number(end.difference(), 3), noise,
        apart ? show_place(comparison_.axis, metric.pairs.at[*apart]) : "-");
    line(paint_(metric.beyond ? Style::bold : Style::plain, fit(text, width_)));
  }

  /// Means of equal groups, about one a dot: a lasting difference shows where single samples are a
  /// band of noise. A group with a NaN or Inf is one.
  std::vector<ChartPoint> differences(const Metric& metric) const {
    const std::size_t size = metric.pairs.size();
    const std::size_t group = std::max<std::size_t>(1, size / (2 * width_));
    std::vector<ChartPoint> points;
    points.reserve(size / group + 1);
    for (std::size_t i = 0; i < size; i += group) {
      const std::size_t end = std::min(i + group, size);
      double sum = 0;
      for (std::size_t k = i; k < end; ++k) sum += metric.pairs.b[k] - metric.pairs.a[k];
      points.push_back({static_cast<std::int64_t>(std::llround(metric.pairs.at[i])),
                        sum / static_cast<double>(end - i)});
    }
    return points;
  }

  /// B - A of the leading metric, with the place at which they part.
  void chart() {
    if (comparison_.verdict == Judgement::identical) return;
    const Metric& lead = comparison_.leading();
    const std::vector<ChartPoint> points = differences(lead);
    TextChartOptions how;
    how.width = width_;
    how.unicode = options_.unicode;
    if (const auto apart = lead.apart())
      how.mark = static_cast<std::int64_t>(std::llround(lead.pairs.at[*apart]));
    const std::vector<std::string> lines = text_chart(points, how, paint_);
    if (lines.empty()) return;
    gap();
    line(paint_(Style::accent, fit(core::sanitize(lead.name) + ", B - A", width_)));
    for (const std::string& each : lines) line(each);
  }

  void setting(const SettingDifference& difference) {
    const std::size_t cell = (width_ - 30) / 2;
    const auto value = [&](const auto& side) {
      return side ? fit(core::sanitize(core::show(side->value)), cell - 2)
                  : std::string("not stated");
    };
    const auto origin = [&](const auto& side, const std::string& folder) -> std::string {
      if (!side || side->path.empty()) return {};
      const std::string at = side->line > 0 ? fmt::format(":{}", side->line) : "";
      return fit_tail(core::sanitize(short_path(side->path, folder)) + at, cell - 2);
    };
    const auto padded = [](const std::string& text, std::size_t to) {
      return text + std::string(to - std::min(to, columns(text)), ' ');
    };
    line("  " + padded(fit(difference.name, 27), 28) + padded(value(difference.a), cell) +
         value(difference.b));
    std::string origins = padded(origin(difference.a, comparison_.a.name + "/"), cell) +
                          origin(difference.b, comparison_.b.name + "/");
    origins.erase(origins.find_last_not_of(' ') + 1);
    if (!origins.empty()) line(paint_(Style::dim, std::string(30, ' ') + origins));
  }

  /// The differences of one reach: many that only one run states are cut sooner.
  void settings_of(Reach reach, std::string_view title) {
    std::vector<const SettingDifference*> here;
    for (const SettingDifference& each : comparison_.settings)
      if (each.reach == reach) here.push_back(&each);
    if (here.empty()) return;
    line(paint_(Style::accent, title));
    std::size_t shown = 0;
    std::size_t one_sided = 0;
    for (const SettingDifference* each : here) {
      if (!each->a || !each->b) ++one_sided;
      if (!options_.verbose && (shown == k_most_rows || one_sided > k_most_one_sided)) break;
      setting(*each);
      ++shown;
    }
    if (shown < here.size())
      line(paint_(Style::dim, fmt::format("  {} more with --verbose", here.size() - shown)));
  }

  void settings() {
    settings_of(Reach::training, "Settings that change training");
    settings_of(Reach::seed, "Seeds");
    settings_of(Reach::execution, "Execution");
    settings_of(Reach::environment, "Environment");
    std::string rest;
    for (const SettingDifference& each : comparison_.settings)
      if (each.reach == Reach::bookkeeping) rest += (rest.empty() ? "" : ", ") + each.name;
    if (!rest.empty()) row(Style::accent, "Also", Style::dim, rest + " (logs and checkpoints)");
    if (comparison_.settings.empty() && comparison_.a.settings > 0)
      row(Style::accent, "Settings", Style::plain,
          fmt::format("no difference in {} that were read", comparison_.a.settings));
  }

  void level(const Level& level) {
    line(fit(fmt::format("  {:<17}{:<26}{:<26}x {}{}", level.name, show_level(level, level.a),
                         show_level(level, level.b), core::show_number(level.ratio(), 3),
                         level.clear() ? " *" : ""),
             width_));
  }

  void levels() {
    if (comparison_.levels.empty()) return;
    gap();
    line(paint_(Style::accent, "Speed and memory") +
         paint_(Style::dim, "  median (quartiles), B / A; * quartiles apart"));
    for (const Level& each : comparison_.levels) level(each);
  }

  void remarks() {
    gap();
    const std::string noise = compare_noise(comparison_);
    if (!noise.empty()) row(Style::accent, "Noise", Style::dim, noise);
    for (const std::string& each : comparison_.notes)
      row(Style::accent, "Note", Style::dim, core::sanitize(each));
    for (const compare::Refused& each : comparison_.refused)
      if (each.role != record::Role::other || options_.verbose)
        row(Style::accent, "Left out", Style::warn, core::sanitize(each.name + ": " + each.why));
    while (out_.ends_with("\n\n")) out_.pop_back();
  }

  const Comparison& comparison_;
  const RenderOptions& options_;
};

}  // namespace

std::string compare_text(const Comparison& comparison, const RenderOptions& options) {
  return ComparePage(comparison, options).text();
}

}  // namespace aplomb::report
