#include "config_text/derived_settings.h"

#include <gtest/gtest.h>

#include <string>

#include "knowledge/setting.h"

namespace aplomb::config_text {
namespace {

aplomb::record::Run run_with(const std::string& name, core::Value value) {
  aplomb::record::Run run;
  run.settings.push_back({name, std::move(value), name, "", {}});
  return run;
}

const record::Fact* fact(const aplomb::record::Run& run, std::string_view name) {
  for (const record::Fact& one : run.facts) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

TEST(DerivedSettings, TellWhatACardCanDo) {
  aplomb::record::Run old_card = run_with("env.gpu", std::string("Tesla V100-SXM2-32GB"));
  add_derived_settings(old_card);
  ASSERT_NE(fact(old_card, "hardware.bf16"), nullptr);
  EXPECT_EQ(fact(old_card, "hardware.bf16")->value, core::Value(false));
  EXPECT_EQ(fact(old_card, "hardware.memory_bytes")->value, core::Value(32.0 * 1024 * 1024 * 1024));
  EXPECT_EQ(fact(old_card, "hardware.compute_capability")->value, core::Value(7.0));
  aplomb::record::Run unknown = run_with("env.gpu", std::string("a card of the future"));
  add_derived_settings(unknown);
  EXPECT_TRUE(unknown.facts.empty());
}

TEST(DerivedSettings, GiveRatesOnlyWhereTheyAreVerifiedAndTheCardsOwn) {
  aplomb::record::Run h100 = run_with("env.gpu", std::string("NVIDIA H100 80GB HBM3"));
  add_derived_settings(h100);
  ASSERT_NE(fact(h100, "hardware.peak_flops.bf16"), nullptr);
  EXPECT_EQ(fact(h100, "hardware.peak_flops.bf16")->value, core::Value(989e12));
  EXPECT_EQ(fact(h100, "hardware.bandwidth_bytes_per_s")->value, core::Value(3350e9));
  for (const char* name :
       {"Ascend910B3", "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA GeForce RTX 3080 Laptop GPU"}) {
    aplomb::record::Run run = run_with("env.gpu", std::string(name));
    add_derived_settings(run);
    EXPECT_EQ(fact(run, "hardware.bf16")->value, core::Value(true)) << name;
    EXPECT_EQ(fact(run, "hardware.peak_flops.bf16"), nullptr) << name;
    EXPECT_EQ(fact(run, "hardware.bandwidth_bytes_per_s"), nullptr) << name;
  }
  aplomb::record::Run slice = run_with("env.gpu", std::string("NVIDIA A100-SXM4-80GB MIG 1g.10gb"));
  add_derived_settings(slice);
  EXPECT_EQ(fact(slice, "hardware.memory_bytes")->value, core::Value(10.0 * 1024 * 1024 * 1024));
}

TEST(DerivedSettings, TakeTheZeroStageFromAFileNameOnlyWhereNothingStatesIt) {
  aplomb::record::Run named =
      run_with("dist.deepspeed_config", std::string("examples/ds_z3_offload_config.json"));
  add_derived_settings(named);
  ASSERT_NE(named.setting("dist.zero_stage"), nullptr);
  EXPECT_EQ(named.setting("dist.zero_stage")->value, core::Value(3.0));
  EXPECT_EQ(named.setting("dist.offload_optimizer")->value, core::Value(std::string("cpu")));
  aplomb::record::Run stated = run_with("dist.deepspeed_config", std::string("zero3.json"));
  stated.settings.push_back({"dist.zero_stage", 2.0, "zero_optimization.stage", "deepspeed", {}});
  add_derived_settings(stated);
  EXPECT_EQ(stated.setting("dist.zero_stage")->value, core::Value(2.0));
  aplomb::record::Run plain = run_with("dist.deepspeed_config", std::string("ds_config_2024.json"));
  add_derived_settings(plain);
  EXPECT_EQ(plain.setting("dist.zero_stage"), nullptr);
}

TEST(DerivedSettings, SeeABlankAtTheEndOfAResponseTemplate) {
  aplomb::record::Run blank = run_with("data.response_template", std::string("Answer: "));
  add_derived_settings(blank);
  EXPECT_EQ(blank.setting("data.response_template_blank")->value, core::Value(true));
}

TEST(DerivedSettings, TheSizeOfAModelStandsInItsName) {
  const auto params = [](const char* name) {
    aplomb::record::Run run = run_with("model.name", std::string(name));
    add_derived_settings(run);
    const record::Setting* setting = run.setting("model.params");
    const double* value = setting == nullptr ? nullptr : core::as_number(setting->value);
    return value == nullptr ? 0.0 : *value;
  };
  EXPECT_EQ(params("meta-llama/Llama-3.1-8B-Instruct"), 8e9);
  EXPECT_EQ(params("Qwen/Qwen2.5-0.5B"), 0.5e9);
  EXPECT_EQ(params("facebook/opt-350m"), 350e6);
  EXPECT_EQ(params("llama-7b-hf"), 7e9);
  for (const char* none : {"mistralai/Mixtral-8x7B-v0.1", "bert-base-uncased", "gpt2", "b", "7b5",
                           "wmt19-en-de", "int8b", "v1.2.3b"})
    EXPECT_EQ(params(none), 0) << none;
  aplomb::record::Run stated = run_with("model.name", std::string("llama-7b"));
  stated.settings.push_back({"model.params", 6.7e9, "params", "", {}});
  add_derived_settings(stated);
  EXPECT_EQ(stated.setting("model.params")->value, core::Value(6.7e9)) << "what is stated stays";
}

const double* acting_rate(const aplomb::record::Run& run) {
  const record::Setting* acting = run.setting("schedule.acting_lr");
  return acting == nullptr ? nullptr : core::as_number(acting->value);
}

TEST(DerivedSettings, ADeepSpeedWarmUpHasAPeakOfItsOwn) {
  aplomb::record::Run run;
  run.sources.emplace_back().kind = "config-json";
  run.settings.push_back(
      {"schedule.name", std::string("linear"), "scheduler.type", "deepspeed", {}});
  aplomb::record::Run stated = run;
  aplomb::record::Run coded = run;
  coded.sources.front().kind = "python-config";
  add_derived_settings(run);
  ASSERT_NE(acting_rate(run), nullptr);
  EXPECT_EQ(*acting_rate(run), 0.001);
  stated.settings.push_back({"schedule.stated_peak", std::string("trainer"), "", "deepspeed", {}});
  add_derived_settings(stated);
  EXPECT_EQ(acting_rate(stated), nullptr);
  add_derived_settings(coded);
  EXPECT_EQ(acting_rate(coded), nullptr) << "code may give the peak in a variable";
  aplomb::record::Run other = run_with("schedule.name", std::string("linear"));
  add_derived_settings(other);
  EXPECT_EQ(acting_rate(other), nullptr) << "the name alone is that of many frameworks";
}

TEST(DerivedSettings, APeakLeftToTheTrainerIsAStatedOne) {
  for (const char* written : {"auto", "0.00002"}) {
    bool stated = false;
    for (const knowledge::Assignment& one :
         knowledge::read_setting("deepspeed", "scheduler.params.warmup_max_lr", written))
      stated = stated || one.spec->name == "schedule.stated_peak";
    EXPECT_TRUE(stated) << written;
  }
}

}  // namespace
}  // namespace aplomb::config_text
