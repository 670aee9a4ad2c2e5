#include "train/dist/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace aplomb::train::dist {
namespace {

using Clock = std::chrono::steady_clock;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

enum class Purpose : std::uint32_t { ring, control };

/// The first bytes of every connection.
struct Hello {
  std::array<char, 8> magic{'a', 'p', 'l', 'o', 'm', 'b', 'd', '1'};
  std::array<char, 16> word{};
  std::int32_t rank = 0;
  Purpose purpose = Purpose::ring;
};
static_assert(sizeof(Hello) == 32);

/// Field 22 of /proc/PID/stat: with the number of the process it names it for good.
std::string start_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return field;
}

/// A name that all ranks below one launcher know, and nobody else uses.
std::string local_name() {
  return fmt::format("aplomb-train-{}-{}-{}", ::getuid(), ::getppid(), start_of(::getppid()));
}

StorePointer tcp_store(const std::string& host, std::uint16_t port, bool serves,
                       std::chrono::milliseconds patience) {
  c10d::TCPStoreOptions how;
  how.port = port;
  how.isServer = serves;
  how.waitWorkers = false;
  how.timeout = patience;
  return c10::make_intrusive<c10d::TCPStore>(host, how);
}

/// All ranks are on this machine and nobody said where to meet: rank 0 takes a free port and tells
/// it under a name that only the children of this launcher know.
core::Result<StorePointer> local_store(const World& world, Deadline deadline,
                                       std::chrono::milliseconds patience) {
  constexpr const char* k_here = "127.0.0.1";
  std::uint16_t port = 0;
  if (world.rank != 0) {
    auto link = connect_by_name(local_name(), deadline);
    if (!link) return tl::unexpected(link.error());
    if (auto got = link->receive_all(&port, sizeof port, deadline); !got)
      return tl::unexpected(got.error());
    return tcp_store(k_here, port, false, patience);
  }
  auto desk = listen_by_name(local_name(), world.size);
  if (!desk) return tl::unexpected(desk.error());
  StorePointer store = tcp_store(k_here, 0, true, patience);
  port = static_cast<c10d::TCPStore&>(*store).getPort();
  for (int i = 1; i < world.size; ++i) {
    auto guest = accept_from(*desk, deadline);
    if (!guest)
      return core::fail(core::ErrorCode::not_readable,
                        fmt::format("[ranks] {} of {} ranks came in time: {}", i, world.size,
                                    guest.error().text));
    if (auto sent = guest->send_all(&port, sizeof port, deadline); !sent)
      return tl::unexpected(sent.error());
  }
  return store;
}

std::string place_of(int rank) { return fmt::format("place/{}", rank); }

class Meeting {
 public:
  Meeting(const World& world, StorePointer store, Deadline deadline)
      : world_(world), store_(std::move(store)), deadline_(deadline) {}

  core::Result<Links> hold(const std::string& host) {
    auto listener = await_others(host);
    if (!listener) return tl::unexpected(listener.error());
    share_word();
    store_->set(place_of(world_.rank), fmt::format("{} {}", listener->port, listener->address));
    Links links;
    auto next = call((world_.rank + 1) % world_.size, Purpose::ring);
    if (!next) return tl::unexpected(next.error());
    links.next = std::move(*next);
    links.control.resize(world_.rank == 0 ? static_cast<std::size_t>(world_.size) : 1);
    if (world_.rank != 0) {
      auto middle = call(0, Purpose::control);
      if (!middle) return tl::unexpected(middle.error());
      links.control[0] = std::move(*middle);
    }
    if (auto all = receive(listener->socket, links); !all) return tl::unexpected(all.error());
    return links;
  }

