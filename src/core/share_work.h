#pragma once
/// Work that several threads share: each takes what is next until nothing is left.
///
///     std::atomic<std::size_t> next = 0;
///     share_work(threads, [&] { for (std::size_t i = next++; i < all.size(); i = next++) ...; });
///
/// A thread that is not to be had is done without. What one of them throws comes out here, when all
/// of them have ended.

#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace aplomb::core {

/// `work()` in `threads` threads at once, this one among them; one at least.
template <class Work>
void share_work(int threads, const Work& work) {
  std::mutex mutex;
  std::exception_ptr fault;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!fault) fault = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int i = 1; i < threads; ++i) others.emplace_back(guarded);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): fewer threads will do
    }
    guarded();
  }
  if (fault) std::rethrow_exception(std::exchange(fault, nullptr));
}

}  // namespace aplomb::core
