// Shape legend: r rows, c columns of one micro-batch.
#include "train/text/batch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "train/text/batch_units.h"
#include "train/text/shuffle.h"

namespace aplomb::train::text {

namespace {

constexpr std::int64_t k_bucket_batches =
    50;  ///< sorted together: as transformers' group_by_length

core::Result<void> check_options(const BatchOptions& options, std::size_t samples) {
  const auto wrong = [](std::string text) {
    return core::fail(core::ErrorCode::bad_usage, "[batches] " + std::move(text));
  };
  if (samples == 0) return wrong("no samples: the data set, or this part of its split, is empty");
  if (samples >= std::numeric_limits<std::uint32_t>::max())
    return wrong(fmt::format("{} samples are more than 2^32", samples));
  if (options.rows < 1) return wrong(fmt::format("{} rows a batch; at least 1", options.rows));
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world)
    return wrong(fmt::format("rank {} of {}", options.rank, options.world));
  if (options.columns < 0 || options.pad_multiple < 1)
    return wrong(fmt::format("columns {} and pad_multiple {} must not be negative or 0",
                             options.columns, options.pad_multiple));
  return {};
}

/// Units of a global batch that rank k takes: [first, first + count) of it.
struct Share {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Share share_of(std::int64_t units, std::int64_t rank, std::int64_t world) {
  const std::int64_t even = units / world;
  const std::int64_t extra = units % world;
  return {.first = rank * even + std::min(rank, extra), .count = even + (rank < extra ? 1 : 0)};
}

}  // namespace

core::Result<BatchStream> BatchStream::open(const Dataset& data, std::vector<std::uint64_t> samples,
                                            const BatchOptions& options) {
  const core::Result<void> fine = check_options(options, samples.size());
  if (!fine) return tl::unexpected<core::Error>(fine.error());
  BatchStream stream(data, options);
  if (options.columns == 0) stream.options_.columns = data.longest();
  for (const std::uint64_t sample : samples) {
    if (static_cast<std::int64_t>(data.length(sample)) > stream.options_.columns)
      return core::fail(
          core::ErrorCode::bad_usage,
          fmt::format("[batches] {} has {} tokens, more than the {} columns of a batch; open "
                      "the data set with max_length {}",
                      data.where(sample), data.length(sample), options.columns, options.columns));
  }
  std::uint64_t hash = data.fingerprint();
  for (const std::uint64_t sample : samples) hash = mixed(hash, sample);
  for (const std::int64_t number : {options.rows, stream.options_.columns, options.world})
    hash = mixed(hash, static_cast<std::uint64_t>(number));
  for (const bool flag :
       {options.packing, options.shuffle, options.length_buckets, options.drop_last})
    hash = mixed(hash, flag ? 1 : 0);
  stream.fingerprint_ = mixed(hash, options.seed);
  stream.make_units(std::move(samples));
  const std::int64_t global = options.rows * options.world;
  stream.batches_ = (stream.units() + (options.drop_last ? 0 : global - 1)) / global;
  if (stream.batches_ == 0)
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[batches] {} rows are fewer than one batch of {} x {}, and drop_last "
                    "leaves incomplete ones out",
                    stream.units(), options.world, options.rows));
  return stream;
}

void BatchStream::make_units(std::vector<std::uint64_t> samples) {
  if (!options_.packing) {
    members_ = std::move(samples);
    for (std::size_t i = 0; i < members_.size(); ++i)
      units_.push_back({.first = static_cast<std::uint32_t>(i),
                        .count = 1,
                        .length = static_cast<std::int64_t>(data_->length(members_[i]))});
    return;
  }
  if (options_.shuffle) {  // samples of one length do not always meet in the order of the file
    SplitMix random(mixed(options_.seed, 0x7061636B));
    shuffle(samples, random);
  }
  std::vector<std::int64_t> lengths;
  lengths.reserve(samples.size());
  for (const std::uint64_t sample : samples)
    lengths.push_back(static_cast<std::int64_t>(data_->length(sample)));
  for (const auto& bin : pack_best_fit(lengths, options_.columns)) {
    Unit unit{.first = static_cast<std::uint32_t>(members_.size()),
              .count = static_cast<std::uint32_t>(bin.size()),
              .length = 0};
    for (const std::uint32_t item : bin) {
      members_.push_back(samples[item]);
      unit.length += lengths[item];
    }
    units_.push_back(unit);
  }
}

