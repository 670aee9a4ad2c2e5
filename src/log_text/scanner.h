#pragma once
/// LogScanner: lines of a log in, samples and events out. One per artifact.
///
/// A line, with the names of its values in English (foreign_names.h), goes through the stages in turn
/// until one takes it (LineResult):
///
///     a record of a known shape      pair_lines.h, shapes.h
///     program text of a traceback    traces.h
///     a progress bar                 bars.h; what follows it is a line of its own
///     a row of a table               metric_tables.h
///     keys and numbers               pair_lines.h
///     the head of a table            metric_tables.h
///
/// What carries metrics goes through the RecordQueue into the Run; what says something in words, to
/// WordLines.
///
/// `Reading::metrics` leaves words, settings and messages to somebody else, who reads the same
/// lines as what a person wrote (settings_text.cpp).

#include <cstdint>
#include <optional>
#include <string_view>

#include "log_text/code_watch.h"
#include "log_text/dull.h"
#include "log_text/foreign_names.h"
#include "log_text/keys.h"
#include "log_text/line_record.h"
#include "log_text/lines.h"
#include "log_text/metric_tables.h"
#include "log_text/pair_lines.h"
#include "log_text/prefix.h"
#include "log_text/rank_lines.h"
#include "log_text/record_queue.h"
#include "log_text/record_writer.h"
#include "log_text/stage_tags.h"
#include "log_text/traces.h"
#include "log_text/word_lines.h"
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
  /// Lines were left out before the next one, with so many records of metrics.
  void left_out(std::uint64_t records);
  void finish();

  std::uint64_t records() const { return queue_.records(); }

 private:
  LineResult stages(const LogLine& line, bool whole);
  bool known_dull(const LogLine& line) const;
  LineResult trace(const LogLine& line);
  LineResult bar(const LogLine& line);
  LineResult table_row(const LogLine& line, const Bar* bar);
  LineResult table_head(const LogLine& line, bool whole);

  record::RunBuilder& build_;
  record::SourceId source_;
  PrefixStyle style_;  ///< how lines say their rank
  KeyTable keys_;
  CodeWatch code_;
  RecordWriter writer_;
  RecordQueue queue_;
  PairLines pairs_;
  TableWatch tables_;
  bool titled_ = false;  ///< the line counts, and may stand above a table
  std::string_view barred(std::string_view text);
  void made_deterministic(const Line& line);

  ForeignNames names_;
  std::string barred_;  ///< the line at hand, its drawn bars made plain
  RankLines ranks_;
  StageTags tags_;
  Record row_;
  TraceWatch traces_;
  DullLines dull_;
  std::optional<WordLines> words_;
};

}  // namespace aplomb::log_text
