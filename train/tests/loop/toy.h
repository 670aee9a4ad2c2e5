#pragma once
/// A trainer around the smallest language model there is, a table of bigrams, with faults on
/// demand.

#include <ATen/Parallel.h>
#include <functional>
#include <memory>

#include "core/folder.h"
#include "train/loop/random_state.h"
#include "train/loop/tensor_file.h"
#include "train/loop/trainer.h"
#include "train/text/dataset.h"

namespace aplomb::train::loop {

/// The bytes as GPT-2 writes them, and three special tokens behind them.
inline std::string byte_tokenizer() {
  std::string vocabulary;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printed = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    const int code = printed ? byte : next++;
    char escaped[16];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(code));
    vocabulary += "\"" + std::string(escaped) + "\": " + std::to_string(byte) + ", ";
  }
  std::string added;
  const char* names[] = {"<|begin|>", "<|end|>", "<|pad|>"};
  for (int i = 0; i < 3; ++i) {
    vocabulary +=
        std::string(i > 0 ? ", " : "") + "\"" + names[i] + "\": " + std::to_string(256 + i);
    added +=
        std::string(i > 0 ? ", " : "") + R"({"id": )" + std::to_string(256 + i) +
        R"(, "content": ")" + names[i] +
        R"(", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})";
  }
  return R"({"version": "1.0", "added_tokens": [)" + added +
         R"(], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "post_processor": null, "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": {)" +
         vocabulary + R"(}, "merges": []}})";
}

inline constexpr std::int64_t k_toy_vocabulary = 259;

class ToyTrainee final : public Trainee {
 public:
  explicit ToyTrainee(double dropout) : dropout_(dropout) {
    parameters_.push_back(
        {"table", (0.1 * at::randn({k_toy_vocabulary, k_toy_vocabulary})).set_requires_grad(true)});
  }
  at::Tensor loss_sum(const text::TokenBatch& batch) override {
    const auto tensor = [&](const std::vector<std::int64_t>& values) {
      return at::tensor(values, at::kLong).reshape({batch.rows, batch.columns});
    };
    at::Tensor logits =
        parameters_[0].tensor.index({tensor(batch.ids)}).narrow(1, 0, batch.columns - 1);
    logits = at::dropout(logits, dropout_, training_);
    const at::Tensor labels = tensor(batch.labels).narrow(1, 1, batch.columns - 1);
    at::Tensor loss = at::cross_entropy_loss(logits.reshape({-1, k_toy_vocabulary}),
                                             labels.reshape({-1}), {}, at::Reduction::Sum);
    if (training_ && fault) loss = fault(seen_++, loss);
    return loss;
  }
  const std::vector<NamedTensor>& trainable() const override { return parameters_; }
  void set_training(bool training) override { training_ = training; }
  core::Result<void> save(const std::string& folder) override {
    return save_tensors(folder + "/model.safetensors", parameters_);
  }
  core::Result<void> load(const std::string& folder) override {
    return load_tensors(folder + "/model.safetensors", parameters_);
  }

  /// Turns the loss of the n-th micro-batch of training into another.
  std::function<at::Tensor(std::int64_t, const at::Tensor&)> fault = {};

 private:
  double dropout_;
  bool training_ = true;
  std::int64_t seen_ = 0;
  std::vector<NamedTensor> parameters_;
};

struct ToySettings {
  std::int64_t steps = 40;
  std::int64_t rows = 4;
  std::int64_t accumulation = 2;
  double lr = 0.05;
  double dropout = 0.1;
  std::int64_t save_steps = 0;
  std::int64_t keep = 2;
  std::int64_t eval_steps = 0;
  std::int64_t patience = 0;
  std::int64_t logging_steps = 1;
  std::int64_t snapshot_steps = 10;
  bool best_at_end = false;
  bool packing = false;
  bool shuffle = true;
  double loss_scale = 0;  ///< to begin with; 0: none
  double peak_flops = 0;  ///< for an MFU of 1000 operations a token
  std::string resume = {};
  std::function<at::Tensor(std::int64_t, const at::Tensor&)> fault = {};
};

/// Samples of letters that follow each other, so that a table can learn them.
inline std::string toy_rows(int count) {
  std::string rows;
  for (int i = 0; i < count; ++i) {
    std::string answer;
    for (int k = 0; k <= i % 13 + 3; ++k) answer += static_cast<char>('a' + (i * 7 + k) % 26);
    rows +=
        R"({"prompt": "go )" + std::to_string(i % 10) + R"( ", "completion": ")" + answer + "\"}\n";
  }
  return rows;
}

