/// The knowledge judged on situations that a practitioner knows: facts in, first cause out. Each
/// line is one textbook picture, not a report of some run.

#include <gtest/gtest.h>

#include <algorithm>

#include "diagnosis/cause_book.h"
#include "diagnosis/weigh.h"

namespace aplomb::diagnosis {
namespace {

using Given = std::vector<std::pair<const char*, core::Value>>;

core::Value word(const char* text) { return std::string(text); }

std::string first_cause(const Given& given) {
  FactTable facts;
  SeverityOf severities;
  for (const auto& [name, value] : given) {
    facts.set({name, value, name, {}});
    severities.emplace(name, core::Severity::failed);
  }
  const Ranking ranking = weigh_causes(cause_book(), facts, severities);
  return ranking.causes.empty() ? "none" : ranking.causes.front().id;
}

struct Scenario {
  const char* says;
  Given given;
  const char* cause;
};

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {"the loss climbs for steps before it is NaN, at twice the usual learning rate",
       {{"loss.nonfinite", true},
        {"nonfinite.onset.loss_rise_before", true},
        {"nonfinite.onset.onset", word("early")},
        {"lr.over_usual", 2.0},
        {"lr.peak", 1e-4},
        {"run.kind", word("llm")}},
       "nan.lr-too-high"},
      {"NaN right after the first update of fp16 weights by Adam",
       {{"loss.nonfinite", true},
        {"nonfinite.onset.after_first_update", true},
        {"error.half-weights", true},
        {"error.adam-in-use", true}},
       "nan.pure-half-optimizer"},
      {"NaN late in a run under fp16 autocast, nothing rising before it",
       {{"loss.nonfinite", true},
        {"precision.fp16_compute", true},
        {"precision.compute", word("fp16")},
        {"nonfinite.onset.onset", word("late")}},
       "nan.fp16-overflow"},
      {"NaN gradient on the first step, loss finite, learning rate 0, DeepSpeed with overlapped "
       "communication",
       {{"grad_norm.nonfinite", true},
        {"nonfinite.onset.first", word("grad_norm")},
        {"nonfinite.onset.onset", word("immediate")},
        {"lr.at_onset", 0.0},
        {"dist.overlap_comm", true}},
       "nan.library-bug"},
      {"only the box loss is NaN, late, with nothing rising",
       {{"component.nonfinite", true},
        {"component.nonfinite.only", true},
        {"component.nonfinite.name", word("loss/rpn_box")},
        {"run.kind", word("vision")},
        {"nonfinite.onset.onset", word("late")},
        {"nonfinite.onset.loss_rise_before", false},
        {"nonfinite.onset.grad_rise_before", false}},
       "nan.bad-data-nonfinite"},
      {"loss exactly 0 with NaN gradients from the first step, assistant tokens only",
       {{"loss.zero", true},
        {"loss.zero.always", true},
        {"loss.zero.with_nan_grad", true},
        {"grad_norm.nonfinite", true},
        {"data.assistant_only", true},
        {"run.kind", word("llm")}},
       "nan.all-labels-masked"},
      {"anomaly mode names the backward of a square root",
       {{"error.anomaly-op", true}, {"error.anomaly-op.op_text", word("SqrtBackward0")}},
       "nan.unstable-op"},
      {"FP8 and NaN at once",
       {{"loss.nonfinite", true},
        {"precision.fp8", true},
        {"nonfinite.onset.onset", word("immediate")}},
       "nan.fp8-zero-scale"},
      {"the loss climbs back with rising gradient norms at three times the usual learning rate",
       {{"loss.divergence", true},
        {"grad_norm.high", true},
        {"lr.over_usual", 3.0},
        {"lr.peak", 1e-3}},
       "diverge.lr-too-high"},
      {"one spike that recovers, with no rise of the gradient norm before it",
       {{"loss.spike", true},
        {"loss.spike.recovers", true},
        {"loss.spike.count", 1.0},
        {"loss.spike.lead_steps", 0.0},
        {"lr.over_usual", 0.5}},
       "diverge.bad-batch"},
      {"the loss scale falls below 1",
       {{"loss_scale.collapse", true}, {"error.scaler-minimum", true}},
       "diverge.loss-scale-collapse"},
      {"a plateau at a learning rate twenty times below the usual, gradients alive",
       {{"loss.plateau", true},
        {"lr.under_usual", 20.0},
        {"lr.peak", 5e-7},
        {"grad_norm.zero", false},
        {"run.kind", word("llm")}},
       "stall.lr-too-low"},
      {"the learning rate is 0 throughout",
       {{"lr.zero_throughout", true}, {"loss.plateau", true}},
       "stall.lr-schedule-zero"},
      {"PEFT prints that nothing is trainable",
       {{"error.no-trainable-parameters", true}},
       "stall.frozen-params"},
      {"bf16 weights without master weights, norms still at 1",
       {{"precision.params", word("bf16")},
        {"precision.half_params", true},
        {"error.norms-unmoved", true},
        {"loss.plateau", true}},
       "stall.bf16-update-underflow"},
      {"adapters do not move under gradient checkpointing",
       {{"error.weights-unmoved", true}, {"memory.gradient_checkpointing", true}},
       "stall.gradient-checkpointing-no-grad"},
      {"the collator ignores instances",
       {{"error.instance-ignored", true}},
       "stall.all-labels-masked"},
      {"the two answers of every pair are one text",
       {{"preference.still", true},
        {"preference.still.identical", true},
        {"loss.constant", true},
        {"loss.never_learned", true},
        {"task.kind", word("preference")}},
       "rl.completions-truncated"},
      {"the head is drawn anew when the trained model is loaded",
       {{"load.head_redrawn", true}, {"trend.loss.better", true}},
       "resume.wrong-checkpoint-loaded"},
      {"the norm of the embeddings falls to 0",
       {{"weights.vanish", true}, {"optim.weight_decay", 0.001}},
       "stall.weight-decay-too-high"},
      {"steps of seconds among steps of milliseconds, ever more rarely",
       {{"time.compiles", true}, {"incident.slow", true}},
       "slow.recompilation"},
      {"the training score is nearly 1 and the held-out one nearly 0",
       {{"eval.score_nothing", true}, {"trend.eval_loss.better", true}},
       "stall.batchnorm-running-stats"},
      {"one rank alone says that it stops, and then nothing more until the timeout",
       {{"error.rank-alone", true},
        {"error.rank-alone.stops", true},
        {"error.gloo-timeout", true},
        {"incident.timeout", true},
        {"incident.hang", true},
        {"eval.overfit", true},
        {"run.epochs", 20.0}},
       "hang.collective-mismatch"},
      {"the scaler skips on and on",
       {{"loss_scale.persistent_skipping", true}, {"loss.plateau", true}},
       "stall.scaler-skips-every-step"},
      {"held-out loss turns after eight passes",
       {{"eval.overfit", true}, {"run.epochs", 8.0}},
       "overfit.too-many-epochs"},
      {"patients in both splits",
       {{"error.splits-overlap", true}, {"eval.better_than_train", true}},
       "overfit.eval-leak"},
      {"every group has one reward, which is not 0",
       {{"rl.zero_advantage", true},
        {"reward.no_spread", true},
        {"reward.zero", false},
        {"completion.truncated", false},
        {"run.kind", word("rl")}},
       "rl.zero-advantage"},
      {"every completion is cut and scores 0",
       {{"completion.truncated", true},
        {"reward.zero", true},
        {"reward.no_spread", true},
        {"rl.zero_advantage", true},
        {"completion_clipped_ratio.last", 1.0},
        {"run.kind", word("rl")}},
       "rl.completions-truncated"},
      {"rewards spread, gradient and KL exactly 0",
       {{"rl.no_gradient", true},
        {"grad_norm.zero", true},
        {"reward.no_spread", false},
        {"run.kind", word("rl")}},
       "rl.no-learning-signal"},
      {"entropy near 0",
       {{"entropy.collapse", true}, {"run.kind", word("rl")}},
       "rl.entropy-collapse"},
      {"KL of 12 without a KL term",
       {{"kl.high", true}, {"kl.max", 12.0}, {"rl.beta", 0.0}, {"run.kind", word("rl")}},
       "rl.kl-blowup"},
      {"falling reward and large gradients at eight times the usual rate",
       {{"reward.falling", true},
        {"kl.high", true},
        {"grad_norm.high", true},
        {"grad_norm.max", 40.0},
        {"lr.over_usual", 8.0},
        {"lr.peak", 1.6e-4},
        {"run.kind", word("rl")}},
       "rl.lr-too-high"},
      {"log-probabilities differ and weights are synced every 20 steps",
       {{"logp_difference.high", true},
        {"is_ratio.low", true},
        {"rl.sync_interval", 20.0},
        {"logp_difference.rising", true},
        {"run.kind", word("rl")}},
       "rl.stale-inference-weights"},
      {"completions grow to the limit",
       {{"completion_length.growth", true}, {"run.kind", word("rl")}},
       "rl.length-hacking"},
      {"completions grow into the limit, which cut none of them at first, then every group is "
       "equal",
       {{"completion_length.growth", true},
        {"completion.truncated", true},
        {"completion_clipped_ratio.first", 0.02},
        {"completion_clipped_ratio.last", 1.0},
        {"rl.zero_advantage", true},
        {"run.kind", word("rl")}},
       "rl.length-hacking"},
      {"the entropy falls to nothing at twenty times the usual rate, and every group is equal",
       {{"entropy.collapse", true},
        {"entropy.first", 1.8},
        {"rl.zero_advantage", true},
        {"lr.over_usual", 20.0},
        {"lr.peak", 4e-4},
        {"run.kind", word("rl")}},
       "rl.lr-too-high"},
      {"the gradient norm grows with the steps while the loss stays",
       {{"grad_norm.climb", true}, {"loss.flat", true}},
       "diverge.missing-zero-grad"},
      {"dropout of 0.9 and a held-out loss far below the training loss",
       {{"model.dropout", 0.9}, {"eval.better_than_train", true}, {"loss.plateau", true}},
       "stall.dropout-too-high"},
      {"a flat loss at the level of guessing, at a rate that moved the weights",
       {{"loss.never_learned", true},
        {"loss.never_learned.chance_classes", 10.0},
        {"loss.never_learned.moved", true},
        {"grad_norm.zero", false},
        {"lr.path", 0.3},
        {"loss.chance_level", true}},
       "stall.shuffled-labels"},
      {"a flat loss and the first gradient norm at the end, at a rate that would have moved them",
       {{"loss.never_learned", true},
        {"loss.never_learned.grad_ratio", 1.0},
        {"grad_norm.zero", false},
        {"lr.path", 0.3}},
       "stall.frozen-params"},
      {"Adam with an epsilon of 0 and NaN after the first update",
       {{"loss.nonfinite", true}, {"nonfinite.onset.after_first_update", true}, {"optim.eps", 0.0}},
       "nan.pure-half-optimizer"},
      {"NaN out of a loss that had fallen to 0.0002",
       {{"loss.nonfinite", true},
        {"loss.nonfinite.before", 2e-4},
        {"nonfinite.onset.loss_rise_before", false}},
       "nan.unstable-op"},
      {"memory runs out, and processes of other cards hold memory on the first",
       {{"error.cuda-oom", true},
        {"incident.oom", true},
        {"error.one-rank-more-memory", true},
        {"monitor.gpu_guests", 3.0}},
       "oom.one-rank-holds-all"},
      {"a schedule with a peak of its own, two thousand times the learning rate that was set",
       {{"lr.replaced", true}, {"lr.peak", 1e-3}},
       "diverge.lr-scheduler-bug"},
      {"a schedule in passes that is stepped with each batch, and nothing is learnt",
       {{"error.not-learning-said", true},
        {"code.schedule-runs-out", true},
        {"code.schedule-by-epochs", true},
        {"code.schedule-stepped-each-batch", true}},
       "stall.lr-schedule-zero"},
      {"NaN with long inputs, and a finite loss with shorter ones",
       {{"loss.nonfinite", true}, {"said.about.shorter_works", true}},
       "nan.all-labels-masked"},
      {"a hang, and one rank alone saves what all must enter",
       {{"error.hang", true}, {"incident.hang", true}, {"code.saved-by-one-rank", true}},
       "hang.checkpoint-barrier"},
      {"a resume whose code loads weights only, and the loss jumps",
       {{"error.loss-jump-said", true},
        {"incident.resume", true},
        {"code.weights-loaded", true},
        {"code.optimizer-not-restored", true}},
       "resume.optimizer-state-lost"},
      {"a resume that is exact between passes and not within one",
       {{"error.resuming", true},
        {"incident.resume", true},
        {"said.about.epoch_border_fine", true}},
       "resume.data-position-lost"},
      {"every group of completions holds one",
       {{"loss.zero", true}, {"rl.num_generations", 1.0}, {"run.kind", word("rl")}},
       "rl.zero-advantage"},
      {"DistributedDataParallel stops and names parameters without a gradient; no rank waits",
       {{"error.parameters-not-used", true}, {"incident.timeout", true}, {"incident.hang", true}},
       "setup.ddp-unused-parameters"},
      {"the same while ranks hang, each in another branch",
       {{"error.parameters-not-used", true},
        {"error.hang", true},
        {"error.mixed-inputs", true},
        {"incident.timeout", true},
        {"incident.hang", true}},
       "hang.collective-mismatch"},
      {"the saved optimizer's groups do not fit, and the run ends there",
       {{"error.optimizer-groups-differ", true},
        {"error.optimizer-not-loaded", true},
        {"incident.resume", true}},
       "setup.checkpoint-of-another-model"},
      {"the same, ignored by the program, and the loss jumps",
       {{"error.optimizer-groups-differ", true},
        {"error.optimizer-not-loaded", true},
        {"error.loss-jump-said", true},
        {"incident.resume", true}},
       "resume.optimizer-state-lost"},
      {"an agent whose action space has one value",
       {{"code.box-of-one-point", true},
        {"entropy.collapse", true},
        {"said.about.same_action", true},
        {"said.about.policy_learning", true},
        {"run.kind", word("rl")}},
       "rl.action-bounds"},
      {"no held-out answer is right while training goes well",
       {{"eval.none_right", true}},
       "stall.label-mapping-mismatch"},
      {"the same, and the code cuts the data where they lie",
       {{"eval.none_right", true}, {"code.split-by-order", true}},
       "overfit.split-by-order"},
      {"values are trained towards the same network's, and the return falls back",
       {{"code.next-value", true},
        {"code.no-target-network", true},
        {"reward.falling", true},
        {"run.kind", word("rl")}},
       "rl.no-target-network"},
      {"observations of very different units, and the return does not move",
       {{"said.about.observations_unscaled", true},
        {"said.about.policy_learning", true},
        {"reward.flat", true},
        {"run.kind", word("rl")}},
       "rl.observations-unscaled"},
      {"a gradient norm in the hundreds, nothing diverges, a sum over tokens is spoken of",
       {{"said.grad_norm.value", 300.0},
        {"said.about.summed_over_tokens", true},
        {"grad_norm.high", true}},
       "diverge.loss-summed"},
      {"steps on the processor become slower, and denormal numbers are spoken of",
       {{"error.slow-run", true}, {"said.about.denormals", true}, {"incident.slow", true}},
       "slow.denormal-numbers"},
      {"numpy warns of a difference, on data that were converted by hand",
       {{"error.numpy-invalid-op", true},
        {"incident.operands_not_finite", true},
        {"said.about.data_converted", true},
        {"loss.nonfinite", true}},
       "nan.bad-data-nonfinite"},
      {"numpy warns of a division",
       {{"error.numpy-invalid-op", true}, {"loss.nonfinite", true}},
       "nan.unstable-op"},
      {"an adapter was made, recomputed blocks are asked for, and the loss has no gradient",
       {{"error.no-gradient", true},
        {"code.adapter-made", true},
        {"code.checkpointing-named", true}},
       "stall.gradient-checkpointing-no-grad"},
      {"the loss exploded, and the code never clears gradients",
       {{"error.loss-exploded-said", true}, {"code.no-zero-grad", true}},
       "diverge.missing-zero-grad"},
      {"memory grows from step to step until a batch no longer fits",
       {{"error.cuda-oom", true},
        {"incident.oom", true},
        {"oom.device", true},
        {"error.memory-grows-said", true}},
       "oom.graph-retained-leak"},
      {"behind a resume the learning rate begins anew, and no count does",
       {{"error.scheduler-state-missing", true}, {"incident.resume", true}},
       "resume.scheduler-lost"},
      {"clipping on a third of the tokens",
       {{"clip_ratio.high", true}, {"run.kind", word("rl")}},
       "rl.clip-too-aggressive"},
  };
  return all;
}

