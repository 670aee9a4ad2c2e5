#include "sources/record_sink.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "sources/metric_names.h"

namespace aplomb::sources {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_exact_integers = 9007199254740992.0;  // 2^53

bool is_whole(double value) {
  return std::fabs(value) < k_exact_integers && std::floor(value) == value;
}

}  // namespace

RecordSink::Column RecordSink::column(std::string_view name) {
  if (const auto known = by_name_.find(std::string(name)); known != by_name_.end())
    return known->second;
  if (columns_.size() >= k_most_columns) {
    columns_.back().kind = Kind::dropped;
    return static_cast<Column>(columns_.size() - 1);
  }
  ColumnState fresh;
  fresh.name = std::string(name);
  fresh.step_rank = step_rank(name);
  if (fresh.step_rank == 4) {
    fresh.kind = Kind::epoch;
  } else if (fresh.step_rank > 0) {
    fresh.kind = Kind::step;
  } else if (is_bookkeeping(name)) {
    fresh.kind = Kind::dropped;
  }
  columns_.push_back(std::move(fresh));
  const auto column = static_cast<Column>(columns_.size() - 1);
  by_name_.emplace(std::string(name), column);
  return column;
}

void RecordSink::end() {
  if (pending_.empty()) return;
  if (held_out_) {
    for (Sample& sample : pending_) {
      if (columns_[sample.column].kind != Kind::metric) continue;
      if (columns_[sample.column].held_out == k_none) {
        const Column variant = column("val/" + columns_[sample.column].name);
        columns_[sample.column].held_out = variant;
      }
      sample.column = columns_[sample.column].held_out;
    }
  }
  current_.samples.swap(pending_);
  if (decided_) {
    emit(current_);
    return;
  }
  trial_.push_back(current_);
  if (trial_.size() >= k_trial_records) decide();
}

void RecordSink::restart() {
  if (!decided_) decide();
  ordinal_ = 0;
  base_ = 0;
  last_raw_step_ = -1;
  last_epoch_ = 0;
}

void RecordSink::finish() {
  if (!decided_) decide();
}

double RecordSink::value_of(const Record& record, Column column) const {
  for (const Sample& sample : record.samples) {
    if (sample.column == column) return sample.value;
  }
  return k_nan;
}

/// A step that never moves while the epoch does is the length of an epoch, no position.
void RecordSink::drop_constant_steps() {
  for (Column column = 0; column < columns_.size(); ++column) {
    if (columns_[column].kind != Kind::step) continue;
    double first_step = k_nan;
    double first_epoch = k_nan;
    bool step_moves = false;
    bool epoch_moves = false;
    for (const Record& record : trial_) {
      const double step = value_of(record, column);
      if (!std::isfinite(step)) continue;
      if (std::isnan(first_step)) first_step = step;
      step_moves = step_moves || step != first_step;
      for (const Sample& sample : record.samples) {
        if (columns_[sample.column].kind != Kind::epoch) continue;
        if (std::isnan(first_epoch)) first_epoch = sample.value;
        epoch_moves = epoch_moves || sample.value >= first_epoch + 1;
      }
    }
    if (!step_moves && epoch_moves) columns_[column].kind = Kind::dropped;
  }
}

/// Whether each metric has at most one sample an epoch, so that the epoch may stand for the step.
bool RecordSink::epochs_number_records(Column& column) const {
  std::map<Column, double> last_epoch;
  column = k_none;
  for (const Record& record : trial_) {
    double epoch = k_nan;
    for (const Sample& sample : record.samples) {
      if (columns_[sample.column].kind != Kind::epoch) continue;
      column = sample.column;
      epoch = sample.value;
    }
    if (std::isnan(epoch)) continue;
    if (!is_whole(epoch)) return false;
    for (const Sample& sample : record.samples) {
      if (columns_[sample.column].kind != Kind::metric) continue;
      const auto [known, fresh] = last_epoch.emplace(sample.column, epoch);
      if (!fresh && known->second == epoch) return false;
      known->second = epoch;
    }
  }
  return column != k_none;
}

