#include "top/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/text.h"
#include "report/text_chart.h"

namespace aplomb::top {
namespace {

using report::Style;

constexpr std::size_t k_most_charts = 3;
constexpr std::size_t k_most_runs = 6;
constexpr std::size_t k_least_log = 4;

std::string text_in(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? core::sanitize(found->get<std::string>())
                                                    : std::string();
}

std::optional<double> number_in(const Json& value, const char* key) {
  const auto found = value.find(key);
  if (found == value.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

const Json& list_in(const Json& value, const char* key) {
  static const Json k_none = Json::array();
  const auto found = value.is_object() ? value.find(key) : value.end();
  return value.is_object() && found != value.end() && found->is_array() ? *found : k_none;
}

double wire_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

std::string count(double value) { return fmt::format("{:.0f}", value); }

/// What the first line says of the run: a run that stands still or has failed is never called healthy,
/// whatever its last numbers were.
struct Standing {
  const char* word;
  Style style;
};
Standing standing_of(const Json& run) {
  const std::string state = text_in(run, "state");
  const std::string standing = text_in(run, "standing");
  if (state == "silent") return {"SILENT", Style::bad};
  if (standing == "failed" || state == "failed") return {"FAILED", Style::bad};
  if (standing == "unstable") return {"UNSTABLE", Style::bad};
  if (standing == "warning") return {"WARNING", Style::warn};
  if (state == "stopped") return {"STOPPED", Style::warn};
  // Files that were old when they were found: whether the run ended or hangs is not known.
  if (standing == "healthy" && state == "unknown") return {"AT REST", Style::warn};
  if (standing == "healthy") return {"HEALTHY", Style::good};
  return {"UNCLEAR", Style::warn};
}

std::string state_words(const std::string& state) {
  if (state == "silent") return "no steps";
  return state == "unknown" ? "no longer written" : state;
}

/// `12.40 EUR so far`; empty where no price was given.
std::string cost_of(const Json& run) {
  const auto cost = run.find("cost");
  if (cost == run.end() || !cost->is_object()) return {};
  const auto so_far = number_in(*cost, "so_far");
  if (!so_far) return {};
  const std::string currency = text_in(*cost, "currency");
  return fmt::format("{:.2f}{}{} so far", *so_far, currency.empty() ? "" : " ", currency);
}

/// What the report claims, no stronger than it is; the headline where no report is there yet.
std::string claim_of(const Json& detail) {
  std::string claim = text_in(detail, "claim");
  return claim.empty() ? text_in(detail, "headline") : claim;
}

/// What is said of a run, held against what it does now: the numbers of one that stands still or ended with an error
/// are of the past.
struct Said {
  std::string claim;
  std::string fix;
};
Said said_of(const Json& detail) {
  Said said{claim_of(detail), text_in(detail, "fix")};
  const std::string state = text_in(detail, "state");
  const std::string standing = text_in(detail, "standing");
  const bool named = standing == "failed" || standing == "unstable" || standing == "warning";
  if (named || (state != "silent" && state != "failed" && state != "unknown")) return said;
  if (state == "silent") {
    said = {"The run stands still, and nothing that was read says why. Before that: " + said.claim,
            "See whether its processes live and where they wait (py-spy dump --pid PID)"};
  } else if (state == "failed") {
    said = {"The run ended with an error that nothing explains yet. Before that: " + said.claim,
            {}};
  } else {
    said.claim = "Nobody writes it any more, and no end was noted. Before that: " + said.claim;
    said.fix.clear();
  }
  return said;
}

const Json* chosen_of(const View& view) {
  for (const Json& each : view.runs) {
    if (text_in(each, "id") == view.chosen) return &each;
  }
  return nullptr;
}

/// What a terminal without UTF-8 can show: a question mark for each other character.
void make_plain(std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80U) out += c;
    if (byte >= 0xC0U) out += '?';
  }
  text = std::move(out);
}

/// A curve as points: of a bucket of many samples the least, then the greatest.
std::vector<ChartPoint> points_of(const Json& curve) {
  std::vector<ChartPoint> points;
  const Json& steps = list_in(curve, "steps");
  const Json& least = list_in(curve, "min");
  const Json& most = list_in(curve, "max");
  const std::size_t size = std::min({steps.size(), least.size(), most.size()});
  for (std::size_t i = 0; i < size; ++i) {
    if (!steps[i].is_number()) continue;
    const auto step = steps[i].get<std::int64_t>();
    points.push_back({step, wire_number(least[i])});
    if (least[i] != most[i]) points.push_back({step, wire_number(most[i])});
  }
  return points;
}

class Page {
 public:
  Page(const View& view, const Size& size) : view_(view), size_(size), plain_(false) {}

