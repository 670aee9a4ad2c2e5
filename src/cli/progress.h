#pragma once
/// One line on standard error that says how far reading has come; gone when the work is done.

#include <chrono>
#include <cstdint>

namespace aplomb::cli {

/// Says nothing in the first second, then at most ten times a second, and only on a terminal.
class Progress {
 public:
  explicit Progress(bool on_terminal)
      : begin_(std::chrono::steady_clock::now()), on_terminal_(on_terminal) {}
  void show(std::uint64_t done_bytes, std::uint64_t all_bytes);
  void clear();

 private:
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_;
  bool on_terminal_;
  bool visible_ = false;
};

}  // namespace aplomb::cli
