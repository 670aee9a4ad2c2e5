/// aplomb-train: the program behind `aplomb train` and `aplomb lab`.

#include <fmt/format.h>
#include <torch/version.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "core/version.h"
#include "train/dist/world.h"
#include "train/lab/command.h"
#include "train/loop/faults.h"
#include "train/loop/options.h"
#include "train/loop/run.h"
#include "train/model/process_memory.h"

namespace {

std::atomic<bool> stop_wanted = false;

/// The first signal asks for a checkpoint and the end; a second one ends at once.
void note_stop(int number) {
  stop_wanted = true;
  std::signal(number, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "--version") {
    fmt::print("aplomb-train {} (LibTorch {})\n", aplomb::core::version(), TORCH_VERSION);
    return 0;
  }
  try {
    if (!words.empty() && words[0] == "lab")
      return aplomb::train::lab::run_command({words.begin() + 1, words.end()});
    aplomb::train::loop::TrainOptions options;
    const aplomb::train::loop::Parsed parsed =
        aplomb::train::loop::parse_options(std::move(words), options);
    if (parsed.stop) {
      // All ranks were given the same words: one answer will do.
      const auto world =
          aplomb::train::dist::world_from([](const char* name) { return std::getenv(name); });
      if (world && world->rank > 0) return parsed.status;
      fmt::print(parsed.status == 0 ? stdout : stderr, "{}\n", parsed.text);
      return parsed.status;
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of that file
    std::signal(SIGINT, note_stop);
    std::signal(SIGTERM, note_stop);
    aplomb::train::model::keep_freed_memory();
    return aplomb::train::loop::run_training(options, [] { return stop_wanted.load(); });
  } catch (const std::exception& fault) {
    fmt::print(stderr, "aplomb train: {}\n", aplomb::train::loop::told_fault(fault));
  }
  return 2;
}