  std::vector<Line> lines() {
    verdict();
    progress();
    marks();
    runs();
    ranks();
    charts();
    log();
    lines_.resize(size_.height == 0 ? 0 : size_.height - 1);
    if (size_.height > 0) keys();
    return std::move(lines_);
  }

 private:
  std::size_t left() const {
    const std::size_t taken = lines_.size() + 1;  // the keys
    return size_.height > taken ? size_.height - taken : 0;
  }
  /// The last span is cut where the line is full.
  void add(Line line) {
    std::size_t room = size_.width;
    for (Span& each : line) {
      if (!size_.unicode) make_plain(each.text);
      each.text = report::fit(each.text, room);
      room -= std::min(room, report::columns(each.text));
    }
    lines_.push_back(std::move(line));
  }

  void verdict() {
    if (!view_.detail.is_object()) {
      add({{Style::warn, "no run yet: "}, {Style::plain, "its files are looked for"}});
      return;
    }
    const Standing standing = standing_of(view_.detail);
    const std::string head = fmt::format("{:<9} ", standing.word);
    const std::size_t room = size_.width > 10 ? size_.width - 10 : 1;
    const Said said = said_of(view_.detail);
    const std::vector<std::string> claim = report::wrap(said.claim, room);
    for (std::size_t i = 0; i < claim.size() && i < 2; ++i)
      add({{standing.style, i == 0 ? head : std::string(10, ' ')}, {Style::bold, claim[i]}});
    if (said.fix.empty()) return;
    const std::vector<std::string> lines = report::wrap(said.fix, room);
    const std::size_t most = size_.height >= 24 ? 2 : 1;
    for (std::size_t i = 0; i < lines.size() && i < most; ++i) {
      const bool cut = i + 1 == most && lines.size() > most;
      add({{Style::good, i == 0 ? "Do        " : std::string(10, ' ')},
           {Style::plain, cut ? report::fit(lines[i] + " ...", room) : lines[i]}});
    }
  }

  /// In the order in which they matter; one that has no room is left out, a later one that has some is not.
  void progress() {
    if (!view_.detail.is_object()) return;
    const Json& run = view_.detail;
    std::string text = state_words(text_in(run, "state"));
    const auto say = [&](const std::string& part) {
      if (10 + report::columns(text) + 2 + report::columns(part) <= size_.width)
        text += ", " + part;
    };
    if (const auto step = number_in(run, "step")) {
      const auto total = number_in(run, "total_steps");
      say("step " + count(*step) + (total ? " of " + count(*total) : ""));
    }
    if (const auto last = number_in(run, "last_step_at"))
      say(fmt::format("last {} ago", duration(std::max(0.0, view_.now - *last))));
    if (const auto eta = number_in(run, "eta_s")) say(duration(*eta) + " left");
    if (const auto rate = number_in(run, "rate")) {
      say(*rate >= 1 ? fmt::format("{:.3g} steps/s", *rate)
                     : fmt::format("{:.3g} s/step", 1 / *rate));
    }
    if (const std::string cost = cost_of(run); !cost.empty()) say(cost);
    const bool stands = text_in(run, "state") == "silent" || text_in(run, "state") == "unknown";
    add({{Style::dim, fmt::format("{:<10}", "Run")}, {stands ? Style::bad : Style::plain, text}});
  }

