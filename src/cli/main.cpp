#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>

#include "cli/commands.h"
#include "cli/here.h"
#include "cli/output.h"
#include "core/text.h"
#include "tensors/mapped_file.h"

namespace {

/// Help and version go to standard output with status 0, a usage error to standard error with 2.
int leave(const aplomb::arguments::ParseStop& stop) {
  if (stop.is_answer)
    return aplomb::cli::write_out(stop.text) ? aplomb::cli::k_exit_healthy
                                             : aplomb::cli::k_exit_usage;
  std::fputs(stop.text.c_str(), stderr);
  return aplomb::cli::k_exit_usage;
}

/// `aplomb out/`: no command, but something that diagnose would read.
void offer_diagnosis(const char* word) {
  std::error_code why;
  if (std::filesystem::exists(word, why))
    std::fputs(("Did you mean aplomb diagnose " + aplomb::core::sanitize(word) + "?\n").c_str(),
               stderr);
}

int run_program(int count, char** words) {
  if (count == 1) return aplomb::cli::look_around();
  const auto commands = aplomb::cli::make_commands();
  const auto program = aplomb::cli::make_program(commands);
  if (const auto stop = program->parse({words + std::min(count, 1), words + count})) {
    const bool known = std::any_of(commands.begin(), commands.end(),
                                   [](const auto& each) { return each->wanted(); });
    if (!stop->is_answer && !known) offer_diagnosis(words[1]);
    return leave(*stop);
  }
  for (const auto& command : commands) {
    if (command->wanted()) return command->run();
  }
  return aplomb::cli::k_exit_usage;
}

/// A mapped file that is cut while it is read, or a disk that fails, is a finding and no end: the
/// page is replaced by zeros. Any other SIGBUS ends the program as it would have.
void on_bus_error(int number, siginfo_t* about, void* /*context*/) {
  if (!aplomb::tensors::replace_lost_page(about->si_addr)) std::signal(number, SIG_DFL);
}

void survive_bus_errors() {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

/// Functions of libraries that may not throw end the program where memory ends: by a word and the
/// status of what could not be done, not by a signal.
[[noreturn]] void on_terminate() {
  constexpr std::string_view k_said =
      "aplomb: out of memory, or a fault of aplomb itself: it was ended (please report it)\n";
  (void)!::write(STDERR_FILENO, k_said.data(), k_said.size());
  ::_exit(aplomb::cli::k_exit_usage);
}

}  // namespace

/// simdjson asks for its buffers so and writes to them without a look (3.1 and before): rather an end
/// by on_terminate().
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return ::operator new[](size);
}

int main(int count, char** words) {
  // A closed pipe is told by the write that fails, and by the exit status, not by a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that may not grow (ulimit -f, a quota)
  survive_bus_errors();
  std::set_terminate(on_terminate);
  try {
    return run_program(count, words);
  } catch (const std::bad_alloc&) {
    aplomb::cli::complain("out of memory: name fewer inputs, or allow more by --max-memory");
  } catch (const std::exception& fault) {
    aplomb::cli::complain(std::string("a fault of aplomb itself, please report it: ") +
                          fault.what());
  }
  return aplomb::cli::k_exit_usage;
}
