/// Reader of trainer_state.json, which Hugging Face's Trainer leaves in every checkpoint.
///
///     {"global_step": 500, "max_steps": 1000, "log_history": [
///       {"epoch": 0.1, "grad_norm": NaN, "learning_rate": 2e-05, "loss": 2.31, "step": 10},
///       {"epoch": 1.0, "train_loss": 1.92, "train_runtime": 5321.7, "step": 500}]}
///
/// Oddities: NaN, Infinity and -Infinity as bare words; records of callbacks between Trainer's
/// own; a closing record whose train_loss is the mean of the run, and no sample; a file cut while
/// it was written.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "input/json_cursor.h"
#include "sources/reader.h"
#include "sources/record_sink.h"

namespace aplomb::sources {
namespace {

constexpr std::uint64_t k_most_bytes = 256U << 20U;  // a record a step for 2 million steps
constexpr std::string_view k_framework = "hf-trainer";
constexpr std::string_view k_mean_loss =
    "run/mean";  // of the whole run: no word of it may say `loss`

const ReaderSpec& trainer_state_spec() {
  static const ReaderSpec spec = {
      "trainer-state",
      "trainer_state.json of Hugging Face Trainer (Transformers, TRL, PEFT, LLaMA-Factory, "
      "axolotl, ms-swift)",
      R"({"global_step": 500, "log_history": [{"epoch": 0.1, "grad_norm": NaN, "loss": 2.31, "step": 10}, ...]})",
      {"NaN, Infinity and -Infinity as bare words", "no final newline",
       "records of callbacks between Trainer's own",
       "the closing record whose train_loss is the mean of the run",
       "a file cut while it was written"}};
  return spec;
}

/// Members of the state beside its history that say what was planned.
std::string_view setting_of(std::string_view key) {
  if (key == "max_steps") return "train.max_steps";
  if (key == "num_train_epochs") return "train.epochs";
  if (key == "train_batch_size") return "batch.micro";
  if (key == "logging_steps") return "log.steps";
  if (key == "eval_steps") return "eval.steps";
  if (key == "save_steps") return "save.steps";
  return {};
}

/// Columns of the record before, in order: the next record has the same keys, and needs no look-up.
class ExpectedKeys {
 public:
  explicit ExpectedKeys(RecordSink& sink) : sink_(sink) {}
  void begin() { at_ = 0; }
  RecordSink::Column column(std::string_view key) {
    if (at_ == keys_.size()) keys_.emplace_back();
    auto& [name, column] = keys_[at_++];
    if (name != key || name.empty()) {
      column = sink_.column(key);
      name = std::string(key);
    }
    return column;
  }

 private:
  RecordSink& sink_;
  std::vector<std::pair<std::string, RecordSink::Column>> keys_;
  std::size_t at_ = 0;
};

class TrainerStateReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return trainer_state_spec(); }

  double sniff(const Sniff& artifact) const override {
    const std::size_t start = artifact.head.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos || artifact.head[start] != '{') return 0;
    if (artifact.head.find("\"log_history\"") != std::string_view::npos) return 0.95;
    const bool named = artifact.path.find("trainer_state") != std::string_view::npos;
    return named && artifact.head.find("\"global_step\"") != std::string_view::npos ? 0.9 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    bool cut = false;
    const std::string text = input::read_at_most(bytes, k_most_bytes, cut);
    build.source(source).framework = k_framework;
    input::JsonCursor json(text);
    RecordSink sink(build, source, std::string(k_framework));
    if (json.enter_object()) read_state(json, sink, build, source);
    sink.finish();
    if (!bytes.broken().empty()) {
      build.defect({source, json.at(), "truncated", core::Severity::warning, bytes.broken()});
    } else if (json.bad()) {
      const bool torn = cut || json.torn();
      build.defect(
          {source, json.at(), torn ? "truncated" : "bad-json", core::Severity::warning,
           fmt::format("[trainer-state] {} at byte {} of {}; {} records before it were read",
                       torn ? "the file ends" : "not JSON", json.at(), text.size(),
                       sink.records())});
    }
  }

 private:
  static void read_state(input::JsonCursor& json, RecordSink& sink, record::RunBuilder& build,
                         record::SourceId source) {
    for (std::string_view key; json.next_member(key);) {
      if (key == "log_history" && json.peek() == input::JsonCursor::Kind::array) {
        json.enter_array();
        ExpectedKeys keys(sink);
        while (json.next_element()) read_record(json, sink, keys);
        continue;
      }
      const std::string_view name = setting_of(key);
      const std::string raw_key(key);
      const std::uint64_t offset = json.at();
      if (name.empty()) {
        json.skip();
      } else if (const auto number = json.number()) {
        // -1 and 0 stand for `not set` in TrainingArguments.
        if (*number > 0) {
          build.setting(
              {std::string(name), *number, raw_key, std::string(k_framework), {source, 0, offset}});
        }
      } else {
        json.skip();
      }
    }
  }

  static void read_record(input::JsonCursor& json, RecordSink& sink, ExpectedKeys& keys) {
    if (json.peek() != input::JsonCursor::Kind::object) {
      json.skip();
      return;
    }
    sink.begin(0, json.at());
    json.enter_object();
    keys.begin();
    // Trainer's last record sums the run up; its train_loss is the mean of the run, no sample.
    // Members are sorted.
    bool closing = false;
    for (std::string_view key; json.next_member(key);) {
      closing = closing || key == "total_flos" || key == "train_runtime";
      const RecordSink::Column column =
          keys.column(closing && key == "train_loss" ? k_mean_loss : key);
      double quick = 0;
      if (json.try_number(quick)) {
        sink.put(column, quick);
      } else if (const auto number = json.number()) {
        sink.put(column, *number);
      } else {
        json.skip();
      }
    }
    sink.end();
  }
};

}  // namespace

std::unique_ptr<Reader> make_trainer_state_reader() {
  return std::make_unique<TrainerStateReader>();
}

}  // namespace aplomb::sources
