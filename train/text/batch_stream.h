#pragma once
/// BatchStream: the samples of a data set as batches, epoch after epoch, in an order that a seed
/// fixes and a saved position finds again.
///
///     BatchStream train(data, split.train, {.rows = 4, .seed = 42, .rank = r, .world = w});
///     for (std::int64_t step = 0; step < steps; ++step) {
///       TokenBatch batch = train.next();           // never ends: the next epoch follows
///       ...
///       save(train.position());                    // after the batch was trained on
///     }
///     resumed.seek(position);                      // next() is the batch that would have come
///
///     BatchStream eval(data, split.validation, {.rows = 8, .shuffle = false, ...});
///     for (std::int64_t i = 0; i < eval.batches_per_epoch(); ++i) use(eval.next());
///
/// A unit is what fills one row: a sample, or, with `packing`, several whole samples of together at
/// most `columns` tokens (best fit, longest first; the packs are made once and shuffled each
/// epoch).
///
/// Ranks. Each global batch is world x rows consecutive units of the epoch's order, and rank k
/// takes the k-th part of it, so the union over ranks is what one process with world x rows rows
/// reads. Every rank gets the same number of batches. The last global batch of an epoch may be
/// short: its units are dealt out evenly, and a rank that gets none receives one row of padding
/// that counts nothing (TokenBatch::counted() == 0) and takes part in the step with weight 0. Weigh
/// by counted tokens and the result is that of one process. `drop_last` leaves the short one out.
///
/// Order: a function of (seed, epoch) alone; world and rows only cut it up. With `length_buckets`
/// units of similar length share a global batch (less padding; then world x rows decides too),
/// batches in random order.
///
/// Not thread-safe; the Dataset must outlive it.

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "train/text/batch.h"
#include "train/text/dataset.h"

namespace aplomb::train::text {

struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t index = 0;  ///< batches of this epoch that were already taken
  bool operator==(const DataPosition&) const = default;
};

struct BatchOptions {
  std::int64_t rows = 1;  ///< of one micro-batch on one rank
  std::int64_t columns =
      0;  ///< most columns of a packed row, or with pad_to_columns; 0: the longest sample
  bool packing = false;
  bool pad_to_columns = false;    ///< every batch exactly `columns` wide (static shapes)
  std::int64_t pad_multiple = 1;  ///< width rounded up to a multiple of it
  bool shuffle = true;            ///< false: in the given order, every epoch alike
  bool length_buckets = false;
  bool drop_last = false;
  std::uint64_t seed = 42;
  std::int64_t rank = 0;
  std::int64_t world = 1;
};

class BatchStream {
 public:
  /// `samples`: numbers of the data set. Fails for no samples, a sample longer than `columns`,
  /// options out of range, or (drop_last) fewer units than one global batch.
  static core::Result<BatchStream> open(const Dataset& data, std::vector<std::uint64_t> samples,
                                        const BatchOptions& options);

  TokenBatch next();
  DataPosition position() const { return position_; }
  /// A position of a stream with the same data and options (compare fingerprint()). Fails for one
  /// that cannot be.
  core::Result<void> seek(const DataPosition& position);

  std::int64_t batches_per_epoch() const { return batches_; }  ///< the same on every rank
  std::int64_t units() const { return static_cast<std::int64_t>(units_.size()); }
  /// Share of the tokens of an epoch's rows that is padding, all ranks; about what it costs.
  double padding_share() const;
  /// Of data, samples and all options that decide the order (not rank): saved beside a position.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Unit {
    std::uint32_t first = 0;  ///< in members_
    std::uint32_t count = 0;
    std::int64_t length = 0;
  };

  BatchStream(const Dataset& data, const BatchOptions& options) : data_(&data), options_(options) {}
  void make_units(std::vector<std::uint64_t> samples);
  void arrange(std::int64_t epoch);
  std::int64_t width(std::int64_t longest) const;
  void write_row(const Unit& unit, std::int64_t row, TokenBatch& batch) const;

  const Dataset* data_;
  BatchOptions options_;
  std::vector<std::uint64_t> members_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> order_;  ///< of the epoch arranged last
  std::int64_t arranged_ = -1;
  std::int64_t batches_ = 0;
  std::uint64_t fingerprint_ = 0;
  DataPosition position_;
};

}  // namespace aplomb::train::text
