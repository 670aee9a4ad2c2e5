/// Faults of reinforcement learning, in the small GRPO loop (rl_loop.h).

#include <ATen/Parallel.h>
#include <algorithm>
#include <cmath>
#include <limits>

#include "train/lab/alarm.h"
#include "train/lab/fault.h"
#include "train/lab/rl_evidence.h"
#include "train/lab/rl_harm.h"
#include "train/lab/rl_loop.h"
#include "train/lab/twins.h"

namespace aplomb::train::lab {
namespace {

struct RlRun {
  GrpoConfig config;
  GrpoBugs bugs;
};
using Change = std::function<void(RlRun&)>;

/// What `aplomb run --stop-on unstable` around the program does: it ends at the first symptom so
/// grave that a user would end it.
void stop_where_unstable(Trace& trace, Style style) {
  const auto alarm = first_alarm(trace, style, core::Severity::unstable);
  if (!alarm || alarm->step >= trace.steps) return;
  std::erase_if(trace.samples, [&](const Sample& each) { return each.step > alarm->step; });
  trace.steps = alarm->step;
  trace.error.clear();
  trace.halted = true;
  trace.guard_acts.push_back(alarm->step);
}

/// The healthy run of the seed; with `base` where the fault needs another (twin and fault alike).
Runner reinforced(Change change, Change base = {}) {
  return [change = std::move(change), base = std::move(base)](const Request& request) {
    const int threads = torch::get_num_threads();
    torch::set_num_threads(1);
    RlRun run;
    run.config.seed = request.seed;
    if (base) base(run);
    if (request.faulty && change) change(run);
    if (auto written = write_rl_settings(run.config, request.style, request.folder + "/before");
        !written)
      return core::Result<Trace>(tl::unexpected(written.error()));
    const GrpoRun done = run_grpo(run.config, run.bugs, request.guard);
    torch::set_num_threads(threads);
    if (request.keep_evidence) {
      const auto written =
          write_rl_evidence(done, run.config, request.style, request.folder + "/evidence");
      if (!written) return core::Result<Trace>(tl::unexpected(written.error()));
    }
    Trace trace = trace_of(done, run.config);
    if (request.guard) stop_where_unstable(trace, request.style);
    if (!trace.guard_acts.empty()) trace.guard_acted_at = trace.guard_acts.front();
    return core::Result<Trace>(std::move(trace));
  };
}

Fault make(std::string id, std::string summary, std::vector<std::string> causes, Runner run,
           Harm harm) {
  Fault fault;
  fault.id = "rl." + std::move(id);
  fault.summary = std::move(summary);
  fault.causes = std::move(causes);
  fault.harm = std::move(harm);
  fault.guard = GuardRole::nothing;
  fault.guard_because = "each step is as sound as its rewards; no gradient is an outlier";
  fault.run = std::move(run);
  return fault;
}

/// A fault that leaves nothing to learn with, or a policy that has run away: unstable, not odd.
Fault stopped(Fault fault) {
  fault.guard = GuardRole::stops;
  fault.guard_because = "`aplomb run --stop-on unstable` ends it: no step that follows is of use";
  return fault;
}

RewardFunction reward(std::string name,
                      std::function<double(const Problem&, std::string_view)> score) {
  return {std::move(name), std::move(score)};
}

void add_reward_faults(std::vector<Fault>& roster) {
  roster.push_back(stopped(make(
      "answer-never-matches", "the answer is compared with a number that was printed as a float",
      {"rl.reward-function-broken"}, reinforced([](RlRun& run) {
        run.config.rewards = {reward("correctness_reward", [](const Problem& sum, auto text) {
          return marked_answer(text) == sum.answer() + ".0" ? 1.0 : 0.0;
        })};
      }),
      reward_not_learnt())));
  roster.push_back(
      stopped(make("constant-reward", "a pattern of the reward function matches anything",
                   {"rl.reward-function-broken", "rl.zero-advantage"}, reinforced([](RlRun& run) {
                     run.config.rewards = {
                         reward("correctness_reward", [](const Problem&, auto) { return 1.0; })};
                   }),
                   at_end("all rewards are alike: nothing was learnt in the whole run"))));
  roster.back().accept_because = "that all rewards of a group are equal is what the log shows";
  roster.push_back(stopped(
      make("reward-none", "the score divides by the number of right answers found, which is 0",
           {"rl.reward-function-broken"}, reinforced([](RlRun& run) {
             run.config.rewards = {reward("correctness_reward", [](const Problem&, auto) {
               return std::numeric_limits<double>::quiet_NaN();
             })};
           }),
           at_end("no completion is scored: nothing was learnt in the whole run"))));
  roster.push_back(stopped(
      make("empty-answer-pays", "an answer scores if it is part of the right one; the empty one is",
           {"rl.reward-hacking"}, reinforced([](RlRun& run) {
             run.config.rewards = {reward("correctness_reward", [](const Problem& sum, auto text) {
               const auto said = text.substr(0, 1) == "#" ? text.substr(1) : text;
               return sum.answer().find(said) != std::string::npos ? 1.0 : 0.0;
             })};
           }),
           at_end("the policy has learnt to say nothing"))));
  roster.push_back(make("length-paid", "each character of an answer earns a little",
                        {"rl.length-hacking"}, reinforced([](RlRun& run) {
                          run.config.max_completion_length = 16;
                          run.config.rewards = {
                              correctness_reward(),
                              reward("detail_reward", [](const Problem&, auto text) {
                                return 0.1 * static_cast<double>(text.size());
                              })};
                        }),
                        at_end("the policy has learnt to write up to the limit")));
  roster.push_back(
      stopped(make("length-fined", "each character of an answer costs more than a right one earns",
                   {"rl.length-hacking", "rl.reward-hacking"}, reinforced([](RlRun& run) {
                     run.config.rewards = {correctness_reward(),
                                           reward("brevity_reward", [](const Problem&, auto text) {
                                             return -0.8 * static_cast<double>(text.size());
                                           })};
                   }),
                   at_end("the policy has learnt to say nothing"))));
  roster.back().accept_because = "a fine that is best paid by silence is a reward without the task";
}

void add_sampling_faults(std::vector<Fault>& roster) {
  roster.push_back(stopped(
      make("greedy-sampling", "the sampler takes the most probable token", {"rl.zero-advantage"},
           reinforced([](RlRun& run) { run.config.top_k = 1; }), reward_not_learnt())));
  roster.push_back(stopped(
      make("prompts-solved", "prompts that the policy can solve already, two completions each",
           {"rl.zero-advantage"}, reinforced([](RlRun& run) {
             run.config.warm_start = {.steps = 400, .wrong = 0};
             run.config.num_generations = 2;
             run.config.prompts = 16;
           }),
           at_end("nearly every group has one reward: nothing was left to learn"))));
  roster.push_back(stopped(make(
      "limit-too-short", "completions are cut after their mark", {"rl.completions-truncated"},
      reinforced([](RlRun& run) { run.config.max_completion_length = 1; }), reward_not_learnt())));
  roster.push_back(stopped(make("task-too-hard", "the policy has never seen a sum",
                                {"rl.no-learning-signal", "rl.reward-function-broken"},
                                reinforced([](RlRun& run) {
                                  run.config.warm_start.steps = 0;
                                  run.config.rewards = {correctness_reward()};
                                }),
                                reward_not_learnt())));
  roster.back().accept_because =
      "rewards alone do not tell a task out of reach from a function that matches nothing";
}

void add_update_faults(std::vector<Fault>& roster) {
  const Change often = [](RlRun& run) {
    run.config.num_iterations = run.config.logging_steps = 8;
    run.config.max_steps = 400;
  };
  roster.push_back(stopped(make("lr-x100", "a hundred times the learning rate", {"rl.lr-too-high"},
                                reinforced([](RlRun& run) { run.config.learning_rate *= 100; }),
                                reward_not_learnt())));
  roster.push_back(
      stopped(make("kl-term-reversed", "the KL term is taken from the loss: distance is rewarded",
                   {"rl.kl-blowup"},
                   reinforced([](RlRun& run) { run.bugs.kl_sign = -1; },
                              [](RlRun& run) { run.config.beta = 0.5; }),
                   reward_not_learnt())));
  roster.back().in_code = true;
  roster.push_back(make("clip-1e-4", "a clip range of 1e-4 with eight updates a batch of samples",
                        {"rl.clip-too-aggressive"},
                        reinforced([](RlRun& run) { run.config.epsilon = 1e-4; }, often),
                        at_end("most tokens have no gradient")));
  roster.push_back(stopped(make(
      "gradients-cleared", "gradients are cleared between backward and step",
      {"rl.no-learning-signal"}, reinforced([](RlRun& run) { run.bugs.gradients_cleared = true; }),
      reward_not_learnt())));
  roster.back().in_code = true;
  roster.push_back(stopped(make("entropy-term-reversed", "the entropy bonus is added to the loss",
                                {"rl.entropy-collapse"}, reinforced([](RlRun& run) {
                                  run.config.entropy_coef = 1.0;
                                  run.bugs.entropy_sign = -1;
                                }),
                                at_end("the policy says one thing only"))));
  roster.back().in_code = true;
}

void add_sampler_faults(std::vector<Fault>& roster) {
  const Change own_sampler = [](RlRun& run) { run.config.own_sampler = true; };
  roster.push_back(make("sampler-never-synced", "the sampler keeps the weights that it began with",
                        {"rl.stale-inference-weights"},
                        reinforced([](RlRun& run) { run.bugs.never_synced = true; }, own_sampler),
                        reward_not_learnt()));
  roster.push_back(make("raw-sampler-log-probs",
                        "the sampler reports log-probabilities from before its temperature",
                        {"rl.is-ratio-divergence"},
                        reinforced(
                            [](RlRun& run) {
                              run.config.temperature = 0.6;
                              run.bugs.raw_sampler_log_probs = true;
                            },
                            own_sampler),
                        at_end("every update is weighted with ratios that are off")));
}

}  // namespace

void add_rl_faults(std::vector<Fault>& roster) {
  add_reward_faults(roster);
  add_sampling_faults(roster);
  add_update_faults(roster);
  add_sampler_faults(roster);
}

std::vector<Twin> rl_twins() {
  std::vector<Twin> all;
  const auto add = [&all](const char* name, Change base) {
    all.push_back({name, reinforced({}, std::move(base))});
  };
  add("grpo", {});
  add("grpo-without-kl", [](RlRun& run) { run.config.beta = 0; });
  add("grpo-two-updates", [](RlRun& run) { run.config.num_iterations = 2; });
  add("grpo-own-sampler", [](RlRun& run) { run.config.own_sampler = true; });
  add("grpo-per-completion", [](RlRun& run) { run.config.loss_type = LossType::grpo; });
  add("grpo-small-groups", [](RlRun& run) {
    run.config.num_generations = 4;
    run.config.prompts = 32;
  });
  return all;
}

}  // namespace aplomb::train::lab
