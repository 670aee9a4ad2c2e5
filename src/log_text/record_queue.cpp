#include "log_text/record_queue.h"

#include <algorithm>
#include <cmath>

#include "log_text/record_of_pairs.h"

namespace aplomb::log_text {
namespace {

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

bool DrawnBar::stands_at(const Place& place, int rank) const {
  return where_.rank == rank && same(place_.step, place.step) && same(place_.inner, place.inner) &&
         same(place_.epoch, place.epoch);
}

Place DrawnBar::place_of(const Bar& found) {
  Place place;
  if (!found.before.empty()) {
    for (const Pair& pair : finder_.find(found.before)) {
      if (pair.meaning == Meaning::epoch && std::isnan(place.epoch)) place.epoch = pair.value;
    }
  }
  (std::isnan(place.epoch) ? place.step : place.inner) = found.count;
  (std::isnan(place.epoch) ? place.step_total : place.inner_total) = found.total;
  return place;
}

void DrawnBar::draw(const Bar& found, const Place& place, const Where& where) {
  waits_ = true;
  place_ = place;
  where_ = where;
  seconds_ = found.count > 0 ? found.seconds : Place::k_none;
  text_.assign(found.before);
  text_ += " , ";
  text_ += found.postfix;
}

bool DrawnBar::take(std::uint64_t last_record, Record& metrics) {
  waits_ = false;
  const std::vector<Pair>& pairs = finder_.find(text_);
  if (pairs.empty() || code_.is_code(text_, where_.number)) return false;
  if (!states_record(text_, pairs, keys_, where_.number, last_record)) return false;
  gather_record(text_, pairs, keys_, metrics);
  metrics.place = place_;
  return true;
}

RecordQueue::RecordQueue(KeyTable& keys, CodeWatch& code, RecordWriter& writer)
    : writer_(writer), bar_(keys, code) {
  pace_.samples.push_back({keys.learn("s/it", false), Place::k_none});
}

void RecordQueue::note(const Where& where) {
  ++records_;
  last_line_ = std::max(last_line_, where.number);
}

/// Where it states no step and bars are drawn, it waits for the next bar: tqdm.write() draws the
/// bar anew below what it wrote, with the count of the moment and the rate of before, while the bar
/// above may have been drawn many steps ago.
void RecordQueue::record(Record& record, const Where& where) {
  flush();
  settle_owner(record, where.rank);
  note(where);
  if (bar_seen_ && !record.place.counts()) {
    held_.hold(record, where);
  } else {
    writer_.put(record, where);
  }
}

void RecordQueue::row(const Record& record, const Where& where) {
  flush();
  ++records_;
  writer_.put(record, where);
}

void RecordQueue::place(const Place& place, int rank) {
  flush();
  writer_.context(place, rank);
}

void RecordQueue::bar(const Bar& found, const Where& where) {
  if (!tracker_.is_training(found)) return;
  const Place place = bar_.place_of(found);
  if (held_.waits() && held_.where().rank == where.rank) {
    // Drawn anew with the rate of before; where that has not settled yet (the first bars), a bar
    // that stands just one step further is the next step's, unless a record took this step.
    const auto above = static_cast<double>(writer_.step(where.rank).value_or(0));
    const bool redrawn =
        same(found.seconds, last_seconds_) ||
        (held_.record().train_loss && (found.count != above + 1 || above == taken_));
    release(redrawn || above == 0 ? &place : nullptr);
  }
  bar_seen_ = true;
  last_seconds_ = found.seconds;
  if (bar_.waits() && !bar_.stands_at(place, where.rank)) settle_bar();
  bar_.draw(found, place, where);
}

void RecordQueue::settle_bar() {
  if (bar_.take(last_line_, metrics_)) {
    note(bar_.where());
    writer_.put(metrics_, bar_.where());
  } else {
    writer_.context(bar_.place(), bar_.where().rank);
  }
  if (std::isnan(bar_.seconds())) return;
  pace_.place = bar_.place();
  pace_.samples.front().value = bar_.seconds();
  writer_.put(pace_, bar_.where());
}

/// Puts the record that waits, at the step of `bar` where that is given.
void RecordQueue::release(const Place* bar) {
  const Where where = held_.where();
  const Record& record = held_.take();
  if (bar_.waits()) settle_bar();
  if (bar != nullptr) writer_.context(*bar, where.rank);
  if (record.train_loss) taken_ = static_cast<double>(writer_.step(where.rank).value_or(-1));
  writer_.put(record, where);
}

/// A training loss tells which of several bars is that of training.
void RecordQueue::settle_owner(const Record& record, int rank) {
  if (!record.train_loss) return;
  if (const auto count = tracker_.trained()) {
    Place place;
    place.step = *count;
    writer_.context(place, rank);
  }
}

}  // namespace aplomb::log_text
