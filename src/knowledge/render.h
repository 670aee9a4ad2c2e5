#pragma once
/// Canonical settings -> a framework's own keys and syntax: what a remedy tells the user to write.
///
///     render_settings("axolotl", {{"optim.lr", 2e-5}, {"precision.compute", "bf16"}})
///       -> learning_rate: 2.0e-05
///          bf16: true
///          fp16: false
///
/// The tables of knowledge/frameworks serve both ways: what is written here reads back as the same
/// settings.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/value.h"
#include "knowledge/framework.h"

namespace aplomb::knowledge {

using SettingValue = std::pair<std::string, Value>;

/// What is installed where the run runs, as far as it is known: `transformers` -> `5.2.0`. Keys
/// that came or went with a version are chosen by it; without it a key that serves every version,
/// or older ones, is preferred.
using Versions = std::map<std::string, std::string, std::less<>>;

/// Whether `key` exists in these versions; of an unknown version: whether it always existed.
bool exists_in(const SettingKey& key, const Versions& versions);

/// One key with its value as the framework spells it, not yet in the quotes of a syntax.
struct WrittenKey {
  const Framework* framework =
      nullptr;  ///< where the key is written: the asked one, or one of its `also`
  const SettingKey* key = nullptr;
  Value value;           ///< a truth, a number, or a text
  bool is_list = false;  ///< a text of items joined by `,`
};

struct WrittenSettings {
  std::vector<WrittenKey> keys;
  std::vector<std::string>
      left_out;  ///< canonical names that neither the framework nor its `also` has a key for
};

/// The keys to write so that the framework has these settings. Where one setting is spread over
/// switches (`bf16`, `fp16`) the others of them are written as off.
WrittenSettings write_settings(std::string_view framework,
                               const std::vector<SettingValue>& settings,
                               const Versions& versions = {});

/// How `value` of `key.setting` is written under this key; nothing where the key cannot say it.
std::optional<Value> written_value_for(const SettingKey& key, const Value& value);

/// The value as text in a syntax of Framework::syntax: quotes, True/true, exponents that YAML 1.1
/// takes for numbers.
std::string spell(const WrittenKey& key, std::string_view syntax);

/// The same as a flag of a command line: `--max_grad_norm 1`, `--bf16`; empty where a bare switch
/// is off.
std::string spell_flag(const WrittenKey& key);

/// The same as a keyword of a call in Python: `r=16`, `lr_kwargs={"min_lr": 0}`; as an
/// assignment where no call takes it.
std::string spell_keyword(const WrittenKey& key);

/// The settings in the framework's own syntax, or in `syntax` where one is given (`flags` for
/// Hugging Face's command line). Keys that belong to another file or call stand in a block of their
/// own under a comment. Settings without a key are left out. Empty where nothing can be written.
std::string render_settings(std::string_view framework, const std::vector<SettingValue>& settings,
                            std::string_view syntax = {}, const Versions& versions = {});

}  // namespace aplomb::knowledge
