#pragma once
/// What the words of a metric's name say: which quantity it is, on training or held-out data, and
/// of a loss by which formula. For names that programs make up and no framework's table knows; the
/// words stand in knowledge/metrics.yaml.
///
/// Most quantities are roles (src/record/role.h), which every run has. A Part is what a series is
/// in one kind of task only: the loss of the discriminator, the share of pairs in the right order.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/role.h"

namespace aplomb::task {

enum class Part : std::uint8_t {
  none,
  preference_accuracy,  ///< share of pairs whose chosen answer is rewarded more (DPO)
  preference_margin,    ///< reward of the chosen answer less that of the rejected one
  logp_chosen,          ///< log-probability of the chosen answers, nats a sequence
  logp_rejected,
  reward_chosen,       ///< implicit reward of the chosen answers: beta times their log-ratio
  discriminator,       ///< loss of an adversarial pair's judge
  generator,           ///< and of the one who is judged
  explained_variance,  ///< R^2 of a regression, or of a critic
  prediction_std,      ///< spread of a regression's predictions
  target_std,
  weight_size,      ///< size of a part of the weights: `|user|`, `emb norm`
  grad_part,        ///< gradient norm of a part of the model: `|g_enc|`, `grad/head`
  hits,             ///< recall or F1 of a class: 0 where it is never found
  compute_time,     ///< of a step: forward and backward
  logit_max,        ///< largest output logit
  attention_logit,  ///< largest logit of the attention
  action_value,     ///< mean value that actions are estimated at (Q)
  count_,           // keep last
};

std::string_view name(Part part);

struct MetricWords {
  record::Role role = record::Role::other;
  Part part = Part::none;
  std::string formula;  ///< of a loss: `mse`, `huber`, `cross_entropy`
  int order = 0;        ///< of a loss: the lower, the more of the objective it is
  bool held_out = false;
  bool bare = false;     ///< nothing is left beside the words that say which data: `train`, `val`
  bool extreme = false;  ///< `best_val_mse`: of the series, not a value of it
};

/// Lower-case words: `eps-mse` -> eps mse; `lossD` -> loss d; `mem_rss_mb` -> mem rss mb.
std::vector<std::string> name_words(std::string_view name);

/// Words that say on which data something was measured: `train`, `val`.
bool is_data_word(std::string_view lower_word);

MetricWords metric_words(std::string_view name);

/// What is wrong with knowledge/metrics.yaml; the tests hold this empty.
std::vector<std::string> metric_words_mistakes();

}  // namespace aplomb::task
