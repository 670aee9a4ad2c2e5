#include "train/loop/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "toy.h"

namespace aplomb::train::loop {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Finished {
  std::string error;
  Outcome outcome;
  std::string weights;  // bytes of the last checkpoint's file
};

Finished finish(const std::string& folder, const ToySettings& settings) {
  ToyRun run(folder, settings);
  if (!run.error.empty()) return {run.error, {}, {}};
  const auto outcome = run.trainer->run();
  if (!outcome) return {outcome.error().text, {}, {}};
  return {{}, *outcome, test::content(run.store().path_of(outcome->steps) + "/model.safetensors")};
}

/// The lines of metrics.jsonl but for what depends on the clock.
std::vector<nlohmann::json> records(const std::string& folder) {
  std::vector<nlohmann::json> all;
  std::istringstream lines(test::content(folder + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    for (const char* clock : {"tokens_per_s", "step_time_s", "host_memory_bytes"})
      json.erase(clock);
    all.push_back(std::move(json));
  }
  return all;
}

std::string log_of(const test::Folder& place, const std::string& run) {
  return test::content(place / run + "/train.log");
}

TEST(Trainer, LearnsEvaluatesAndCallsTheRunHealthy) {
  const test::Folder place;
  const Finished run = finish(place / "run", {.steps = 60, .eval_steps = 20});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.outcome.ending, Ending::complete);
  EXPECT_EQ(run.outcome.steps, 60);
  EXPECT_LT(*run.outcome.last_eval_loss, 0.8 * *run.outcome.first_eval_loss);
  EXPECT_TRUE(run.outcome.healthy) << log_of(place, "run");
  EXPECT_THAT(log_of(place, "run"), ::testing::AllOf(HasSubstr("the first 10 records pass"),
                                                     HasSubstr("success criteria")));
  EXPECT_EQ(records(place / "run").size(), 63U);
}

/// 3 passes of 4 rows give the step that 1 pass of 12 rows gives, though rows differ in length and
/// passes in tokens that count.
TEST(Trainer, HowAStepIsCutIntoPassesDoesNotMatter) {
  const test::Folder place;
  const Finished cut =
      finish(place / "cut", {.steps = 20, .rows = 4, .accumulation = 3, .dropout = 0});
  const Finished whole =
      finish(place / "whole", {.steps = 20, .rows = 12, .accumulation = 1, .dropout = 0});
  ASSERT_EQ(cut.error + whole.error, "");
  const auto a = records(place / "cut"), b = records(place / "whole");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i]["loss"].get<double>(), b[i]["loss"].get<double>(), 1e-5) << i;
    EXPECT_NEAR(a[i]["grad_norm"].get<double>(), b[i]["grad_norm"].get<double>(), 1e-5) << i;
  }
}

TEST(Trainer, ResumesBitForBitFromEveryCheckpoint) {
  const test::Folder place;
  const ToySettings settings{
      .steps = 40, .save_steps = 7, .keep = 0, .eval_steps = 10, .logging_steps = 3};
  const Finished whole = finish(place / "whole", settings);
  ASSERT_EQ(whole.error, "");
  for (const std::int64_t from : {7, 14, 35}) {
    const std::string folder = place / ("resumed-" + std::to_string(from));
    std::filesystem::copy(place / "whole", folder, std::filesystem::copy_options::recursive);
    ToySettings again = settings;
    again.resume = folder + "/checkpoint-" + std::to_string(from);
    const Finished resumed = finish(folder, again);
    ASSERT_EQ(resumed.error, "");
    EXPECT_EQ(resumed.weights, whole.weights) << from;
    EXPECT_EQ(records(folder), records(place / "whole")) << from;
    EXPECT_EQ(resumed.outcome.best_step, whole.outcome.best_step);
  }
}

