#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/command.h"
#include "cli/output.h"
#include "core/text.h"

namespace aplomb::cli {
namespace {

namespace fs = std::filesystem;

/// The Python of the environment that this program was installed into (pip puts both into one folder), else the
/// first python3 on the PATH.
std::string python_beside() {
  std::error_code why;
  const fs::path own = fs::read_symlink("/proc/self/exe", why);
  const fs::path beside = own.parent_path() / "python3";
  return !why && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "python3";
}

/// `aplomb mcp` is Python's: the protocol is that of the official SDK (aplomb/mcp_server.py), which calls this program
/// for each answer.
class McpCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ =
        program.verb("mcp", "Answer assistants over the Model Context Protocol (stdio), read-only");
    verb_.passes_words_on();  // --help is the server's
    verb_.footer("See `aplomb mcp --help`.");
  }

  int run() override {
    std::error_code why;
    const fs::path own = fs::read_symlink("/proc/self/exe", why);
    if (!why) (void)::setenv("APLOMB_CLI", own.c_str(), 0);
    std::vector<std::string> words = {python_beside(), "-m", "aplomb", "mcp"};
    for (const std::string& each : verb_.rest()) words.push_back(each);
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execvp(pointers[0], pointers.data());
    complain(fmt::format("{}: {}; `aplomb mcp` needs Python and `pip install 'aplomb[mcp]'`",
                         core::sanitize(words[0]), std::strerror(errno)));
    return k_exit_usage;
  }
};

}  // namespace

std::unique_ptr<Command> make_mcp_command() { return std::make_unique<McpCommand>(); }

}  // namespace aplomb::cli
