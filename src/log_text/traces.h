#pragma once
/// TraceWatch: Python tracebacks, each as one Event with its last line, the exception's type, the
/// innermost place, and the innermost one that is no library's.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::log_text {

class TraceWatch {
 public:
  static constexpr std::size_t k_most_kept = 64;       ///< different ones; others are counted
  static constexpr std::uint64_t k_most_lines = 2000;  ///< of one traceback

  /// Whether the line is part of a traceback. `records`: records of metrics seen so far.
  bool line(std::string_view line, int rank, std::uint64_t number, std::uint64_t offset,
            std::uint64_t records);
  bool open() const { return !open_.empty(); }
  /// An exception that training outlived is a warning, one that ended it a failure.
  void finish(record::RunBuilder& build, record::SourceId source, std::uint64_t records);

 private:
  struct Open {
    int rank = -1;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    std::string file;
    std::string file_line;
    std::string own;        ///< innermost place in the program itself: `train.py:76: loss = ...`
    bool own_code = false;  ///< its code is the next line
  };
  struct Kept {
    record::Event event;
    std::uint64_t records = 0;
    double times = 1;
  };
  void close(Open& open, std::string_view last, std::uint64_t number, std::uint64_t offset,
             std::uint64_t records);

  std::vector<Open> open_;
  std::vector<Kept> kept_;
};

}  // namespace aplomb::log_text
