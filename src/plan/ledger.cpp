#include "plan/ledger.h"

#include <numeric>

namespace aplomb::plan {

std::string_view name(Part part) {
  constexpr std::array<std::string_view, k_parts> k_names = {
      "weights", "adapter", "cast-weights", "gradients", "optimizer", "activations",
      "scores",  "logits",  "passing",      "gathered",  "cache"};
  return k_names[static_cast<std::size_t>(part)];
}

std::string_view meaning(Part part) {
  constexpr std::array<std::string_view, k_parts> k_meanings = {"parameters as stored",
                                                                "parameters of the adapter",
                                                                "16-bit copies that autocast makes",
                                                                "gradients",
                                                                "optimizer state",
                                                                "kept for backward",
                                                                "attention scores",
                                                                "logits and loss",
                                                                "tensors in passing",
                                                                "weights and gradients in transit",
                                                                "keys and values of generation"};
  return k_meanings[static_cast<std::size_t>(part)];
}

double Bytes::total() const { return std::accumulate(by_part.begin(), by_part.end(), 0.0); }

void Ledger::add(Part part, double bytes) {
  live_[part] += bytes;
  total_ += bytes;
  if (total_ <= most_) return;
  most_ = total_;
  peak_ = live_;
}

void Ledger::begin_moment() {
  peak_ = live_;
  most_ = total_;
}

Storage::Storage(Ledger& ledger, Part part, double bytes)
    : ledger_(ledger), part_(part), bytes_(bytes) {
  ledger_.add(part, bytes);
}

void Storage::become(Part part) {
  ledger_.drop(part_, bytes_);
  part_ = part;
  ledger_.add(part_, bytes_);
}

Held hold(Ledger& ledger, Part part, double bytes) {
  return std::make_shared<Storage>(ledger, part, bytes);
}

}  // namespace aplomb::plan
