#include "train/dist/socket.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

namespace aplomb::train::dist {
namespace {

using namespace std::chrono_literals;

core::Error error_of(const std::string& what) {
  return {core::ErrorCode::not_readable, "[ranks] " + what + ": " + std::strerror(errno)};
}

int milliseconds_to(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

core::Result<void> await(int handle, short events, Deadline deadline) {
  pollfd wanted{handle, events, 0};
  for (;;) {
    const int ready = ::poll(&wanted, 1, milliseconds_to(deadline));
    if (ready > 0) return {};
    if (ready == 0) return core::fail(core::ErrorCode::not_readable, "[ranks] no answer in time");
    if (errno != EINTR) return tl::unexpected(error_of("poll"));
  }
}

void set(int handle, int level, int option, int value) {
  (void)::setsockopt(handle, level, option, &value, sizeof value);
}

/// Small messages leave at once; a machine that died is noticed though nothing is sent.
void tune(int handle) {
  constexpr int k_idle_s = 10, k_interval_s = 5;
  set(handle, IPPROTO_TCP, TCP_NODELAY, 1);
  set(handle, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(handle, IPPROTO_TCP, TCP_KEEPIDLE, k_idle_s);
  set(handle, IPPROTO_TCP, TCP_KEEPINTVL, k_interval_s);
  set(handle, IPPROTO_TCP, TCP_KEEPCNT, (k_dead_after_s - k_idle_s) / k_interval_s);
  set(handle, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000 * k_dead_after_s);
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

core::Result<Addresses> find(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int fault = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (fault != 0)
    return core::fail(core::ErrorCode::bad_usage, "[ranks] " + host + ": " + ::gai_strerror(fault));
  return Addresses(found, ::freeaddrinfo);
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  return (ntohl(four.sin_addr.s_addr) >> 24U) == 127;
}

/// Our end of the way to `host`: nothing is sent, the kernel only looks the way up.
core::Result<sockaddr_storage> own_address_towards(const std::string& host) {
  auto found = find(host, 9);
  if (!found) return tl::unexpected(found.error());
  for (const addrinfo* each = found->get(); each != nullptr; each = each->ai_next) {
    const Socket probe(::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (probe.is_open() && ::connect(probe.handle(), each->ai_addr, each->ai_addrlen) == 0 &&
        ::getsockname(probe.handle(), reinterpret_cast<sockaddr*>(&own), &length) == 0)
      return own;
  }
  return tl::unexpected(error_of("no way to " + host));
}

/// An address that other machines can reach; `otherwise` where there is none.
sockaddr_storage outer_address(const sockaddr_storage& otherwise) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return otherwise;
  sockaddr_storage found = otherwise;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const bool fits = each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
                      (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (!fits) continue;
    std::memcpy(&found, each->ifa_addr, sizeof(sockaddr_in));
    break;
  }
  ::freeifaddrs(all);
  return found;
}

sockaddr_un named(const std::string& name, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), size);  // the first byte 0: an abstract name
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return address;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

Socket::~Socket() {
  if (handle_ >= 0) ::close(handle_);
}

void Socket::shut_down() const noexcept {
  if (handle_ >= 0) (void)::shutdown(handle_, SHUT_RDWR);
}

core::Result<void> Socket::send_all(const void* data, std::size_t bytes, Deadline deadline) const {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(handle_, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      at += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = await(handle_, POLLOUT, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return tl::unexpected(error_of("sending"));
    }
  }
  return {};
}

core::Result<void> Socket::receive_all(void* data, std::size_t bytes, Deadline deadline) const {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::recv(handle_, at, bytes, MSG_DONTWAIT);
    if (got > 0) {
      at += got;
      bytes -= static_cast<std::size_t>(got);
    } else if (got == 0) {
      return core::fail(core::ErrorCode::not_readable,
                        "[ranks] the other side closed the connection");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = await(handle_, POLLIN, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return tl::unexpected(error_of("receiving"));
    }
  }
  return {};
}

core::Result<Listener> listen_towards(const std::string& host, int backlog) {
  auto own = own_address_towards(host);
  if (!own) return tl::unexpected(own.error());
  if (is_loopback(*own)) own = outer_address(*own);
  const bool six = own->ss_family == AF_INET6;
  (six ? reinterpret_cast<sockaddr_in6&>(*own).sin6_port
       : reinterpret_cast<sockaddr_in&>(*own).sin_port) = 0;
  socklen_t length = six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  auto* address = reinterpret_cast<sockaddr*>(&*own);
  Listener out;
  out.socket = Socket(::socket(own->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out.socket.is_open() || ::bind(out.socket.handle(), address, length) != 0 ||
      ::listen(out.socket.handle(), backlog) != 0 ||
      ::getsockname(out.socket.handle(), address, &length) != 0)
    return tl::unexpected(error_of("listening"));
  char text[INET6_ADDRSTRLEN] = {};
  const void* raw =
      six ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(*own).sin6_addr)
          : &reinterpret_cast<const sockaddr_in&>(*own).sin_addr;
  out.address = ::inet_ntop(own->ss_family, raw, text, sizeof text);
  out.port = ntohs(six ? reinterpret_cast<const sockaddr_in6&>(*own).sin6_port
                       : reinterpret_cast<const sockaddr_in&>(*own).sin_port);
  return out;
}

core::Result<Socket> connect_to(const std::string& host, std::uint16_t port, Deadline deadline) {
  auto found = find(host, port);
  if (!found) return tl::unexpected(found.error());
  const addrinfo& to = **found;
  Socket out(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!out.is_open()) return tl::unexpected(error_of("socket"));
  const std::string whom = host + ":" + std::to_string(port);
  if (::connect(out.handle(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return tl::unexpected(error_of(whom));
    if (auto ready = await(out.handle(), POLLOUT, deadline); !ready)
      return core::fail(core::ErrorCode::not_readable, "[ranks] " + whom + ": no answer in time");
    int fault = 0;
    socklen_t length = sizeof fault;
    (void)::getsockopt(out.handle(), SOL_SOCKET, SO_ERROR, &fault, &length);
    errno = fault;
    if (fault != 0) return tl::unexpected(error_of(whom));
  }
  tune(out.handle());
  return out;
}

core::Result<Socket> accept_from(const Socket& listener, Deadline deadline) {
  if (auto ready = await(listener.handle(), POLLIN, deadline); !ready)
    return tl::unexpected(ready.error());
  Socket out(::accept4(listener.handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!out.is_open()) return tl::unexpected(error_of("accepting"));
  tune(out.handle());
  return out;
}

core::Result<Socket> listen_by_name(const std::string& name, int backlog) {
  socklen_t length = 0;
  const sockaddr_un address = named(name, length);
  Socket out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out.is_open() ||
      ::bind(out.handle(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(out.handle(), backlog) != 0)
    return tl::unexpected(error_of("listening as " + name));
  return out;
}

core::Result<Socket> connect_by_name(const std::string& name, Deadline deadline) {
  socklen_t length = 0;
  const sockaddr_un address = named(name, length);
  for (;;) {
    Socket out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!out.is_open()) return tl::unexpected(error_of("socket"));
    if (::connect(out.handle(), reinterpret_cast<const sockaddr*>(&address), length) == 0)
      return out;
    if (std::chrono::steady_clock::now() > deadline) return tl::unexpected(error_of(name));
    std::this_thread::sleep_for(20ms);
  }
}

}  // namespace aplomb::train::dist
