#include "facts/common_facts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace aplomb::facts {
namespace {

FactTable facts_of(const std::map<std::string, core::Value>& settings, record::Run run = {}) {
  FactTable facts;
  for (const auto& [name, value] : settings) facts.set({name, value, name, {}});
  FactGraph(common_facts()).derive(run, facts);
  return facts;
}

double number(const FactTable& facts, const char* name) {
  const record::Fact* fact = facts.find(name);
  const double* held = fact == nullptr ? nullptr : core::as_number(fact->value);
  return held == nullptr ? -1 : *held;
}

std::string shown(const FactTable& facts, const char* name) {
  const record::Fact* fact = facts.find(name);
  return fact == nullptr ? "unknown" : core::show(fact->value);
}

core::Value word(const char* text) { return std::string(text); }

TEST(BatchFacts, RanksThatShareAModelSeeTheSameSamples) {
  EXPECT_EQ(number(facts_of({{"dist.world_size", 8.0}}), "config.ranks"), 8);
  EXPECT_EQ(number(facts_of({{"dist.world_size", 8.0},
                             {"dist.tensor_parallel", 2.0},
                             {"dist.pipeline_parallel", 2.0}}),
                   "config.ranks"),
            2);
  EXPECT_EQ(number(facts_of({{"dist.procs_per_node", 4.0}, {"dist.nodes", 2.0}}), "config.ranks"),
            8);
  EXPECT_EQ(shown(facts_of({{"dist.nodes", 2.0}}), "config.ranks"), "unknown");
}

TEST(BatchFacts, TheGlobalBatchIsWhatIsStatedElseTheProduct) {
  const std::map<std::string, core::Value> parts = {
      {"batch.micro", 4.0}, {"batch.accumulation", 8.0}, {"dist.world_size", 2.0}};
  EXPECT_EQ(number(facts_of(parts), "batch.global"), 64);
  auto stated = parts;
  stated["batch.global"] = 128.0;
  EXPECT_EQ(number(facts_of(stated), "batch.global"), 128);
  EXPECT_EQ(number(facts_of(stated), "config.batch_product"), 64);
  EXPECT_EQ(shown(facts_of({{"batch.accumulation", 8.0}}), "batch.global"), "unknown");
}

TEST(LengthFacts, StepsFollowFromSamplesAndBatch) {
  const std::map<std::string, core::Value> parts = {
      {"batch.micro", 10.0}, {"data.samples", 105.0}, {"train.epochs", 3.0}};
  EXPECT_EQ(number(facts_of(parts), "config.steps_per_epoch"), 11);
  EXPECT_EQ(number(facts_of(parts), "config.steps"), 33);
  auto dropping = parts;
  dropping["data.drop_last"] = true;
  EXPECT_EQ(number(facts_of(dropping), "config.steps"), 30);
  auto limited = parts;
  limited["train.max_steps"] = 22.0;
  EXPECT_EQ(number(facts_of(limited), "config.epochs"), 2) << "a number of steps comes first";
}

TEST(LengthFacts, TheWarmUpIsAShareOfTheRun) {
  const auto run_of = [](std::map<std::string, core::Value> settings) {
    settings["train.max_steps"] = 200.0;
    return facts_of(settings);
  };
  EXPECT_EQ(number(run_of({{"schedule.warmup_steps", 50.0}}), "config.warmup_share"), 0.25);
  EXPECT_EQ(number(run_of({{"schedule.warmup_steps", 0.0}, {"schedule.warmup_frac", 0.1}}),
                   "config.warmup_share"),
            0.1);
  EXPECT_EQ(shown(run_of({{"schedule.warmup_steps", 0.0}}), "config.warmup"), "false");
  EXPECT_EQ(shown(run_of({}), "config.warmup"), "unknown");
  EXPECT_EQ(number(run_of({{"schedule.decay_steps", 100.0}}), "config.decay_share"), 0.5);
}

TEST(TrainingFacts, AnAdapterIsNamedMeasuredOrNeeded) {
  EXPECT_EQ(shown(facts_of({{"peft.method", word("lora")}}), "config.adapter"), "true");
  EXPECT_EQ(shown(facts_of({{"peft.rank", 16.0}}), "config.adapter"), "true");
  EXPECT_EQ(shown(facts_of({{"quant.bits", 4.0}}), "config.adapter"), "true");
  EXPECT_EQ(shown(facts_of({{"peft.used", true}}), "config.adapter"), "true");
  EXPECT_EQ(shown(facts_of({}), "config.adapter"), "unknown");
  for (const char* method : {"full", "freeze", "galore"}) {
    EXPECT_EQ(
        shown(facts_of({{"peft.method", word(method)}, {"peft.rank", 8.0}}), "config.adapter"),
        "false")
        << method;
  }
}

TEST(TrainingFacts, AnOptimizerIsOfAdamsKindOrNot) {
  const auto kind = [](const char* name) {
    return shown(facts_of({{"optim.name", word(name)}}), "config.optimizer");
  };
  EXPECT_EQ(kind("adamw_8bit"), "adam");
  EXPECT_EQ(kind("galore_adamw"), "other");
  EXPECT_EQ(kind("SGD"), "sgd");
  EXPECT_EQ(kind("lion"), "other");
  EXPECT_EQ(shown(facts_of({}), "config.optimizer"), "unknown");
}

TEST(TrainingFacts, WeightsAreStatedTrainedOrThoseOfATransformer) {
  const std::map<std::string, core::Value> measures = {
      {"model.layers", 2.0}, {"model.hidden", 64.0}, {"model.vocab_size", 256.0}};
  EXPECT_EQ(number(facts_of(measures), "config.weights"), 12 * 2 * 64 * 64 + 256 * 64);
  EXPECT_EQ(shown(facts_of(measures), "config.toy"), "true");
  auto trained = measures;
  trained["model.trainable_params"] = 2e7;
  EXPECT_EQ(number(facts_of(trained), "config.weights"), 2e7);
  trained["peft.rank"] = 8.0;
  EXPECT_EQ(number(facts_of(trained), "config.weights"), 12 * 2 * 64 * 64 + 256 * 64)
      << "what an adapter trains is not the model";
  trained["model.params"] = 7e9;
  EXPECT_EQ(shown(facts_of(trained), "config.toy"), "false");
}

record::Run run_by(const char* framework) {
  record::Run run;
  run.sources.push_back({"train.log", "text-log", 0, framework});
  return run;
}

TEST(FrameworkFacts, AFrameworkTellsWhatItsRunsTrain) {
  EXPECT_EQ(shown(facts_of({}, run_by("detectron2")), "framework.kind"), "vision");
  EXPECT_EQ(shown(facts_of({}, run_by("torchtune")), "framework.kind"), "language");
  EXPECT_EQ(shown(facts_of({}, run_by("keras")), "framework.kind"), "unknown");
  EXPECT_EQ(shown(facts_of({}, run_by("nanogpt")), "framework.method"), "pretrain");
  EXPECT_EQ(shown(facts_of({}, run_by("torchtune")), "framework.method"), "unknown");
}

TEST(FrameworkFacts, AFrameworkIsOfTheKindOfWhatItIsBuiltOn) {
  EXPECT_EQ(shown(facts_of({}, run_by("llamafactory")), "framework.kind"), "language");
  EXPECT_EQ(shown(facts_of({}, run_by("gpt-neox")), "framework.method"), "pretrain");
}

TEST(FrameworkFacts, AFrameworkThatNamesItselfNowhereIsKnownByWhatItPrints) {
  record::Run run;
  for (const char* key : {"loss", "learning_rate", "epoch"}) {
    record::Series series;
    series.raw_name = key;
    run.series.push_back(series);
  }
  EXPECT_EQ(shown(facts_of({}, run), "framework.kind"), "language");
  run.series.pop_back();
  EXPECT_EQ(shown(facts_of({}, run), "framework.kind"), "unknown");
}

TEST(FrameworkFacts, TheSettingsOfAVisionFrameworkTellMoreThanTheKeysOfOthers) {
  record::Run run = run_by("hf-trainer");
  run.settings.push_back({"optim.lr", 0.02, "SOLVER.BASE_LR", "detectron2", {}});
  EXPECT_EQ(shown(facts_of({}, run), "framework.kind"), "vision");
}

}  // namespace
}  // namespace aplomb::facts
