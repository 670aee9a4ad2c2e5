#pragma once
/// Socket: a connection between two ranks, or the place where one is awaited. Between machines TCP,
/// no delay; dead machines are noticed by probes of the kernel within k_dead_after_s.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/result.h"

namespace aplomb::train::dist {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr int k_dead_after_s = 40;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int handle) : handle_(handle) {}
  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  int handle() const { return handle_; }
  bool is_open() const { return handle_ >= 0; }
  /// Ends what others wait for on it; from any thread, as long as the Socket lives.
  void shut_down() const noexcept;

  /// All bytes or an error; waits until `deadline` at most.
  core::Result<void> send_all(const void* data, std::size_t bytes, Deadline deadline) const;
  core::Result<void> receive_all(void* data, std::size_t bytes, Deadline deadline) const;

 private:
  int handle_ = -1;
};

/// Where a rank awaits the others: an address of its machine, and a port that was free. Port 0: a
/// name on this machine.
struct Listener {
  Socket socket;
  std::string address;
  std::uint16_t port = 0;
};
/// On the address by which this machine reaches `host`, and never on the loopback interface: there
/// are ranks on other machines.
core::Result<Listener> listen_towards(const std::string& host, int backlog);
core::Result<Socket> connect_to(const std::string& host, std::uint16_t port, Deadline deadline);
core::Result<Socket> accept_from(const Socket& listener, Deadline deadline);

/// A place on this machine under a name that ends with the process (Linux's abstract names).
core::Result<Socket> listen_by_name(const std::string& name, int backlog);
/// Tries again until somebody listens there.
core::Result<Socket> connect_by_name(const std::string& name, Deadline deadline);

}  // namespace aplomb::train::dist
