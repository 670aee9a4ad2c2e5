#pragma once
/// Ring: sums over all ranks in host memory, over sockets. Each rank sends to the next and receives
/// from the one before it.
///
/// Method: the array in as many parts as ranks; n-1 rounds in which parts travel and grow, n-1 in
/// which the sums travel (reduce-scatter, all-gather): 2 (n-1)/n of the bytes go over each link,
/// whatever n is. The order in which a part is summed is that of the ring from a fixed rank on, and
/// every rank ends with the same bits: the ranks cannot drift apart, and a run can be repeated.
///
/// One call at a time. A call fails where a neighbour is gone, or once abort() was called (from any
/// thread); after that every call does.

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/result.h"
#include "train/dist/socket.h"

namespace aplomb::train::dist {

enum class Element { f32, f64, i64 };

class Ring {
 public:
  Ring(int rank, int size, Socket next, Socket previous)
      : rank_(rank), size_(size), next_(std::move(next)), previous_(std::move(previous)) {}

  /// In place, `count` elements.
  core::Result<void> sum(void* data, std::size_t count, Element element);
  /// The bytes of rank `root`, everywhere.
  core::Result<void> broadcast(void* data, std::size_t bytes, int root);
  void abort() noexcept;

 private:
  /// Gets what came, in order, at most a slice a call and whole elements.
  using Arrived = std::function<void(std::size_t at, std::size_t bytes)>;
  struct Transfer;
  /// Sends and receives at the same time; what comes goes to `arrived` or, without it, to `into`.
  core::Result<void> exchange(std::span<const std::byte> out, std::span<std::byte> into,
                              const Arrived& arrived);
  core::Result<void> send_some(Transfer& now) const;
  core::Result<void> receive_some(Transfer& now);

  int rank_, size_;
  Socket next_, previous_;
  std::vector<std::byte> slice_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace aplomb::train::dist
