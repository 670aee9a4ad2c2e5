#include "tensors/pages_ahead.h"

#include <algorithm>
#include <exception>

#include "tensors/mapped_file.h"

namespace aplomb::tensors {

PagesAhead::PagesAhead(std::vector<std::span<const std::byte>> parts) : parts_(std::move(parts)) {
  if (parts_.size() < 2) return;
  try {
    for (std::size_t i = 0; i < std::min(k_threads, parts_.size()); ++i) {
      threads_.emplace_back([this] { work(); });
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): fewer threads will do
    // No more threads to be had, nor the memory of one: those that run do the work, or the reader's own page faults.
  }
}

PagesAhead::~PagesAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  moved_.notify_all();
}

void PagesAhead::reached(std::size_t part) {
  {
    const std::lock_guard lock(mutex_);
    reader_ = std::max(reader_, part);
  }
  moved_.notify_all();
}

void PagesAhead::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    moved_.wait(lock,
                [this] { return stopped_ || next_ >= parts_.size() || next_ < reader_ + k_ahead; });
    if (stopped_ || next_ >= parts_.size()) return;
    next_ = std::max(next_, reader_);  // behind the reader: nothing to gain
    const std::span<const std::byte> part = parts_[next_++];
    lock.unlock();
    tensors::bring_in(part);
    lock.lock();
  }
}

}  // namespace aplomb::tensors
