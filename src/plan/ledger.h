#pragma once
/// Ledger: the bytes of one GPU by what they are for, as tensors come and go, and the most there
/// were.
///
///     Ledger ledger;
///     {
///       const Held logits = hold(ledger, Part::logits, 1e9);
///     }                                  // given back where the last owner goes, as in PyTorch
///     ledger.peak().total();             // 1e9
///
/// Not thread-safe. Costs nothing but arithmetic: a step of a model of 80 layers is about 10,000
/// entries.

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

namespace aplomb::plan {

enum class Part : std::size_t {
  weights,       ///< parameters that live on the card, in the format they are stored in
  adapter,       ///< parameters of LoRA / DoRA
  cast_weights,  ///< 16-bit copies that autocast makes of wider weights
  gradients,     ///< one number a trained parameter
  optimizer,     ///< moments, and the fp32 master weights where they are kept apart
  activations,   ///< what forward keeps for backward, but the two parts below
  scores,        ///< attention probabilities where the kernel stores them
  logits,        ///< logits, their fp32 copies and the loss
  passing,       ///< tensors of the operator that runs, and gradients on their way down
  gathered,      ///< parameters gathered from other ranks, and buckets of gradients
  cache,         ///< keys and values of generation, or the share of a colocated engine
  count
};
inline constexpr std::size_t k_parts = static_cast<std::size_t>(Part::count);

/// `cast-weights`: as JSON and the terminal call it.
std::string_view name(Part part);
/// One line for people.
std::string_view meaning(Part part);

struct Bytes {
  std::array<double, k_parts> by_part{};
  double& operator[](Part part) { return by_part[static_cast<std::size_t>(part)]; }
  double operator[](Part part) const { return by_part[static_cast<std::size_t>(part)]; }
  double total() const;
};

class Ledger {
 public:
  void add(Part part, double bytes);
  void drop(Part part, double bytes) { live_[part] -= bytes, total_ -= bytes; }
  const Bytes& live() const { return live_; }
  const Bytes& peak() const { return peak_; }
  /// The peak from here on is told apart from what was before.
  void begin_moment();

 private:
  Bytes live_;
  Bytes peak_;
  double total_ = 0;
  double most_ = 0;
};

/// Bytes of one storage, given back with the object.
class Storage {
 public:
  Storage(Ledger& ledger, Part part, double bytes);
  ~Storage() { ledger_.drop(part_, bytes_); }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  double bytes() const { return bytes_; }
  /// From now on counted as this part: a passing tensor that autograd saves is an activation.
  void become(Part part);
  Part part() const { return part_; }

 private:
  Ledger& ledger_;
  Part part_;
  double bytes_;
};
using Held = std::shared_ptr<Storage>;

Held hold(Ledger& ledger, Part part, double bytes);

}  // namespace aplomb::plan
