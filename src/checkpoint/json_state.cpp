// What trainers leave in JSON beside the weights: trainer_state.json of Hugging Face's Trainer, the
// model's or the adapter's config.json, and training_state.json of `aplomb train` (own_files.h).
//
//     {"best_metric": null, "epoch": 0.5, "global_step": 500, "log_history": [{"epoch": 0.1,
//      "grad_norm": NaN, "learning_rate": 2e-05, "loss": 2.31, "step": 100}, ...],
//      "max_steps": 1000, "train_batch_size": 8}
//
// NaN stands there as Python writes it. A file that was cut off gives what stands before the tear.
// The config of a model of several parts holds its numbers one level down, under `text_config`.

#include <functional>
#include <optional>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/own_files.h"
#include "input/json_cursor.h"

namespace aplomb::checkpoint {
namespace {

using input::JsonCursor;

constexpr std::uint64_t k_most_json = 256U << 20U;

using TakeNumber = std::function<void(std::string_view key, std::size_t depth, double value)>;

/// The number or truth that comes next; moves past any other value but an object or an array.
std::optional<double> plain_value(JsonCursor& json, JsonCursor::Kind kind) {
  if (kind == JsonCursor::Kind::number) return json.number();
  if (kind == JsonCursor::Kind::truth) {
    const auto truth = json.truth();
    return truth ? std::optional(*truth ? 1.0 : 0.0) : std::nullopt;
  }
  json.skip();
  return std::nullopt;
}

/// Every number and truth that has a key, in the order of the text; those of the outermost object
/// are of depth 1. False where the text is torn or malformed.
bool each_number(std::string_view text, const TakeNumber& take) {
  JsonCursor json(text);
  std::vector<bool> open;  // outermost first; true: an object, false: an array
  do {
    std::string_view key;
    if (!open.empty() && !(open.back() ? json.next_member(key) : json.next_element())) {
      open.pop_back();
      continue;
    }
    const JsonCursor::Kind kind = json.peek();
    if (kind == JsonCursor::Kind::object || kind == JsonCursor::Kind::array) {
      const bool object = kind == JsonCursor::Kind::object;
      if (object ? json.enter_object() : json.enter_array()) open.push_back(object);
    } else if (const auto value = plain_value(json, kind); value && !key.empty()) {
      take(key, open.size(), *value);
    }
  } while (!open.empty() && !json.bad());
  return !json.bad();
}

/// Takes the numbers of these keys: of the outermost object, else the first further in.
class NumbersOf {
 public:
  NumbersOf(std::initializer_list<std::string_view> keys, std::map<std::string, double>& out)
      : keys_(keys), out_(out) {}
  ~NumbersOf() { out_.merge(nested_); }
  NumbersOf(const NumbersOf&) = delete;
  NumbersOf& operator=(const NumbersOf&) = delete;

  void take(std::string_view key, std::size_t depth, double value) {
    if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) return;
    (depth == 1 ? out_ : nested_).emplace(key, value);
  }

 private:
  std::vector<std::string_view> keys_;
  std::map<std::string, double>& out_;
  std::map<std::string, double> nested_;
};

void take_config(std::string_view text, Checkpoint& out) {
  NumbersOf numbers({"num_hidden_layers", "n_layer", "initializer_range", "tie_word_embeddings",
                     "vocab_size", "hidden_size", "r", "lora_alpha"},
                    out.config);
  each_number(text, [&](std::string_view key, std::size_t depth, double value) {
    numbers.take(key, depth, value);
  });
}

/// Also the two newest learning rates of its log_history: whether it rises. False where it is torn.
bool take_trainer_state(std::string_view text, Checkpoint& out) {
  NumbersOf numbers({"global_step", "max_steps", "epoch", "train_batch_size"}, out.trainer_state);
  std::optional<double> last;
  std::optional<double> before;
  const bool whole = each_number(text, [&](std::string_view key, std::size_t depth, double value) {
    numbers.take(key, depth, value);
    if (key != "learning_rate") return;
    before = last;
    last = value;
  });
  if (last) out.trainer_state.emplace("last_logged_lr", *last);
  if (before) out.trainer_state.emplace("lr_logged_before", *before);
  return whole;
}

class JsonState final : public CheckpointFormat {
 public:
  bool takes(const StoredFile& file) const override {
    return file.role == FileRole::trainer_state || file.role == FileRole::config;
  }
  std::string read(const StoredFile& file, Opening& opening) const override {
    if (file.bytes().size() > k_most_json) {
      opening.refuse(file.path, "is too large for its name");
      return {};
    }
    if (file.role == FileRole::config) {
      take_config(file.text(), opening.out);
    } else if (file.name() != "training_state.json") {
      if (!take_trainer_state(file.text(), opening.out)) {
        opening.note("checkpoint.truncated", core::Severity::warning, file.path,
                     "[checkpoint] " + file.path +
                         " is no whole JSON: it was cut off, or is being written, and a resume "
                         "cannot read it");
      }
    } else if (!take_training_state(file.text(), opening.out)) {
      opening.refuse(file.path, "is no JSON; it was cut off, or is being written");
      return {};
    }
    return "json";
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_json_state_format() { return std::make_unique<JsonState>(); }

}  // namespace aplomb::checkpoint
