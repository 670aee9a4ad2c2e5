#pragma once
/// What the rows of a data set add up to, in bounded memory.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "preflight/data_row.h"

namespace aplomb::preflight {

/// Hashes of rows that were seen: at most k_most, then it says that it is full.
class SeenRows {
 public:
  static constexpr std::size_t k_most = 12U << 20U;  ///< 128 MiB of table

  enum class Answer : std::uint8_t { fresh, seen, full };
  Answer add(std::uint64_t hash);
  bool holds(std::uint64_t hash) const;

 private:
  std::size_t slot_of(std::uint64_t hash) const;
  void grow();
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1U << 12U, 0);
  std::size_t used_ = 0;
};

/// Counts of lengths in buckets a quarter of an octave wide: quantiles to 19 %.
class LengthCounts {
 public:
  void add(std::uint64_t length);
  std::uint64_t quantile(double share) const;    ///< upper end of the bucket that it falls in
  std::uint64_t octave(std::size_t log2) const;  ///< how many have 2^log2 <= length < 2^(log2 + 1)

 private:
  static std::size_t bucket_of(std::uint64_t length);
  std::array<std::uint64_t, 256> counts_{};  ///< 4 of each octave
  std::uint64_t all_ = 0;
};

/// One kind of fault: how often, and the first lines.
struct FaultCount {
  static constexpr std::size_t k_lines = 5;
  std::uint64_t rows = 0;
  std::vector<std::uint64_t> lines;
  std::vector<std::string> texts;
  void note(std::uint64_t line, const RowQuote& quote);
};

/// Of one file.
class DataTally {
 public:
  /// `micro`: samples that are padded together. Rows are entered into `seen`, in which those of
  /// other files may stand already, and looked up in `train` where one is given.
  DataTally(const DataLimits& limits, std::uint64_t micro, SeenRows& seen, const SeenRows* train)
      : limits_(limits), micro_(micro), seen_(seen), train_(train) {}

  void add(const Row& row, std::uint64_t line, const RowQuote& quote);
  void finish();  ///< after the last row

  std::uint64_t rows = 0;
  std::uint64_t length = 0;  ///< of all rows
  std::uint64_t trained = 0;
  std::uint64_t longest = 0;
  std::uint64_t padded = 0;              ///< length with padding to the longest of each micro-batch
  std::array<std::uint64_t, 6> forms{};  ///< rows of each RowForm
  std::array<FaultCount, 8> faults;      ///< by bit of RowFault
  FaultCount duplicates, overlap, too_long, giants;
  LengthCounts lengths;
  bool all_compared = true;  ///< false: too many rows to compare all

  RowForm form() const;  ///< of most rows
  bool is_tokens() const { return form() == RowForm::tokens; }

 private:
  void pad(std::uint64_t row_length);
  DataLimits limits_;
  std::uint64_t micro_ = 1;
  SeenRows& seen_;
  const SeenRows* train_ = nullptr;
  std::uint64_t batch_rows_ = 0;
  std::uint64_t batch_longest_ = 0;
};

}  // namespace aplomb::preflight
