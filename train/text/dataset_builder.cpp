// Dataset::open: rows are parsed and encoded by several threads, a few hundred at a time, and put
// together in the order of the files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>

#include "core/pair_table.h"
#include "core/text.h"
#include "train/text/data_rows.h"
#include "train/text/dataset.h"
#include "train/text/sample_text.h"
#include "train/text/sample_tokens.h"
#include "train/text/shuffle.h"

namespace aplomb::train::text {

namespace {

constexpr std::size_t k_rows_at_once = 256;
constexpr std::size_t k_defects_kept = 1000;  ///< with their text; all are counted

struct RowPlace {
  std::uint32_t file = 0;
  std::uint64_t number = 0;
};

/// What one thread made of a run of rows.
struct Part {
  struct Sample {
    std::uint64_t row = 0;  ///< in the list of all rows
    std::size_t tokens = 0;
  };
  struct Fault {
    std::uint64_t row = 0;
    RowFault fault;
  };
  std::vector<std::int32_t> tokens;
  std::vector<Sample> samples;
  std::vector<Fault> faults;
  std::uint64_t truncated = 0;
};

std::string_view fault_name(SampleFault fault) {
  static constexpr std::pair<SampleFault, std::string_view> k_names[] = {
      {SampleFault::unreadable, "unreadable"},
      {SampleFault::unknown_fields, "without the fields of a sample"},
      {SampleFault::empty, "empty"},
      {SampleFault::too_long, "too long"},
      {SampleFault::all_masked, "with nothing that counts in the loss"},
      {SampleFault::id_out_of_range, "with ids that the model has no row for"}};
  return core::second_of(k_names, fault).value_or("?");
}

}  // namespace

class DatasetBuilder {
 public:
  DatasetBuilder(const TextCodec& codec, const DatasetOptions& options)
      : codec_(codec), options_(options) {}

  core::Result<Dataset> build(const std::vector<std::filesystem::path>& paths);

 private:
  core::Result<void> check_vocabulary();
  core::Result<void> read_files(const std::vector<std::filesystem::path>& paths);
  core::Result<void> prepare_format();
  void encode_all();
  Part encode_rows(std::size_t first, std::size_t last, SampleTokens& tokens,
                   simdjson::dom::parser& parser) const;
  std::optional<RowFault> encode_row(const DataRow& row, SampleTokens& tokens,
                                     simdjson::dom::parser& parser, Part& part) const;
  void take(Part&& part);
  void note_defect(const Part::Fault& fault);
  core::Result<void> judge() const;
  std::string summary_of_faults() const;
  void finish();

  const TextCodec& codec_;
  const DatasetOptions& options_;
  std::optional<ChatTemplate> chat_;
  std::vector<DataRows> files_;
  std::vector<DataRow> rows_;
  std::vector<RowPlace> places_;
  std::vector<Part> parts_;
  std::array<std::uint64_t, 6> counts_{};  ///< by SampleFault
  Dataset made_;
};

core::Result<Dataset> DatasetBuilder::build(const std::vector<std::filesystem::path>& paths) {
  if (options_.max_length < 2)
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[data] a maximum length of {} tokens: at least 2 are needed, one to "
                    "predict the next from",
                    options_.max_length));
  core::Result<void> done = check_vocabulary();
  if (done) done = read_files(paths);
  if (done) done = prepare_format();
  if (!done) return tl::unexpected<core::Error>(done.error());
  encode_all();
  for (Part& part : parts_) take(std::move(part));
  done = judge();
  if (!done) return tl::unexpected<core::Error>(done.error());
  finish();
  return std::move(made_);
}

core::Result<void> DatasetBuilder::check_vocabulary() {
  made_.pad_ = codec_.pad;
  const std::int64_t rows = options_.embedding_rows;
  if (rows <= 0) return {};
  const std::string doubt = codec_.doubt(rows);
  if (!doubt.empty()) made_.notices_.push_back(doubt);
  if (codec_.pad >= rows) {
    made_.pad_ = static_cast<std::int32_t>(rows - 1);
    made_.notices_.push_back(
        fmt::format("the model has no row for the padding token (id {}): where rows are filled up, "
                    "id {} stands in; it is masked from attention and loss, so nothing learns it",
                    codec_.pad, made_.pad_));
  }
  return codec_.fits(rows);
}