/// Data, model, optimizer, journal and trainer of one run in `folder`.
class ToyRun {
 public:
  ToyRun(const std::string& folder, const ToySettings& settings) : store_(folder, settings.keep) {
    error = open(folder, settings);
  }

  std::string error;
  std::unique_ptr<ToyTrainee> trainee;
  std::unique_ptr<Trainer> trainer;
  const CheckpointStore& store() const { return store_; }
  text::BatchStream& data() { return *train_; }

 private:
  /// What went wrong; empty: nothing.
  std::string open(const std::string& folder, const ToySettings& settings) {
    at::set_num_threads(1);  // tests fork
    seed_all(5);
    files_.write("tokenizer.json", byte_tokenizer());
    files_.write("tokenizer_config.json",
                 R"({"bos_token": "<|begin|>", "eos_token": "<|end|>", "pad_token": "<|pad|>"})");
    files_.write("data.jsonl", toy_rows(90));
    auto codec = text::TextCodec::open(files_ / "");
    if (!codec) return codec.error().text;
    auto data = text::Dataset::open({files_ / "data.jsonl"}, *codec, {.max_length = 64});
    if (!data) return data.error().text;
    data_ = std::make_unique<text::Dataset>(std::move(*data));
    const auto split = data_->split({.samples = 10, .seed = 1});
    if (!split) return split.error().text;
    text::BatchOptions batches{
        .rows = settings.rows, .packing = settings.packing, .shuffle = settings.shuffle};
    if (settings.packing) batches.columns = 64;
    auto train = text::BatchStream::open(*data_, split->train, batches);
    auto eval = text::BatchStream::open(*data_, split->validation, {.rows = 4, .shuffle = false});
    if (!train || !eval) return "streams";
    train_ = std::make_unique<text::BatchStream>(std::move(*train));
    eval_ = std::make_unique<text::BatchStream>(std::move(*eval));
    trainee = std::make_unique<ToyTrainee>(settings.dropout);
    trainee->fault = settings.fault;
    optimizer_ = std::make_unique<AdamW>(trainee->trainable(), AdamW::Settings{.lr = settings.lr});
    std::int64_t resumed = -1;
    const auto from = store_.find(settings.resume);
    if (!from) return from.error().text;
    if (*from) resumed = read_training_state(**from + "/" + k_training_state_file)->step;
    auto journal = Journal::open({folder, false, true, settings.steps, resumed});
    if (!journal) return journal.error().text;
    journal_ = std::make_unique<Journal>(std::move(*journal));
    trainer = std::make_unique<Trainer>(
        TrainerParts{*trainee, *optimizer_, *train_,
                     settings.eval_steps > 0 ? eval_.get() : nullptr, *journal_, store_},
        plan_of(settings));
    if (!*from) return {};
    const auto done = trainer->resume(**from);
    return done ? std::string() : done.error().text;
  }

  static TrainerPlan plan_of(const ToySettings& settings) {
    TrainerPlan plan{.schedule = Schedule(Schedule::Shape::cosine, 4, settings.steps)};
    plan.peak_lr = settings.lr;
    plan.accumulation = settings.accumulation;
    plan.cadence.logging_steps = settings.logging_steps;
    plan.cadence.save_steps = settings.save_steps;
    plan.cadence.eval_steps = settings.eval_steps;
    plan.cadence.patience = settings.patience;
    plan.best_at_end = settings.best_at_end;
    plan.snapshot_steps = settings.snapshot_steps;
    plan.guard.max_norm = 1;
    plan.vocab_size = k_toy_vocabulary;
    plan.flops_per_token = 1000;
    plan.peak_flops = settings.peak_flops;
    plan.calibrates_in_silence = true;
    plan.guard.keeps_loss_scale = settings.loss_scale > 0;
    if (settings.loss_scale > 0) plan.guard.initial_loss_scale = settings.loss_scale;
    return plan;
  }

  test::Folder files_;
  CheckpointStore store_;
  std::unique_ptr<text::Dataset> data_;
  std::unique_ptr<text::BatchStream> train_, eval_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Journal> journal_;
};

}  // namespace aplomb::train::loop
