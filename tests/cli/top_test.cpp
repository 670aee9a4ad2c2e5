#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;
using ::testing::Not;

std::string lines_of(int from, int to) {
  std::string text;
  for (int step = from; step <= to; ++step) {
    const double loss = step < 180 ? 2.0 + 2.0 * std::exp(-step / 60.0) : 5.0 + (step % 3);
    text += "{'loss': " + std::to_string(loss) +
            ", 'grad_norm': " + std::to_string(step < 180 ? 0.8 + 0.01 * (step % 9) : 40.0 + step) +
            ", 'learning_rate': " + (step < 180 ? "1e-05" : "0.01") +
            ", 'step': " + std::to_string(step) + "}\n";
  }
  return text;
}

TEST(TopCommand, PrintsOnePictureWithoutATerminal) {
  const Folder folder;
  folder.write("run/train.log", lines_of(1, 240));
  const Said said = run_program("% top --once " + folder / "run");
  EXPECT_EQ(said.status, 0) << said.error;
  EXPECT_THAT(said.out, HasSubstr("step 240"));
  EXPECT_THAT(said.out, HasSubstr("loss"));
  EXPECT_THAT(said.out, Not(HasSubstr("\x1b[")));
  const Said plain = run_program("LC_ALL=C % top --once " + folder / "run");
  for (const char c : plain.out) ASSERT_LT(static_cast<unsigned char>(c), 128U);
  const Said none = run_program("% top " + folder / "run");
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.error, HasSubstr("--once"));
  EXPECT_EQ(run_program("% top --once /no/such/run").status, 2);
}