core::Result<void> DatasetBuilder::read_files(const std::vector<std::filesystem::path>& paths) {
  if (paths.empty()) return core::fail(core::ErrorCode::bad_usage, "[data] no data file was given");
  const auto most = options_.max_samples > 0 ? static_cast<std::uint64_t>(options_.max_samples)
                                             : ~std::uint64_t{0};
  for (const auto& path : paths) {
    core::Result<DataRows> file = open_data_rows(path);
    if (!file) return tl::unexpected<core::Error>(file.error());
    made_.files_.push_back(path.string());
    for (std::size_t i = 0; i < file->rows.size() && rows_.size() < most; ++i) {
      rows_.push_back(file->rows[i]);
      places_.push_back({.file = static_cast<std::uint32_t>(files_.size()), .number = i});
    }
    files_.push_back(std::move(*file));
  }
  if (!rows_.empty()) return {};
  return core::fail(core::ErrorCode::bad_format,
                    fmt::format("[data] {} has no samples in it", paths.front().string()));
}

/// The format of the first row that can be read holds for all.
core::Result<void> DatasetBuilder::prepare_format() {
  made_.format_ = options_.format;
  simdjson::dom::parser parser;
  for (std::size_t i = 0; i < rows_.size() && made_.format_ == DataFormat::automatic; ++i) {
    Json row;
    if (parser.parse(rows_[i].text.data(), rows_[i].text.size()).get(row) == simdjson::SUCCESS)
      made_.format_ = format_of(row);
  }
  if (codec_.chat_template.empty()) return {};
  core::Result<ChatTemplate> chat =
      ChatTemplate::make(codec_.chat_template, codec_.bos_token, codec_.eos_token);
  if (chat) {
    chat_ = std::move(*chat);
  } else if (made_.format_ == DataFormat::chat) {
    return core::fail(chat.error().code,
                      fmt::format("[data] {}: the chat template of this folder: {}", codec_.folder,
                                  chat.error().text));
  }
  return {};
}

void DatasetBuilder::encode_all() {
  const std::size_t runs = (rows_.size() + k_rows_at_once - 1) / k_rows_at_once;
  parts_.resize(runs);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    SampleTokens tokens(codec_, options_);
    simdjson::dom::parser parser;
    for (std::size_t run = next++; run < runs; run = next++) {
      const std::size_t first = run * k_rows_at_once;
      parts_[run] =
          encode_rows(first, std::min(first + k_rows_at_once, rows_.size()), tokens, parser);
    }
  };
  const unsigned wanted =
      options_.threads > 0 ? options_.threads : std::thread::hardware_concurrency();
  const std::size_t threads = std::clamp<std::size_t>(wanted, 1, runs);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

Part DatasetBuilder::encode_rows(std::size_t first, std::size_t last, SampleTokens& tokens,
                                 simdjson::dom::parser& parser) const {
  Part part;
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t before = part.tokens.size();
    auto fault = encode_row(rows_[i], tokens, parser, part);
    if (fault) {
      part.faults.push_back({.row = i, .fault = std::move(*fault)});
    } else {
      part.samples.push_back({.row = i, .tokens = part.tokens.size() - before});
    }
  }
  return part;
}

std::optional<RowFault> DatasetBuilder::encode_row(const DataRow& row, SampleTokens& tokens,
                                                   simdjson::dom::parser& parser,
                                                   Part& part) const {
  Json json;
  const auto error = parser.parse(row.text.data(), row.text.size()).get(json);
  if (error != simdjson::SUCCESS)
    return RowFault{
        .fault = SampleFault::unreadable,
        .text = fmt::format("is not JSON: {} (\"{}\")", simdjson::error_message(error),
                            core::sanitize(core::shorten(row.text.substr(0, 200), 60)))};
  auto text = sample_text(json, made_.format_, chat_ ? &*chat_ : nullptr);
  if (!text) return std::move(text.error());
  auto cut = tokens.append(*text, part.tokens);
  if (!cut) return std::move(cut.error());
  part.truncated += cut->truncated ? 1U : 0U;
  return std::nullopt;
}

