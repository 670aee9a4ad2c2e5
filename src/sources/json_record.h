#pragma once
/// JsonRecordReader: JSON objects that are records of metrics -> a RecordSink. Nested objects are
/// flattened
/// (`{"train": {"loss": 1}}` is `train/loss`), numbers in quotes are numbers, `"mode": "val"` says
/// held-out data. It expects each record to have the members of the one before and then looks up no
/// name.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "input/json_cursor.h"
#include "record/run_builder.h"
#include "sources/record_sink.h"

namespace aplomb::sources {

class JsonRecordReader {
 public:
  JsonRecordReader(RecordSink& sink, record::RunBuilder& build, record::SourceId source)
      : sink_(sink), build_(build), source_(source) {}

  /// Takes the object that comes next; false where the text is bad (what stood before it is kept).
  bool read(input::JsonCursor& json, std::uint64_t line, std::uint64_t offset);

 private:
  enum class Use : std::uint8_t { metric, phase, planned_steps };
  struct Member {
    std::string lead;  ///< what stands between the value before and this one: `, "loss": `
    std::string name;  ///< flattened
    std::int32_t parent = -1;
    RecordSink::Column column = 0;
    Use use = Use::metric;
  };
  static constexpr int k_most_depth = 6;
  static constexpr std::size_t k_most_members = 1U << 16U;

  void members(input::JsonCursor& json, std::int32_t parent, int depth);
  void value(input::JsonCursor& json, std::size_t index, int depth);
  void text(input::JsonCursor& json, std::size_t index);
  void learn(std::string_view key, std::int32_t parent);

  RecordSink& sink_;
  record::RunBuilder& build_;
  record::SourceId source_;
  std::vector<Member> shape_;  ///< the members of the record before, in order
  std::size_t at_ = 0;         ///< which of them is expected next
  std::uint64_t offset_ = 0;
  bool planned_ = false;
};

}  // namespace aplomb::sources
