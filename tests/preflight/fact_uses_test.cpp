/// Every deriver, of the diagnosis and of `aplomb check`, asks for and gives what it declares and
/// nothing else: what they really do is noted over the example runs, written reports, the examples
/// of the checks and runs made here, which between them reach every declared name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/folder.h"
#include "detection/detect.h"
#include "diagnosis/base_of_detectors.h"
#include "diagnosis/derivers.h"
#include "discovery/collect.h"
#include "facts/graph_checks.h"
#include "preflight/config_facts.h"
#include "preflight/rule_book.h"
#include "preflight/settings_run.h"
#include "record/run_builder.h"

namespace aplomb::preflight {
namespace {

using test::is_base;
using ::testing::IsEmpty;

const facts::FactGraph& graph() {
  static const facts::FactGraph all(facts::joined({diagnosis::fact_derivers(), config_derivers()}));
  return all;
}

TEST(AllDerivers, HaveNoCycleAndNoFactOfTwo) { EXPECT_THAT(graph().faults(), IsEmpty()); }

TEST(AllDerivers, AskOnlyForWhatIsReadOrGivenAndGiveOnlyWhatIsNot) {
  EXPECT_THAT(test::unknown_reads(graph(), is_base), IsEmpty());
  EXPECT_THAT(test::given_over_readings(graph(), is_base), IsEmpty());
}

/// facts.yaml holds no name that nobody gives.
TEST(AllDerivers, GiveEveryFactThatIsDeclaredAndNotRead) {
  const std::vector<std::string> given = test::given_by(graph());
  ASSERT_FALSE(test::base_of_detectors().derived().empty());
  for (const std::string& fact : test::base_of_detectors().derived()) {
    const bool is_given = std::any_of(given.begin(), given.end(), [&](const std::string& name) {
      return facts::fits(fact, name);
    });
    EXPECT_TRUE(is_given) << fact << " is declared and given by nobody";
  }
}

/// A rule of the checks over a fact that nobody gives never fires.
TEST(AllDerivers, GiveWhatTheChecksAskFor) {
  const std::vector<std::string> given = test::given_by(graph());
  for (const CheckRule& rule : rule_book().rules) {
    for (const std::string& name : rule.when.front().names())
      EXPECT_TRUE(is_base(name) || test::fits_any(given, name)) << rule.id << ": " << name;
  }
}

class Trace {
 public:
  void note(const record::Run& run) {
    facts::FactTable table = diagnosis::read_facts(run, detection::detect(run));
    graph().derive(run, table, &trace_);
  }
  void note(const std::vector<record::Run>& runs) {
    for (const record::Run& run : runs) note(run);
  }
  const facts::FactTrace& seen() const { return trace_; }

 private:
  facts::FactTrace trace_;
};

void note_examples(Trace& trace) {
  for (const auto& entry : std::filesystem::directory_iterator(APLOMB_SOURCE_DIR "/examples")) {
    if (entry.is_directory()) trace.note(discovery::collect({entry.path().string()}, {}));
  }
}

/// Some of the reports from which the words were learnt.
void note_reports(Trace& trace) {
  constexpr int k_each = 40;
  const test::Folder folder;
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(APLOMB_SOURCE_DIR "/knowledge/reports")) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (count++ % k_each != 0) continue;
      const std::string text = nlohmann::json::parse(line).at("text");
      trace.note(discovery::collect({folder.write("report.md", text)}, {}));
    }
  }
}

void note_checks(Trace& trace) {
  for (const CheckRule& rule : rule_book().rules) {
    for (const auto* examples : {&rule.fires, &rule.silent}) {
      for (const ExampleSettings& example : *examples)
        trace.note(with_defaults(test::run_of(example)));
    }
  }
}

/// A run that fails in every way there is a fact for: each event, series and setting that a deriver
/// looks at stands in it or in its twin, which is a run of reinforcement learning.
class MadeRun {
 public:
  void setting(const char* name, core::Value value) {
    build_.setting({name, std::move(value), name, "nanogpt", {source_, 1, 0}});
  }
  void event(const char* kind, std::map<std::string, core::Value> caught, int rank = 0) {
    record::Event event;
    event.kind = event.text = kind;
    event.severity = core::Severity::failed;
    event.rank = rank;
    event.step = 7;
    event.caught = std::move(caught);
    ++line_;
    event.origin = {source_, line_, 100 * line_};
    build_.event(std::move(event));
  }
  void series(const char* name, record::Role role, const std::vector<double>& values) {
    const record::SeriesId id =
        build_.series(source_, name, name, role, record::StepKind::explicit_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ++line_;
      build_.append(id, 100 * static_cast<std::int64_t>(i), values[i], line_, 100 * line_);
    }
  }
  void fact(const char* name, core::Value value) {
    build_.fact({name, std::move(value), name, {{source_, 1, 0}}});
  }
  const record::Run& run() const { return run_; }

