#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "cli/output.h"
#include "core/text.h"

namespace aplomb {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_variable = "APLOMB_TRAIN";
constexpr const char* k_program = "aplomb-train";

bool is_program(const fs::path& path) {
  std::error_code why;
  return fs::is_regular_file(path, why) && ::access(path.c_str(), X_OK) == 0;
}

/// Where the trainer stands: APLOMB_TRAIN, else beside this program (a build), else
/// ../libexec/aplomb (an installation).
std::optional<fs::path> find_trainer() {
  if (const char* named = std::getenv(k_variable); named != nullptr && *named != '\0')
    return is_program(named) ? std::optional<fs::path>(named) : std::nullopt;
  std::error_code why;
  const fs::path own = fs::read_symlink("/proc/self/exe", why);
  if (why) return std::nullopt;
  const fs::path folder = own.parent_path();
  for (const fs::path& place :
       {folder / k_program, folder.parent_path() / "libexec" / "aplomb" / k_program}) {
    if (is_program(place)) return place;
  }
  return std::nullopt;
}

/// `aplomb train` is a program of its own: it links LibTorch, which no other command needs. This
/// one finds it and becomes it; words, standard streams and exit status are the trainer's.
class TrainCommand : public Command {
 public:
  CLI::App* declare(CLI::App& program) override {
    app_ = program.add_subcommand("train",
                                  "Fine-tune a model (LoRA, DoRA, full), stable by construction");
    app_->set_help_flag();  // --help is the trainer's
    app_->prefix_command();
    app_->footer("See `aplomb train --help`.");
    return app_;
  }

  bool wanted() const override { return app_->parsed(); }

  int run() override {
    const std::vector<std::string> given = app_->remaining();
    const auto trainer = find_trainer();
    if (!trainer) {
      tell_how_to_get_it();
      return k_exit_usage;
    }
    std::vector<std::string> words = {trainer->string()};
    words.insert(words.end(), given.begin(), given.end());
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(trainer->c_str(), pointers.data());
    complain(fmt::format("{}: {}", sanitize(trainer->string()), std::strerror(errno)));
    return k_exit_usage;
  }

 private:
  static void tell_how_to_get_it() {
    if (const char* named = std::getenv(k_variable); named != nullptr && *named != '\0') {
      complain(fmt::format("{} names {}, which is no program", k_variable, sanitize(named)));
      return;
    }
    complain(fmt::format(
        "{} is not here: it needs LibTorch and is built apart. In a clone of the source, with "
        "`pip install torch`: `cmake --preset train && cmake --build --preset train`, or "
        "`./quickstart train`. Then it is found beside this program, or where {} says.",
        k_program, k_variable));
  }

  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_train_command() { return std::make_unique<TrainCommand>(); }

}  // namespace aplomb