/// A child process is killed again and again, mostly inside a checkpoint, and started anew; in the
/// end its records and weights are those of the run that nobody disturbed.
TEST(Trainer, SurvivesKillsAtAnyMoment) {
  const test::Folder place;
  ToySettings settings{.steps = 60, .save_steps = 2, .keep = 2};
  const auto begin = std::chrono::steady_clock::now();
  const Finished whole = finish(place / "whole", settings);
  const std::chrono::duration<double, std::micro> takes = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(whole.error, "");
  settings.resume = "auto";
  int kills = 0;
  std::minstd_rand random(12345);
  std::uniform_real_distribution<double> share(0.05, 0.35);  // of an undisturbed run
  bool ended = false;
  for (int round = 0; round <= 20 && !ended; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(finish(place / "killed", settings).error.empty() ? 0 : 3);
    int status = 0;
    if (round < 20) {  // the last one is left alone
      ::usleep(static_cast<useconds_t>(share(random) * takes.count()));
      if (::waitpid(child, &status, WNOHANG) == 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
      }
    } else {
      ::waitpid(child, &status, 0);
    }
    ended = !WIFSIGNALED(status);
    kills += ended ? 0 : 1;
    if (ended) {
      ASSERT_EQ(WEXITSTATUS(status), 0) << log_of(place, "killed");
    }
  }
  EXPECT_TRUE(ended);
  EXPECT_GE(kills, 1);
  RecordProperty("kills", kills);
  EXPECT_EQ(test::content(place / "killed/checkpoint-60/model.safetensors"), whole.weights);
  EXPECT_EQ(records(place / "killed"), records(place / "whole"));
}

at::Tensor to_nan(const at::Tensor& loss) { return loss * NAN; }

TEST(Trainer, LeavesABadBatchOutAndGoesOn) {
  const test::Folder place;
  ToySettings settings{.steps = 40, .accumulation = 1};
  settings.fault = [](std::int64_t pass, const at::Tensor& loss) {
    return pass == 20 ? to_nan(loss) : loss;
  };
  const Finished run = finish(place / "run", settings);
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.outcome.guard.skipped, 1U);
  EXPECT_TRUE(std::isfinite(run.outcome.last_loss));
  EXPECT_LT(run.outcome.last_loss, 4.5);  // where it stood before the bad batch
  EXPECT_THAT(log_of(place, "run"), HasSubstr("guard: step 21: skip"));
  EXPECT_THAT(test::content(place / "run/metrics.jsonl"), HasSubstr("NaN"));
}

/// The weights themselves are lost: the guard goes back to its snapshot, and the run ends well.
TEST(Trainer, GoesBackWhereTheWeightsAreLost) {
  const test::Folder place;
  ToySettings settings{.steps = 60, .accumulation = 1, .snapshot_steps = 10};
  ToyRun run(place / "run", settings);
  ASSERT_EQ(run.error, "");
  ToyTrainee& trainee = *run.trainee;
  trainee.fault = [&](std::int64_t pass, const at::Tensor& loss) {
    if (pass != 34) return loss;
    trainee.trainable()[0].tensor.detach().fill_(NAN);
    return to_nan(loss);
  };
  const auto outcome = run.trainer->run();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ending, Ending::complete);
  EXPECT_EQ(outcome->guard.rollbacks, 1U);
  EXPECT_LT(outcome->last_loss, 4);
  EXPECT_THAT(log_of(place, "run"), HasSubstr("back to step 30"));
}

TEST(Trainer, EndsWithTheReasonWhereNothingHelps) {
  const test::Folder place;
  ToySettings settings{.steps = 200, .accumulation = 1, .save_steps = 10};
  settings.fault = [](std::int64_t pass, const at::Tensor& loss) {
    return pass >= 15 ? to_nan(loss) : loss;
  };
  ToyRun run(place / "run", settings);
  const auto outcome = run.trainer->run();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->ending, Ending::halted);
  EXPECT_FALSE(outcome->healthy);
  EXPECT_THAT(outcome->reason, Not(::testing::IsEmpty()));
  EXPECT_LT(outcome->steps, 200);
}

TEST(Trainer, StopsEarlyWhereTheHeldOutLossGetsNoBetter) {
  const test::Folder place;
  // So high a rate that the table jumps about from the start.
  const Finished run = finish(
      place / "run", {.steps = 400, .lr = 5, .eval_steps = 5, .patience = 3, .best_at_end = true});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.outcome.ending, Ending::early_stop);
  EXPECT_EQ(run.outcome.steps, run.outcome.best_step + 15);
  EXPECT_TRUE(
      std::filesystem::exists(place / "run/checkpoint-" + std::to_string(run.outcome.best_step)));
}

