#pragma once
/// RecordWriter: puts records into the Run through the Recorder, and tells where the run starts
/// again.

#include <cstdint>
#include <optional>

#include "log_text/line_record.h"
#include "log_text/recorder.h"
#include "record/run_builder.h"

namespace aplomb::log_text {

class RecordWriter {
 public:
  RecordWriter(const KeyTable& keys, record::RunBuilder& build, record::SourceId source)
      : build_(build),
        source_(source),
        recorder_(keys, build, source),
        restarts_(build.run().restarts) {}

  void put(const Record& record, const Where& where) {
    recorder_.begin(record.place, where.rank, where.number, where.offset);
    for (const Sample& sample : record.samples) recorder_.sample(sample.key, sample.value);
    if (build_.run().restarts != restarts_) say_restart(where);
  }
  /// A step that is known from elsewhere, for the lines below that state none.
  void context(const Place& place, int rank) { recorder_.context(place, rank); }
  /// The step that the rank stated last.
  std::optional<std::int64_t> step(int rank) { return recorder_.tracker(rank).step(); }
  void left_out(std::uint64_t records) { recorder_.left_out(records); }
  void finish() { recorder_.finish(); }

 private:
  void say_restart(const Where& where);

  record::RunBuilder& build_;
  record::SourceId source_;
  Recorder recorder_;
  std::uint64_t restarts_ = 0;
  std::uint64_t restart_events_ = 0;
};

}  // namespace aplomb::log_text
