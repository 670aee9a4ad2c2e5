#pragma once
/// Dataset: files of examples -> token ids with the tokens that count marked, every sample checked.
///
///     auto codec = TextCodec::open("model/");
///     auto data = Dataset::open({"train.jsonl"}, *codec, {.max_length = 512});
///     if (!data) ...                       // data.error().text: what, where, why, what to do
///     for (const auto& notice : data->notices()) ...
///     DataSplit split = data->split({.samples = 200, .seed = 42});
///
/// Files: JSON Lines (one object a line) and JSON (an array of objects, or an object with one such
/// array in `data`, `train`, `examples`, `instances` or `rows`), in UTF-8. Fields of a row, by
/// which `DataFormat::automatic` tells them apart:
///   chat               messages | conversations: [{role, content}] or ShareGPT's {from, value}
///   prompt_completion  prompt + completion | response (texts, or lists of messages)
///   instruction        instruction (+ input) + output: written out as Alpaca's prompt
///   text               text: everything counts
///
/// What counts in the loss: the completion (output) and the EOS that ends it; in a chat what the
/// assistant says, each time with the end of turn; `train_on_prompt` makes everything count.
///
/// Checks of each sample (a defect names file, line and number): not readable as JSON, no known
/// fields, empty, longer than max_length, nothing counts, an id that the model has no row for.
/// Defects up to `most_defects` are told and the samples left out; more, or no sample at all, and
/// open() fails: data that is mostly unreadable is a mistake, not noise. (Samples that
/// `TooLong::drop` leaves out as asked do not count towards it.)

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "train/text/text_codec.h"

namespace aplomb::train::text {

enum class DataFormat { automatic, instruction, prompt_completion, chat, text };
enum class TooLong {
  truncate,  ///< keep the first max_length tokens (the end of the answer, EOS included, is lost)
  drop,      ///< leave the sample out, as a defect
};

struct DatasetOptions {
  std::int64_t max_length = 1024;  ///< tokens of a sample, > 1
  TooLong too_long = TooLong::truncate;
  DataFormat format = DataFormat::automatic;
  bool train_on_prompt = false;  ///< true: the prompt (all turns of a chat) counts too
  bool append_eos = true;        ///< ends every sample; the end of a chat is its template's
  std::int64_t embedding_rows =
      0;  ///< of the model; the vocabulary must fit it, ids from here on are defects. 0: unknown
  std::int64_t max_samples = 0;  ///< read only the first so many rows; 0: all
  double most_defects = 0.05;    ///< share of rows that may be left out before open() fails
  unsigned threads = 0;          ///< 0: one a core
};

enum class SampleFault { unreadable, unknown_fields, empty, too_long, all_masked, id_out_of_range };

struct SampleDefect {
  SampleFault fault = SampleFault::unreadable;
  std::string path;
  std::uint64_t row = 0;   ///< number of the row in its file, from 0
  std::uint64_t line = 0;  ///< from 1; 0 where the file is one JSON text
  std::string text;        ///< "train.jsonl:17 (sample 16): ..."
};

/// One sample. ids[i] counts in the loss where counts(i).
class SampleView {
 public:
  explicit SampleView(std::span<const std::int32_t> tokens) : tokens_(tokens) {}
  std::size_t size() const { return tokens_.size(); }
  std::int32_t id(std::size_t i) const { return tokens_[i] < 0 ? ~tokens_[i] : tokens_[i]; }
  bool counts(std::size_t i) const { return tokens_[i] >= 0; }

 private:
  std::span<const std::int32_t> tokens_;  ///< ~id where the token does not count
};

struct SplitOptions {
  double share = 0;          ///< of the samples, in [0, 1); used where `samples` is 0
  std::int64_t samples = 0;  ///< so many for validation
  std::uint64_t seed = 42;
};
struct DataSplit {
  std::vector<std::uint64_t> train;  ///< ascending sample numbers
  std::vector<std::uint64_t> validation;
};

class Dataset {
 public:
  static core::Result<Dataset> open(const std::vector<std::filesystem::path>& paths,
                                    const TextCodec& codec, const DatasetOptions& options);

  std::uint64_t size() const { return starts_.size() - 1; }
  SampleView sample(std::uint64_t number) const {
    return SampleView({tokens_.data() + starts_[number], tokens_.data() + starts_[number + 1]});
  }
  std::uint64_t length(std::uint64_t number) const { return starts_[number + 1] - starts_[number]; }
  /// "train.jsonl:17": where sample `number` stands, for messages.
  std::string where(std::uint64_t number) const;
  std::uint64_t tokens() const { return tokens_.size(); }
  std::uint64_t counted_tokens() const { return counted_; }
  std::int64_t longest() const { return longest_; }
  /// What stands where a row has no token. The codec's padding token; where the model has no row
  /// for it, the model's last row stands in: a model never looks at padding (batch.h: segments) and
  /// no gradient comes from it, so its embedding need not grow, and an adapter still fits its base.
  std::int32_t pad() const { return pad_; }
  DataFormat format() const { return format_; }
  /// Rows cut at max_length.
  std::uint64_t truncated() const { return truncated_; }

  std::span<const SampleDefect> defects() const { return defects_; }
  /// For people: how much was read, left out, cut.
  std::span<const std::string> notices() const { return notices_; }
  /// Of all ids and masks in order: a resumed run compares it before it trusts a DataPosition.
  std::uint64_t fingerprint() const { return fingerprint_; }

  /// The same seed gives the same split of the same data, on every machine. Fails where one side
  /// would be empty (validation: only if some was asked for).
  core::Result<DataSplit> split(const SplitOptions& options) const;

 private:
  friend class DatasetBuilder;
  struct Origin {
    std::uint32_t file = 0;
    std::uint64_t row = 0;
    std::uint64_t line = 0;
  };

  std::vector<std::int32_t> tokens_;
  std::vector<std::uint64_t> starts_{0};
  std::vector<Origin> origins_;
  std::vector<std::string> files_;
  std::vector<SampleDefect> defects_;
  std::vector<std::string> notices_;
  std::uint64_t counted_ = 0;
  std::uint64_t truncated_ = 0;
  std::uint64_t fingerprint_ = 0;
  std::int64_t longest_ = 0;
  std::int32_t pad_ = 0;
  DataFormat format_ = DataFormat::automatic;
};

}  // namespace aplomb::train::text