void RecordSink::decide() {
  decided_ = true;
  drop_constant_steps();
  // Among the columns that may state the step: in most records (a record may lack it, as W&B's rows
  // do), then surest.
  std::map<Column, std::size_t> uses;
  for (const Record& record : trial_) {
    for (const Sample& sample : record.samples) {
      if (columns_[sample.column].kind == Kind::step && is_whole(sample.value))
        ++uses[sample.column];
    }
  }
  for (const auto& [column, count] : uses) {
    if (count * 2 < trial_.size()) continue;
    const bool surer =
        step_column_ == k_none || columns_[column].step_rank < columns_[step_column_].step_rank;
    if (surer) step_column_ = column;
  }
  for (const auto& [column, count] : uses) {
    if (step_column_ == k_none || count > 2 * uses[step_column_]) step_column_ = column;
  }
  if (step_column_ != k_none) {
    kind_ = record::StepKind::explicit_;
    for (Column column = 0; column < columns_.size() && epoch_column_ == k_none; ++column) {
      if (columns_[column].kind == Kind::epoch) epoch_column_ = column;
    }
  } else if (epochs_number_records(epoch_column_)) {
    kind_ = record::StepKind::epoch;
  }
  for (const Record& record : trial_) {
    take_counts(record);
    emit(record);
  }
  trial_.clear();
  trial_.shrink_to_fit();
}

/// Steps that start again with every epoch are laid end to end; a step that goes back with its
/// epoch is a restart.
std::int64_t RecordSink::laid_out(std::int64_t step, double epoch) {
  if (std::isfinite(epoch)) {
    if (epoch > last_epoch_ && step < last_raw_step_ &&
        std::floor(epoch) > std::floor(last_epoch_)) {
      base_ += last_raw_step_ + 1;
    } else if (epoch < last_epoch_ && step < last_raw_step_) {
      base_ = 0;
    }
    last_epoch_ = epoch;
  }
  last_raw_step_ = step;
  return base_ + step;
}

/// The counts of a record that was put before it was known which columns hold them.
void RecordSink::take_counts(const Record& record) {
  step_value_ = k_nan;
  epoch_value_ = k_nan;
  for (const Sample& sample : record.samples) {
    if (sample.column == step_column_) step_value_ = sample.value;
    if (sample.column == epoch_column_) epoch_value_ = sample.value;
  }
}

std::int64_t RecordSink::next_step() {
  if (kind_ == record::StepKind::ordinal) return ordinal_++;
  const double at = kind_ == record::StepKind::epoch ? epoch_value_ : step_value_;
  if (std::isfinite(at) && std::fabs(at) < k_exact_integers) {
    const auto whole = static_cast<std::int64_t>(std::llround(at));
    last_step_ = kind_ == record::StepKind::epoch ? whole : laid_out(whole, epoch_value_);
  }
  return last_step_;
}

void RecordSink::open(ColumnState& column) {
  const MetricName name = name_metric(column.name, framework_);
  column.series = build_.series(source_, name.series, column.name, name.role, kind_);
  column.scale = name.scale;
  column.of_training = name.role != record::Role::other && name.role != record::Role::eval_loss &&
                       name.role != record::Role::eval_component &&
                       name.role != record::Role::eval_accuracy &&
                       name.role != record::Role::eval_metric && column.kind == Kind::metric;
  column.open = true;
  ++series_count_;
}

void RecordSink::emit(const Record& record) {
  const std::int64_t step = next_step();
  const Sample* epoch = nullptr;
  bool of_training = false;
  for (const Sample& sample : record.samples) {
    ColumnState& column = columns_[sample.column];
    if (column.kind == Kind::epoch) epoch = &sample;
    if (column.kind != Kind::metric) continue;
    if (!column.open) open(column);
    of_training = of_training || column.of_training;
    build_.append(column.series, step, sample.value * column.scale, record.line, record.offset);
  }
  // The epoch is kept for the records of training; those of evaluation repeat it.
  if (epoch != nullptr && of_training && kind_ == record::StepKind::explicit_) {
    ColumnState& column = columns_[epoch->column];
    if (!column.open) open(column);
    build_.append(column.series, step, epoch->value, record.line, record.offset);
  }
  ++records_;
}

}  // namespace aplomb::sources
