#pragma once
/// Decoder: the forward pass of a decoder-only language model, operator by operator as transformers
/// 5 and peft write it, on a Tape. What is not written here costs nothing there.

#include "plan/weights.h"

namespace aplomb::plan {

class Decoder {
 public:
  Decoder(const ModelShape& local, const Training& training, const Weights& weights);

  /// Embeddings to loss. The tape's backward() may follow.
  Tensor forward(Tape& tape) const;

 private:
  Tensor layer(Tape& tape, const Tensor& x, std::size_t index) const;
  Tensor self_attention(Tape& tape, const Tensor& x, std::size_t index) const;
  Tensor eager_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v) const;
  Tensor feed_forward(Tape& tape, const Tensor& x, std::size_t index, double width) const;
  Tensor experts(Tape& tape, const Tensor& x, std::size_t index) const;
  Tensor activate(Tape& tape, const Tensor& x) const;
  Tensor rotate(Tape& tape, const Tensor& x) const;
  Tensor norm(Tape& tape, const Tensor& x, const StoredWeight* weight, double rows) const;
  Tensor project(Tape& tape, const Tensor& x, const StoredWeight& weight) const;
  Tensor with_adapter(Tape& tape, const Tensor& x, const Tensor& base,
                      const StoredWeight& weight) const;
  Tensor magnitude(Tape& tape, const Tensor& wide, const Tensor& base,
                   const StoredWeight& weight) const;
  Tensor to_residual(Tape& tape, const Tensor& x) const;
  Tensor head(Tape& tape, const Tensor& x) const;
  std::vector<Held> shared_by_layers(Tape& tape, int width) const;
  static Tensor cap(Tape& tape, const Tensor& x);
  static Tensor use(Tape& tape, const StoredWeight& weight);

  const ModelShape& shape_;
  const Training& training_;
  const Weights& weights_;
  double tokens_;
  double residual_;  ///< tokens of the residual stream on this GPU (sequence parallel: a share)
};

}  // namespace aplomb::plan
