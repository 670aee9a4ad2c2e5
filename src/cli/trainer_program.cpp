#include "cli/trainer_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "cli/output.h"
#include "core/text.h"

namespace aplomb::cli {
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

/// The trainer's OpenMP (libgomp) reads its environment before main(): it has to be set here. Left
/// to itself a thread that waits for the others spins for some milliseconds (300,000 turns); where
/// cores are shared, as on a machine that does something else too, it so takes the turn of the
/// thread that it waits for. 1,000 turns, some 20 us, are what libgomp itself takes where there are
/// more threads than cores. What the user set stays.
void let_waiting_threads_sleep() {
  for (const char* own : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    if (std::getenv(own) != nullptr) return;
  }
  (void)::setenv("GOMP_SPINCOUNT", "1000", 1);
}

void tell_how_to_get_it() {
  if (const char* named = std::getenv(k_variable); named != nullptr && *named != '\0') {
    complain(fmt::format("{} names {}, which is no program", k_variable, core::sanitize(named)));
    return;
  }
  complain(fmt::format(
      "{} is not here: it needs LibTorch and is built apart. In a clone of the source, with "
      "`pip install torch`: `cmake --preset train && cmake --build --preset train`, or "
      "`./quickstart train`. Then it is found beside this program, or where {} says.",
      k_program, k_variable));
}

}  // namespace

std::string trainer_path() {
  const auto found = find_trainer();
  return found ? found->string() : std::string();
}

int become_trainer(std::vector<std::string> words) {
  const auto trainer = find_trainer();
  if (!trainer) {
    tell_how_to_get_it();
    return k_exit_usage;
  }
  words.insert(words.begin(), trainer->string());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  let_waiting_threads_sleep();
  ::execv(trainer->c_str(), pointers.data());
  complain(fmt::format("{}: {}", core::sanitize(trainer->string()), std::strerror(errno)));
  return k_exit_usage;
}

}  // namespace aplomb::cli
