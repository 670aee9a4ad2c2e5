#include "train/dist/ring.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace aplomb::train::dist {
namespace {

// What is added at a time: it stays in the second level of the cache.
constexpr std::size_t k_slice_bytes = std::size_t{256} << 10U;

std::size_t bytes_of(Element element) { return element == Element::f32 ? 4 : 8; }

template <class T>
void add_as(std::byte* to, const std::byte* from, std::size_t bytes) {
  auto* sum = reinterpret_cast<T*>(to);
  const auto* more = reinterpret_cast<const T*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) sum[i] += more[i];
}

void add(Element element, std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (element) {
    case Element::f32:
      return add_as<float>(to, from, bytes);
    case Element::f64:
      return add_as<double>(to, from, bytes);
    case Element::i64:
      return add_as<std::int64_t>(to, from, bytes);
  }
}

core::Error gone(const char* which, int fault) {
  const std::string why = fault == 0 ? "closed" : std::strerror(fault);
  return {core::ErrorCode::not_readable,
          std::string("[ranks] the connection to the ") + which + " rank: " + why};
}

/// A rank that waits is woken for so many bytes, not for each packet.
void wake_at(const Socket& socket, std::size_t bytes) {
  const int least = static_cast<int>(bytes);
  (void)::setsockopt(socket.handle(), SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

bool again(int fault) { return fault == EAGAIN || fault == EWOULDBLOCK || fault == EINTR; }

}  // namespace

struct Ring::Transfer {
  std::span<const std::byte> out;
  std::span<std::byte> into;
  const Arrived& arrived;
  std::size_t sent = 0, got = 0, added = 0;
};

core::Result<void> Ring::send_some(Transfer& now) const {
  const ssize_t n = ::send(next_.handle(), now.out.data() + now.sent, now.out.size() - now.sent,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && !again(errno)) return tl::unexpected(gone("next", errno));
  if (n > 0) now.sent += static_cast<std::size_t>(n);
  return {};
}

/// Without `arrived` straight to its place, else into the slice until that is full.
core::Result<void> Ring::receive_some(Transfer& now) {
  const std::size_t held = now.got - now.added, left = now.into.size() - now.got;
  std::byte* to = now.arrived ? slice_.data() + held : now.into.data() + now.got;
  const std::size_t room = now.arrived ? std::min(left, k_slice_bytes - held) : left;
  const ssize_t n = ::recv(previous_.handle(), to, room, MSG_DONTWAIT);
  if (n == 0) return tl::unexpected(gone("previous", 0));
  if (n < 0 && !again(errno)) return tl::unexpected(gone("previous", errno));
  if (n < 0) return {};
  now.got += static_cast<std::size_t>(n);
  if (now.arrived && (now.got == now.into.size() || now.got - now.added == k_slice_bytes)) {
    now.arrived(now.added, now.got - now.added);
    now.added = now.got;
  }
  return {};
}

core::Result<void> Ring::exchange(std::span<const std::byte> out, std::span<std::byte> into,
                                  const Arrived& arrived) {
  Transfer now{out, into, arrived};
  const bool large = into.size() > k_slice_bytes;
  if (large) wake_at(previous_, k_slice_bytes);
  while (now.sent < out.size() || now.got < into.size()) {
    if (aborted_) return tl::unexpected(gone("next", ECONNABORTED));
    pollfd wanted[2] = {{now.sent < out.size() ? next_.handle() : -1, POLLOUT, 0},
                        {now.got < into.size() ? previous_.handle() : -1, POLLIN, 0}};
    if (::poll(wanted, 2, -1) < 0 && errno != EINTR) return tl::unexpected(gone("next", errno));
    if (wanted[0].revents != 0) {
      if (auto done = send_some(now); !done) return done;
    }
    if (wanted[1].revents == 0) continue;
    if (auto done = receive_some(now); !done) return done;
    // What is left has to be enough to be woken for.
    if (large && into.size() - now.got < k_slice_bytes) wake_at(previous_, 1);
  }
  return {};
}

core::Result<void> Ring::sum(void* data, std::size_t count, Element element) {
  const std::size_t width = bytes_of(element);
  const std::size_t parts = static_cast<std::size_t>(size_);
  std::span<std::byte> all(static_cast<std::byte*>(data), count * width);
  const auto part = [&](int which) {
    const std::size_t i = static_cast<std::size_t>((which % size_ + size_) % size_);
    const std::size_t begin = count * i / parts * width, end = count * (i + 1) / parts * width;
    return all.subspan(begin, end - begin);
  };
  slice_.resize(k_slice_bytes);
  for (int round = 0; round + 1 < size_; ++round) {
    const std::span<std::byte> into = part(rank_ - round - 1);
    const auto done = exchange(part(rank_ - round), into, [&](std::size_t at, std::size_t bytes) {
      add(element, into.data() + at, slice_.data(), bytes);
    });
    if (!done) return done;
  }
  for (int round = 0; round + 1 < size_; ++round) {
    if (auto done = exchange(part(rank_ - round + 1), part(rank_ - round), {}); !done) return done;
  }
  return {};
}

core::Result<void> Ring::broadcast(void* data, std::size_t bytes, int root) {
  const std::span<std::byte> all(static_cast<std::byte*>(data), bytes);
  const bool receives = rank_ != root, sends = (rank_ + 1) % size_ != root;
  for (std::size_t at = 0; at < bytes; at += k_slice_bytes) {
    const std::span<std::byte> slice = all.subspan(at, std::min(k_slice_bytes, bytes - at));
    if (receives) {
      if (auto done = exchange({}, slice, {}); !done) return done;
    }
    if (!sends) continue;
    if (auto done = exchange(slice, {}, {}); !done) return done;
  }
  return {};
}

void Ring::abort() noexcept {
  aborted_ = true;
  next_.shut_down();
  previous_.shut_down();
}

}  // namespace aplomb::train::dist