 private:
  record::Run run_;
  record::RunBuilder build_{run_};
  record::SourceId source_ = build_.open("train.log", "text-log", 0);
  std::uint64_t line_ = 0;
};

void fill_memory(MadeRun& made) {
  constexpr double k_gib = 1073741824.0;
  made.event("training-ended", {});
  made.event("cuda-oom", {{"requested", 2 * k_gib},
                          {"total", 24 * k_gib},
                          {"free", k_gib},
                          {"allocated", 5 * k_gib},
                          {"reserved", 20 * k_gib},
                          {"in_backward", true},
                          {"in_optimizer_step", true},
                          {"in_eval", true},
                          {"at_save", true},
                          {"in_load", true},
                          {"in_generate", true},
                          {"in_logits", true},
                          {"in_attention", true},
                          {"in_init", true},
                          {"in_forward", true}});
  made.event("tensor-product", {{"a", 32.0}, {"b", 8192.0}, {"c", 8192.0}});
  made.event("tensor-product", {{"a", 8.0}, {"b", 4096.0}, {"c", 151936.0}});
  made.event("host-oom", {});
  made.setting("batch.micro", 4.0);
  made.setting("batch.accumulation", 8.0);
  made.setting("data.max_length", 4096.0);
  made.setting("model.vocab_size", 151936.0);
  made.setting("model.heads", 32.0);
  made.setting("model.hidden", 4096.0);
  made.setting("model.layers", 32.0);
  made.setting("model.params", 7e9);
  made.setting("peft.method", std::string("lora"));
  made.setting("attn.impl", std::string("eager"));
  made.setting("precision.compute", std::string("bf16"));
}

void fill_ranks(MadeRun& made) {
  const auto watchdog = [&](int rank, double seq, const char* op, double numel) {
    made.event(
        "nccl-watchdog",
        {{"seq", seq}, {"op_text", std::string(op)}, {"numel_in", numel}, {"timeout_ms", 600000.0}},
        rank);
  };
  const auto pending = [&](int rank, double last, const char* op, double numel) {
    made.event("flight-group",
               {{"group", std::string("all")},
                {"members", std::string("0,1,2,3")},
                {"first", last},
                {"last", last},
                {"op", std::string(op)},
                {"numel", numel}},
               rank);
  };
  made.event("python-exception", {}, 0);
  watchdog(1, 7, "ALLREDUCE", 1);
  watchdog(2, 7, "BROADCAST", 2);
  watchdog(3, 7, "ALLREDUCE", 3);
  made.event("nccl-progress", {{"enqueued", 7.0}});
  pending(0, -1, "", 0);
  pending(1, 7, "nccl:all_reduce", 1);
  pending(2, 7, "nccl:broadcast", 1);
  pending(3, 7, "nccl:all_reduce", 2);
  made.setting("dist.procs_per_node", 4.0);
  made.setting("dist.nodes", 1.0);
}

void fill_speed(MadeRun& made) {
  made.event("wall-clock", {{"forward", 1.0}, {"backward", 2.0}, {"step", 7.0}, {"data", 1.0}});
  made.event("time-and-data", {{"mean", 3.0}, {"data_mean", 2.0}});
  made.event("gpu-utilisation", {{"percent", 20.0}});
  made.event("gpu-idle", {});
  made.series("tokens_per_s", record::Role::tokens_per_s, {700, 700, 700});
  made.setting("model.params", 8e9);
  made.setting("peft.method", std::string("lora"));
  made.setting("precision.compute", std::string("bf16"));
  made.setting("env.gpu_count", 8.0);
  made.fact("hardware.peak_flops.bf16", 9.9e14);
  made.series("data_time_s", record::Role::data_time_s, {1, 1, 1});
  made.series("step_time_s", record::Role::step_time_s, {2, 2, 2});
}

void fill_curves(MadeRun& made) {
  made.series("loss", record::Role::loss, std::vector<double>(12, std::log(10.0)));
  made.series("eval_loss", record::Role::eval_loss, {2, 1, 2, 3});
  made.series("lr", record::Role::lr, {0, 1e-3, 1e-3, 1e-3});
  made.series("accuracy", record::Role::accuracy, {0.9, 0.9, 0.9, 0.9});
  made.series("eval_accuracy", record::Role::eval_accuracy, {0.5, 0.5, 0.5, 0.5});
  made.series("perplexity", record::Role::perplexity, {9, 8, 7, 6});
  made.series("epoch", record::Role::epoch, {0.5, 1, 1.5});
  made.series("loss/cls", record::Role::loss_component, {1e9, 3, 2, 1});
  made.fact("loss.nonfinite", true);
  made.fact("loss.nonfinite.step", 200.0);
  made.fact("component.nonfinite", true);
  made.fact("loss.divergence", true);
  made.fact("loss.divergence.best_step", 200.0);
  made.setting("data.class_count", 10.0);
  made.setting("model.dropout", 0.95);
  made.setting("optim.lr", 1e-5);
  made.setting("schedule.acting_lr", 1e-3);
  made.setting("schedule.warmup_steps", 300.0);
  made.setting("train.max_steps", 300.0);
  made.event("box-list", {{"x1", 9.0}, {"y1", 9.0}, {"x2", 1.0}, {"y2", 1.0}});
}

