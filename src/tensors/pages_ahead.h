#pragma once
/// PagesAhead: brings the pages of file mappings into memory before somebody reads them.
///
///     PagesAhead ahead(parts);                       // in the order of use
///     for (std::size_t i = 0; i < parts.size(); ++i) {
///       ahead.reached(i);
///       use(parts[i]);
///       drop_pages(parts[i]);
///     }
///
/// Several threads work ahead of the reader, each on a part of its own. From a disk this keeps many
/// requests in flight, where a page fault waits for one; from the page cache it takes the page
/// faults off the reading thread. At most k_ahead parts are brought in before the reader is there;
/// nothing is copied, so no private memory is taken. A part that cannot be brought in is left to
/// the reader's own page faults.

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace aplomb::tensors {

class PagesAhead {
 public:
  static constexpr std::size_t k_ahead = 16;
  static constexpr std::size_t k_threads = 8;

  /// The bytes must stay mapped while this object lives. Starts no thread for fewer than two parts.
  explicit PagesAhead(std::vector<std::span<const std::byte>> parts);
  /// Stops the threads at once.
  ~PagesAhead();
  PagesAhead(const PagesAhead&) = delete;
  PagesAhead& operator=(const PagesAhead&) = delete;

  /// The reader is about to read this part, and will not come back to those before it.
  void reached(std::size_t part);

 private:
  void work();

  const std::vector<std::span<const std::byte>> parts_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::size_t next_ = 0;
  std::size_t reader_ = 0;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace aplomb::tensors