/// No file may grow beyond `bytes` while this lives: what a full disk does to a write, but for the
/// number of the error.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(Trainer, TellsThatACheckpointDoesNotFitAndKeepsTheEarlierOne) {
  const test::Folder place;
  ToyRun run(place / "run", {.steps = 20, .accumulation = 1, .save_steps = 5});
  ASSERT_EQ(run.error, "");
  std::optional<SmallDisk> disk;
  run.trainee->fault = [&](std::int64_t pass, const at::Tensor& loss) {
    if (pass == 7) disk.emplace(100000);
    return loss;
  };
  const auto outcome = run.trainer->run();
  disk.reset();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, core::ErrorCode::not_writable);
  EXPECT_THAT(outcome.error().text, HasSubstr("model.safetensors"));
  EXPECT_THAT(run.store().steps(), ::testing::ElementsAre(5));
  // Nothing half is left, and from the earlier one the run goes on.
  EXPECT_FALSE(std::filesystem::exists(place / "run/checkpoint-10"));
  ToySettings again{.steps = 20, .accumulation = 1, .save_steps = 5};
  again.resume = "auto";
  const Finished resumed = finish(place / "run", again);
  const Finished whole = finish(place / "whole", {.steps = 20, .accumulation = 1});
  EXPECT_EQ(resumed.error + whole.error, "");
  EXPECT_EQ(resumed.weights, whole.weights);
}

TEST(Trainer, RefusesACheckpointOfOtherData) {
  const test::Folder place;
  ASSERT_EQ(finish(place / "run", {.steps = 4}).error, "");
  ToySettings other{.steps = 8, .rows = 2};
  other.resume = "auto";
  EXPECT_THAT(finish(place / "run", other).error, HasSubstr("others than when it was written"));
}

/// Gradients of a finite loss overflow as long as the scale is above 2^13, as fp16's would.
TEST(Trainer, ALossScaleIsFoundToldOnceKeptInTheCheckpointAndDoesNotChangeTheSteps) {
  const test::Folder place;
  int overflows = 0;
  ToySettings settings{.steps = 30, .accumulation = 1, .dropout = 0, .save_steps = 15};
  settings.loss_scale = 65536;
  settings.fault = [&](std::int64_t, const at::Tensor& loss) {
    if (overflows >= 3) return loss;
    ++overflows;
    return loss + at::sqrt(0 * loss);  // 0, with a gradient that is not finite
  };
  const Finished run = finish(place / "run", settings);
  ASSERT_EQ(run.error, "");
  const auto all = records(place / "run");
  EXPECT_EQ(all[0]["loss_scale"], 32768);
  EXPECT_EQ(all[2]["loss_scale"], 8192);
  EXPECT_FALSE(all[2].contains("grad_norm"));
  EXPECT_TRUE(all[3].contains("grad_norm"));
  EXPECT_EQ(all.back()["loss_scale"], 8192);
  EXPECT_TRUE(run.outcome.healthy) << log_of(place, "run");
  EXPECT_EQ(run.outcome.guard.skipped, 3U);
  const auto state = read_training_state(place / "run/checkpoint-15/training_state.json");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->loss_scale, 8192);
  EXPECT_EQ(state->skipped_steps, 3);
  // All three stand in the log; the terminal was told of one.
  const std::string log = log_of(place, "run");
  EXPECT_THAT(log, HasSubstr("overflow at loss scale 16384"));
  EXPECT_THAT(log, HasSubstr("a few of these find the loss scale"));

  // A power of two as the scale changes no bit: the steps after a resume are those without one.
  settings.resume = place / "run/checkpoint-15";
  const Finished resumed = finish(place / "run", settings);
  ASSERT_EQ(resumed.error, "");
  EXPECT_EQ(resumed.weights, run.weights);
}

TEST(Trainer, TheShareOfThePeakIsRecordedWhereThePeakIsKnown) {
  const test::Folder place;
  ASSERT_EQ(finish(place / "known", {.steps = 3, .peak_flops = 1e9}).error, "");
  const auto record = records(place / "known").front();
  ASSERT_TRUE(record.contains("mfu"));
  const std::string lines = test::content(place / "known/metrics.jsonl");
  const double rate = nlohmann::json::parse(lines.substr(0, lines.find('\n')))["tokens_per_s"];
  EXPECT_NEAR(record["mfu"].get<double>(), rate * 1000 / 1e9, 1e-9);
  ASSERT_EQ(finish(place / "unknown", {.steps = 3}).error, "");
  EXPECT_FALSE(records(place / "unknown").front().contains("mfu"));
}

}  // namespace
}  // namespace aplomb::train::loop
