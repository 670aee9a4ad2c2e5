/// Reader of aplomb's own record of steps and verdicts (aplomb/recorder.h; the layout stands in
/// recorder/record_file.h), as the run left it.
///
///     89 "APLREC" 0a | version | ... | names and reasons | slots of 128 bytes, one a step
///
/// Oddities: the process was killed in the middle of a record; the ring has gone round, so that
/// the oldest steps are gone; a slot is damaged; a resumed run wrote into the same file; the file
/// was cut.

#include "recorder/record_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "input/byte_window.h"
#include "sources/metric_names.h"
#include "sources/reader.h"

namespace aplomb::sources {

using namespace recorder;  // NOLINT(google-build-using-namespace): the layout of the file that this
                           // one reads
namespace {

const ReaderSpec& step_record_spec() {
  static const ReaderSpec spec = {
      "step-record",
      "aplomb's own record of steps and verdicts (aplomb/recorder.h), as the run left it",
      "\x89"
      "APLREC, a table of names and reasons, then slots of 128 bytes",
      {"the process was killed in the middle of a record", "a ring that has gone round",
       "damaged slots", "a run that was resumed into the same file", "a file that was cut"}};
  return spec;
}

/// GuardAction, as the file has it.
enum Action : std::uint8_t { k_proceed, k_clip, k_skip, k_rollback, k_halt };

struct Happening {
  const char* kind;
  const char* verb;
  core::Severity severity;
};

/// A guard that skips or clips has done its work: that is no failure of the run.
Happening happening_of(std::uint8_t action) {
  switch (action) {
    case k_clip:
      return {"guard-clip", "clipped the gradients", core::Severity::note};
    case k_skip:
      return {"guard-skip", "skipped the step", core::Severity::note};
    case k_rollback:
      return {"guard-rollback", "asked for a rollback", core::Severity::warning};
    case k_halt:
      return {"guard-halt", "halted the run", core::Severity::failed};
    default:
      return {"guard-note", "says", core::Severity::note};
  }
}

// Policies that are no policies: `autopsy.input`, what the replay of a batch found;
// `inspection.unmoved`, what a look inside the model found.
constexpr std::string_view k_findings[] = {"autopsy", "inspection"};

class RecordFile {
 public:
  RecordFile(input::ByteStream& bytes, record::RunBuilder& build, record::SourceId source)
      : bytes_(bytes), window_(bytes), build_(build), source_(source) {}

  void read() {
    if (!read_head() || !read_table()) return;
    read_slots();
    give();
    if (!bytes_.broken().empty()) defect("truncated", core::Severity::warning, bytes_.broken());
  }

 private:
  struct Kept {
    RecordSlot slot;
    std::uint64_t offset;
  };

  void defect(std::string kind, core::Severity severity, std::string text) {
    build_.defect(
        {source_, window_.offset(), std::move(kind), severity, "[step-record] " + std::move(text)});
  }

  bool read_head() {
    const std::string_view bytes = window_.look(sizeof head_);
    if (bytes.size() < sizeof head_) {
      defect("truncated", core::Severity::warning, "the head is cut");
      return false;
    }
    std::memcpy(&head_, bytes.data(), sizeof head_);
    if (const std::string fault = fault_in(head_); !fault.empty()) {
      defect("bad-format", core::Severity::warning, fault);
      return false;
    }
    if (head_.rank >= 0) build_.speak_for_rank(source_, head_.rank);
    return window_.skip(k_head_bytes) == k_head_bytes || cut("in the head");
  }

  bool cut(const char* where) {
    defect("truncated", core::Severity::warning, fmt::format("the file is cut {}", where));
    return false;
  }

  bool read_table() {
    const std::string_view bytes = window_.look(head_.text_bytes);
    if (bytes.size() < head_.text_bytes) return cut("in the table of names");
    table_ = bytes;
    window_.drop(bytes.size());
    std::size_t place = 0;
    while (const auto entry = text_at(table_, place)) {
      if (entry->kind == TextKind::name) names_[entry->ordinal] = entry->text;
      place = entry->next;
    }
    std::uint32_t size = 0;
    if (place + sizeof(TextHead) <= table_.size())
      std::memcpy(&size, table_.data() + place, sizeof size);
    if (size != 0)
      defect("bad-crc", core::Severity::warning,
             "an entry of the table of names is damaged; those after it are not known");
    return true;
  }