  /// Restarts, checkpoints and acts of the guard: how many, and the last one.
  void marks() {
    struct Kind {
      const char* slug;
      const char* one;
      const char* many;
    };
    static constexpr std::array<Kind, 3> k_kinds = {
        {{"restart", "restart", "restarts"},
         {"guard", "act of the guard", "acts of the guard"},
         {"checkpoint", "checkpoint", "checkpoints"}}};
    std::string text;
    for (const Kind& kind : k_kinds) {
      std::size_t all = 0;
      double last = 0;
      for (const Json& each : list_in(view_.detail, "marks")) {
        if (!each.is_object() || text_in(each, "kind") != kind.slug) continue;
        ++all;
        last = std::max(last, number_in(each, "from").value_or(0));
      }
      if (all == 0) continue;
      text += fmt::format("{}{} {}{} step {}", text.empty() ? "" : ", ", all,
                          all == 1 ? kind.one : kind.many, all == 1 ? " at" : ", the last at",
                          count(last));
    }
    if (!text.empty()) add({{Style::dim, fmt::format("{:<10}", "Marks")}, {Style::plain, text}});
  }

  void runs() {
    const std::size_t all = view_.runs.size();
    if (all < 2) return;
    const std::size_t shown = std::min({all, k_most_runs, std::max<std::size_t>(2, left() / 5)});
    std::size_t at = 0;
    for (std::size_t i = 0; i < all; ++i) {
      if (text_in(view_.runs[i], "id") == view_.chosen) at = i;
    }
    const std::size_t first = std::min(at > shown / 2 ? at - shown / 2 : 0, all - shown);
    for (std::size_t i = first; i < first + shown; ++i) {
      const Json& each = view_.runs[i];
      const Standing standing = standing_of(each);
      std::string rest = " " + state_words(text_in(each, "state"));
      if (const auto step = number_in(each, "step")) rest += ", step " + count(*step);
      rest += ", " + text_in(each, "headline");
      const std::string name = report::fit_tail(text_in(each, "name"), 28);
      add({{i == at ? Style::accent : Style::dim, i == at ? "> " : "  "},
           {i == at ? Style::bold : Style::plain, name},
           {Style::plain, std::string(29 - std::min<std::size_t>(28, report::columns(name)), ' ')},
           {standing.style, fmt::format("{:<8}", standing.word)},
           {Style::dim, rest}});
    }
    if (shown < all) add({{Style::dim, fmt::format("  {} of {} runs", shown, all)}});
  }

  void ranks() {
    const Json& ranks = list_in(view_.detail, "ranks");
    std::string text;
    for (const Json& each : ranks) {
      const double behind = number_in(each, "behind").value_or(0);
      if (behind <= 0) continue;
      text += fmt::format("{}rank {} is {} {} behind", text.empty() ? "" : ", ",
                          count(number_in(each, "rank").value_or(0)), count(behind),
                          behind == 1 ? "step" : "steps");
    }
    Line line;
    if (!ranks.empty()) {
      line.push_back({Style::dim, fmt::format("{:<10}", "Ranks")});
      line.push_back({text.empty() ? Style::plain : Style::warn,
                      text.empty() ? fmt::format("all {} at the same step", ranks.size()) : text});
    }
    const auto memory = view_.detail.is_object() ? view_.detail.find("memory") : view_.detail.end();
    if (view_.detail.is_object() && memory != view_.detail.end() && memory->is_object()) {
      for (const auto& [key, name] :
           {std::pair{"device_bytes", "device"}, {"host_bytes", "host"}}) {
        const auto bytes = number_in(*memory, key);
        if (!bytes) continue;
        if (line.empty())
          line.push_back({Style::dim, fmt::format("{:<10}", "Memory")});
        else
          line.push_back({Style::plain, ", "});
        line.push_back({Style::plain, fmt::format("{} {}", name, core::show_bytes(*bytes))});
      }
    }
    if (!line.empty()) add(std::move(line));
  }

  void charts() {
    const std::vector<std::string> names = drawn_series(view_.detail);
    std::size_t room = left();
    const std::size_t lines = list_in(view_.detail, "log").size();
    room -= std::min(room, std::min(k_least_log, lines));
    if (names.empty() || room < 3) return;
    // A title and at least one row each; the first has a line with the steps, too, and twice the rows.
    const std::size_t many = std::min({names.size(), k_most_charts, (room - 1) / 2});
    const std::size_t rows = (room - 1 - many) / (many + 1);
    for (std::size_t i = 0; i < many; ++i) {
      const std::size_t most = i == 0 ? 2 * rows : rows;
      chart(names[i], std::clamp<std::size_t>(most, 1, i == 0 ? 6 : 3), i == 0);
    }
  }

