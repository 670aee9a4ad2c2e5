/// Reader of SwanLab's run files (run-*.swanlab), as a run leaves them in its folder, offline or not:
/// records of a log (sources/record_log.h), each a protocol-buffer message.
///
///     ":SWL" d6 e1 02 | crc32 | length | 01 | Record{1: number, 2: time, 13: {1: "train/loss", 2: 10 (step),
///     4: time, 5: {1: 2.31}}} | crc32 ...
///
/// Oddities: the declarations of columns, the console's lines and the paths of other files lie between the
/// samples; a sample may be a picture or a text; the last record is cut where the process was killed; a
/// step may come again, or go back.

#include <algorithm>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <utility>

#include "sources/metric_names.h"
#include "sources/named_metrics.h"
#include "sources/reader.h"
#include "sources/record_log.h"

namespace aplomb::sources {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr std::string_view k_magic = ":SWL";
constexpr std::int64_t k_most_step = std::int64_t{1} << 53U;

const ReaderSpec& swanlab_spec() {
  static const ReaderSpec spec = {
      "swanlab",
      "SwanLab run files (run-*.swanlab), as a run leaves them whether or not it was uploaded",
      ":SWL then pieces of records: sample {\"train/loss\", step 10, 2.31}",
      {"a last record cut in the middle (the process was killed)", "records over several blocks",
       "damaged blocks", "pictures and texts between the numbers"}};
  return spec;
}

struct Sample {
  std::string key;
  std::int64_t step = -1;
  bool has_value = false;
  double value = 0;
};

void read_value(pbf_reader message, Sample& sample) {
  while (message.next()) {
    if (message.tag() == 1 && message.wire_type() == pbf_wire_type::fixed64) {
      sample.value = message.get_double();
      sample.has_value = true;
    } else {
      message.skip();
    }
  }
}

Sample read_sample(pbf_reader message) {
  Sample sample;
  while (message.next()) {
    const auto type = message.wire_type();
    if (message.tag() == 1 && type == pbf_wire_type::length_delimited) {
      sample.key = message.get_string();
    } else if (message.tag() == 2 && type == pbf_wire_type::varint) {
      sample.step = message.get_int64();
    } else if (message.tag() == 5 && type == pbf_wire_type::length_delimited) {
      read_value(message.get_message(), sample);
    } else {
      message.skip();
    }
  }
  return sample;
}

class SwanlabFile {
 public:
  SwanlabFile(input::ByteStream& bytes, record::RunBuilder& build, record::SourceId source)
      : bytes_(bytes), log_(bytes, build, source, "swanlab"), build_(build), source_(source) {}

  void read() {
    for (std::string_view bytes; log_.next(bytes);) record(bytes);
    if (!bytes_.broken().empty())
      build_.defect(
          {source_, log_.offset(), "truncated", core::Severity::warning, bytes_.broken()});
  }

 private:
  void record(std::string_view bytes) {
    try {
      pbf_reader message(bytes.data(), bytes.size());
      while (message.next()) {
        if (message.tag() == 13 && message.wire_type() == pbf_wire_type::length_delimited) {
          put(read_sample(message.get_message()));
        } else {
          message.skip();
        }
      }
    } catch (const protozero::exception&) {
      build_.defect({source_, log_.offset(), "bad-message", core::Severity::warning,
                     "[swanlab] a record is no SwanLab message; left out"});
    }
  }

  void put(const Sample& sample) {
    const bool whole = sample.has_value && !sample.key.empty() && sample.step >= 0;
    if (!whole || sample.step > k_most_step || is_bookkeeping(sample.key)) return;
    metrics_.append(sample.key, sample.step, sample.value, 0, log_.offset());
  }

  input::ByteStream& bytes_;
  RecordLog log_;
  record::RunBuilder& build_;
  record::SourceId source_;
  NamedMetrics metrics_{build_, source_};
};

class SwanlabReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return swanlab_spec(); }

  double sniff(const Sniff& artifact) const override {
    return artifact.head.starts_with(k_magic) ? 1 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    SwanlabFile(bytes, build, source).read();
  }
};

}  // namespace

std::unique_ptr<Reader> make_swanlab_reader() { return std::make_unique<SwanlabReader>(); }

}  // namespace aplomb::sources
