#pragma once
/// RecordSink: records of named numbers (a JSON line, a CSV row, an entry of log_history) ->
/// series. It finds out which of the names states the step, and normalises the others.
///
///     RecordSink sink(build, source);
///     const auto loss = sink.column("loss"), step = sink.column("step");     // once a name
///     sink.begin(line, offset); sink.put(step, 10); sink.put(loss, 2.3); sink.end();
///     sink.finish();
///
/// The first k_trial_records are held back until it is clear how the artifact counts (a step that
/// starts again with every epoch, only epochs, nothing); after that a record costs no allocation
/// and no look-up.

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::sources {

class RecordSink {
 public:
  using Column = std::uint32_t;
  static constexpr std::size_t k_trial_records = 64;
  static constexpr std::size_t k_most_columns = 8192;

  RecordSink(record::RunBuilder& build, record::SourceId source, std::string framework = {})
      : build_(build), source_(source), framework_(std::move(framework)) {}

  /// The same Column for the same name. Beyond k_most_columns all further names share one that is
  /// dropped.
  Column column(std::string_view name);
  /// A column that is no metric (an identifier, a time stamp): its numbers are dropped.
  void ignore(Column column) { columns_[column].kind = Kind::dropped; }

  void begin(std::uint64_t line, std::uint64_t offset) {
    pending_.clear();
    held_out_ = false;
    current_.line = line;
    current_.offset = offset;
    step_value_ = k_not_given;
    epoch_value_ = k_not_given;
  }
  void put(Column column, double value) {
    if (column == step_column_) step_value_ = value;
    if (column == epoch_column_) epoch_value_ = value;
    pending_.push_back({column, value});
  }
  /// Says that the record begun is of held-out data (`"mode": "val"`): its `loss` is the evaluation
  /// loss.
  void held_out() { held_out_ = true; }
  void end();
  /// Says that the artifact starts over (a second header, the other side of a merge conflict):
  /// records are numbered from 0 again.
  void restart();
  /// After the last record. May be called once.
  void finish();

  std::uint64_t records() const { return records_; }
  /// Series that have got at least one sample.
  std::size_t series_count() const { return series_count_; }

 private:
  enum class Kind : std::uint8_t { metric, step, epoch, dropped };
  static constexpr Column k_none = 0xFFFFFFFF;
  static constexpr double k_not_given = std::numeric_limits<double>::quiet_NaN();
  struct ColumnState {
    Kind kind = Kind::metric;
    bool open = false;         ///< `series` has been made
    bool of_training = false;  ///< a known metric of training, not of evaluation
    record::SeriesId series = 0;
    double scale = 1;
    Column held_out = k_none;  ///< the same metric on held-out data
    int step_rank = 0;         ///< how sure it is to state the step; see step_rank()
    std::string name;
  };
  struct Sample {
    Column column;
    double value;
  };
  struct Record {
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
    std::vector<Sample> samples;
  };
  void open(ColumnState& column);
  void decide();
  bool epochs_number_records(Column& column) const;
  void drop_constant_steps();
  void emit(const Record& record);
  double value_of(const Record& record, Column column) const;
  void take_counts(const Record& record);
  std::int64_t next_step();
  std::int64_t laid_out(std::int64_t step, double epoch);

  record::RunBuilder& build_;
  record::SourceId source_;
  std::string framework_;
  std::vector<ColumnState> columns_;
  std::unordered_map<std::string, Column> by_name_;
  std::vector<Sample> pending_;
  bool held_out_ = false;
  std::vector<Record> trial_;
  Record current_;
  std::uint64_t records_ = 0;
  std::int64_t ordinal_ = 0;  ///< of the next record, where records are numbered
  std::size_t series_count_ = 0;

  bool decided_ = false;
  record::StepKind kind_ = record::StepKind::ordinal;
  Column step_column_ = k_none;  ///< of kind explicit_
  Column epoch_column_ = k_none;
  double step_value_ = k_not_given;  ///< of the record at hand
  double epoch_value_ = k_not_given;
  std::int64_t last_step_ = 0;  ///< of the record before; for records that state none
  std::int64_t base_ = 0;  ///< steps of the epochs before, where each epoch counts from the start
  std::int64_t last_raw_step_ = -1;
  double last_epoch_ = 0;
};

}  // namespace aplomb::sources