 private:
  /// Ranks of one machine meet under names of it: TCP's way through the kernel takes longer, and
  /// far longer where the ranks have to wait for a core.
  core::Result<Listener> await_others(const std::string& host) const {
    const int backlog = world_.size + 4;
    if (world_.local_size != world_.size) return listen_towards(host, backlog);
    Listener here;
    here.address =
        fmt::format("aplomb-train-rank-{}-{}-{}", ::getuid(), ::getpid(), std::random_device()());
    auto socket = listen_by_name(here.address, backlog);
    if (!socket) return tl::unexpected(socket.error());
    here.socket = std::move(*socket);
    return here;
  }

  void share_word() {
    if (world_.rank == 0) {
      std::random_device random;
      std::string word(hello_.word.size(), '\0');
      for (char& each : word) each = static_cast<char>(random());
      store_->set("word", word);
    }
    const std::vector<std::uint8_t> word = store_->get("word");
    std::memcpy(hello_.word.data(), word.data(), std::min(word.size(), hello_.word.size()));
    hello_.rank = world_.rank;
  }

  core::Result<Socket> call(int rank, Purpose purpose) {
    std::istringstream place(store_->get_to_str(place_of(rank)));
    unsigned port = 0;
    std::string address;
    place >> port >> address;
    auto link = port == 0 ? connect_by_name(address, deadline_)
                          : connect_to(address, static_cast<std::uint16_t>(port), deadline_);
    if (!link) return link;
    Hello hello = hello_;
    hello.purpose = purpose;
    if (auto sent = link->send_all(&hello, sizeof hello, deadline_); !sent)
      return tl::unexpected(sent.error());
    return link;
  }

  /// The previous rank, and on rank 0 every other one.
  core::Result<void> receive(const Socket& listener, Links& links) {
    const int previous = (world_.rank + world_.size - 1) % world_.size;
    int missing = world_.rank == 0 ? world_.size : 1;
    while (missing > 0) {
      auto guest = accept_from(listener, deadline_);
      if (!guest)
        return core::fail(core::ErrorCode::not_readable,
                          fmt::format("[ranks] rank {} still waits for {} connections: {}",
                                      world_.rank, missing, guest.error().text));
      Hello hello;
      constexpr std::chrono::seconds k_word_patience{5};
      const auto heard = guest->receive_all(&hello, sizeof hello,
                                            std::min(deadline_, Clock::now() + k_word_patience));
      if (!heard || hello.magic != hello_.magic || hello.word != hello_.word) continue;
      Socket* to = nullptr;
      if (hello.purpose == Purpose::ring && hello.rank == previous) to = &links.previous;
      const bool is_other = hello.rank > 0 && hello.rank < world_.size && world_.rank == 0;
      if (hello.purpose == Purpose::control && is_other)
        to = &links.control[static_cast<std::size_t>(hello.rank)];
      if (to == nullptr || to->is_open()) continue;
      *to = std::move(*guest);
      --missing;
    }
    return {};
  }

  const World& world_;
  StorePointer store_;
  Deadline deadline_;
  Hello hello_;
};

}  // namespace

core::Result<Links> meet(const World& world, std::chrono::seconds patience) {
  const Deadline deadline = Clock::now() + patience;
  try {
    StorePointer store;
    if (world.address.empty()) {
      auto opened = local_store(world, deadline, patience);
      if (!opened) return tl::unexpected(opened.error());
      store = std::move(*opened);
    } else {
      store =
          tcp_store(world.address, world.port, world.rank == 0 && !world.store_is_there, patience);
    }
    // A launcher that starts failed ranks anew keeps its store: each attempt has keys of its own.
    const auto own = c10::make_intrusive<c10d::PrefixStore>("aplomb/" + world.attempt, store);
    Meeting meeting(world, own, deadline);
    auto links = meeting.hold(world.address.empty() ? "127.0.0.1" : world.address);
    if (links) links->store = own;
    return links;
  } catch (const c10::Error& fault) {
    return core::fail(
        core::ErrorCode::not_readable,
        fmt::format("[ranks] rank {} of {} could not meet the others at {}:{}: {}", world.rank,
                    world.size, world.address, world.port, fault.what_without_backtrace()));
  }
}

}  // namespace aplomb::train::dist