TEST(Scenarios, TheTextbookCauseComesFirst) {
  for (const Scenario& scenario : scenarios()) {
    EXPECT_EQ(first_cause(scenario.given), scenario.cause) << scenario.says;
  }
}

TEST(Scenarios, EveryGivenFactIsOneThatTheKnowledgeKnows) {
  const std::vector<std::string> declared = declared_facts();
  for (const Scenario& scenario : scenarios()) {
    for (const auto& [name, value] : scenario.given) {
      EXPECT_TRUE(is_declared(declared, name)) << scenario.says << ": " << name;
    }
  }
}

TEST(Scenarios, NothingKnownNamesNoCause) { EXPECT_EQ(first_cause({}), "none"); }

/// What the words of a text read like is no match for what the same text rules out.
TEST(Scenarios, WhatATextRulesOutNoWordsBringBack) {
  struct Case {
    const char* cause;
    Given given;
  };
  const std::vector<Case> all = {
      {"oom.batch-too-large", {{"incident.oom", true}, {"error.memory-grows-said", true}}},
      {"resume.global-step-reset",
       {{"incident.resume", true}, {"error.scheduler-state-missing", true}}},
      {"diverge.lr-too-high", {{"said.loss.falls", true}, {"error.overfit-said", true}}},
      {"diverge.bad-batch", {{"said.loss.falls", true}, {"eval.none_right", true}}},
      {"nan.lr-too-high",
       {{"loss.nonfinite", true},
        {"lr.over_usual", 0.1},
        {"lr.peak", 1e-5},
        {"lr.usual_high", 1e-4}}},
      {"nan.no-grad-clip", {{"loss.nonfinite", true}, {"said.fails_with.clipping", true}}},
      {"overfit.eval-leak", {{"said.eval_accuracy.low", true}}},
      {"overfit.too-little-data", {{"eval.none_right", true}}},
  };
  for (const Case& each : all) {
    FactTable facts;
    facts.set({"words.healthy", -5.0, "", {}});
    facts.set({"text.account", true, "", {}});
    facts.set({std::string("words.") + each.cause, 4.0, "", {}});
    const auto leads = [&] {
      const Ranking ranking = weigh_causes(cause_book(), facts, {});
      return std::any_of(ranking.causes.begin(), ranking.causes.end(),
                         [&](const RankedCause& cause) { return cause.id == each.cause; });
    };
    EXPECT_TRUE(leads()) << each.cause;
    for (const auto& [name, value] : each.given) facts.set({name, value, name, {}});
    EXPECT_FALSE(leads()) << each.cause;
  }
}

TEST(Scenarios, ABareNaNLeavesRoomForTheUnknown) {
  FactTable facts;
  facts.set({"loss.nonfinite", true, "", {}});
  const Ranking ranking =
      weigh_causes(cause_book(), facts, {{"loss.nonfinite", core::Severity::failed}});
  ASSERT_FALSE(ranking.causes.empty());
  EXPECT_LT(ranking.causes.front().probability, 0.4) << ranking.causes.front().id;
  EXPECT_GT(ranking.unknown_probability, 0.05);
}

}  // namespace
}  // namespace aplomb::diagnosis
