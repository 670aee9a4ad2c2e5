#pragma once
/// LogScanner: lines of a log in, samples and events out. One per artifact.
///
/// A line is a record of metrics when it holds a key that only metrics have (`loss`, `grad_norm`,
/// `reward`), or a step together with other numbers. Then every pair of it is a series. Keys of
/// lines that are no such record become series only by repetition: many lines of one shape whose
/// numbers change.
///
/// `Reading::metrics` leaves words, settings and messages to somebody else, who reads the same
/// lines as what a person wrote (settings_text.cpp).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "log_text/bars.h"
#include "log_text/dull.h"
#include "log_text/keys.h"
#include "log_text/learner.h"
#include "log_text/lines.h"
#include "log_text/metric_tables.h"
#include "log_text/pairs.h"
#include "log_text/recorder.h"
#include "log_text/settings_scan.h"
#include "log_text/shapes.h"
#include "log_text/signatures.h"
#include "log_text/traces.h"
#include "prose/claims.h"
#include "prose/heard_words.h"
#include "record/run_builder.h"

namespace aplomb::log_text {

class LogScanner {
 public:
  enum class Reading : std::uint8_t { all, metrics };

  /// `head`: the first bytes of the log, to tell its framework and its launcher.
  LogScanner(std::string_view head, record::RunBuilder& build, record::SourceId source,
             Reading reading = Reading::all);
  LogScanner(const LogScanner&) = delete;
  LogScanner& operator=(const LogScanner&) = delete;

  void line(const Line& line);
  void finish();

  std::uint64_t records() const { return records_; }

 private:
  struct Where {
    int rank = -1;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
  };

  void body(std::string_view text, const Where& where, int depth);
  bool known_dull(std::string_view text, std::uint64_t number) const;
  bool bar(std::string_view text, const Where& where, int depth);
  void training_bar(const Bar& found, const Where& where);
  Place place_of(const Bar& found);
  void flush_bar() {
    if (bar_waits_) settle_bar();
  }
  void settle_bar();
  bool table_row(std::string_view text, const Where& where, const Bar* bar);
  bool scan(PairFinder& finder, std::string_view text, const Where& where,
            const Place* known_place);
  bool is_record(std::string_view text, const std::vector<Pair>& pairs, std::uint64_t number) const;
  bool timers(std::string_view text, const Where& where);
  bool is_code(std::string_view text, std::uint64_t number);
  void gather(std::string_view text, const std::vector<Pair>& pairs);
  void put(const Record& record, const Where& where);
  void put_line(Record& record, const Where& where);
  void release(const Place* bar);
  void settle_owner(const Record& record, const Where& where);
  bool place_only(const std::vector<Pair>& pairs, const Where& where);
  bool learn(std::string_view text, const std::vector<Pair>& pairs, const Where& where);
  void note_restart(const Where& where) {
    if (build_.run().restarts != restarts_) say_restart(where);
  }
  void say_restart(const Where& where);
  void unexplained(std::string_view text, const Where& where);

  record::RunBuilder& build_;
  record::SourceId source_;
  Reading reading_;
  KeyTable keys_;
  PairFinder finder_;
  PairFinder bar_finder_;
  ShapeCache shapes_;
  Record record_;   ///< found pair by pair
  Record matched_;  ///< read by a known shape
  Recorder recorder_;
  BarTracker bars_;
  Learner learner_;
  TableWatch tables_;
  std::vector<TableWatch::Cell> cells_;
  TraceWatch traces_;
  DullLines dull_;
  bool said_nothing_ = false;  ///< the line at hand, as far as it has been looked at
  SignatureMatcher signatures_;
  SettingScanner settings_;
  prose::ClaimReader claims_{prose::ClaimReader::Text::log};
  prose::HeardWords words_;
  bool numbered_ = false;
  std::uint64_t records_ = 0;
  std::uint64_t restarts_ = 0;
  std::uint64_t restart_events_ = 0;
  std::uint64_t last_code_line_ = 0;
  std::uint64_t last_record_line_ = 0;
  std::string timer_name_;

  // The bar drawn last: bars are drawn several times a step, the last drawing counts.
  std::string bar_text_;
  Place bar_place_;
  Where bar_where_;
  double bar_seconds_ = Place::k_none;
  bool bar_waits_ = false;
  bool bar_seen_ = false;
  double last_seconds_ = Place::k_none;
  double taken_ = -1;  ///< step of the last training record that a bar told

  // A record without a step, until the next bar tells it.
  Record held_;
  Where held_where_;
  bool held_waits_ = false;
  KeyId seconds_key_ = 0;
};

}  // namespace aplomb::log_text
