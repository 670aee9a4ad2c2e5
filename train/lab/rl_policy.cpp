#include "train/lab/rl_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "train/lab/rl_grpo.h"
#include "train/loop/optimizer.h"
#include "train/model/initialise.h"

namespace aplomb::train::lab {
namespace {

using torch::Tensor;

constexpr std::int64_t k_prompt_length = 6;

core::Result<model::ModelConfig> config_of(const PolicyShape& shape) {
  return model::parse_model_config(
      fmt::format(R"({{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
 "vocab_size": {}, "hidden_size": {}, "intermediate_size": {}, "num_hidden_layers": {},
 "num_attention_heads": {}, "num_key_value_heads": {}, "max_position_embeddings": 64,
 "tie_word_embeddings": false, "eos_token_id": {}, "pad_token_id": {}}})",
                  k_rl_vocabulary, shape.hidden, shape.hidden * 8 / 3, shape.layers, shape.heads,
                  shape.heads, k_rl_eos, k_rl_pad),
      "config.json");
}

/// [N, T] as the model takes them; every row one document from position 0.
model::ModelInput input_of(const Tensor& ids) {
  model::ModelInput input;
  input.ids = ids;
  input.length = ids.size(1);
  input.positions = torch::arange(ids.size(1), torch::kInt64).expand_as(ids).contiguous();
  return input;
}

Tensor prompts_of(const std::vector<Problem>& problems, std::int64_t group) {
  std::vector<std::int64_t> ids;
  for (const Problem& problem : problems) {
    const auto prompt = encode_sum(problem.prompt());
    for (std::int64_t i = 0; i < group; ++i) ids.insert(ids.end(), prompt.begin(), prompt.end());
  }
  return torch::tensor(ids, torch::kInt64).view({-1, k_prompt_length});
}

/// What is read off the ids once they are there.
void describe(Completions& out) {
  const Tensor completion =
      out.ids.narrow(1, out.prompt_length, out.ids.size(1) - out.prompt_length).contiguous();
  const std::int64_t columns = completion.size(1);
  out.mask = torch::zeros({completion.size(0), columns});
  for (std::int64_t row = 0; row < completion.size(0); ++row) {
    const std::int64_t* at = completion.const_data_ptr<std::int64_t>() + row * columns;
    const std::int64_t* end = std::find(at, at + columns, k_rl_eos);
    const bool ended = end != at + columns;
    const std::int64_t length = (end - at) + (ended ? 1 : 0);
    out.mask[row].narrow(0, 0, length).fill_(1);
    out.texts.push_back(decode_sum({at, end}));
    out.lengths.push_back(length);
    out.ended.push_back(ended);
  }
}

/// All but the `count` highest of each row become 0; 0: as they are.
Tensor most_probable(const Tensor& probabilities, std::int64_t count) {
  if (count == 0) return probabilities;
  const Tensor least = std::get<0>(probabilities.topk(count, -1)).narrow(-1, count - 1, 1);
  return probabilities.masked_fill(probabilities < least, 0);
}

/// A batch of sums as people write them.
Completions written_sums(const std::vector<Problem>& problems, const WarmStart& how) {
  constexpr std::int64_t k_longest = 9;  // twice `#` and up to three digits, the end
  const Tensor chosen =
      torch::randint(static_cast<std::int64_t>(problems.size()), {how.rows}, torch::kInt64);
  const Tensor off = torch::randint(1, 4, {how.rows}, torch::kInt64);
  const Tensor luck = torch::rand({how.rows, 3}, torch::kFloat64);
  std::vector<Problem> batch;
  std::vector<std::int64_t> answers;
  for (std::int64_t i = 0; i < how.rows; ++i) {
    const Problem& sum =
        problems[static_cast<std::size_t>(chosen.const_data_ptr<std::int64_t>()[i])];
    const double* dice = luck.const_data_ptr<double>() + 3 * i;
    const auto by = static_cast<int>(off.const_data_ptr<std::int64_t>()[i]);
    const int wrong = dice[0] >= how.wrong ? 0 : dice[1] < 0.5 ? -by : by;
    const std::string once = fmt::format("#{}", std::abs(sum.left + sum.right + wrong));
    auto answer = encode_sum(dice[2] < how.repeats ? once + once : once);
    answer.push_back(k_rl_eos);
    answer.resize(k_longest, k_rl_pad);
    answers.insert(answers.end(), answer.begin(), answer.end());
    batch.push_back(sum);
  }
  Completions out;
  out.prompt_length = k_prompt_length;
  out.ids = torch::cat(
      {prompts_of(batch, 1), torch::tensor(answers, torch::kInt64).view({how.rows, k_longest})}, 1);
  describe(out);
  return out;
}

}  // namespace

