#pragma once
/// RowWalk: the columns of one row, given one after the other, become a Row. The same rules for
/// rows of JSON and for rows of column files.

#include <cstdint>
#include <string_view>

#include "preflight/data_row.h"

namespace simdjson::dom {
class element;  // NOLINT(readability-identifier-naming): not ours
class object;   // NOLINT(readability-identifier-naming): not ours
}  // namespace simdjson::dom

namespace aplomb::preflight {

class RowWalk {
 public:
  /// Both must outlive it. `into` is filled by finish().
  RowWalk(const DataLimits& limits, Row& into) : limits_(limits), row_(into) {}

  /// A column of any type, as JSON.
  void value(ColumnUse use, simdjson::dom::element value);
  /// A column of text.
  void text(ColumnUse use, std::string_view text);
  /// Ids, labels or a mask; `count` integers.
  template <class Integer>
  void numbers(ColumnUse use, const Integer* first, std::uint64_t count);
  /// The class of a row.
  void label(std::int64_t label);
  /// A chat: begin_turns(), turn() for each, end_turns().
  void begin_turns() { row_.form = RowForm::chat; }
  void turn(std::string_view role, std::string_view content);
  void end_turns(bool any);
  /// A number that is NaN or infinite, in whatever column.
  void nonfinite() { row_.faults |= k_row_nonfinite; }

  void finish();

 private:
  /// What the columns of a row held.
  struct Seen {
    std::uint64_t ids = 0;
    std::uint64_t labels = 0;
    std::uint64_t labels_trained = 0;
    std::uint64_t mask = 0;
    std::uint64_t mask_on = 0;
    bool has_ids = false, has_labels = false, has_mask = false;
    bool target = false, target_blank = true, prompt = false, rejected = false;
  };
  struct Counted {
    std::uint64_t count = 0;
    std::uint64_t on = 0;
  };

  void list(ColumnUse use, simdjson::dom::element value);
  void turns(simdjson::dom::element value);
  void turn_object(simdjson::dom::object object);
  void add_turn(std::string_view role, std::uint64_t size, bool spoken);
  void begin_text(ColumnUse use);
  void end_text(ColumnUse use, std::uint64_t size, bool blank);
  void one(ColumnUse use, std::int64_t number, Counted& counted);
  void counted(ColumnUse use, const Counted& counted);
  void judge_tokens();
  void judge_text();

  const DataLimits& limits_;
  Row& row_;
  Seen seen_;
};

}  // namespace aplomb::preflight
