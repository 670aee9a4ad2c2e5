/// Every change of settings that the knowledge proposes, put into a configuration of every kind
/// that people write: what comes out is valid, says what was wanted, and keeps the rest as it
/// stood.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "config_text/command_line.h"
#include "config_text/config_support.h"
#include "config_text/nested_text.h"
#include "config_text/toml_text.h"
#include "config_text/yaml_text.h"
#include "diagnosis/cause_book.h"
#include "fix/fix.h"
#include "knowledge/setting.h"

namespace aplomb::fix {
namespace {

using Settings = std::vector<knowledge::SettingValue>;

struct Config {
  const char* path;
  const char* framework;  ///< that its keys must be taken for
  std::size_t at_least;   ///< settings of remedies that this file can hold
  const char* text;
};

const Config k_configs[] = {
    {"axolotl.yml", "axolotl", 25, R"(# run of Tuesday
base_model: some-org/model-7b   # base
load_in_8bit: true
datasets:
  - path: data/chat.jsonl   # ours
    type: alpaca
val_set_size: 0.05

sequence_len: 2048
sample_packing: true
adapter: lora
lora_r: 8
lora_target_modules:
  - q_proj
  - v_proj
micro_batch_size: 4
gradient_accumulation_steps: 2
num_epochs: 20
optimizer: adamw_torch
lr_scheduler: constant
learning_rate: 0.002   # high
bf16: auto
tf32: false
flash_attention: true
special_tokens:
  pad_token: "</s>"
)"},
    {"sft.yaml", "llamafactory", 25, R"(### model
model_name_or_path: some-org/model-8b
trust_remote_code: true

### method
stage: sft
do_train: true
finetuning_type: lora   # adapter
lora_rank: 8
lora_target: all

### dataset
dataset: identity,alpaca_en_demo
template: llama3
cutoff_len: 1024
preprocessing_num_workers: 16

### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-2
num_train_epochs: 30.0
lr_scheduler_type: cosine
fp16: true
ddp_timeout: 1800
)"},
    {"accelerate.yaml", "accelerate", 6, R"(compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  gradient_accumulation_steps: 1   # same as in the script
  offload_optimizer_device: none
  offload_param_device: none
  zero3_init_flag: false
  zero_stage: 3
distributed_type: DEEPSPEED
downcast_bf16: 'no'
machine_rank: 0
main_training_function: main
mixed_precision: fp16
num_machines: 1
num_processes: 8
use_cpu: false
)"},
    {"ds_config.json", "deepspeed", 10, R"({
  "fp16": {
    "enabled": true,
    "loss_scale": 0,
    "initial_scale_power": 16
  },
  "zero_optimization": {
    "stage": 3,
    "overlap_comm": true,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  },
  "optimizer": {
    "type": "AdamW",
    "params": {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.3}
  },
  "gradient_clipping": 100.0,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 1
}
)"},
    {"run.sh", "hf-trainer", 20, R"(#!/bin/bash
# fine-tuning, second try
export OMP_NUM_THREADS=8
torchrun --nproc_per_node 4 run_clm.py \
    --model_name_or_path some-org/model \
    --dataset_name wikitext \
    --per_device_train_batch_size 8 \
    --gradient_accumulation_steps 1 \
    --learning_rate 1e-2 \
    --num_train_epochs 20 \
    --fp16 \
    --max_grad_norm 0 \
    --logging_steps 1 \
    --output_dir out
)"},
    {"args.txt", "hf-trainer", 20, R"(--model_name_or_path some-org/model
--per_device_train_batch_size 8
--learning_rate 1e-2
--num_train_epochs 20
--fp16 True
--weight_decay 0.5
--dataloader_num_workers 0
--output_dir out
)"},
    {"full_single.yaml", "torchtune", 15, R"(# Tokenizer
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /models/tokenizer.model
  max_seq_len: null

# Dataset
dataset:
  _component_: torchtune.datasets.alpaca_dataset
  packed: False  # True is faster
seed: null
shuffle: True

model:
  _component_: torchtune.models.llama3_2.llama3_2_1b
batch_size: 4
epochs: 12
optimizer:
  _component_: torch.optim.AdamW
  lr: 2e-2
  fused: True
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
max_steps_per_epoch: null
clip_grad_norm: null
gradient_accumulation_steps: 1
compile: False
device: cuda
enable_activation_checkpointing: False  # slower, less memory
dtype: bf16
)"},
    {"train.toml", "torchtitan", 10, R"([job]
dump_folder = "./outputs"

[model]
name = "llama3"
flavor = "8B"   # of three

[optimizer]
name = "AdamW"
lr = 3e-2
eps = 1e-8

[lr_scheduler]
warmup_steps = 0  # none

[training]
local_batch_size = 4
seq_len = 8192
max_norm = 100.0
steps = 1000
dataset = "c4"

[activation_checkpoint]
mode = "none"
)"},
    {"grpo.yaml", "trl-scripts", 30, R"(# GRPO with the script of TRL
model_name_or_path: some-org/model-1b
dtype: bfloat16
attn_implementation: flash_attention_2
dataset_name: some-org/maths
learning_rate: 1.0e-4
per_device_train_batch_size: 8
gradient_accumulation_steps: 4
num_generations: 2
max_completion_length: 4096
temperature: 0.1
beta: 0.0
use_peft: true
lora_r: 16
bf16: true
logging_steps: 1
output_dir: out
)"},
    {"train.py", "hf-trainer", 20, R"(from transformers import Trainer, TrainingArguments

# the settings
args = TrainingArguments(
    output_dir="out",
    learning_rate=1e-2,  # too high?
    per_device_train_batch_size=8,
    num_train_epochs=20,
    fp16=True,
)
trainer = Trainer(model=model, args=args)
)"},
};

struct Wanted {
  std::string cause;
  Settings set;
};

/// Of every remedy; a value that follows from the run's numbers gets one that such a run may have.
std::vector<Wanted> every_remedy() {
  const diagnosis::FactTable none;
  std::vector<Wanted> all;
  for (const diagnosis::Cause& cause : diagnosis::cause_book().causes) {
    for (const diagnosis::RemedyRule& rule : cause.remedies) {
      Wanted wanted{cause.id, {}};
      for (const auto& [name, written] : rule.remedy.set) {
        const bool rate = name == "optim.lr" || name.find("frac") != std::string::npos;
        wanted.set.emplace_back(name, diagnosis::fact_of_formula(written).empty()
                                          ? written
                                          : core::Value(rate ? 2e-5 : 2.0));
      }
      if (!wanted.set.empty()) all.push_back(std::move(wanted));
    }
  }
  return all;
}

std::vector<config_text::ConfigEntry> entries_in(ConfigSyntax syntax, const std::string& text) {
  switch (syntax) {
    case ConfigSyntax::yaml: {
      config_text::YamlText yaml = config_text::parse_yaml(text);
      EXPECT_EQ(yaml.error, "") << text;
      return std::move(yaml.entries);
    }
    case ConfigSyntax::toml: {
      config_text::TomlText toml = config_text::parse_toml(text);
      EXPECT_EQ(toml.error, "") << text;
      return std::move(toml.entries);
    }
    case ConfigSyntax::json:
      EXPECT_TRUE(nlohmann::json::accept(text)) << text;
      return config_text::parse_nested(text);
    case ConfigSyntax::command:
      return config_text::parse_command(text);
    case ConfigSyntax::python:
      return config_text::parse_nested(text);
  }
  return {};
}

aplomb::record::Run read_again(const FixedConfig& fixed, const char* framework) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("fixed", "test", fixed.text.size());
  config_text::put_entries(entries_in(fixed.syntax, fixed.text), framework, build, source);
  return run;
}

