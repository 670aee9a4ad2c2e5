#include "store/attendant.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>

#include "core/json_text.h"
#include "store/place.h"
#include "store/run_store.h"
#include "store/spool.h"

namespace aplomb::store {
namespace {

using Json = nlohmann::ordered_json;

/// Of a message: 12 series of 512 points and their settings are below 1 MiB.
constexpr std::uint64_t k_most_bytes = std::uint64_t{16} << 20U;

bool send_all(int socket, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::recv(socket, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_text(int socket, const std::string& text) {
  const std::uint64_t size = text.size();
  return send_all(socket, reinterpret_cast<const char*>(&size), sizeof size) &&  // NOLINT: as bytes
         send_all(socket, text.data(), text.size());
}

std::optional<std::string> receive_text(int socket) {
  std::uint64_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size))
    return std::nullopt;  // NOLINT
  if (size > k_most_bytes) return std::nullopt;
  std::string text(size, '\0');
  if (!receive_all(socket, text.data(), size)) return std::nullopt;
  return text;
}

std::string dumped(const Json& value) { return core::json_text(value); }

Json json_of_told(const Told& told) {
  Json out = {{"id", told.id}};
  if (!told.seen_before) return out;
  const ReportSeenBefore& seen = *told.seen_before;
  Json changed = Json::array();
  for (const ReportChange& each : seen.changed)
    changed.push_back(Json::array({each.name, each.before, each.after}));
  out["seen"] = {{"run", seen.run},
                 {"name", seen.name},
                 {"date", seen.date},
                 {"cause", seen.cause},
                 {"symptoms", seen.symptoms},
                 {"times", seen.times},
                 {"ended_by", seen.ended_by},
                 {"ended_date", seen.ended_date},
                 {"changed", std::move(changed)}};
  return out;
}

Told told_from(const Json& value) {
  Told told;
  told.id = value.at("id").get<std::string>();
  const auto found = value.find("seen");
  if (found == value.end()) return told;
  ReportSeenBefore seen;
  seen.run = found->at("run").get<std::string>();
  seen.name = found->at("name").get<std::string>();
  seen.date = found->at("date").get<std::string>();
  seen.cause = found->at("cause").get<std::string>();
  seen.symptoms = found->at("symptoms").get<std::vector<std::string>>();
  seen.times = found->at("times").get<std::uint64_t>();
  seen.ended_by = found->at("ended_by").get<std::string>();
  seen.ended_date = found->at("ended_date").get<std::string>();
  for (const Json& each : found->at("changed"))
    seen.changed.push_back({each.at(0), each.at(1), each.at(2)});
  told.seen_before = std::move(seen);
  return told;
}

std::string answer_to(const std::string& text, const std::string& path, bool remembers) {
  const Json value = core::ordered_json_from(text);
  core::Result<PastRun> run = past_run_from(value);
  core::Result<Told> told =
      run ? tell_store(path, remembers, *run) : core::Result<Told>(tl::unexpected(run.error()));
  if (told) return dumped(json_of_told(*told));
  return dumped({{"error", told.error().text}, {"code", static_cast<int>(told.error().code)}});
}

core::Result<Told> ask_and_add(const std::string& path, bool remembers, const PastRun& run) {
  auto store = open_store(path, remembers ? Access::write : Access::read);
  if (!store) {
    // Nobody has told the team's database of a run yet: nothing was seen before, and that is no fault.
    if (!remembers && is_of_a_team(path) && store.error().code == core::ErrorCode::not_found)
      return Told{};
    return tl::unexpected(store.error());
  }
  auto seen = (*store)->seen_before(run);
  if (!seen) return tl::unexpected(seen.error());
  Told told{*std::move(seen), {}};
  if (!remembers) return told;
  auto id = (*store)->add(run);
  if (!id) return tl::unexpected(id.error());
  told.id = *std::move(id);
  if (is_of_a_team(path)) (void)send_waiting(**store, waiting_folder(path));
  return told;
}

/// The other process: one question, one answer.
[[noreturn]] void serve(int socket, const std::string& path, bool remembers) {
  for (const int each : {SIGINT, SIGQUIT, SIGHUP}) std::signal(each, SIG_IGN);
  try {
    if (const std::optional<std::string> asked = receive_text(socket))
      (void)send_text(socket, answer_to(*asked, path, remembers));
  } catch (const std::exception&) {
    ::_exit(1);  // no answer: the other side tells that
  }
  ::_exit(0);
}

}  // namespace

core::Result<Told> tell_store(const std::string& path, bool remembers, const PastRun& run) {
  auto told = ask_and_add(path, remembers, run);
  if (told || !remembers || !is_of_a_team(path)) return told;
  // The database is away: the run is sent when it is there again.
  const std::string folder = waiting_folder(path);
  if (folder.empty()) return told;
  const auto laid = lay_down(run, folder);
  return core::fail(
      told.error().code,
      told.error().text + (laid ? "; the run waits in " + *laid + " and is sent with the next one"
                                : "; and it cannot wait: " + laid.error().text));
}

std::unique_ptr<Attendant> Attendant::start(const std::string& path, bool remembers) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) return nullptr;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(sockets[0]);
    serve(sockets[1], path, remembers);
  }
  ::close(sockets[1]);
  if (pid < 0) {
    ::close(sockets[0]);
    return nullptr;
  }
  return std::unique_ptr<Attendant>(new Attendant(pid, sockets[0]));
}

Attendant::~Attendant() {
  // Processes that were started later may hold copies of this end: closing it alone says nothing.
  ::shutdown(socket_, SHUT_RDWR);
  ::close(socket_);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

core::Result<Told> Attendant::tell(const PastRun& run) {
  const auto lost = [] {
    return core::fail(core::ErrorCode::internal, "[store] the process that has it gave no answer");
  };
  if (!send_text(socket_, dumped(json_of(run)))) return lost();
  const std::optional<std::string> text = receive_text(socket_);
  if (!text) return lost();
  try {
    const Json value = core::ordered_json_from(*text);
    if (value.contains("error")) {
      return core::fail(static_cast<core::ErrorCode>(value.at("code").get<int>()),
                        value.at("error").get<std::string>());
    }
    return told_from(value);
  } catch (const Json::exception&) {
    return lost();
  }
}

}  // namespace aplomb::store