void DatasetBuilder::take(Part&& part) {
  made_.tokens_.insert(made_.tokens_.end(), part.tokens.begin(), part.tokens.end());
  for (const Part::Sample& sample : part.samples) {
    made_.starts_.push_back(made_.starts_.back() + sample.tokens);
    made_.longest_ = std::max(made_.longest_, static_cast<std::int64_t>(sample.tokens));
    const RowPlace& place = places_[sample.row];
    made_.origins_.push_back(
        {.file = place.file, .row = place.number, .line = rows_[sample.row].line});
  }
  for (const Part::Fault& fault : part.faults) note_defect(fault);
  made_.truncated_ += part.truncated;
  part = {};
}

void DatasetBuilder::note_defect(const Part::Fault& fault) {
  ++counts_[static_cast<std::size_t>(fault.fault.fault)];
  if (made_.defects_.size() >= k_defects_kept) return;
  const RowPlace& place = places_[fault.row];
  const std::string& path = made_.files_[place.file];
  made_.defects_.push_back(
      {.fault = fault.fault.fault,
       .path = path,
       .row = place.number,
       .line = rows_[fault.row].line,
       .text = fmt::format("{}:{} (sample {}): {}", path, rows_[fault.row].line, place.number,
                           fault.fault.text)});
}

std::string DatasetBuilder::summary_of_faults() const {
  std::string text;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts_[i],
                          fault_name(static_cast<SampleFault>(i)));
  }
  return text;
}

core::Result<void> DatasetBuilder::judge() const {
  std::uint64_t faults = 0;
  for (const std::uint64_t count : counts_) faults += count;
  faults -= counts_[static_cast<std::size_t>(SampleFault::too_long)];
  const double most = std::ceil(options_.most_defects * static_cast<double>(rows_.size()));
  const bool none = made_.size() == 0;
  if (!none && static_cast<double>(faults) <= most) return {};
  std::string text = fmt::format("[data] {} of {} rows cannot be trained on ({})",
                                 rows_.size() - made_.size(), rows_.size(), summary_of_faults());
  if (!none) text += fmt::format("; at most {:.0f} may be left out", most);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, made_.defects_.size()); ++i)
    text += fmt::format("\n  {}", made_.defects_[i].text);
  return core::fail(core::ErrorCode::bad_format, std::move(text));
}

void DatasetBuilder::finish() {
  made_.tokens_.shrink_to_fit();
  std::uint64_t hash = mixed(0, made_.size());
  for (const std::int32_t token : made_.tokens_) {
    made_.counted_ += token >= 0 ? 1U : 0U;
    hash = mixed(hash, static_cast<std::uint32_t>(token));
  }
  for (const std::uint64_t start : made_.starts_) hash = mixed(hash, start);
  made_.fingerprint_ = hash;
  made_.notices_.push_back(fmt::format(
      "{} samples ({}), {} tokens, {} of them ({:.0f} %) count in the loss, the longest has {}",
      made_.size(), format_name(made_.format_), made_.tokens_.size(), made_.counted_,
      100.0 * static_cast<double>(made_.counted_) / static_cast<double>(made_.tokens_.size()),
      made_.longest_));
  if (made_.truncated_ > 0)
    made_.notices_.push_back(fmt::format(
        "{} samples ({:.1f} %) were cut at {} tokens; their ends, EOS included, are not "
        "learned",
        made_.truncated_,
        100.0 * static_cast<double>(made_.truncated_) / static_cast<double>(made_.size()),
        options_.max_length));
  if (!made_.defects_.empty())
    made_.notices_.push_back(fmt::format("{} rows were left out ({}), the first: {}",
                                         rows_.size() - made_.size(), summary_of_faults(),
                                         made_.defects_.front().text));
}

core::Result<Dataset> Dataset::open(const std::vector<std::filesystem::path>& paths,
                                    const TextCodec& codec, const DatasetOptions& options) {
  return DatasetBuilder(codec, options).build(paths);
}

}  // namespace aplomb::train::text
