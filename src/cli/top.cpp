#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/price_option.h"
#include "core/json_text.h"
#include "core/text.h"
#include "live/event_log.h"
#include "live/follower.h"
#include "top/page.h"
#include "top/screen.h"

namespace aplomb::cli {
namespace {

using top::Json;
using top::Key;
using Clock = std::chrono::steady_clock;

/// News are drawn so often at most, and the time since the last step so often at least.
constexpr std::chrono::milliseconds k_between_news{400};
constexpr std::chrono::milliseconds k_between_clocks{1000};
/// How long a key is waited for: as long a new line may be undrawn beyond k_between_news.
constexpr std::chrono::milliseconds k_tick{100};
constexpr std::size_t k_once_height = 40;

volatile std::sig_atomic_t asked_to_end = 0;
void ask_to_end(int /*signal*/) { asked_to_end = 1; }

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class TopCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("top", "Show runs in the terminal while they train");
    verb_
        .option("PATH", follow_.paths,
                "logs, event files or folders of runs; new ones below a folder are taken up")
        .required();
    verb_.flag("--once", once_, "print one picture and end");
    verb_.flag("--allow-stop", follow_.may_stop,
               "runs that `aplomb run` has started may be stopped with s");
    verb_
        .option(
            "--silent-after", silent_after_,
            "seconds without a sign of life after which a run that trained is said to stand still")
        .within(1, 1000000)
        .shows_default();
    price_.declare(verb_);
    verb_.footer(
        "Examples:\n"
        "  aplomb top out/\n"
        "  aplomb top --allow-stop aplomb-run/2026-11-12-101500\n"
        "  aplomb top --once slurm-4711.out\n"
        "\n"
        "Keys: q quits, the arrows choose a run, s stops it (with --allow-stop, after a y).");
  }

  int run() override {
    for (const std::string& path : follow_.paths) {
      std::error_code no_throw;
      if (std::filesystem::exists(path, no_throw)) continue;
      complain("[top] " + core::sanitize(path) + ": there is no such file or folder");
      return k_exit_usage;
    }
    never_write(follow_.paths);
    auto price = price_.make();
    if (!price) {
      complain(core::sanitize(price.error().text));
      return k_exit_usage;
    }
    follow_.price = *std::move(price);
    follow_.silent_after = std::chrono::seconds(silent_after_);
    live::EventLog events;
    live::Follower follower(follow_, events);
    if (once_) return print(follower);
    if (!is_terminal_out() || ::isatty(STDIN_FILENO) == 0) {
      complain("[top] there is no terminal here: --once prints one picture");
      return k_exit_usage;
    }
    auto screen = top::Screen::open(is_utf8_locale(), wants_colour("auto"));
    if (!screen) {
      complain(core::sanitize(screen.error().text));
      return k_exit_usage;
    }
    for (const int each : {SIGINT, SIGTERM, SIGHUP}) std::signal(each, ask_to_end);
    follower.start();
    show(**screen, follower, events);
    follower.stop();
    return k_exit_healthy;
  }

 private:
  int print(live::Follower& follower) {
    follower.settle();
    const auto width = static_cast<std::size_t>(std::clamp(terminal_width(), 40, 200));
    const top::Size size{width, k_once_height, is_utf8_locale()};
    take(follower, size);
    view_.notice = " ";  // nobody presses keys
    const auto done =
        write_out(top::text(top::page(view_, size), report::Paint(wants_colour("auto"))));
    if (done) return k_exit_healthy;
    complain(done.error().text);
    return k_exit_usage;
  }

  void show(top::Screen& screen, const live::Follower& follower, const live::EventLog& events) {
    std::uint64_t seen = 0;
    auto taken = Clock::time_point{};
    bool anew = true;
    while (asked_to_end == 0) {
      const auto now = Clock::now();
      const bool news = events.newest() != seen && now - taken >= k_between_news;
      if (anew || news || now - taken >= k_between_clocks) {
        seen = events.newest();
        taken = now;
        const top::Size size = screen.size();
        take(follower, size);
        screen.draw(top::page(view_, size));
      }
      const Key key = screen.key(k_tick);
      if (key == Key::quit) return;
      anew = key != Key::none;
      act(key, follower);
    }
  }

  void act(Key key, const live::Follower& follower) {
    if (key == Key::none || key == Key::resized) return;
    if (key == Key::yes && asks_) {
      const auto done = follower.stop_run(view_.chosen);
      view_.notice = done ? "the run is asked to end" : core::sanitize(done.error().text);
      asks_ = false;
      return;
    }
    asks_ = false;
    view_.notice.clear();
    if (key == Key::stop && follow_.may_stop) {
      asks_ = true;
      view_.notice = "stop this run? y ends it, any other key does not";
    }
    if (key == Key::up || key == Key::down) choose(key == Key::down ? 1 : -1);
  }

  void choose(int by) {
    picked_ = true;
    const auto count = static_cast<int>(view_.runs.size());
    for (int i = 0; i < count; ++i) {
      if (view_.runs[static_cast<std::size_t>(i)].value("id", "") != view_.chosen) continue;
      const int next = std::clamp(i + by, 0, count - 1);
      view_.chosen = view_.runs[static_cast<std::size_t>(next)].value("id", "");
      return;
    }
  }

  /// What is known now; what needs eyes first, then by name. Until somebody picks a run, the first is shown.
  void take(const live::Follower& follower, const top::Size& size) {
    Json runs = core::json_from(follower.summaries_text());
    view_.runs = runs.is_array() ? std::move(runs) : Json::array();
    std::stable_sort(view_.runs.begin(), view_.runs.end(), [&](const Json& a, const Json& b) {
      return std::pair(top::urgency(a), a.value("name", "")) <
             std::pair(top::urgency(b), b.value("name", ""));
    });
    const bool there = std::any_of(view_.runs.begin(), view_.runs.end(), [this](const Json& each) {
      return each.value("id", "") == view_.chosen;
    });
    if (!there || !picked_)
      view_.chosen = view_.runs.empty() ? "" : view_.runs.front().value("id", "");
    view_.may_stop = follow_.may_stop;
    view_.now = now_s();
    view_.curves.clear();
    const auto detail = follower.run_text(view_.chosen);
    view_.detail = detail ? core::json_from(*detail) : Json();
    if (!view_.detail.is_object()) view_.detail = Json();
    for (const std::string& name : top::drawn_series(view_.detail)) {
      const auto curve =
          follower.series_text(view_.chosen, name, std::nullopt, std::nullopt, 2 * size.width);
      if (curve) view_.curves[name] = core::json_from(*curve);
    }
  }

  live::FollowOptions follow_;
  PriceOption price_;
  int silent_after_ = 300;
  bool once_ = false;
  bool asks_ = false;    ///< whether the run shall be stopped
  bool picked_ = false;  ///< somebody has chosen a run
  top::View view_;
};

}  // namespace

std::unique_ptr<Command> make_top_command() { return std::make_unique<TopCommand>(); }

}  // namespace aplomb::cli