  void read_slots() {
    std::uint32_t damaged = 0;
    std::uint32_t in_flight = 0;
    for (std::uint32_t i = 0; i < head_.slots; ++i) {
      const std::string_view bytes = window_.look(sizeof(RecordSlot));
      if (bytes.size() < sizeof(RecordSlot)) {
        cut("in the records");
        break;
      }
      Kept kept{};
      std::memcpy(&kept.slot, bytes.data(), sizeof kept.slot);
      kept.offset = window_.offset();
      window_.drop(bytes.size());
      switch (state_of(kept.slot, i, head_.slots)) {
        case SlotState::good:
          kept_.push_back(kept);
          break;
        case SlotState::damaged:
          ++damaged;
          break;
        case SlotState::in_flight:
          ++in_flight;
          break;
        case SlotState::empty:
          break;
      }
    }
    if (damaged > 0)
      defect("bad-crc", core::Severity::warning,
             fmt::format("{} of {} records have a wrong checksum; they were left out", damaged,
                         damaged + kept_.size()));
    if (in_flight > 0)
      defect("truncated", core::Severity::note,
             fmt::format("{} record was being written when the process ended", in_flight));
  }

  /// The ring in the order in which it was written.
  void give() {
    std::sort(kept_.begin(), kept_.end(),
              [](const Kept& a, const Kept& b) { return a.slot.sequence < b.slot.sequence; });
    for (const Kept& kept : kept_) {
      for (std::size_t i = 0; i < kept.slot.value_count; ++i)
        value(kept, kept.slot.name[i], kept.slot.value[i]);
      if (kept.slot.action != k_proceed || kept.slot.reason != 0) event(kept);
    }
    if (kept_.empty()) defect("empty", core::Severity::note, "no record was written");
  }

  void value(const Kept& kept, std::uint16_t ordinal, double sample) {
    const auto known = series_.find(ordinal);
    if (known != series_.end())
      return build_.append(known->second.first, kept.slot.step, sample * known->second.second, 0,
                           kept.offset);
    const auto name = names_.find(ordinal);
    const std::string raw = name != names_.end() ? name->second : fmt::format("metric_{}", ordinal);
    const MetricName metric = name_metric(raw);
    const record::SeriesId id =
        build_.series(source_, metric.series, raw, metric.role, record::StepKind::explicit_);
    series_.emplace(ordinal, std::pair{id, metric.scale});
    build_.append(id, kept.slot.step, sample * metric.scale, 0, kept.offset);
  }

  std::string text_of(std::uint32_t place) const {
    if (place == 0) return {};
    const auto entry = text_at(table_, (std::size_t{place} - 1) * k_text_align);
    return entry ? std::string(entry->text) : "(its text is damaged)";
  }

  void event(const Kept& kept) {
    // The user's own clipping gives no reason, and is no event.
    if (kept.slot.action == k_clip && kept.slot.reason == 0) return;
    const Happening what = happening_of(kept.slot.action);
    record::Event event;
    event.kind = what.kind;
    event.severity = what.severity;
    event.rank = head_.rank;
    event.step = kept.slot.step;
    const std::string policy = text_of(kept.slot.policy);
    event.text = fmt::format("step {}: the guard{} {}", kept.slot.step,
                             policy.empty() ? "" : " (" + policy + ")", what.verb);
    for (const std::string_view each : k_findings) {
      if (!policy.starts_with(each) || policy.substr(each.size(), 1) != ".") continue;
      event.kind = fmt::format("{}-{}", each, policy.substr(each.size() + 1));
      event.text = fmt::format("step {}: {}", kept.slot.step, each);
    }
    if (kept.slot.reason != 0) event.text += ": " + text_of(kept.slot.reason);
    event.origin = {source_, 0, kept.offset};
    build_.event(std::move(event));
  }

  input::ByteStream& bytes_;
  input::ByteWindow window_;
  record::RunBuilder& build_;
  record::SourceId source_;
  RecordHead head_{};
  std::string table_;
  std::map<std::uint16_t, std::string> names_;
  std::map<std::uint16_t, std::pair<record::SeriesId, double>> series_;
  std::vector<Kept> kept_;
};

class StepRecordReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return step_record_spec(); }
  double sniff(const Sniff& artifact) const override {
    return artifact.head.substr(0, k_magic.size()) == k_magic ? 1 : 0;
  }
  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    RecordFile(bytes, build, source).read();
  }
};

}  // namespace

std::unique_ptr<Reader> make_step_record_reader() { return std::make_unique<StepRecordReader>(); }

}  // namespace aplomb::sources