  void chart(const std::string& name, std::size_t rows, bool with_steps) {
    const auto found = view_.curves.find(name);
    if (found == view_.curves.end()) return;
    const std::vector<ChartPoint> points = points_of(found->second);
    report::TextChartOptions how;
    how.width = size_.width;
    how.rows = rows;
    how.unicode = size_.unicode;
    std::vector<std::string> drawn = report::text_chart(points, how, plain_);
    if (drawn.empty()) return;
    if (!with_steps) drawn.pop_back();
    std::string title = core::sanitize(name);
    if (report::wants_log_scale(points)) title += " (log scale)";
    Line head = {{Style::bold, title}};
    if (const double last = last_of(name); !std::isnan(last) || has_last(name)) {
      head.push_back(
          {std::isfinite(last) ? Style::plain : Style::bad, "  now " + core::show_number(last)});
    }
    add(std::move(head));
    for (std::size_t i = 0; i < drawn.size(); ++i)
      add({{i < rows ? Style::accent : Style::dim, drawn[i]}});
  }

  const Json* series_of(const std::string& name) const {
    for (const Json& each : list_in(view_.detail, "series")) {
      if (text_in(each, "name") == core::sanitize(name)) return &each;
    }
    return nullptr;
  }
  bool has_last(const std::string& name) const {
    const Json* series = series_of(name);
    return series != nullptr && series->contains("last");
  }
  double last_of(const std::string& name) const {
    const Json* series = series_of(name);
    if (series == nullptr || !series->contains("last"))
      return std::numeric_limits<double>::quiet_NaN();
    return wire_number((*series)["last"]);
  }

  void log() {
    const Json& log = list_in(view_.detail, "log");
    const std::size_t room = left();
    const std::size_t first = log.size() > room ? log.size() - room : 0;
    for (std::size_t i = first; i < log.size(); ++i) {
      const bool evidence = log[i].is_object() && log[i].value("evidence", false);
      add({{evidence ? Style::bad : Style::dim, evidence ? "! " : "  "},
           {evidence ? Style::warn : Style::dim, text_in(log[i], "text")}});
    }
  }

  void keys() {
    if (!view_.notice.empty()) {
      add({{Style::warn, view_.notice}});
      return;
    }
    std::string text = "q quits";
    if (view_.runs.size() > 1)
      text +=
          size_.unicode ? "   \xE2\x86\x91 \xE2\x86\x93 another run" : "   up, down: another run";
    const Json* run = chosen_of(view_);
    if (view_.may_stop && run != nullptr && run->value("can_stop", false))
      text += "   s stops the run";
    add({{Style::dim, text}});
  }

  const View& view_;
  const Size& size_;
  report::Paint plain_;
  std::vector<Line> lines_;
};

}  // namespace

std::vector<Line> page(const View& view, const Size& size) { return Page(view, size).lines(); }

std::vector<std::string> drawn_series(const Json& detail) {
  static constexpr std::array<std::string_view, 6> k_roles = {"loss", "reward",    "grad_norm",
                                                              "lr",   "eval_loss", "kl"};
  std::vector<std::string> names;
  for (const std::string_view role : k_roles) {
    for (const Json& each : list_in(detail, "series")) {
      if (!each.is_object() || each.value("role", "") != role) continue;
      names.push_back(each.value("name", ""));
      break;
    }
  }
  if (names.empty()) {
    for (const Json& each : list_in(detail, "series")) {
      if (each.is_object() && names.size() < k_most_charts) names.push_back(each.value("name", ""));
    }
  }
  if (names.size() > k_most_charts) names.resize(k_most_charts);
  return names;
}

int urgency(const Json& run) {
  const std::string state = text_in(run, "state");
  const std::string standing = text_in(run, "standing");
  if (state == "silent") return 0;
  if (state == "running") return standing == "failed" || standing == "unstable" ? 0 : 1;
  if (state == "failed" || state == "unknown") return 2;
  return standing == "failed" || standing == "unstable" ? 2 : 3;
}

std::string text(const std::vector<Line>& lines, const report::Paint& paint) {
  std::string out;
  for (const Line& line : lines) {
    report::PaintedLine painted(paint);
    for (const Span& each : line) painted.add(each.style, each.text);
    out += painted.text() + "\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e12));
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

}  // namespace aplomb::top
