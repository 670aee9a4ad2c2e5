#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/remember.h"
#include "core/json_text.h"
#include "core/pair_table.h"
#include "core/text.h"
#include "report/report_json.h"
#include "report/terminal_text.h"
#include "report/text_chart.h"
#include "report/view.h"
#include "store/place.h"
#include "store/run_store.h"

namespace aplomb::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::Style;

constexpr std::size_t k_gutter = 10;

/// Against the run of the same program before it.
std::string_view against(store::Helped helped) {
  static constexpr std::pair<store::Helped, std::string_view> k_names[] = {
      {store::Helped::yes, "better"},
      {store::Helped::no, "same"},
      {store::Helped::worse, "worse"},
      {store::Helped::unknown, ""}};
  return core::second_of(k_names, helped).value_or("");
}

std::string short_verdict(const std::string& verdict) {
  return verdict == "insufficient-evidence" ? "unclear" : verdict;
}

std::string capitals(std::string word) {
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

Style style_of(const std::string& verdict) {
  if (verdict == "healthy") return Style::good;
  return verdict == "failed" || verdict == "unstable" ? Style::bad : Style::warn;
}

std::string padded(std::string text, std::size_t width) {
  text = report::fit(text, width);
  text.append(width - std::min(width, report::columns(text)), ' ');
  return text;
}

class HistoryCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("history", "The runs that were remembered: list, search, show, forget");
    most_of(verb_);
    json_of(verb_);
    list_ = made("list", "The newest runs (also without a word)");
    most_of(list_);
    search_ = made("search", "The runs that hold all of some words");
    search_.option("WORDS", words_, "names, causes, settings, what was seen; beginnings suffice")
        .required();
    most_of(search_);
    show_ = made("show", "All that is kept of one run");
    show_.option("ID", id_, "of the list; its beginning suffices").required();
    export_ = made("export", "Runs as JSON lines (schema aplomb.run/1)");
    export_.option("ID", id_, "one run");
    export_.flag("--all", all_, "every run");
    forget_ = made("forget", "Remove runs from the store");
    forget_.option("ID", id_, "one run");
    forget_.flag("--all", all_, "every run");
    forget_.flag("--yes", yes_, "they are to go: without this nothing is removed");
    for (const arguments::Verb& each : {list_, search_, show_}) json_of(each);
    for (const arguments::Verb& each : {verb_, list_, search_, show_, export_, forget_}) {
      each.option("--store", place_,
                  "another store: a file, or postgresql://HOST/DATABASE of a team")
          .value_name("PLACE");
    }
    verb_.footer(
        "Examples:\n"
        "  aplomb history\n"
        "  aplomb history search lr-too-high\n"
        "  aplomb history show 3fa9\n"
        "  aplomb history export --all > runs.jsonl\n"
        "  aplomb history forget 3fa9 --yes\n"
        "\n"
        "`aplomb run` and `aplomb diagnose --remember` keep runs in aplomb/runs.db below\n"
        "$XDG_DATA_HOME or ~/.local/share; APLOMB_STORE (or --store) names another file or\n"
        "a team's database, or `off`.");
  }

  int run() override {
    const bool removes = forget_.is_wanted();
    if ((removes || export_.is_wanted()) && id_.empty() == !all_) {
      complain("[history] name one run by its ID, or all by --all");
      return k_exit_usage;
    }
    take_in_lost_runs(place_);
    const auto store =
        store::open_store(place_.empty() ? store::default_path() : place_, store::Access::read);
    if (!store) {
      complain(core::sanitize(store.error().text));
      return k_exit_usage;
    }
    if (show_.is_wanted()) return show(**store);
    if (export_.is_wanted()) return give(**store);
    if (removes) return forget(**store);
    return list(**store);
  }

 private:
  arguments::Verb made(const char* name, const char* meaning) const {
    return verb_.verb(name, meaning);
  }
  void most_of(const arguments::Verb& verb) {
    verb.option("--most", most_, "how many runs").within(1, 1000000).shows_default();
  }
  void json_of(const arguments::Verb& verb) { verb.flag("--json", json_, "print JSON"); }

  static int failed(const core::Error& why) {
    complain(core::sanitize(why.text));
    return k_exit_usage;
  }
  static int said(std::string_view text) {
    const auto done = write_out(text);
    return done ? k_exit_healthy : failed(done.error());
  }

  int list(store::RunStore& store) const {
    const auto lines = store.list(words_, most_);
    const auto count = store.count();
    if (!lines) return failed(lines.error());
    if (!count) return failed(count.error());
    return said(json_ ? json_list(*lines, *count) : table(*lines, *count));
  }

  static std::string json_list(const std::vector<store::PastLine>& lines, std::uint64_t count) {
    Json runs = Json::array();
    for (const store::PastLine& each : lines) {
      runs.push_back({{"id", each.id},
                      {"began", each.began},
                      {"verdict", each.verdict},
                      {"name", each.name},
                      {"program", each.program},
                      {"cause", each.cause},
                      {"headline", each.headline},
                      {"steps", each.steps},
                      {"changed", each.changed},
                      {"helped", name(each.helped)}});
    }
    Json out = {{"schema", "aplomb.history/1"}, {"count", count}, {"runs", std::move(runs)}};
    report::make_visible(out);
    return report::json_text(out);
  }

  std::string table(const std::vector<store::PastLine>& lines, std::uint64_t count) const {
    const report::Paint paint(wants_colour("auto"));
    const auto width = static_cast<std::size_t>(std::clamp(terminal_width(), 60, 200));
    constexpr std::size_t k_fixed = 8 + 2 + 10 + 2 + 8 + 2 + 6 + 2;  // id, date, verdict, against
    const std::size_t cause = (width - k_fixed - 2) * 6 / 10;
    const std::size_t place = width - k_fixed - 2 - cause;
    if (lines.empty()) {
      return words_.empty() ? "no run is remembered: aplomb diagnose --remember PATH keeps one\n"
                            : "no run holds all of these words\n";
    }
    std::string out = paint(Style::dim, "id        date        verdict   before  " +
                                            padded("cause", cause) + "  run") +
                      "\n";
    for (const store::PastLine& each : lines) {
      out += each.id + "  " + store::date_of(each.began) + "  " +
             paint(style_of(each.verdict), padded(short_verdict(each.verdict), 8)) + "  " +
             padded(std::string(against(each.helped)), 6) + "  " +
             padded(core::sanitize(each.cause.empty() ? each.headline : each.cause), cause) + "  " +
             report::fit_tail(core::sanitize(each.name), place) + "\n";
    }
    if (words_.empty() && count > lines.size())
      out += paint(Style::dim,
                   fmt::format("{} of {} runs: --most N shows more", lines.size(), count)) +
             "\n";
    return out;
  }

  int show(store::RunStore& store) const {
    const auto run = store.find(id_);
    if (!run) return failed(run.error());
    if (json_) {
      Json out = json_of_run(*run);
      return said(report::json_text(out));
    }
    return said(page(*run));
  }
  static Json json_of_run(const store::PastRun& run) { return store::json_of(run); }

  /// One run for people.
  class Page {
   public:
    Page() : paint_(wants_colour("auto")) {
      width_ = static_cast<std::size_t>(std::clamp(terminal_width(), 60, 200));
    }
    void row(std::string_view label, const std::string& text, Style style = Style::plain) {
      bool first = true;
      for (const std::string& each : report::wrap(core::sanitize(text), width_ - k_gutter)) {
        out_ += paint_(Style::bold, padded(std::string(first ? label : ""), k_gutter)) +
                paint_(style, each) + "\n";
        first = false;
      }
    }
    void series(const store::PastSeries& each) {
      report::TextChartOptions how;
      how.width = width_;
      how.unicode = is_utf8_locale();
      const auto lines = report::text_chart(each.chart, how, paint_);
      if (lines.empty()) return;
      out_ += "\n" + paint_(Style::bold, core::sanitize(each.name)) + "\n";
      for (const std::string& line : lines) out_ += line + "\n";
    }
    std::string take() { return std::move(out_); }

   private:
    report::Paint paint_;
    std::size_t width_ = 80;
    std::string out_;
  };

  static std::string page(const store::PastRun& run) {
    Page page;
    page.row(capitals(short_verdict(run.verdict)), run.headline, style_of(run.verdict));
    page.row("Run", fmt::format("{} of {}, {} steps, on {}", run.id, store::date_of(run.began),
                                run.steps, run.host));
    page.row("At", run.name);
    if (!run.program.empty()) page.row("Program", run.program);
    if (run.status) page.row("Status", std::to_string(*run.status));
    std::string_view label = "Causes";
    for (std::size_t i = 0; i < run.causes.size() && i < 3; ++i) {
      const store::PastCause& each = run.causes[i];
      page.row(label, fmt::format("{:>6}  {} ({})", report::show_percent(each.probability),
                                  each.title, each.id));
      label = "";
    }
    label = "Seen";
    for (const store::PastSymptom& each : run.symptoms) {
      if (each.severity == "note") continue;
      page.row(label, each.summary);
      label = "";
    }
    if (!run.previous.empty()) {
      const std::string_view fared = against(run.helped);
      page.row("Before", fmt::format("run {} of the same program{}{}", run.previous,
                                     fared.empty() ? "" : "; this one fared: ", fared));
    }
    label = "Changed";
    for (const ReportChange& each : run.changed) {
      const auto told = [](const std::string& value) { return value.empty() ? "not set" : value; };
      page.row(label, fmt::format("{}: {} -> {}", each.name, told(each.before), told(each.after)));
      label = "";
    }
    label = "Settings";
    for (const auto* each : {&run.settings, &run.environment}) {
      for (const auto& [name, value] : *each) {
        page.row(label, fmt::format("{} = {}", name, value));
        label = "";
      }
    }
    for (std::size_t i = 0; i < run.series.size() && i < 2; ++i) page.series(run.series[i]);
    return page.take();
  }

  int give(store::RunStore& store) const {
    const auto line = [](const store::PastRun& run) {
      return core::json_text(store::json_of(run)) + "\n";
    };
    if (!all_) {
      const auto run = store.find(id_);
      return run ? said(line(*run)) : failed(run.error());
    }
    int status = k_exit_healthy;
    const auto done = store.each([&](const store::PastRun& run) {
      status = said(line(run));
      return status == k_exit_healthy;
    });
    return done ? status : failed(done.error());
  }

  int forget(store::RunStore& store) const {
    if (!all_) {
      const auto run = store.find(id_);
      if (!run) return failed(run.error());
      if (!yes_) {
        complain(fmt::format("nothing was removed: --yes removes run {} ({})", run->id,
                             core::sanitize(run->name)));
        return k_exit_usage;
      }
      const auto done = store.forget(run->id);
      return done ? said("run " + run->id + " is forgotten\n") : failed(done.error());
    }
    const auto count = store.count();
    if (!count) return failed(count.error());
    if (!yes_) {
      complain(fmt::format("nothing was removed: --yes removes all {} runs", *count));
      return k_exit_usage;
    }
    const auto done = store.forget_all();
    return done ? said(fmt::format("{} runs are forgotten\n", *count)) : failed(done.error());
  }

  arguments::Verb list_, search_, show_, export_, forget_;
  std::vector<std::string> words_;
  std::string id_;
  std::string place_;
  std::uint64_t most_ = 20;
  bool all_ = false;
  bool yes_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_history_command() { return std::make_unique<HistoryCommand>(); }

}  // namespace aplomb::cli
