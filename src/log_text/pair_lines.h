#pragma once
/// PairLines: the stage of LogScanner for lines of keys and numbers.
///
/// A line is a record of metrics when it holds a key that only metrics have (`loss`, `grad_norm`,
/// `reward`), or a step together with other numbers. Then every pair of it is a series. Keys of
/// lines that are no such record become series only by repetition: many lines of one shape whose
/// numbers change.

#include <string>
#include <string_view>

#include "log_text/code_watch.h"
#include "log_text/learner.h"
#include "log_text/line_record.h"
#include "log_text/pairs.h"
#include "log_text/record_queue.h"
#include "log_text/shapes.h"

namespace aplomb::log_text {

class PairLines {
 public:
  PairLines(KeyTable& keys, CodeWatch& code, RecordQueue& queue)
      : keys_(keys), code_(code), queue_(queue), finder_(keys), learner_(keys) {}

  /// The quick way: a record of a shape that the log had before. Whether it was one.
  bool known(const LogLine& line) {
    if (!shapes_.match(line.text, matched_)) return false;
    queue_.record(matched_, line.where);
    return true;
  }
  /// Takes every line that holds a number with a key, and program text.
  LineResult line(const LogLine& line);

 private:
  LineResult put(const Where& where);
  bool timers(std::string_view text);
  bool place_only(const std::vector<Pair>& pairs, const Where& where);
  LineResult learn(const LogLine& line, const std::vector<Pair>& pairs);

  KeyTable& keys_;
  CodeWatch& code_;
  RecordQueue& queue_;
  PairFinder finder_;
  ShapeCache shapes_;
  Learner learner_;
  Record record_;   ///< found pair by pair
  Record matched_;  ///< read by a known shape
  std::string timer_name_;
};

}  // namespace aplomb::log_text
