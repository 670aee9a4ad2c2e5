#include "watch/live_run.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "core/median.h"
#include "detection/detect.h"
#include "detectors/detector.h"
#include "record/run_builder.h"
#include "sources/reader.h"

namespace aplomb::watch {
namespace {

constexpr std::size_t k_ring = 64;  // intervals that the median is of
constexpr std::size_t k_part = std::size_t{1} << 20U;
// Detectors see all samples again at each look, so looks become rarer as the run grows: they take
// one part in so many of the time.
constexpr int k_rest = 50;
constexpr std::chrono::milliseconds k_between_looks{500};

const sources::Reader* text_reader() {
  for (const auto& reader : sources::readers()) {
    if (reader->spec().slug == "text-log") return reader.get();
  }
  return nullptr;
}

/// Samples of the series that has most: one more for each record of metrics.
std::size_t records_of(const record::Run& run) {
  std::size_t most = 0;
  for (const record::Series& series : run.series) {
    if (series.role == record::Role::loss || series.role == record::Role::reward)
      most = std::max<std::size_t>(most, series.count);
  }
  return most;
}

}  // namespace

/// What the reader reads from: asks for more only when it has read all, which is when to look.
class LiveRun::Stream : public input::ByteStream {
 public:
  Stream(LiveRun& live, const record::Run& run) : live_(live), run_(run) {}

  std::string_view next() override {
    note_records();
    while (true) {
      std::unique_lock lock(live_.mutex_);
      const auto enough = [this] { return !live_.waiting_.empty() || live_.closed_; };
      if (!enough() && seen_ != looked_at_) {
        live_.wake_.wait_until(lock, next_look_, enough);
      } else {
        live_.wake_.wait(lock, enough);
      }
      const bool ended = live_.closed_ && live_.waiting_.empty();
      take_part();
      lock.unlock();
      if (seen_ != looked_at_ && (ended || Clock::now() >= next_look_)) look();
      if (!part_.empty() || ended) return part_;
    }
  }
  const std::string& broken() const override { return broken_; }
  std::uint64_t consumed() const override { return consumed_; }

 private:
  void take_part() {
    part_.clear();
    if (live_.waiting_.empty()) return;
    part_ = std::move(live_.waiting_.front());
    live_.waiting_.pop_front();
    live_.waiting_bytes_ -= part_.size();
    consumed_ += part_.size();
  }

  void note_records() {
    const std::size_t now = records_of(run_);
    if (now <= seen_) return;
    const std::lock_guard lock(live_.mutex_);
    const auto time = Clock::now();
    if (seen_ > 0) {
      const std::chrono::duration<double> taken = time - live_.last_record_;
      const double each = taken.count() / static_cast<double>(now - seen_);
      if (live_.intervals_.size() < k_ring) {
        live_.intervals_.push_back(each);
      } else {
        live_.intervals_[turn_++ % k_ring] = each;
      }
    }
    live_.last_record_ = time;
    live_.records_ = seen_ = now;
  }

  void look() {
    const auto begin = Clock::now();
    looked_at_ = seen_;
    std::vector<detectors::Symptom> found = detection::detect_so_far(run_);
    const auto end = Clock::now();
    next_look_ = end + std::max<Clock::duration>(k_between_looks, k_rest * (end - begin));
    const std::lock_guard lock(live_.mutex_);
    for (detectors::Symptom& each : found) {
      const auto known = told_.find(each.id + '\n' + each.series);
      // The first ten records are judged as they end, for better or worse.
      if (each.severity < live_.least_ && each.id != "gate.first_ten") continue;
      if (known != told_.end() && each.severity <= known->second) continue;
      told_[each.id + '\n' + each.series] = each.severity;
      live_.fresh_.push_back(std::move(each));
    }
  }

  LiveRun& live_;
  const record::Run& run_;
  std::string part_;
  std::string broken_;
  std::uint64_t consumed_ = 0;
  std::size_t seen_ = 0;
  std::size_t looked_at_ = 0;
  std::size_t turn_ = 0;
  Clock::time_point next_look_{};
  std::map<std::string, core::Severity> told_;
};

LiveRun::LiveRun(core::Severity least) : least_(least), thread_([this] { work(); }) {}

LiveRun::~LiveRun() { finish(); }

/// Whether all of these bytes are left out, as too many wait; else takes off those that are. What is
/// left out begins and ends where lines do: half a number would be another number.
bool LiveRun::leaves_out(std::string_view& bytes) {
  if (!leaving_out_ && waiting_bytes_ + bytes.size() > k_most_waiting) {
    leaving_out_ = true;
    while (!waiting_.empty() && !waiting_.back().ends_with('\n')) {
      std::string& last = waiting_.back();
      const std::size_t whole = last.rfind('\n') + 1;  // npos + 1: no line ends in it
      waiting_bytes_ -= last.size() - whole;
      left_out_bytes_ += last.size() - whole;
      last.resize(whole);
      if (whole == 0) waiting_.pop_back();
    }
  }
  if (!leaving_out_) return false;
  const std::size_t line = bytes.find('\n');
  const bool has_room = waiting_bytes_ + bytes.size() <= k_most_waiting / 2;
  leaving_out_ = !has_room || line == std::string_view::npos;
  const std::size_t without = leaving_out_ ? bytes.size() : line + 1;
  left_out_bytes_ += without;
  bytes.remove_prefix(without);
  return bytes.empty();
}

void LiveRun::feed(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_ || bytes.empty() || leaves_out(bytes)) return;
  if (waiting_.empty() || waiting_.back().size() + bytes.size() > k_part) {
    waiting_.emplace_back(bytes);
  } else {
    waiting_.back().append(bytes);
  }
  waiting_bytes_ += bytes.size();
  wake_.notify_one();
}

void LiveRun::finish() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

std::vector<detectors::Symptom> LiveRun::fresh() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fresh_, {});
}

std::optional<LiveRun::Pace> LiveRun::pace() {
  const std::lock_guard lock(mutex_);
  if (intervals_.size() + 1 < k_least_records) return std::nullopt;
  return Pace{last_record_, std::chrono::duration<double>(core::upper_median(intervals_))};
}

std::string LiveRun::gave_up() {
  const std::lock_guard lock(mutex_);
  return gave_up_;
}

std::uint64_t LiveRun::left_out_bytes() {
  const std::lock_guard lock(mutex_);
  return left_out_bytes_;
}

void LiveRun::work() {
  std::string fault;
  try {
    record::Run run;
    record::RunBuilder build(run);
    const sources::Reader* reader = text_reader();
    if (reader == nullptr) return;
    const record::SourceId source = build.open("(live)", "text-log", 0);
    Stream stream(*this, run);
    reader->read(stream, build, source);
  } catch (const std::exception& error) {
    fault = error.what();
  }
  const std::lock_guard lock(mutex_);
  if (!fault.empty()) gave_up_ = fault;
  closed_ = true;
  waiting_.clear();
  waiting_bytes_ = 0;
}

}  // namespace aplomb::watch
