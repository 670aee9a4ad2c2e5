#include "sandbox/keeper.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

namespace aplomb::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_text = 16384;  // a path, or a reason

/// One message, either way; its text stands behind it. `code` of an answer: 0, or 1 + ErrorCode.
struct Head {
  char what = 0;
  int value = -1;
  int code = 0;
};

struct Message {
  Head head;
  std::string text;
  int descriptor = -1;
};

bool send(int socket, const Message& message) {
  Head head = message.head;
  std::string text = message.text.substr(0, k_most_text);
  std::array<iovec, 2> parts{iovec{&head, sizeof head}, iovec{text.data(), text.size()}};
  msghdr whole{};
  whole.msg_iov = parts.data();
  whole.msg_iovlen = parts.size();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
  if (message.descriptor >= 0) {
    whole.msg_control = beside.data();
    whole.msg_controllen = beside.size();
    cmsghdr* first = CMSG_FIRSTHDR(&whole);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(first), &message.descriptor, sizeof(int));
  }
  ssize_t sent = 0;
  while ((sent = ::sendmsg(socket, &whole, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return sent >= 0;
}

/// False at the end.
bool receive(int socket, Message& message) {
  std::string text(k_most_text, '\0');
  std::array<iovec, 2> parts{iovec{&message.head, sizeof message.head},
                             iovec{text.data(), text.size()}};
  msghdr whole{};
  whole.msg_iov = parts.data();
  whole.msg_iovlen = parts.size();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
  whole.msg_control = beside.data();
  whole.msg_controllen = beside.size();
  ssize_t size = 0;
  while ((size = ::recvmsg(socket, &whole, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (size < static_cast<ssize_t>(sizeof message.head)) return false;
  text.resize(static_cast<std::size_t>(size) - sizeof message.head);
  message.text = std::move(text);
  message.descriptor = -1;
  if (cmsghdr* first = CMSG_FIRSTHDR(&whole);
      first != nullptr && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&message.descriptor, CMSG_DATA(first), sizeof(int));
  }
  return true;
}

/// The keeper's side.
class Service {
 public:
  Service(int socket, const Announced& may) : socket_(socket), may_(may) {}

  /// Until the other process ends; then cleans up.
  void run() {
    Message asked;
    while (receive(socket_, asked)) {
      Message answer = answer_to(asked);
      if (asked.descriptor >= 0) ::close(asked.descriptor);
      if (!send(socket_, answer)) break;
    }
    for (const int each : programs_) (void)end_program({each}, true);
    files_.clear();  // what has no name yet is removed
    for (const std::string& each : may_.temporaries) core::remove_file(each);
  }

 private:
  Message answer_to(const Message& asked) {
    Message answer;
    answer.head.what = asked.head.what;
    const auto fail = [&](const core::Error& why) {
      answer.head.code = 1 + static_cast<int>(why.code);
      answer.text = why.text;
    };
    const core::Error refused{core::ErrorCode::not_writable,
                              "[sandbox] refused, it was not named as an output: " + asked.text};
    switch (asked.head.what) {
      case 'n': {
        if (!may_write(asked.text)) return fail(refused), answer;
        auto made = core::NewFile::beside(asked.text);
        if (!made) return fail(made.error()), answer;
        answer.descriptor = (*made)->descriptor();
        answer.head.value = next_;
        files_[next_++] = std::move(*made);
        return answer;
      }
      case 'c': {
        const auto found = files_.find(asked.head.value);
        if (found == files_.end()) return fail(refused), answer;
        if (const auto done = found->second->commit(); !done) fail(done.error());
        files_.erase(found);
        return answer;
      }
      case 'd':
        files_.erase(asked.head.value);
        return answer;
      case 'm': {
        if (!may_write(asked.text)) return fail(refused), answer;
        if (const auto done = core::make_folder(asked.text); !done) fail(done.error());
        return answer;
      }
      case 'u':
        if (std::find(may_.temporaries.begin(), may_.temporaries.end(), asked.text) ==
            may_.temporaries.end())
          return fail(refused), answer;
        core::remove_file(asked.text);
        return answer;
      case 'r': {
        const auto index = static_cast<std::size_t>(asked.head.value);
        if (index >= may_.commands.size() || asked.descriptor < 0) return fail(refused), answer;
        const auto started = start_program(may_.commands[index], asked.descriptor);
        if (!started) return fail(started.error()), answer;
        programs_.insert(started->id);
        answer.head.value = started->id;
        return answer;
      }
      case 'e':
      case 'k':
        if (programs_.erase(asked.head.value) == 0) return fail(refused), answer;
        answer.head.value = end_program({asked.head.value}, asked.head.what == 'k');
        return answer;
      default:
        return fail(refused), answer;
    }
  }

  /// Whether it is an output that was announced, stands below one, or is the folder of one. What was
  /// announced may begin with `..`; behind it none is followed.
  bool may_write(const std::string& path) const {
    const std::vector<std::string> asked = parts_of(path);
    return std::any_of(may_.outputs.begin(), may_.outputs.end(), [&](const std::string& each) {
      if (each == path) return true;
      const std::vector<std::string> named = parts_of(each);
      if (named.empty()) return false;
      const auto same = [&](std::size_t size) {
        return std::equal(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(size),
                          asked.begin());
      };
      if (asked.size() + 1 == named.size()) return named.back() != ".." && same(asked.size());
      return asked.size() >= named.size() && same(named.size()) &&
             std::find(asked.begin() + static_cast<std::ptrdiff_t>(named.size()), asked.end(),
                       "..") == asked.end();
    });
  }

  static std::vector<std::string> parts_of(const std::string& path) {
    std::vector<std::string> parts;
    for (const fs::path& part : fs::path(path)) {
      if (!part.empty() && part != ".") parts.push_back(part.string());
    }
    return parts;
  }

  int socket_;
  const Announced& may_;
  std::map<int, std::unique_ptr<core::NewFile>> files_;
  std::set<int> programs_;
  int next_ = 0;
};

}  // namespace

core::Result<std::unique_ptr<Keeper>> Keeper::start(const Announced& may) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return core::fail(core::ErrorCode::internal, std::string("[sandbox] ") + std::strerror(errno));
  const pid_t process = ::fork();
  if (process < 0) {
    const std::string why = std::strerror(errno);
    ::close(ends[0]);
    ::close(ends[1]);
    return core::fail(core::ErrorCode::internal, "[sandbox] " + why);
  }
  if (process == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_NAME, "aplomb-keeper");
    // The terminal's signals are for the reader; the keeper ends behind it.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
      std::signal(number, SIG_IGN);
    // Who waits for the end of our output is not to wait for the keeper's.
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      (void)::dup2(null, stream);
    Service(ends[1], may).run();
    ::_exit(0);
  }
  ::close(ends[1]);
  return std::unique_ptr<Keeper>(new Keeper(ends[0], process, may.commands));
}

Keeper::~Keeper() {
  ::close(socket_);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

core::Result<Keeper::Answer> Keeper::ask(char what, int value, const std::string& text,
                                         int descriptor) {
  const std::scoped_lock hold(mutex_);
  Message answer;
  if (text.size() > k_most_text)
    return core::fail(core::ErrorCode::not_writable, "[sandbox] the name is too long: " + text);
  if (!send(socket_, {{what, value, 0}, text, descriptor}) || !receive(socket_, answer))
    return core::fail(core::ErrorCode::internal, "[sandbox] the process that writes has ended");
  if (answer.head.code != 0)
    return core::fail(static_cast<core::ErrorCode>(answer.head.code - 1), answer.text);
  return Answer{answer.head.value, answer.descriptor};
}

core::Result<core::FileMaker::Made> Keeper::make(const std::string& target) {
  const auto answer = ask('n', 0, target);
  if (!answer) return tl::unexpected(answer.error());
  return Made{answer->descriptor, answer->value};
}

core::Result<void> Keeper::commit(int id) {
  if (const auto answer = ask('c', id, {}); !answer) return tl::unexpected(answer.error());
  return {};
}

void Keeper::drop(int id) { (void)ask('d', id, {}); }

core::Result<void> Keeper::make_folder(const std::string& path) {
  if (const auto answer = ask('m', 0, path); !answer) return tl::unexpected(answer.error());
  return {};
}

void Keeper::remove(const std::string& path) { (void)ask('u', 0, path); }

core::Result<Started> Keeper::start(const Command& command, int socket) {
  const auto found = std::find(commands_.begin(), commands_.end(), command);
  if (found == commands_.end())
    return core::fail(core::ErrorCode::internal, "[sandbox] that program was not announced");
  const auto answer = ask('r', static_cast<int>(found - commands_.begin()), {}, socket);
  if (!answer) return tl::unexpected(answer.error());
  return Started{answer->value};
}

int Keeper::end(Started program, bool kill) {
  const auto answer = ask(kill ? 'k' : 'e', program.id, {});
  return answer ? answer->value : 0;
}

}  // namespace aplomb::sandbox