/// A terminal of tmux with the program in it.
class Terminal {
 public:
  Terminal(const Folder& folder, const std::string& command)
      : tmux_("tmux -S " + folder / "tmux -f /dev/null ") {
    started_ = run_program(tmux_ + "new-session -d -x 80 -y 24 '" + command + "'").status == 0;
  }
  ~Terminal() { run_program(tmux_ + "kill-server"); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool started() const { return started_; }
  std::string screen() const { return run_program(tmux_ + "capture-pane -p").out; }
  void press(const std::string& key) const { run_program(tmux_ + "send-keys " + key); }
  void resize(int width, int height) const {
    run_program(tmux_ + "resize-window -x " + std::to_string(width) + " -y " +
                std::to_string(height));
  }
  bool lives() const { return run_program(tmux_ + "has-session").status == 0; }

  /// The screen as soon as it is as it should be, or what it was after half a minute.
  std::string until(const std::function<bool(const std::string&)>& right) const {
    std::string now;
    for (int i = 0; i < 300; ++i) {
      now = screen();
      if (right(now)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return now;
  }
  std::string until_it_shows(const std::string& text) const {
    return until([&](const std::string& now) { return now.find(text) != std::string::npos; });
  }

 private:
  std::string tmux_;
  bool started_ = false;
};

bool has_tmux() { return run_program("command -v tmux").status == 0; }

TEST(TopCommand, ShowsARunInATerminalAsItGoesWrong) {
  if (!has_tmux()) GTEST_SKIP() << "tmux is not installed";
  const Folder folder;
  const std::string log = folder.write("run/train.log", lines_of(1, 120));
  const Terminal terminal(folder, "LC_ALL=C.UTF-8 " APLOMB_BINARY " top " + folder / "run");
  ASSERT_TRUE(terminal.started());
  EXPECT_THAT(terminal.until_it_shows("step 120"), HasSubstr("step 120"));
  std::ofstream(log, std::ios::app) << lines_of(121, 260);
  EXPECT_THAT(terminal.until_it_shows("step 260"), HasSubstr("step 260"));
  const std::string wrong = terminal.until([](const std::string& now) {
    return now.starts_with("UNSTABLE") || now.starts_with("FAILED");
  });
  EXPECT_THAT(wrong, ::testing::ContainsRegex("^(UNSTABLE|FAILED) "));
  EXPECT_THAT(wrong, HasSubstr("\nDo "));
  EXPECT_THAT(wrong, HasSubstr("loss"));
  EXPECT_THAT(wrong, HasSubstr("q quits"));

  terminal.resize(50, 12);
  const std::string small = terminal.until([](const std::string& now) {
    return std::count(now.begin(), now.end(), '\n') <= 12 &&
           now.find("q quits") != std::string::npos;
  });
  EXPECT_THAT(small, HasSubstr("q quits"));
  terminal.resize(120, 40);
  EXPECT_THAT(terminal.until_it_shows("grad_norm"), HasSubstr("grad_norm"));
  terminal.press("q");
  for (int i = 0; i < 100 && terminal.lives(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(terminal.lives());
}

TEST(TopCommand, SaysThatARunStandsStillAndThatItWasStartedAgain) {
  if (!has_tmux()) GTEST_SKIP() << "tmux is not installed";
  const Folder folder;
  const std::string log = folder.write("run/train.log", lines_of(1, 100));
  const Terminal terminal(folder, "LC_ALL=C.UTF-8 " APLOMB_BINARY
                                  " top --silent-after 2 "
                                  "--price-per-hour 7.20EUR " +
                                      folder / "run");
  ASSERT_TRUE(terminal.started());
  EXPECT_THAT(terminal.until_it_shows("step 100"), HasSubstr("step 100"));
  std::ofstream(log, std::ios::app) << lines_of(101, 120);
  EXPECT_THAT(terminal.until_it_shows("step 120"), HasSubstr("step 120"));
  const std::string silent = terminal.until_it_shows("SILENT");
  EXPECT_THAT(silent, ::testing::StartsWith("SILENT    The run stands still"));
  EXPECT_THAT(silent, HasSubstr("no steps, step 120, last "));
  EXPECT_THAT(silent, HasSubstr("EUR so far"));
  // It is started again from an earlier step.
  std::ofstream(log, std::ios::app) << lines_of(101, 140);
  EXPECT_THAT(terminal.until_it_shows("running, step 140"), HasSubstr("running, step 140"));
  EXPECT_THAT(terminal.until_it_shows("1 restart at step 101"), HasSubstr("1 restart at step 101"));
}

TEST(TopCommand, ChoosesARunAndStopsItOnlyWhereThatIsAllowed) {
  if (!has_tmux()) GTEST_SKIP() << "tmux is not installed";
  const Folder folder;
  folder.write("runs/a/train.log", lines_of(1, 50));
  folder.write("runs/b/train.log", lines_of(1, 70));
  {
    const Terminal terminal(folder, "LC_ALL=C.UTF-8 " APLOMB_BINARY " top " + folder / "runs");
    ASSERT_TRUE(terminal.started());
    EXPECT_THAT(terminal.until_it_shows("> runs/a"), HasSubstr("> runs/a"));
    terminal.press("Down");
    EXPECT_THAT(terminal.until_it_shows("> runs/b"), HasSubstr("> runs/b"));
    terminal.press("s");
    terminal.press("Up");
    EXPECT_THAT(terminal.until_it_shows("> runs/a"), Not(HasSubstr("stop this run")));
  }
  const std::string command =
      "sh -c \"for i in 1 2 3 4 5 6 7 8 9; do echo loss $i step $i; done; sleep 120\"";
  const Terminal terminal(
      folder, "cd " + folder / "runs" +
                  " && (APLOMB_STORE=off " APLOMB_BINARY " run -q --grace 1 --out out -- " +
                  command + " & sleep 1; LC_ALL=C.UTF-8 " APLOMB_BINARY " top --allow-stop out)");
  ASSERT_TRUE(terminal.started());
  EXPECT_THAT(terminal.until_it_shows("s stops the run"), HasSubstr("s stops the run"));
  terminal.press("s");
  EXPECT_THAT(terminal.until_it_shows("stop this run?"), HasSubstr("stop this run?"));
  terminal.press("y");
  EXPECT_THAT(terminal.until_it_shows("stopped"), HasSubstr("stopped"));
}

}  // namespace
}  // namespace aplomb::cli
