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
///              grpo step 8/60                                    epoch 3
///     ┃ loss   ┃ reward ┃ entropy ┃                    ┃ metric   ┃ value  ┃
///     │ 0.0089 │ 0.4531 │  0.0772 │                    │ val_loss │ 0.4122 │
///
/// Only a table with a column of steps or epochs, or one that is drawn under a line that counts them,
/// is one of metrics over time: others compare runs, and are left alone.

#include <cstdint>
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
  /// To be shown every line: whether it counts a step or an epoch, and so may be the title of a drawn
  /// table below it, or belongs to its frame.
  bool title(std::string_view line);
  /// Whether the line is the head of a table that is drawn right below its title.
  bool drawn_head(std::string_view line);
  /// Whether the line is a row of the open table; its record.
  bool row(std::string_view line, Record& out);
  bool open() const { return !columns_.empty(); }

 private:
  struct Column {
    KeyId key = KeyTable::k_none;
    Meaning meaning = Meaning::unknown;
  };
  /// How the open table goes on below its head.
  enum class Shape : std::uint8_t {
    rows,       ///< each with its own step or epoch
    one_row,    ///< of the step in the title
    name_value  ///< a metric a row, of the step in the title
  };
  void split(std::string_view line, bool head);
  bool names_of(std::string_view line);
  bool titled_row(Record& out);
  bool take_cell(std::string_view cell, const Column& column, Record& out) const;

  KeyTable& keys_;
  std::vector<Column> columns_;
  std::vector<std::string_view> parts_;
  std::string unbarred_;  ///< the line without the bars between its groups
  bool bars_ = false;
  bool commas_ = false;
  bool narrow_ = false;  ///< the names are parted by single blanks
  unsigned misses_ = 0;
  Shape shape_ = Shape::rows;
  Place title_;
  bool titled_ = false;  ///< nothing but frames since the title
};

}  // namespace aplomb::log_text
