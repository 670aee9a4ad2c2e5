#pragma once
/// Recorder: the last steps of a training run in a file that survives whatever ends the run.
///
///     std::string error;
///     auto recorder = aplomb::Recorder::open("out/steps.aplomb", {}, error);
///     if (!recorder) ... `error` says why; the training goes on without it
///     const aplomb::RecordedValue values[] = {{recorder->name("loss"), loss}, ...};
///     recorder->record({.step = n, .values = values});
///
/// The file is mapped and its blocks are allocated when it is opened; a record is 128 bytes written
/// into the mapping: body first, sequence number last, with a checksum over both. A process that is
/// killed (SIGKILL, out of memory) therefore loses at most the record that it was writing, and
/// never leaves one that reads as another. Against power loss call sync() now and then.
///
/// The file is a ring: the last `slots` records stay. A file of the same kind is continued, a file
/// of another kind never touched. `aplomb diagnose FILE` reads it.
///
/// Not thread-safe. record() does not allocate, does not fail and makes no system call (20-60 ns).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace aplomb {

struct RecorderOptions {
  std::uint32_t slots = 65536;           ///< 8 MiB; 1 to 524288
  std::uint32_t text_bytes = 1U << 20U;  ///< for names and reasons; 4096 to 16 MiB
  std::int32_t rank = -1;                ///< of the process that writes; -1: the only one
};

struct RecordedValue {
  std::uint16_t name = 0;  ///< by Recorder::name()
  double value = 0;        ///< NaN and Inf are data
};

struct StepRecord {
  static constexpr std::size_t k_most_values = 8;

  std::int64_t step = 0;
  double time_s = 0;                           ///< seconds, by any clock of the caller; 0: none
  std::span<const RecordedValue> values = {};  ///< beyond k_most_values: further records
  std::uint8_t action = 0;                     ///< a GuardAction
  std::string_view policy = {};                ///< who decided, empty: nobody
  std::string_view reason = {};                ///< kept while there is room in the text table
};

class Recorder {
 public:
  static constexpr std::uint16_t k_no_name = 0xFFFF;

  /// Creates or continues the file. Null, and why in `error`, where it cannot be written: the place
  /// is missing or read-only, the disk is full, another process records there, or the file is of
  /// another kind.
  static std::unique_ptr<Recorder> open(const std::string& path, const RecorderOptions& options,
                                        std::string& error);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The number of a metric's name, the same for the same name; k_no_name where the table is full
  /// (such values are left out).
  std::uint16_t name(std::string_view metric);
  void record(const StepRecord& step) noexcept;
  /// Asks the kernel to write to disk, and waits for it. False on an I/O error.
  bool sync() noexcept;
  /// Records ever written to this file.
  std::uint64_t count() const noexcept;

 private:
  struct File;
  explicit Recorder(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace aplomb
