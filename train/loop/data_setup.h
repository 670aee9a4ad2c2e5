#pragma once
/// The data of a run: tokenizer, samples, their split, and the streams of batches.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "train/loop/options.h"
#include "train/text/batch_stream.h"
#include "train/text/dataset.h"
#include "train/text/text_codec.h"

namespace aplomb::train::loop {

struct DataSetup {
  std::unique_ptr<text::TextCodec> codec;
  std::unique_ptr<text::Dataset> data;  ///< of training, and of evaluation where it is split off
  std::unique_ptr<text::Dataset> eval_data;  ///< of a file of its own
  std::unique_ptr<text::BatchStream> train;
  std::unique_ptr<text::BatchStream> eval;  ///< null: nothing is held out
  std::uint64_t train_samples = 0;
  std::uint64_t eval_samples = 0;
  std::vector<std::string> notices;  ///< for people: what was read, left out, decided
};

/// Reads everything and checks every sample. `embedding_rows`: of the model, ids from there on are
/// defects.
core::Result<DataSetup> open_data(const TrainOptions& options, std::int64_t embedding_rows,
                                  std::int64_t rank, std::int64_t world);

/// Samples that one rank takes a pass.
std::int64_t rows_of_a_pass(const LengthFlags& length, std::int64_t ranks);

/// The folder with the tokenizer: `--tokenizer`, else the model's.
std::string tokenizer_folder(const TrainOptions& options);

}  // namespace aplomb::train::loop