/// A classifier that guesses, and whose loss jumps where its data get harder.
void fill_guesses(MadeRun& made) {
  const double guess = std::log(10.0);
  made.series("loss", record::Role::loss,
              {guess, guess, guess, guess, guess, guess, 9, guess, guess, guess, guess, guess});
  made.series("digits", record::Role::other, {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2});
  made.series("accuracy", record::Role::accuracy, {0.1, 0.1, 0.1, 0.1});
  made.series("eval_loss", record::Role::eval_loss, {guess, guess, guess, guess});
  made.series("eval_accuracy", record::Role::eval_accuracy, {0.1, 0.1, 0.1, 0.1});
  made.setting("data.class_count", 10.0);
  made.setting("data.samples", 1000.0);
  made.setting("dist.world_size", 8.0);
}

void note_made_runs(Trace& trace) {
  MadeRun failed;
  fill_memory(failed);
  fill_ranks(failed);
  fill_speed(failed);
  fill_curves(failed);
  trace.note(failed.run());
  MadeRun guessing;
  fill_guesses(guessing);
  trace.note(guessing.run());
  MadeRun numbered;  // other numbers of the same classes in evaluation, and an average that lags
  numbered.series("loss", record::Role::loss, {2.08, 1.5, 0.9, 0.4, 0.2});
  numbered.series("eval_accuracy", record::Role::eval_accuracy, {0.02, 0.01, 0.01});
  numbered.setting("optim.ema_decay", 0.9999);
  numbered.series("lr", record::Role::lr, {1e-3, 1e-3, 1e-3});  // without the warm-up that is set
  numbered.setting("schedule.warmup_steps", 300.0);
  numbered.setting("peft.used", true);
  numbered.event("training-ended", {});
  numbered.event("head-missing", {});
  trace.note(numbered.run());
  for (const char* name : {"mse", "auc"}) {  // a baseline that is reached, and one that is missed
    MadeRun compared;
    compared.event("baseline-printed", {{"name_text", std::string(name)}, {"value", 0.9}});
    compared.series("eval_loss", record::Role::eval_loss, {2, 1, 0.9, 0.9, 0.9});
    compared.series("val_auc", record::Role::other, {0.5, 0.5, 0.5, 0.5, 0.5});
    trace.note(compared.run());
  }
  MadeRun overfitted;  // one batch, once a pass: three losses at steps 0 to 200
  overfitted.series("loss", record::Role::loss, {2, 2, 2});
  overfitted.setting("train.epochs", 201.0);
  overfitted.setting("batch.global", 4.0);
  trace.note(overfitted.run());
  MadeRun rewarded;
  rewarded.setting("optim.lr", 1e-5);
  rewarded.setting("schedule.acting_lr", 1e-3);
  rewarded.series("reward", record::Role::reward, std::vector<double>(24, 0.5));
  rewarded.series("correctness/mean", record::Role::other, std::vector<double>(24, 0.0));
  rewarded.series("reward_std/format", record::Role::reward_component_std, {0.1, 0.2});
  rewarded.series("is_ratio_mean", record::Role::is_ratio_mean, {1.2, 1.1});
  rewarded.series("logp_difference", record::Role::logp_difference, {0.05, 0.05, 0.4, 0.4});
  rewarded.setting("model.params", 7e9);
  rewarded.setting("optim.name", std::string("adamw"));
  rewarded.setting("batch.world", 8.0);
  trace.note(rewarded.run());
}

/// Derivers that knowledge/*.yaml states declare what their conditions name.
bool is_rule(const std::string& fault) {
  return fault.starts_with("said: ") || fault.starts_with("incident.");
}

TEST(AllDerivers, AskForAndGiveWhatTheyDeclare) {
  Trace trace;
  note_examples(trace);
  note_reports(trace);
  note_checks(trace);
  note_made_runs(trace);
  for (const std::string& fault : test::undeclared_uses(graph(), trace.seen()))
    ADD_FAILURE() << fault << ", which it does not declare";
  std::vector<std::string> unused = test::unused_declarations(graph(), trace.seen());
  std::erase_if(unused, is_rule);
  for (const std::string& fault : unused) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace aplomb::preflight
