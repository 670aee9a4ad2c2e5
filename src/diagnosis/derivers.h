#pragma once
/// The derivers of the diagnosis (facts/fact_graph.h): what follows from the readings of a run, each
/// a free function in the file of its subject. Every name is declared in knowledge/facts.yaml.

#include <vector>

#include "facts/fact_graph.h"

namespace aplomb::diagnosis {

std::vector<facts::Deriver> task_facts();    ///< what is trained, and its constants
std::vector<facts::Deriver> run_facts();     ///< what kind of run this is, how long, number formats
std::vector<facts::Deriver> lr_facts();      ///< the learning rate against what is usual
std::vector<facts::Deriver> loss_facts();    ///< the course of the loss, training and held-out
std::vector<facts::Deriver> reward_facts();  ///< reinforcement learning: sampler and reward

/// How each metric went (diagnosis/trend.h): trend.<role>.better, .worse, .turned, .settled,
/// .gain_frac, .records; and how training and held-out metrics stand to each other: eval.improved,
/// eval.no_better_than_start, eval.far_above_train, eval.exactly_constant, train.guesses,
/// eval.guesses; and loss.tells_progress: false of a policy, whose reward tells it.
std::vector<facts::Deriver> trend_facts();

/// loss.rises_with_stage: every large rise of the loss from one record to the next falls on a
/// change that the run announces; unknown where there is no such rise or nothing that changes in
/// stages.
std::vector<facts::Deriver> stage_facts();

/// Where the run ends against what the program prints of a solution without training:
///   baseline.only      the held-out metric ends within 2 % of it
///   baseline.missed    the same measure ends a tenth and more on its wrong side
std::vector<facts::Deriver> baseline_facts();

/// The arithmetic of an out-of-memory message:
///   oom.request_share      requested / total
///   oom.fragmentation      (reserved - allocated) / total: memory that PyTorch holds and cannot
///                          hand out
///   oom.fragmented         that slack would have held the request
///   oom.one_giant_tensor   one tensor wants a large part of the card, or more than a free half
///   oom.impossible_request it wants more than the card has
///   oom.base_load_full     a small request on a full card: the standing load is too large
///   oom.foreign_share      share of the card that other processes hold
///   oom.in_backward, .in_optimizer_step, .in_eval, ...     where the stack of the error was
///   oom.after_training_end, .late, .went_on, .step         when it came
std::vector<facts::Deriver> memory_facts();

/// What each rung of the out-of-memory ladder would save, from the run's own numbers
/// (plan/savings.h has the arithmetic), as texts for people (`about 11 GiB`): saving.half_micro,
/// .checkpointing, .half_length, .no_scores, .adam_8bit, .zero2, .offload, .quantised. Set only
/// where all that it needs is known: the remedies quote it, and leave the sentence out where it is
/// not.
std::vector<facts::Deriver> saving_facts();

/// From flight-recorder dumps: who did not enqueue what the others of its group wait for
/// (hang.absent_ranks), and whose collectives or sizes differ.
std::vector<facts::Deriver> flight_facts();

/// Collective time-outs compared across ranks: hang.seq_differs (the ranks wait at different
/// numbers), .missing_ranks (how many ranks spoke elsewhere but did not time out), .late_seq (many
/// collectives had gone well before), ...; what dumps say of the collectives counts first.
std::vector<facts::Deriver> hang_facts();

std::vector<facts::Deriver> slow_facts();      ///< shares of a step, and how busy the card is
std::vector<facts::Deriver> incident_facts();  ///< which failure was the first; incidents.yaml
std::vector<facts::Deriver> said_facts();      ///< what people say, for what was not measured
std::vector<facts::Deriver> word_facts();      ///< what all words and facts say together

/// All of the above and those of src/facts.
std::vector<facts::Deriver> fact_derivers();

/// The same, sorted. Thread-safe after the first call.
const facts::FactGraph& fact_graph();

}  // namespace aplomb::diagnosis
