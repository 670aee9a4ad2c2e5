#include <aplomb/diagnose.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/shared_options.h"
#include "cli/views.h"
#include "core/text.h"
#include "demo/tiny_training.h"

namespace aplomb::cli {
namespace {

namespace fs = std::filesystem;

// Where the loss of this network first grows without end is near 0.3; half of that is sound (tests/demo).
constexpr double k_broken_rate = 1.0;
constexpr double k_sound_rate = 0.05;

/// The learning rate that the first remedy of the first cause sets, where it sets one.
std::optional<double> mended_rate(const Report& report) {
  if (report.causes.empty()) return std::nullopt;
  for (const ReportRemedy& remedy : report.causes[0].remedies) {
    const auto rate = remedy.set.find("optim.lr");
    if (rate == remedy.set.end()) continue;
    if (const auto* number = std::get_if<double>(&rate->second)) return *number;
  }
  return std::nullopt;
}

class DemoCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("demo",
                         "Break a tiny training, diagnose it, mend it: a second, no GPU, no torch");
    verb_.option("--out", out_, "where the logs and configurations of both runs go")
        .value_name("FOLDER")
        .shows_default();
    add_colour_option(verb_, colour_);
    verb_.footer(
        "It really trains: a network of two layers, 600 steps of SGD in float32, first with a "
        "learning rate that it\n"
        "does not stand, then with what the diagnosis says.\n"
        "\n"
        "Exit status: 0 the first run was found broken and the second sound, 1 otherwise, 2 "
        "nothing could be written.");
  }

  int run() override {
    demo::TinyTraining how;
    how.learning_rate = k_broken_rate;
    const auto broken = train_and_diagnose(how, "broken", "Training");
    if (!broken) return k_exit_usage;
    how.learning_rate = mended_rate(*broken).value_or(k_sound_rate);
    const auto mended = train_and_diagnose(how, "mended", "\nAgain");
    if (!mended) return k_exit_usage;
    const std::string folder = core::sanitize(out_);
    if (!print(fmt::format("\nYour own run: aplomb diagnose PATH...   This one as a page: "
                           "aplomb diagnose {}/broken --html report.html\n",
                           folder)))
      return k_exit_usage;
    const bool as_promised =
        broken->verdict == Verdict::failed && mended->verdict == Verdict::healthy;
    return as_promised ? k_exit_healthy : k_exit_found;
  }

 private:
  std::optional<Report> train_and_diagnose(const demo::TinyTraining& how, const char* name,
                                           const char* word) const {
    const fs::path folder = fs::path(out_) / name;
    std::error_code why;
    fs::create_directories(folder, why);
    if (why) {
      complain(core::sanitize(folder.string()) + ": " + why.message());
      return std::nullopt;
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto steps = demo::train(how);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (!save(folder / "train.log", demo::log_of(how, steps)) ||
        !save(folder / "train.yaml", demo::config_of(how)))
      return std::nullopt;
    const std::string shown = core::sanitize(folder.string());
    const bool told =
        print(fmt::format("{} with learning_rate: {:g}: {} steps in {:.2f} s, into {}/\n"
                          "$ aplomb diagnose {}\n",
                          word, how.learning_rate, how.steps, took.count(), shown, shown));
    Report report = diagnose({folder.string()}, {});
    if (!told || !print_view(report, for_terminal(colour_), "terminal")) return std::nullopt;
    return report;
  }

  std::string out_ = "aplomb-demo";
  std::string colour_ = "auto";
};

}  // namespace

std::unique_ptr<Command> make_demo_command() { return std::make_unique<DemoCommand>(); }

}  // namespace aplomb::cli
