#pragma once
/// Weights: every parameter of the model on one GPU, entered in the ledger, with its adapter and
/// the place of its gradient. Only what differs between layers is kept apart, so each has its own.

#include <memory>
#include <string_view>
#include <vector>

#include "plan/model_shape.h"
#include "plan/tape.h"
#include "plan/training.h"

namespace aplomb::plan {

/// The two small matrices of LoRA (fp32: peft casts adapters up, autocast_adapter_dtype) and the
/// magnitudes of DoRA.
struct Adapter {
  Held a, b, magnitude;
  Gradient of_a, of_b, of_magnitude;
};

struct StoredWeight {
  Weight weight;
  int width = 4;
  bool quantised = false;
  bool trains = false;
  Held storage;
  std::unique_ptr<Gradient> gradient;
  std::unique_ptr<Adapter> adapter;
};

class Weights {
 public:
  /// `local`: the shape as one GPU holds it (tensor and pipeline parallel).
  Weights(Ledger& ledger, const ModelShape& local, const Training& training);

  /// The weight of a layer by role; null where it has none.
  const StoredWeight* find(std::size_t layer, std::string_view role) const;
  const StoredWeight* outer(std::string_view role) const;

  /// Trained parameters that the tape does not name (biases) get their gradients.
  void complete_gradients();

  double trained() const { return trained_; }  ///< parameters, on this GPU, unsharded
  double trained_bytes() const { return trained_bytes_; }
  double base() const { return base_; }
  double adapter() const { return adapter_; }
  double layer_bytes() const { return layer_bytes_; }  ///< of one layer, whole
  double outer_bytes() const { return outer_bytes_; }
  /// Of matrices that Muon orthogonalises: inner matrices; the rest has AdamW.
  double trained_matrices() const { return trained_matrices_; }
  /// Rows plus columns of the trained matrices, and what is no matrix: Adafactor's state.
  double factored() const { return factored_; }
  double largest_trained() const { return largest_trained_; }

 private:
  StoredWeight store(const Weight& weight, bool outer);
  void adapt(StoredWeight& stored);
  void count_trained(const Weight& shape, double count, int width);

  Ledger& ledger_;
  const Training& training_;
  std::vector<std::vector<StoredWeight>> layers_;
  std::vector<StoredWeight> outer_;
  double trained_ = 0, trained_bytes_ = 0, base_ = 0, adapter_ = 0, layer_bytes_ = 0,
         outer_bytes_ = 0, trained_matrices_ = 0, factored_ = 0, largest_trained_ = 0;
};

/// Bytes a parameter of a quantised matrix: NF4 with one fp32 scale a block of 64, or with its
/// scales in 8 bits and one fp32 a 256 of them (arXiv:2305.14314, section 3); 8 bits with a scale a
/// row.
double quantised_bytes(const Training& training);

}  // namespace aplomb::plan
