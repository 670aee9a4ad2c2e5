/// Reader of TensorBoard event files (events.out.tfevents.1718968142.host.4242.0): frames of a
/// message each.
///
///     length (8) | crc32c (4) | Event{wall_time: 1718968142.5, step: 10, summary{value{tag:
///     "train/loss", simple_value: 2.31}}} | crc32c (4)
///
/// Oddities: the last frame is cut where the writer was killed; damaged frames lie between whole
/// ones; a length goes beyond the file; images, histograms and graphs lie between the scalars;
/// TensorFlow 2 writes a scalar as a tensor of one number; Keras puts evaluation into a folder of
/// its own under the tags of training; add_scalars makes a folder a curve.

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/crc32c.h"
#include "core/text.h"
#include "input/byte_window.h"
#include "sources/metric_names.h"
#include "sources/reader.h"
#include "sources/tf_event.h"

namespace aplomb::sources {
namespace {

// A frame: length (8 bytes, little-endian), its checksum (4), the message, its checksum (4).
constexpr std::size_t k_head_bytes = 12;
constexpr std::size_t k_tail_bytes = 4;
constexpr std::uint64_t k_most_parsed =
    1U << 20U;  // scalars are below 1 KiB; larger ones are skipped by length
constexpr std::uint64_t k_most_message =
    1ULL << 34U;  // beyond it a length is damage, whatever its checksum
constexpr std::uint64_t k_most_searched = 64ULL << 20U;  // for the next whole frame after damage

const ReaderSpec& tensorboard_spec() {
  static const ReaderSpec spec = {
      "tensorboard",
      "TensorBoard event files (events.out.tfevents.*) of PyTorch, TensorFlow, Keras, Lightning, "
      "Megatron",
      "events.out.tfevents.1718968142.host.4242.0: frames of (length, CRC, Event{step, "
      "Summary{tag, value}}, CRC)",
      {"a last frame cut in the middle (the writer was killed)",
       "damaged frames between whole ones", "lengths beyond the file",
       "images, histograms and graphs between the scalars", "tensors of one number (TF 2)",
       "evaluation in a folder of its own with the tags of training (Keras)",
       "a folder a curve (add_scalars)"}};
  return spec;
}

std::uint32_t load4(const char* p) {
  std::uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

std::uint64_t load8(const char* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

bool whole_head(std::string_view head) {
  return head.size() == k_head_bytes &&
         core::masked_crc32c(head.substr(0, 8)) == load4(head.data() + 8) &&
         load8(head.data()) <= k_most_message;
}

std::string_view folder_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {};
  path = path.substr(0, slash);
  const std::size_t above = path.rfind('/');
  return above == std::string_view::npos ? path : path.substr(above + 1);
}

/// What a tag is called with what the folder adds: Keras writes `validation/` beside `train/` with
/// equal tags, PyTorch's add_scalars("Loss", {"val": ...}) writes the tag Loss below the folder
/// Loss_val.
std::string full_tag(std::string_view tag, std::string_view folder) {
  std::string stem(tag);
  for (char& c : stem) {
    if (c == '/') c = '_';
  }
  if (folder.size() > stem.size() + 1 && folder.substr(0, stem.size()) == stem &&
      folder[stem.size()] == '_') {
    return std::string(folder.substr(stem.size() + 1)) + "/" + std::string(tag);
  }
  const std::string word = core::lower(folder);
  if (word == "validation" || word == "val" || word == "valid" || word == "eval" ||
      word == "test") {
    return word + "/" + std::string(tag);
  }
  return std::string(tag);
}

class EventFile {
 public:
  EventFile(input::ByteStream& bytes, record::RunBuilder& build, record::SourceId source)
      : bytes_(bytes),
        window_(bytes),
        build_(build),
        source_(source),
        folder_(folder_name(build.source(source).path)) {}

  void read() {
    while (frame()) {
    }
    if (!bytes_.broken().empty()) defect("truncated", core::Severity::warning, bytes_.broken());
  }

 private:
  struct Tag {
    std::string name;
    record::SeriesId series = 0;
    double scale = 1;
  };

  void defect(std::string kind, core::Severity severity, std::string text) {
    build_.defect({source_, window_.offset(), std::move(kind), severity, std::move(text)});
  }

  bool torn(std::uint64_t wanted, std::uint64_t had) {
    defect("truncated", core::Severity::note,
           fmt::format("[tensorboard] the last frame has {} of {} bytes: the writer was stopped, "
                       "or still writes",
                       had, wanted));
    return false;
  }

  /// Reads the next frame; false at the end of what can be read.
  bool frame() {
    const std::string_view head = window_.look(k_head_bytes);
    if (head.empty()) return false;
    if (head.size() < k_head_bytes) return torn(k_head_bytes, head.size());
    const std::uint64_t size = load8(head.data());
    if (!whole_head(head)) return find_next_frame();
    if (size > k_most_parsed) {
      window_.drop(k_head_bytes);
      const std::uint64_t had = window_.skip(size + k_tail_bytes);
      return had == size + k_tail_bytes || torn(size + k_tail_bytes, had);
    }
    const std::size_t whole = k_head_bytes + static_cast<std::size_t>(size) + k_tail_bytes;
    const std::string_view bytes = window_.look(whole);
    if (bytes.size() < whole) return torn(whole, bytes.size());
    const std::string_view message = bytes.substr(k_head_bytes, static_cast<std::size_t>(size));
    if (core::masked_crc32c(message) != load4(bytes.data() + whole - k_tail_bytes)) {
      defect("bad-crc", core::Severity::warning,
             "[tensorboard] a frame's checksum is wrong: damaged on disk or in copying; left out");
    } else if (!read_tf_event(message, event_)) {
      defect("bad-message", core::Severity::warning,
             "[tensorboard] a frame holds no Event message; left out");
    } else {
      for (const TfScalar& scalar : event_.scalars) sample(scalar);
    }
    window_.drop(whole);
    return true;
  }

  /// After a damaged length: the next place where a length and its checksum agree.
  bool find_next_frame() {
    defect("bad-crc", core::Severity::warning,
           "[tensorboard] a frame's length is damaged; searched for the next whole one");
    for (std::uint64_t searched = 0; searched < k_most_searched; ++searched) {
      window_.drop(1);
      const std::string_view head = window_.look(k_head_bytes);
      if (head.size() < k_head_bytes) return false;
      if (whole_head(head)) return true;
    }
    return false;
  }

  void sample(const TfScalar& scalar) {
    const Tag& tag = tag_of(scalar.tag);
    build_.append(tag.series, event_.step, scalar.value * tag.scale, 0, window_.offset());
  }

  /// Writers go through their tags in the same order at every step: the tag after the last one is
  /// tried first.
  const Tag& tag_of(std::string_view name) {
    if (++last_ >= tags_.size()) last_ = 0;
    if (!tags_.empty() && tags_[last_].name == name) return tags_[last_];
    if (const auto known = by_name_.find(std::string(name)); known != by_name_.end()) {
      last_ = known->second;
      return tags_[last_];
    }
    if (tags_.size() >
        record::RunBuilder::k_max_series) {  // full: the last one is dropped by the builder
      last_ = tags_.size() - 1;
      return tags_.back();
    }
    const MetricName metric = name_metric(full_tag(name, folder_));
    Tag tag{std::string(name), 0, metric.scale};
    tag.series =
        build_.series(source_, metric.series, name, metric.role, record::StepKind::explicit_);
    last_ = tags_.size();
    by_name_.emplace(tag.name, last_);
    tags_.push_back(std::move(tag));
    return tags_.back();
  }

  input::ByteStream& bytes_;
  input::ByteWindow window_;
  record::RunBuilder& build_;
  record::SourceId source_;
  std::string folder_;
  TfEvent event_;
  std::vector<Tag> tags_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::size_t last_ = 0;
};

class TensorboardReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return tensorboard_spec(); }

  double sniff(const Sniff& artifact) const override {
    const bool named = artifact.path.find("tfevents") != std::string_view::npos;
    if (whole_head(artifact.head.substr(0, k_head_bytes))) return 1;
    return named && artifact.head.find('\0') != std::string_view::npos ? 0.9 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    EventFile(bytes, build, source).read();
  }
};

}  // namespace

std::unique_ptr<Reader> make_tensorboard_reader() { return std::make_unique<TensorboardReader>(); }

}  // namespace aplomb::sources
