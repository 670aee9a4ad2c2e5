#pragma once
/// RecordQueue: the records of a log in the order in which they are put. Two kinds wait for their
/// neighbours: the progress bar, of which the last drawing of a step counts (DrawnBar), and a
/// record without a step, which the next bar tells (HeldRecord).
///
///     10%|#  | 10/100 [00:12<01:48, 1.2s/it]      the step of the record below is not 10:
///     {'loss': 2.31}                              tqdm.write() draws the bar anew below what
///     12%|#  | 12/100 [00:12<01:46, 1.2s/it]      it wrote, with the count of that moment

#include <cstdint>
#include <string>

#include "log_text/bars.h"
#include "log_text/code_watch.h"
#include "log_text/line_record.h"
#include "log_text/pairs.h"
#include "log_text/record_writer.h"

namespace aplomb::log_text {

/// The bar of training as it was drawn last.
class DrawnBar {
 public:
  DrawnBar(KeyTable& keys, CodeWatch& code) : keys_(keys), code_(code), finder_(keys) {}

  bool waits() const { return waits_; }
  bool stands_at(const Place& place, int rank) const;
  /// Where a bar stands: a step, or a count within the epoch that its description names.
  Place place_of(const Bar& found);
  void draw(const Bar& found, const Place& place, const Where& where);
  /// The metrics that hang on it, if any; it waits no more.
  bool take(std::uint64_t last_record, Record& metrics);

  const Place& place() const { return place_; }
  const Where& where() const { return where_; }
  /// For one step; NaN: not told.
  double seconds() const { return seconds_; }

 private:
  KeyTable& keys_;
  CodeWatch& code_;
  PairFinder finder_;
  std::string text_;
  Place place_;
  Where where_;
  double seconds_ = Place::k_none;
  bool waits_ = false;
};

/// A record without a step, until the next bar tells it.
class HeldRecord {
 public:
  bool waits() const { return waits_; }
  /// Takes the record; `record` is left with other content.
  void hold(Record& record, const Where& where) {
    std::swap(record_, record);
    where_ = where;
    waits_ = true;
  }
  const Record& take() {
    waits_ = false;
    return record_;
  }
  const Record& record() const { return record_; }
  const Where& where() const { return where_; }

 private:
  Record record_;
  Where where_;
  bool waits_ = false;
};

class RecordQueue {
 public:
  RecordQueue(KeyTable& keys, CodeWatch& code, RecordWriter& writer);

  /// A record of its own line, not of a bar. `record` may be left with other content.
  void record(Record& record, const Where& where);
  /// A row of a table: it states its place.
  void row(const Record& record, const Where& where);
  /// A line that says where the run stands: those below it stand there too.
  void place(const Place& place, int rank);
  void bar(const Bar& found, const Where& where);
  /// Puts what waits.
  void flush() {
    if (held_.waits()) release(nullptr);
    if (bar_.waits()) settle_bar();
  }

  /// Records so far, those that wait included.
  std::uint64_t records() const { return records_; }
  /// The line of the last one, rows of tables aside; 0: none yet.
  std::uint64_t last_line() const { return last_line_; }

 private:
  void note(const Where& where);
  void settle_bar();
  void release(const Place* bar);
  void settle_owner(const Record& record, int rank);

  RecordWriter& writer_;
  BarTracker tracker_;
  DrawnBar bar_;
  HeldRecord held_;
  Record metrics_;  ///< of the bar that is settled
  Record pace_;     ///< its seconds a step
  std::uint64_t records_ = 0;
  std::uint64_t last_line_ = 0;
  bool bar_seen_ = false;
  double last_seconds_ = Place::k_none;
  double taken_ = -1;  ///< step of the last training record that a bar told
};

}  // namespace aplomb::log_text
