#include "train/loop/data_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

namespace aplomb::train::loop {
namespace {

text::DatasetOptions dataset_options(const TrainOptions& options, std::int64_t embedding_rows) {
  text::DatasetOptions out;
  out.max_length = options.data.cutoff_len;
  out.train_on_prompt = options.data.train_on_inputs;
  out.embedding_rows = embedding_rows;
  out.threads = static_cast<unsigned>(options.precision.threads);
  return out;
}

std::vector<std::uint64_t> all_of(const text::Dataset& data) {
  std::vector<std::uint64_t> samples(data.size());
  std::iota(samples.begin(), samples.end(), std::uint64_t{0});
  return samples;
}

void tell(const text::Dataset& data, const std::string& path, std::vector<std::string>& notices) {
  notices.push_back(fmt::format("{}: {} samples, {} tokens, {} of them count in the loss", path,
                                data.size(), data.tokens(), data.counted_tokens()));
  for (const std::string& each : data.notices()) notices.push_back(each);
}

struct Samples {
  std::vector<std::uint64_t> train;
  std::vector<std::uint64_t> eval;
};

core::Result<Samples> split(const TrainOptions& options, const DataSetup& setup) {
  if (setup.eval_data) return Samples{all_of(*setup.data), all_of(*setup.eval_data)};
  const double held_out = options.data.val_set_size;
  if (!(held_out > 0)) return Samples{all_of(*setup.data), {}};
  text::SplitOptions how;
  how.seed = options.length.seed;
  if (held_out < 1) {
    how.share = held_out;
  } else {
    how.samples = static_cast<std::int64_t>(held_out);
  }
  auto made = setup.data->split(how);
  if (!made) return tl::unexpected(made.error());
  return Samples{std::move(made->train), std::move(made->validation)};
}

core::Result<void> open_streams(const TrainOptions& options, Samples samples, std::int64_t rank,
                                std::int64_t world, DataSetup& setup) {
  text::BatchOptions how;
  how.rows = rows_of_a_pass(options.length, world);
  how.columns = options.data.packing ? options.data.cutoff_len : 0;
  how.packing = options.data.packing;
  how.shuffle = options.data.shuffle;
  how.seed = options.length.seed;
  how.rank = rank;
  how.world = world;
  setup.train_samples = samples.train.size();
  setup.eval_samples = samples.eval.size();
  auto train = text::BatchStream::open(*setup.data, std::move(samples.train), how);
  if (!train) return tl::unexpected(train.error());
  setup.train = std::make_unique<text::BatchStream>(std::move(*train));
  if (samples.eval.empty()) return {};
  const std::int64_t rows = options.length.per_device_eval_batch_size;
  how.rows = rows > 0 ? rows : how.rows;
  how.shuffle = false;
  how.packing = false;
  how.columns = 0;
  auto eval = text::BatchStream::open(setup.eval_data ? *setup.eval_data : *setup.data,
                                      std::move(samples.eval), how);
  if (!eval) return tl::unexpected(eval.error());
  setup.eval = std::make_unique<text::BatchStream>(std::move(*eval));
  return {};
}

core::Result<std::string> text_of(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.str().empty()) {
    return core::fail(core::ErrorCode::not_readable,
                      "[options] --chat-template " + path + ": no such file, or nothing in it");
  }
  return text.str();
}

core::Result<std::unique_ptr<text::Dataset>> read(const std::string& path,
                                                  const text::TextCodec& codec,
                                                  const text::DatasetOptions& how,
                                                  DataSetup& setup) {
  auto data = text::Dataset::open({path}, codec, how);
  if (!data) return tl::unexpected(data.error());
  tell(*data, path, setup.notices);
  return std::make_unique<text::Dataset>(std::move(*data));
}

}  // namespace

std::int64_t rows_of_a_pass(const LengthFlags& length, std::int64_t ranks) {
  return std::min(length.per_device_train_batch_size,
                  std::max<std::int64_t>(length.batch_size / ranks, 1));
}

std::string tokenizer_folder(const TrainOptions& options) {
  if (!options.model.tokenizer.empty()) return options.model.tokenizer;
  if (!options.model.base_model.empty()) return options.model.base_model;
  const std::string parent =
      std::filesystem::path(options.model.init_random).parent_path().string();
  return parent.empty() ? "." : parent;
}

core::Result<DataSetup> open_data(const TrainOptions& options, std::int64_t embedding_rows,
                                  std::int64_t rank, std::int64_t world) {
  DataSetup setup;
  auto codec = text::TextCodec::open(tokenizer_folder(options));
  if (!codec) return tl::unexpected(codec.error());
  setup.codec = std::make_unique<text::TextCodec>(std::move(*codec));
  setup.notices = setup.codec->notices;
  if (const std::string& file = options.data.chat_template; !file.empty()) {
    auto text = text_of(file);
    if (!text) return tl::unexpected(text.error());
    setup.codec->chat_template = std::move(*text);
  }
  const text::DatasetOptions how = dataset_options(options, embedding_rows);
  auto data = read(options.data.data_path, *setup.codec, how, setup);
  if (!data) return tl::unexpected(data.error());
  setup.data = std::move(*data);
  if (!options.data.eval_data_path.empty()) {
    auto eval = read(options.data.eval_data_path, *setup.codec, how, setup);
    if (!eval) return tl::unexpected(eval.error());
    setup.eval_data = std::move(*eval);
  }
  auto samples = split(options, setup);
  if (!samples) return tl::unexpected(samples.error());
  if (auto opened = open_streams(options, std::move(*samples), rank, world, setup); !opened)
    return tl::unexpected(opened.error());
  return setup;
}

}  // namespace aplomb::train::loop
