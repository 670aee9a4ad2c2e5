/// What the Trainer of one rank asks of the others.

#include <fmt/format.h>

#include "train/loop/trainer.h"

namespace aplomb::train::loop {
namespace {

constexpr std::size_t k_most_samples = 16;  ///< named of a bad batch

}  // namespace

core::Result<void> Trainer::agree() {
  if (group_.is_alone()) return {};
  struct Start {
    std::uint64_t data;
    std::int64_t step;
  };
  const Start own{parts_.data.fingerprint(), step_};
  Start first = own;
  group_.from_first(std::as_writable_bytes(std::span(&first, 1)));
  if (first.data != own.data) {
    return core::fail(
        core::ErrorCode::bad_usage,
        "[ranks] this rank reads other data than rank 0, or in another order: all ranks need "
        "the same files and options");
  }
  if (first.step != own.step) {
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[ranks] this rank is at step {}, rank 0 at step {}: all ranks need the "
                    "same --output-dir to resume from",
                    own.step, first.step));
  }
  for (const NamedTensor& each : parts_.trainee.trainable()) group_.from_first(each.tensor);
  (void)group_.all(
      true);  // nobody goes on before all agreed: a rank that did not ends the others here
  return {};
}

/// Rank 0's numbers for all: where machines differ, the last bit of a norm may, and no verdict.
std::span<const GuardGroup> Trainer::judged_gradients() {
  if (group_.is_alone()) return scan_.read(parts_.trainee.trainable());
  shared_groups_.assign(parts_.trainee.trainable().size(), {});
  if (group_.is_first()) {
    const auto read = scan_.read(parts_.trainee.trainable());
    shared_groups_.assign(read.begin(), read.end());
  }
  group_.from_first(std::as_writable_bytes(std::span(shared_groups_)));
  return shared_groups_;
}

/// A table with a row a rank, of numbers raised by one; 0: none.
std::vector<std::uint64_t> Trainer::samples_of_all(const Pass& pass) {
  std::vector<double> table(static_cast<std::size_t>(group_.size()) * k_most_samples, 0);
  const std::size_t row = static_cast<std::size_t>(group_.rank()) * k_most_samples;
  for (std::size_t i = 0; i < std::min(pass.samples.size(), k_most_samples); ++i)
    table[row + i] = static_cast<double>(pass.samples[i]) + 1;
  group_.sum(table);
  std::vector<std::uint64_t> samples;
  for (const double each : table) {
    if (each > 0) samples.push_back(static_cast<std::uint64_t>(each) - 1);
  }
  return samples;
}

/// Which samples the batch was made of: the first place to look at when it was a bad one.
std::string Trainer::batch_of(const Pass& pass) {
  const std::vector<std::uint64_t> samples =
      group_.is_alone() ? pass.samples : samples_of_all(pass);
  std::string text = "guard: its samples:";
  for (std::size_t i = 0; i < std::min(samples.size(), k_most_samples); ++i)
    text += " " + plan_.where(samples[i]);
  if (samples.size() > k_most_samples)
    text += fmt::format(" and {} more", samples.size() - k_most_samples);
  return text;
}

}  // namespace aplomb::train::loop
