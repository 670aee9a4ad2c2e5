#pragma once
/// Frameworks: the tables of knowledge/frameworks/*.yaml, read once, used both ways.
///
/// Reading:  what a framework prints or is configured with -> canonical series and settings.
/// Writing:  canonical settings -> the framework's own keys and spelling (knowledge/render.h).
///
///     auto hit = knowledge::find_series_alias("rewards/accuracy/mean");
///     // hit->series == "reward/accuracy"
///     auto set = knowledge::read_setting("deepspeed", "zero_optimization.stage", "3");
///     // set[0].spec->name == "dist.zero_stage", set[0].value == 3.0
///
/// Keys are compared without regard to case. A table key may hold one `*`, which catches one or
/// more characters; `$1` in the canonical name puts them back. Safe from several threads.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/value.h"
#include "record/role.h"

namespace aplomb::knowledge {

/// A key that a trainer prints -> the canonical series (knowledge/series.yaml). sample = printed *
/// scale.
struct SeriesAlias {
  std::string key;     ///< as the table has it: `train/loss`, `rewards/*/mean`
  std::string series;  ///< canonical: `loss`, `reward/$1`
  double scale = 1;
};

/// A key that configures a framework -> one canonical setting (knowledge/settings.yaml).
/// Several of one key say that it sets several settings.
struct SettingKey {
  std::string key;  ///< dotted where nested: `zero_optimization.stage`; `*` may stand for a list
                    ///< index or a name
  std::string setting;  ///< canonical: `dist.zero_stage`
  double scale = 1;     ///< canonical number = written number * scale
  /// Written value -> canonical value, e.g. `true` -> `bf16`. Compared without regard to case.
  /// Values that are not named are taken as they are, if they fit the setting's type.
  std::vector<std::pair<std::string, core::Value>> values;
  std::string
      call;  ///< where it stands in code, when not in the framework's usual place: `LoraConfig`
  /// The only classes that take it, where the framework has several (`packing`: SFTConfig); empty: all of them.
  std::vector<std::string> classes;
  bool read_only = false;  ///< understood when read, never written by a remedy
  bool write_only =
      false;              ///< what a remedy writes; read, the same value says less (`bf16: false`)
  bool in_block = false;  ///< only added to a file in which its block (`deepspeed_config:`) stands:
                          ///< it has no effect or no meaning elsewhere
  double below = 0;  ///< where not 0: it says this setting only by numbers above 0 and below this
                     ///< (`warmup_steps=0.05`)
  /// Package -> version: the key is known from it on, or only before it.
  std::vector<std::pair<std::string, std::string>> from;
  std::vector<std::pair<std::string, std::string>> before;
};

struct Framework {
  std::string slug;                 ///< `hf-trainer`
  std::string name;                 ///< for people
  std::vector<std::string> detect;  ///< literal pieces of an artifact that tell the framework
  std::vector<SeriesAlias> series;  ///< in the table's order
  std::vector<std::string> step_keys;
  std::vector<SettingKey>
      settings;         ///< in the table's order; the first of a setting is the one written
  std::string extends;  ///< slug whose keys, kind and method this framework takes as its own:
                        ///< `hf-trainer` of LLaMA-Factory
  std::string kind;    ///< what nearly all of its runs train: `language`, `vision`; empty: anything
  std::string method;  ///< what they train for where nothing says otherwise: `pretrain`
  std::vector<std::string>
      prints;  ///< keys that stand together in its log, and in no other's: such a log is one of its
  std::vector<std::string>
      repeats;  ///< settings that its file states once more beside the trainer's own, and that must
                ///< agree; by itself such a file starts no run
  std::string with_rewards;  ///< slug of the trainer that a run of this one with rewards really is
  std::vector<std::string> also;  ///< slugs whose keys a user of this framework sets as well
  bool bare_switches =
      false;                ///< of `flags`: a switch takes no value (`--bf16`), off means left out
  bool json_flags = false;  ///< of command lines: a nested key is JSON under its first part
  bool command_line = false;  ///< of `python`: the keys are flags of its scripts as well
  bool usual = false;         ///< what most people use: told where nothing tells the framework
  bool part =
      false;  ///< no trainer by itself: a file or library that runs of several trainers have
              ///< (`fsdp`, `hf-model`, `environment`)
  std::string syntax;  ///< how it is configured: `yaml`, `json`, `toml`, `flags`, `python`,
                       ///< `assignments`, `hydra`
  std::string call;    ///< of `python`: the class whose keywords the keys are, `TrainingArguments`
  std::map<std::string, std::string, std::less<>>
      call_for;                    ///< by train.method, where it is not `call`: grpo -> GRPOConfig
  std::vector<std::string> calls;  ///< further classes and functions whose keywords the keys are
};

/// Every table, in alphabetical order of slugs but `common` first.
const std::vector<Framework>& frameworks();
const Framework* find_framework(std::string_view slug);
/// The one that is `usual`; null where no table says so.
const Framework* usual_framework();

/// The class that configures a training for this (train.method): `SFTConfig`, or for `grpo` `GRPOConfig`.
const std::string& class_for(const Framework& framework, std::string_view method);

/// The framework whose keys are the keywords of this class or function; null where no table names
/// it.
const Framework* framework_of_call(std::string_view call);

struct SeriesMatch {
  std::string series;  ///< canonical, `$1` filled in
  double scale = 1;
  std::string_view framework;  ///< slug of the table that knew the key
};

/// The canonical series of a printed key: asks `framework`'s own table first (where one is given),
/// then `common`, then every other. Exact keys win over ones with `*`. About 100 ns; cache it per
/// key in hot loops.
std::optional<SeriesMatch> find_series_alias(std::string_view key, std::string_view framework = {});

/// Whether a key states the step, in `framework`'s table, `common` or (no framework given) any.
bool is_step_key(std::string_view key, std::string_view framework = {});

/// The role of a canonical series by knowledge/series.yaml; `loss/x`, `eval_loss/x`, `reward/x` and
/// `reward_std/x` are components; Role::other for names that it does not hold.
record::Role series_role(std::string_view series);

/// The framework whose `detect` pieces stand in `text`: most pieces found wins; empty where none.
std::string_view detect_framework(std::string_view text);

}  // namespace aplomb::knowledge
