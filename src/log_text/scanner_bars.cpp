// The lines of a log that wait for their neighbours: progress bars, of which the last drawing of a
// step counts, and records without a step, which the next bar tells.

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "log_text/scanner.h"

namespace aplomb::log_text {
namespace {

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

/// A line with a progress bar: its place and rate, the metrics that hang on it, and what follows it
/// in the same line.
bool LogScanner::bar(std::string_view text, const Where& where, int depth) {
  const std::optional<Bar> found = find_bar(text);
  if (!found) return false;
  if (tables_.open() && table_row(found->before, where, &*found)) return true;
  if (bars_.is_training(*found)) training_bar(*found, where);
  if (depth < 4 && !core::trim(found->after).empty()) body(found->after, where, depth + 1);
  return true;
}

/// Where a bar of training stands: a step, or a count within the epoch that its description names.
Place LogScanner::place_of(const Bar& found) {
  Place place;
  if (!found.before.empty()) {
    for (const Pair& pair : bar_finder_.find(found.before)) {
      if (pair.meaning == Meaning::epoch && std::isnan(place.epoch)) place.epoch = pair.value;
    }
  }
  (std::isnan(place.epoch) ? place.step : place.inner) = found.count;
  (std::isnan(place.epoch) ? place.step_total : place.inner_total) = found.total;
  return place;
}

void LogScanner::training_bar(const Bar& found, const Where& where) {
  const Place place = place_of(found);
  if (held_waits_ && held_where_.rank == where.rank) {
    // Drawn anew with the rate of before; where that has not settled yet (the first bars), a bar
    // that stands just one step further is the next step's, unless a record took this step.
    const auto above = static_cast<double>(recorder_.tracker(where.rank).step().value_or(0));
    const bool redrawn = same(found.seconds, last_seconds_) ||
                         (held_.train_loss && (found.count != above + 1 || above == taken_));
    release(redrawn || above == 0 ? &place : nullptr);
  }
  bar_seen_ = true;
  last_seconds_ = found.seconds;
  const bool moved = !bar_waits_ || bar_where_.rank != where.rank ||
                     !same(bar_place_.step, place.step) || !same(bar_place_.inner, place.inner) ||
                     !same(bar_place_.epoch, place.epoch);
  if (moved) flush_bar();
  bar_waits_ = true;
  bar_place_ = place;
  bar_where_ = where;
  bar_seconds_ = found.count > 0 ? found.seconds : Place::k_none;
  bar_text_.assign(found.before);
  bar_text_ += " , ";
  bar_text_ += found.postfix;
}

void LogScanner::settle_bar() {
  bar_waits_ = false;
  const bool metrics = scan(bar_finder_, bar_text_, bar_where_, &bar_place_);
  if (!metrics) recorder_.context(bar_place_, bar_where_.rank);
  if (std::isnan(bar_seconds_)) return;
  recorder_.begin(bar_place_, bar_where_.rank, bar_where_.number, bar_where_.offset);
  recorder_.sample(seconds_key_, bar_seconds_);
  note_restart(bar_where_);
}

/// A record of its own line, not of a bar. Where it states no step and bars are drawn, it waits for
/// the next bar: tqdm.write() draws the bar anew below what it wrote, with the count of the moment
/// and the rate of before, while the bar above may have been drawn many steps ago.
void LogScanner::put_line(Record& record, const Where& where) {
  release(nullptr);
  flush_bar();
  settle_owner(record, where);
  if (bar_seen_ && !record.place.counts()) {
    std::swap(held_, record);
    held_where_ = where;
    held_waits_ = true;
    ++records_;
    last_record_line_ = where.number;
    return;
  }
  put(record, where);
}

/// Puts the record that waits, at the step of `bar` where that is given.
void LogScanner::release(const Place* bar) {
  if (!held_waits_) return;
  held_waits_ = false;
  flush_bar();
  if (bar != nullptr) recorder_.context(*bar, held_where_.rank);
  if (held_.train_loss)
    taken_ = static_cast<double>(recorder_.tracker(held_where_.rank).step().value_or(-1));
  --records_;
  const std::uint64_t last = last_record_line_;
  put(held_, held_where_);
  last_record_line_ = std::max(last, last_record_line_);
}

/// A training loss tells which of several bars is that of training.
void LogScanner::settle_owner(const Record& record, const Where& where) {
  if (!record.train_loss) return;
  if (const auto count = bars_.trained()) {
    Place place;
    place.step = *count;
    recorder_.context(place, where.rank);
  }
}

}  // namespace aplomb::log_text
