#pragma once
/// A small language model as a policy: it samples completions of prompts, and says what it thinks
/// of the tokens of given ones.
///
/// Shape legend: N completions, P prompt length, C columns of the completions (the longest one of
/// the batch), V vocabulary.

#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "train/lab/rl_arithmetic.h"
#include "train/model/language_model.h"

namespace aplomb::train::lab {

struct PolicyShape {
  std::int64_t hidden = 32;
  std::int64_t layers = 1;
  std::int64_t heads = 4;
};

/// A Llama over the alphabet, weights drawn from torch's generator; all of them train.
std::shared_ptr<model::LanguageModel> make_policy(const PolicyShape& shape);
/// The same weights in tensors of their own, which do not train.
std::shared_ptr<model::LanguageModel> frozen_copy(const model::LanguageModel& policy,
                                                  const PolicyShape& shape);
void copy_weights(const model::LanguageModel& from, model::LanguageModel& to);

struct Completions {
  std::int64_t prompt_length = 0;
  torch::Tensor ids;        ///< [N, P + C] int64: prompts and completions, padded behind the end
  torch::Tensor mask;       ///< [N, C] fp32: 1 up to the end token, that one included
  torch::Tensor log_probs;  ///< [N, C] fp32: as the sampler reports them, 0 outside the mask
  std::vector<std::string> texts;     ///< without the end token
  std::vector<std::int64_t> lengths;  ///< in tokens, end token included
  std::vector<bool> ended;            ///< an end token came within the limit

  /// Tokens of prompts and completions.
  std::int64_t tokens() const;
};

struct Sampling {
  std::int64_t group = 8;  ///< completions a prompt, one behind the other
  std::int64_t max_tokens = 8;
  double temperature = 1.0;
  std::int64_t top_k = 0;  ///< most probable tokens that are drawn from; 0: all
};

/// Draws from torch's generator, without graph. Log-probabilities are those of the distribution
/// that was drawn from after temperature, top_k aside (as trainers compute them). A policy whose
/// logits are not finite throws c10::Error.
Completions sample(model::LanguageModel& policy, const std::vector<Problem>& problems,
                   const Sampling& sampling);

struct TokenView {
  torch::Tensor log_probs;  ///< [N, C] of the tokens that are there
  torch::Tensor entropy;    ///< [N, C] of the distribution they come from, in nats
};

/// With its graph. `temperature` divides the logits, as in sampling.
TokenView view_tokens(model::LanguageModel& policy, const Completions& completions,
                      double temperature);

struct WarmStart {
  std::int64_t steps = 200;
  std::int64_t rows = 64;
  double lr = 1e-2;
  double wrong = 0.5;    ///< share of the answers that are off, by one to three
  double repeats = 0.1;  ///< share of those that are written twice
};

/// Supervised steps on answers of which some are wrong, as found in the wild, with Adam and a rate
/// that falls to 0: the policy knows the sums, and also how people get them wrong, so that rewards
/// of its samples differ. Gives the last loss in nats per token.
double warm_start(model::LanguageModel& policy, const std::vector<Problem>& problems,
                  const WarmStart& how);

}  // namespace aplomb::train::lab
