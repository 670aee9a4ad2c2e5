#pragma once
/// TableWatch: metrics printed in columns below a line of their names.
///
///     epoch     train_loss  valid_loss  accuracy  time
///     0         0.432       0.398       0.861     00:12
///
///     | Step | Training Loss | Validation Loss |       Epoch gpu_mem  box   obj   cls  labels
///     |------|---------------|-----------------|       0/299    5.2G 0.11 0.161 0.038      28
///     | 10   | 2.31          | 2.40            |
///
/// Only a table with a column of steps or epochs is one of metrics over time: others compare runs,
/// and are left alone.

#include <string>
#include <string_view>
#include <vector>

#include "log_text/line_record.h"

namespace aplomb::log_text {

class TableWatch {
 public:
  explicit TableWatch(KeyTable& keys) : keys_(keys) {}

  /// Whether the line is the head of a table; rows may follow.
  bool head(std::string_view line);
  /// Whether the line is a row of the open table; its record.
  bool row(std::string_view line, Record& out);
  bool open() const { return !columns_.empty(); }

 private:
  struct Column {
    KeyId key = KeyTable::k_none;
    Meaning meaning = Meaning::unknown;
  };
  void split(std::string_view line, bool head);
  bool take_cell(std::string_view cell, const Column& column, Record& out) const;

  KeyTable& keys_;
  std::vector<Column> columns_;
  std::vector<std::string_view> parts_;
  std::string unbarred_;  ///< the line without the bars between its groups
  bool bars_ = false;
  bool commas_ = false;
  bool narrow_ = false;  ///< the names are parted by single blanks
  unsigned misses_ = 0;
};

}  // namespace aplomb::log_text