void BatchStream::arrange(std::int64_t epoch) {
  if (arranged_ == epoch) return;
  arranged_ = epoch;
  order_.resize(units_.size());
  std::iota(order_.begin(), order_.end(), 0U);
  SplitMix random(mixed(options_.seed, static_cast<std::uint64_t>(epoch)));
  if (options_.shuffle) shuffle(order_, random);
  if (!options_.length_buckets) return;
  const std::int64_t global = options_.rows * options_.world;
  const auto place = [&](std::int64_t unit) {
    return order_.begin() + static_cast<std::ptrdiff_t>(std::min(unit, units()));
  };
  for (std::int64_t first = 0; first < units(); first += global * k_bucket_batches)
    std::stable_sort(
        place(first), place(first + global * k_bucket_batches),
        [&](std::uint32_t a, std::uint32_t b) { return units_[a].length > units_[b].length; });
  if (!options_.shuffle) return;
  // Whole batches change places; the incomplete one stays last, so that every epoch has as many.
  std::vector<std::int64_t> batches(static_cast<std::size_t>(units() / global));
  std::iota(batches.begin(), batches.end(), std::int64_t{0});
  shuffle(batches, random);
  std::vector<std::uint32_t> arranged;
  arranged.reserve(order_.size());
  for (const std::int64_t batch : batches)
    arranged.insert(arranged.end(), place(batch * global), place((batch + 1) * global));
  arranged.insert(arranged.end(), place(static_cast<std::int64_t>(batches.size()) * global),
                  order_.end());
  order_ = std::move(arranged);
}

std::int64_t BatchStream::width(std::int64_t longest) const {
  if (options_.pad_to_columns) longest = options_.columns;
  const std::int64_t multiple = options_.pad_multiple;
  return (longest + multiple - 1) / multiple * multiple;
}

TokenBatch BatchStream::next() {
  arrange(position_.epoch);
  const std::int64_t global = options_.rows * options_.world;
  const std::int64_t begin = position_.index * global;
  const Share share = share_of(std::min(global, units() - begin), options_.rank, options_.world);
  std::vector<const Unit*> rows;
  std::int64_t longest = 2;  // of a rank without rows: one token that could predict another
  for (std::int64_t i = 0; i < share.count; ++i) {
    rows.push_back(&units_[order_[static_cast<std::size_t>(begin + share.first + i)]]);
    longest = std::max(longest, rows.back()->length);
  }
  TokenBatch batch;
  batch.rows = std::max<std::int64_t>(1, share.count);
  batch.columns = width(longest);
  const auto cells = static_cast<std::size_t>(batch.rows * batch.columns);
  batch.ids.assign(cells, data_->pad());
  batch.labels.assign(cells, k_ignored);
  batch.positions.assign(cells, 0);
  batch.segments.assign(cells, -1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    write_row(*rows[i], static_cast<std::int64_t>(i), batch);
  if (++position_.index == batches_) position_ = {.epoch = position_.epoch + 1, .index = 0};
  return batch;
}

void BatchStream::write_row(const Unit& unit, std::int64_t row, TokenBatch& batch) const {
  auto at = static_cast<std::size_t>(row * batch.columns);
  for (std::uint32_t document = 0; document < unit.count; ++document) {
    const std::uint64_t number = members_[unit.first + document];
    const SampleView sample = data_->sample(number);
    for (std::size_t i = 0; i < sample.size(); ++i, ++at) {
      batch.ids[at] = sample.id(i);
      if (sample.counts(i)) batch.labels[at] = sample.id(i);
      batch.positions[at] = static_cast<std::int64_t>(i);
      batch.segments[at] = document;
    }
    batch.samples.push_back(number);
  }
}

core::Result<void> BatchStream::seek(const DataPosition& position) {
  if (position.epoch < 0 || position.index < 0 || position.index >= batches_)
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[batches] there is no batch {} in epoch {}: an epoch has {}; was the "
                    "position saved with other data or another batch size?",
                    position.index, position.epoch, batches_));
  position_ = position;
  return {};
}

double BatchStream::padding_share() const {
  BatchStream walk(*data_, options_);
  walk.members_ = members_;
  walk.units_ = units_;
  walk.arrange(0);
  const std::int64_t global = options_.rows * options_.world;
  double cells = 0;
  double tokens = 0;
  for (std::int64_t batch = 0; batch < batches_; ++batch) {
    const std::int64_t begin = batch * global;
    for (std::int64_t rank = 0; rank < options_.world; ++rank) {
      const Share share = share_of(std::min(global, units() - begin), rank, options_.world);
      std::int64_t longest = 0;
      for (std::int64_t i = 0; i < share.count; ++i) {
        const Unit& unit = units_[walk.order_[static_cast<std::size_t>(begin + share.first + i)]];
        longest = std::max(longest, unit.length);
        tokens += static_cast<double>(unit.length);
      }
      cells += static_cast<double>(share.count * width(longest));
    }
  }
  return cells > 0 ? 1 - tokens / cells : 0;
}

}  // namespace aplomb::train::text
