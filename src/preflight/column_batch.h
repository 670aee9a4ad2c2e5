#pragma once
/// Batches of columns as python/aplomb/audit/columns.py writes them, checked before they are used:
/// every offset lies in what it counts.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "knowledge/document.h"
#include "preflight/data_row.h"
#include "preflight/python_process.h"

namespace aplomb::preflight {

/// The bytes of one part of a column, aligned for numbers.
class Part {
 public:
  char* room_for(std::size_t bytes) {
    bytes_ = bytes;
    words_.resize(bytes / sizeof(std::uint64_t) + 1);
    return reinterpret_cast<char*>(words_.data());
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(words_.data()), bytes_ / sizeof(T)};
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(words_.data()), bytes_}; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t bytes_ = 0;
};

enum class ColumnKind : std::uint8_t {
  text,
  json,
  int8,
  uint16,
  int32,
  int64,
  label,
  turns,
  nonfinite
};

struct KindSpec {
  std::string_view name;
  ColumnKind kind;
  std::size_t parts;
  std::size_t width;  ///< bytes of what the offsets count; 0 where there are no offsets
};

struct Column {
  std::string name;
  ColumnUse use = ColumnUse::other;
  const KindSpec* spec = nullptr;
  std::vector<Part> parts;
};

struct Batch {
  std::uint64_t rows = 0;
  std::vector<Column> columns;
};

/// A text of a column, or of the turns in it.
std::string_view text_at(const Part& offsets, const Part& bytes, std::uint64_t row);

template <class T>
std::span<const T> numbers_at(const Column& column, std::uint64_t row) {
  const auto places = column.parts[0].as<std::int64_t>();
  const auto begin = static_cast<std::size_t>(places[row]);
  return column.parts[1].as<T>().subspan(begin, static_cast<std::size_t>(places[row + 1]) - begin);
}

/// The stream of batches that a process writes.
class BatchReader {
 public:
  explicit BatchReader(PythonProcess& process) : process_(process) {}

  /// False at the end of a file. Errors: not_found (there is no pyarrow), bad_format (why pyarrow
  /// does not read the file), internal (the process ended, or wrote something else).
  core::Result<bool> next(Batch& batch);

 private:
  core::Result<void> column(const knowledge::Node& entry, Column& into, std::uint64_t rows);
  core::Result<std::string> line();
  bool refill();
  bool exactly(char* into, std::size_t bytes);

  PythonProcess& process_;
  std::vector<char> buffer_ = std::vector<char>(1U << 16U);
  std::size_t at_ = 0;
  std::size_t size_ = 0;
};

}  // namespace aplomb::preflight