std::int64_t Completions::tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(),
                         prompt_length * static_cast<std::int64_t>(lengths.size()));
}

std::shared_ptr<model::LanguageModel> make_policy(const PolicyShape& shape) {
  auto policy =
      std::make_shared<model::LanguageModel>(config_of(shape).value(), model::ModelOptions{});
  model::initialise_weights(*policy);
  policy->train_all_parameters();
  return policy;
}

void copy_weights(const model::LanguageModel& from, model::LanguageModel& to) {
  const torch::NoGradGuard no_grad;
  const auto source = from.named_parameters();
  for (auto& each : to.named_parameters()) each.value().copy_(source[each.key()]);
}

std::shared_ptr<model::LanguageModel> frozen_copy(const model::LanguageModel& policy,
                                                  const PolicyShape& shape) {
  auto copy =
      std::make_shared<model::LanguageModel>(config_of(shape).value(), model::ModelOptions{});
  copy_weights(policy, *copy);
  for (auto& each : copy->parameters()) each.requires_grad_(false);
  return copy;
}

Completions sample(model::LanguageModel& policy, const std::vector<Problem>& problems,
                   const Sampling& sampling) {
  const torch::NoGradGuard no_grad;
  Completions out;
  out.prompt_length = k_prompt_length;
  out.ids = prompts_of(problems, sampling.group);
  const std::int64_t rows = out.ids.size(0);
  Tensor done = torch::zeros({rows, 1}, torch::kBool);
  std::vector<Tensor> said;
  for (std::int64_t i = 0; i < sampling.max_tokens && !done.all().item<bool>(); ++i) {
    const Tensor logits = policy.logits(input_of(out.ids)).select(1, out.ids.size(1) - 1);
    const Tensor log_probs = torch::log_softmax(logits / sampling.temperature, -1);
    const Tensor drawn = torch::multinomial(most_probable(log_probs.exp(), sampling.top_k), 1);
    said.push_back(log_probs.gather(1, drawn).masked_fill(done, 0));
    out.ids = torch::cat({out.ids, drawn.masked_fill(done, k_rl_pad)}, 1);
    done = done | (drawn == k_rl_eos);
  }
  out.log_probs = torch::cat(said, 1);
  describe(out);
  return out;
}

TokenView view_tokens(model::LanguageModel& policy, const Completions& completions,
                      double temperature) {
  const std::int64_t from = completions.prompt_length;
  const std::int64_t columns = completions.ids.size(1) - from;
  const Tensor logits =
      policy.logits(input_of(completions.ids)).narrow(1, from - 1, columns) / temperature;
  const Tensor all = torch::log_softmax(logits, -1);
  const Tensor tokens = completions.ids.narrow(1, from, columns).unsqueeze(-1);
  return {all.gather(2, tokens).squeeze(-1), -(all.exp() * all).sum(-1)};
}

double warm_start(model::LanguageModel& policy, const std::vector<Problem>& problems,
                  const WarmStart& how) {
  std::vector<loop::NamedTensor> parameters;
  for (const auto& [name, tensor] : policy.trainable_parameters())
    parameters.push_back({name, tensor});
  loop::AdamW optimizer(parameters, {.lr = how.lr, .weight_decay = 0});
  double last = 0;
  for (std::int64_t step = 0; step < how.steps; ++step) {
    const Completions seen = written_sums(problems, how);
    const Tensor loss = -masked_mean(view_tokens(policy, seen, 1).log_probs, seen.mask);
    policy.zero_grad();
    loss.backward();
    optimizer.step(1 - static_cast<double>(step) / static_cast<double>(how.steps));
    last = loss.item<double>();
  }
  policy.zero_grad();
  return last;
}

}  // namespace aplomb::train::lab
