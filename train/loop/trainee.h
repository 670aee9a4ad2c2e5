#pragma once
/// Trainee: all that the loop asks of a model. The Llama family is one (llama_trainee.h); tests
/// have smaller ones.

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "core/result.h"
#include "train/loop/optimizer.h"
#include "train/text/batch.h"

namespace aplomb::train::loop {

/// Sum of the token losses of a micro-batch, in nats, fp32: a tensor of one element that
/// backward() may be called on. Over TokenBatch::counted() tokens.
class Trainee {
 public:
  virtual ~Trainee() = default;
  virtual at::Tensor loss_sum(const text::TokenBatch& batch) = 0;
  /// Parameters that train, in a fixed order, under the names that checkpoints use.
  virtual const std::vector<NamedTensor>& trainable() const = 0;
  /// What the file of save() calls a parameter of trainable().
  virtual std::string saved_name(const std::string& parameter) const { return parameter; }
  /// Dropout on or off.
  virtual void set_training(bool training) = 0;
  /// What trains, into a folder, in the form that Hugging Face's libraries load; and back, bit for
  /// bit.
  virtual core::Result<void> save(const std::string& folder) = 0;
  virtual core::Result<void> load(const std::string& folder) = 0;
  /// Kinds of attention that this device has, safest first, e.g. {eager, sdpa}; and the one
  /// in force from now on.
  virtual std::vector<std::string> attentions() const { return {}; }
  virtual void set_attention(const std::string&) {}
};

}  // namespace aplomb::train::loop