/// Whether every line of `before` that the fix did not have to touch stands in `after`, in order.
std::size_t lines_lost(const std::string& before, const std::string& after) {
  std::size_t lost = 0;
  std::size_t from = 0;
  for (std::size_t at = 0; at < before.size();) {
    const std::size_t end = before.find('\n', at) + 1;
    const std::size_t found = after.find(before.substr(at, end - at), from);
    if (found == std::string::npos) {
      ++lost;
    } else {
      from = found;
    }
    at = end;
  }
  return lost;
}

bool means_off(const core::Value& value) {
  return value == core::Value(std::string("fp32")) || value == core::Value(std::string("none"));
}

TEST(FixRemedies, EveryKindOfConfigurationIsTakenForWhatItIs) {
  for (const Config& config : k_configs) {
    const auto fixed = fix_config(config.text, {}, {{"optim.lr", 1e-5}}, config.path);
    const auto same = fix_config(config.text, config.framework, {{"optim.lr", 1e-5}}, config.path);
    if (!same) continue;  // accelerate has no learning rate
    ASSERT_TRUE(fixed) << config.path << ": " << fixed.error().text;
    EXPECT_EQ(fixed->framework, config.framework) << config.path;
  }
}

TEST(FixRemedies, EveryRemedyInEveryKindOfConfigurationSaysWhatWasWanted) {
  const std::vector<Wanted> remedies = every_remedy();
  ASSERT_GT(remedies.size(), 100U);
  for (const Config& config : k_configs) {
    std::set<std::string> held;
    for (const Wanted& wanted : remedies) {
      const auto fixed = fix_config(config.text, config.framework, wanted.set, config.path);
      if (!fixed) {
        EXPECT_EQ(fixed.error().code, core::ErrorCode::unsupported) << fixed.error().text;
        continue;
      }
      const std::string what = std::string(config.path) + ", " + wanted.cause + "\n" + fixed->text;
      const aplomb::record::Run again = read_again(*fixed, config.framework);
      for (const auto& [name, value] : wanted.set) {
        const bool out = std::find(fixed->left_out.begin(), fixed->left_out.end(), name) !=
                         fixed->left_out.end();
        if (out) continue;
        held.insert(name);
        const record::Setting* now = again.setting(name);
        if (now == nullptr && means_off(value)) continue;  // every switch of it is off
        ASSERT_NE(now, nullptr) << name << " in " << what;
        EXPECT_EQ(core::show(now->value), core::show(value)) << name << " in " << what;
      }
      EXPECT_LE(lines_lost(config.text, fixed->text), fixed->changes.size()) << what;
      const auto twice = fix_config(fixed->text, config.framework, wanted.set, config.path);
      if (fixed->left_out.empty()) {
        ASSERT_TRUE(twice) << what;
        EXPECT_EQ(twice->text, fixed->text) << what;
      }
    }
    EXPECT_GE(held.size(), config.at_least) << config.path;
  }
}

}  // namespace
}  // namespace aplomb::fix
