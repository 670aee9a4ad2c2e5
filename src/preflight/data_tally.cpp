#include "preflight/data_tally.h"

#include <algorithm>
#include <bit>

#include "core/text.h"

namespace aplomb::preflight {
namespace {

constexpr std::size_t k_shown = 160;  ///< columns of a row that are quoted
/// Bytes a token at most, in text that is prose or code: what is longer than that many times the
/// limit is cut whatever the tokenizer.
constexpr double k_bytes_a_token = 8;
/// No tokenizer's context holds it, and one such row takes a loader worker's memory.
constexpr std::uint64_t k_giant_bytes = 4U << 20U;

}  // namespace

std::size_t SeenRows::slot_of(std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) & mask;
  return slot;
}

void SeenRows::grow() {
  std::vector<std::uint64_t> old(2 * slots_.size(), 0);
  old.swap(slots_);
  for (const std::uint64_t hash : old) {
    if (hash != 0) slots_[slot_of(hash)] = hash;
  }
}

SeenRows::Answer SeenRows::add(std::uint64_t hash) {
  hash = std::max<std::uint64_t>(hash, 1);  // 0 marks a free slot
  std::size_t slot = slot_of(hash);
  if (slots_[slot] == hash) return Answer::seen;
  if (used_ >= k_most) return Answer::full;
  if (4 * (used_ + 1) > 3 * slots_.size()) {
    grow();
    slot = slot_of(hash);
  }
  slots_[slot] = hash;
  ++used_;
  return Answer::fresh;
}

bool SeenRows::holds(std::uint64_t hash) const {
  hash = std::max<std::uint64_t>(hash, 1);
  return slots_[slot_of(hash)] == hash;
}

std::size_t LengthCounts::bucket_of(std::uint64_t length) {
  if (length < 4) return static_cast<std::size_t>(length);
  const auto octave = static_cast<std::size_t>(std::bit_width(length) - 1);
  return octave * 4 + ((length >> (octave - 2)) & 3U);
}

void LengthCounts::add(std::uint64_t length) {
  ++counts_[bucket_of(length)];
  ++all_;
}

std::uint64_t LengthCounts::quantile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(all_));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (below <= wanted && i + 1 < counts_.size()) continue;
    if (i < 4) return i;
    const std::size_t octave = i / 4;
    return ((4 + i % 4 + 1) << (octave - 2)) - 1;
  }
  return 0;
}

std::uint64_t LengthCounts::octave(std::size_t log2) const {
  if (log2 == 0) return counts_[1];
  if (log2 == 1) return counts_[2] + counts_[3];
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < 4; ++i) sum += counts_[4 * log2 + i];
  return sum;
}

void FaultCount::note(std::uint64_t line, const RowQuote& quote) {
  ++rows;
  if (lines.size() >= k_lines) return;
  lines.push_back(line);
  texts.push_back(core::shorten(core::sanitize(quote.text()), k_shown));
}

void DataTally::pad(std::uint64_t row_length) {
  batch_longest_ = std::max(batch_longest_, row_length);
  if (++batch_rows_ < micro_) return;
  padded += batch_longest_ * batch_rows_;
  batch_rows_ = 0;
  batch_longest_ = 0;
}

void DataTally::finish() {
  padded += batch_longest_ * batch_rows_;
  batch_rows_ = 0;
}

RowForm DataTally::form() const {
  const auto most = std::max_element(forms.begin() + 1, forms.end());
  return *most == 0 ? RowForm::unknown : static_cast<RowForm>(most - forms.begin());
}

void DataTally::add(const Row& row, std::uint64_t line, const RowQuote& quote) {
  ++rows;
  ++forms[static_cast<std::size_t>(row.form)];
  for (std::size_t bit = 0; bit < faults.size(); ++bit) {
    if ((row.faults & (1U << bit)) != 0) faults[bit].note(line, quote);
  }
  if ((row.faults & (k_row_unreadable | k_row_foreign)) != 0) return;
  length += row.length;
  trained += row.trained;
  longest = std::max(longest, row.length);
  lengths.add(row.length);
  pad(row.length);
  const double bytes_a_token = row.form == RowForm::tokens ? 1 : k_bytes_a_token;
  if (limits_.max_length > 0 &&
      static_cast<double>(row.length) > bytes_a_token * limits_.max_length)
    too_long.note(line, quote);
  if (row.form != RowForm::tokens && row.length > k_giant_bytes) giants.note(line, quote);
  if (train_ != nullptr && train_->holds(row.hash)) overlap.note(line, quote);
  switch (seen_.add(row.hash)) {
    case SeenRows::Answer::seen:
      duplicates.note(line, quote);
      break;
    case SeenRows::Answer::full:
      all_compared = false;
      break;
    case SeenRows::Answer::fresh:
      break;
  }
}

}  // namespace aplomb::preflight
