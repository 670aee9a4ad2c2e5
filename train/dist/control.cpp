#include "train/dist/control.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace aplomb::train::dist {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A message: kind, status, length of the text, text.
constexpr char k_failed = 'F', k_end = 'E';
constexpr std::size_t k_head_bytes = 6, k_most_text = std::size_t{16} << 10U;
// Messages are small: one that cannot be sent by then never will be.
constexpr milliseconds k_send_patience{2000};

std::string message(char kind, int status, const std::string& text) {
  const auto length = static_cast<std::uint32_t>(std::min(text.size(), k_most_text));
  std::string out(k_head_bytes, '\0');
  out[0] = kind;
  out[1] = static_cast<char>(status);
  std::memcpy(out.data() + 2, &length, sizeof length);
  return out + text.substr(0, length);
}

}  // namespace

Control::Control(int rank, std::vector<Socket> links, ControlHooks hooks)
    : rank_(rank), hooks_(std::move(hooks)) {
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!links[i].is_open()) continue;
    peers_.push_back({rank == 0 ? static_cast<int>(i) : 0, std::move(links[i]), {}, true});
  }
  std::array<int, 2> pair{-1, -1};
  (void)::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data());
  wake_ = Socket(pair[0]);
  woken_ = Socket(pair[1]);
  thread_ = std::thread([this] { listen(); });
}

Control::~Control() {
  wake_.shut_down();
  thread_.join();
}

void Control::listen() {
  for (;;) {
    std::vector<pollfd> wanted = {{woken_.handle(), POLLIN, 0}};
    std::vector<Peer*> asked;
    for (Peer& each : peers_) {
      if (!each.open) continue;
      wanted.push_back({each.link.handle(), POLLIN, 0});
      asked.push_back(&each);
    }
    constexpr int k_look_again_ms = 200;
    const bool waits = lost_flag_ && !settled_ && !told_stuck_;
    const int ready = ::poll(wanted.data(), wanted.size(), waits ? k_look_again_ms : -1);
    if (wanted[0].revents != 0) return;
    if (waits && Clock::now() - lost_at_ > hooks_.patience) {
      told_stuck_ = true;
      hooks_.on_stuck(lost_);
    }
    if (ready <= 0) continue;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (wanted[i + 1].revents != 0) read(*asked[i]);
    }
  }
}

void Control::read(Peer& peer) {
  std::array<char, 4096> bytes{};
  const ssize_t n = ::recv(peer.link.handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return vanished(peer);
  peer.unread.append(bytes.data(), static_cast<std::size_t>(n));
  while (take_message(peer)) continue;
}

bool Control::take_message(Peer& peer) {
  if (peer.unread.size() < k_head_bytes) return false;
  const char kind = peer.unread[0];
  const int status = static_cast<unsigned char>(peer.unread[1]);
  std::uint32_t length = 0;
  std::memcpy(&length, peer.unread.data() + 2, sizeof length);
  if (length > k_most_text) {  // nothing of ours
    vanished(peer);
    return false;
  }
  if (peer.unread.size() < k_head_bytes + length) return false;
  const std::string text = peer.unread.substr(k_head_bytes, length);
  peer.unread.erase(0, k_head_bytes + length);
  if (kind == k_failed && rank_ == 0) lose(fmt::format("rank {}: {}", peer.rank, text));
  if (kind == k_end && rank_ != 0) {
    {
      const std::lock_guard lock(mutex_);
      end_ = End{status, text};
      changed_.notify_all();
    }
    // After a good end this rank may still be receiving the last sum: nothing is broken off.
    if (!text.empty()) lose(text);
  }
  return true;
}

void Control::vanished(Peer& peer) {
  {
    const std::lock_guard lock(mutex_);
    peer.open = false;
    changed_.notify_all();
    if (end_ || over_) return;
  }
  lose(
      fmt::format("rank {} ended without a word: killed (signal 9, memory of its machine), or its "
                  "machine is gone",
                  peer.rank));
}

void Control::lose(std::string reason) {
  {
    const std::lock_guard lock(mutex_);
    if (lost_flag_) return;
    lost_ = std::move(reason);
    lost_at_ = Clock::now();
    lost_flag_ = true;
    changed_.notify_all();
  }
  hooks_.on_lost();
}

std::string Control::lost(milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return lost_flag_.load(); });
  return lost_;
}

bool Control::has_peers() {
  return std::any_of(peers_.begin(), peers_.end(), [](const Peer& each) { return each.open; });
}

void Control::end(int status, const std::string& reason) {
  settle();
  over_ = true;
  const std::string text = message(k_end, status, reason);
  for (const Peer& each : peers_)
    (void)each.link.send_all(text.data(), text.size(), Clock::now() + k_send_patience);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, hooks_.patience, [&] { return !has_peers(); });
}

bool Control::fail(const std::string& reason) {
  settle();
  const std::string text = message(k_failed, 0, reason);
  if (!peers_.front().link.send_all(text.data(), text.size(), Clock::now() + k_send_patience))
    return false;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, 2 * hooks_.patience, [&] { return end_ || !has_peers(); });
  return end_.has_value();
}

std::optional<End> Control::wait_end() {
  settle();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return end_ || !has_peers(); });
  return end_;
}

}  // namespace aplomb::train::dist
