#include "watch/process_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "watch/child.h"

namespace aplomb::watch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_bytes = std::size_t{1} << 20U;  // of one file or one tool
constexpr std::chrono::seconds k_tool_time{15};

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(k_most_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

std::optional<pid_t> number(std::string_view text) {
  pid_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `1234 (python3) S 1200 ...`: the name may hold blanks and brackets.
struct Stat {
  std::string name;
  std::string state;
  pid_t parent = 0;
};
std::optional<Stat> stat_of(const fs::path& folder) {
  const std::string text = content(folder / "stat");
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  Stat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  std::istringstream rest(text.substr(close + 1));
  rest >> stat.state >> stat.parent;
  return stat;
}

std::vector<pid_t> numbers_in(const fs::path& folder) {
  std::vector<pid_t> found;
  std::error_code why;
  for (fs::directory_iterator at(folder, why), end; !why && at != end; at.increment(why)) {
    if (const auto each = number(at->path().filename().string())) found.push_back(*each);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// What a tool prints; why not, where it fails or takes too long. Its own signals are as at start.
std::string output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "(no pipe)";
  Handle ours(ends[0]);
  Handle childs(ends[1]);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return "(no process)";
  if (pid == 0) {
    ::dup2(childs.get(), STDOUT_FILENO);
    ::dup2(childs.get(), STDERR_FILENO);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  childs.close();
  std::string text;
  const auto until = std::chrono::steady_clock::now() + k_tool_time;
  bool ended = false;
  while (!ended && text.size() < k_most_bytes && std::chrono::steady_clock::now() < until) {
    pollfd look{ours.get(), POLLIN, 0};
    if (::poll(&look, 1, 200) <= 0) continue;
    char part[4096];
    const ssize_t size = ::read(ours.get(), part, sizeof part);
    ended = size == 0 || (size < 0 && errno != EINTR);
    if (size > 0) text.append(part, static_cast<std::size_t>(size));
  }
  if (!ended) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return {};  // not installed
  return ended ? text : text + "\n(it took too long and was stopped)";
}

void add(std::string& text, std::string_view what, const std::string& said) {
  if (!said.empty() && said != "0") text += fmt::format("  {}: {}\n", what, said);
}

std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += "    " + line + "\n";
  return out;
}

std::string state_of(pid_t pid) {
  const fs::path folder = "/proc/" + std::to_string(pid);
  const auto stat = stat_of(folder);
  if (!stat) return fmt::format("process {}: gone\n", pid);
  std::string command = content(folder / "cmdline");
  std::replace(command.begin(), command.end(), '\0', ' ');
  std::string text = fmt::format("process {} (child of {}): {}\n", pid, stat->parent,
                                 command.empty() ? stat->name : command);
  for (const pid_t thread : numbers_in(folder / "task")) {
    const fs::path place = folder / "task" / std::to_string(thread);
    const auto its = stat_of(place);
    if (!its) continue;
    text += fmt::format("  thread {} ({}): state {}, waits in {}\n", thread, its->name, its->state,
                        content(place / "wchan"));
    const std::string stack = content(place / "stack");  // root only
    if (!stack.empty()) text += indented(stack);
  }
  std::error_code why;
  const std::string program = fs::read_symlink(folder / "exe", why).filename().string();
  if (program.starts_with("python")) {
    const std::string stacks =
        output_of({"py-spy", "dump", "--nonblocking", "--pid", std::to_string(pid)});
    add(text, "py-spy",
        stacks.empty() ? "not installed (pip install py-spy shows the lines)"
                       : "\n" + indented(stacks));
  }
  return text;
}

}  // namespace

std::vector<pid_t> process_tree(pid_t root) {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : numbers_in("/proc")) {
    if (const auto stat = stat_of("/proc/" + std::to_string(pid)))
      children[stat->parent].push_back(pid);
  }
  std::vector<pid_t> tree{root};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto below = children.find(tree[i]);
    if (below == children.end()) continue;
    tree.insert(tree.end(), below->second.begin(), below->second.end());
  }
  return tree;
}

std::string hang_evidence(pid_t root) {
  constexpr std::size_t k_most_processes = 64;  // a node's ranks and their loaders
  std::string text;
  const std::vector<pid_t> tree = process_tree(root);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (std::size_t i = 0; i < tree.size() && i < k_most_processes; ++i) {
    if (std::chrono::steady_clock::now() > until) break;
    text += state_of(tree[i]) + "\n";
  }
  if (tree.size() > k_most_processes) text += fmt::format("({} processes in all)\n", tree.size());
  const std::string cards = output_of({"nvidia-smi"});
  if (!cards.empty()) text += "nvidia-smi:\n" + indented(cards);
  return text;
}

}  // namespace aplomb::watch
