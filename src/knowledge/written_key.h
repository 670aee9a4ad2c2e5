#pragma once
/// Canonical settings -> the keys of a framework that say them, with the values that those keys
/// take. Which key: by what it can say, by the versions that are installed, and by where it stands
/// (the framework's own, what it extends, its `also`).

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/value.h"
#include "knowledge/framework.h"
#include "record/run.h"

namespace aplomb::knowledge {

using SettingValue = std::pair<std::string, core::Value>;

/// What is installed where the run runs, as far as it is known: `transformers` -> `5.2.0`. Keys
/// that came or went with a version are chosen by it; without it a key that serves every version,
/// or older ones, is preferred.
using Versions = std::map<std::string, std::string, std::less<>>;

/// Where a user's own files state a setting: the key as it stands there, and the table that knew it.
struct OwnKey {
  std::string key;
  std::string framework;
};
using OwnKeys = std::map<std::string, OwnKey, std::less<>>;  ///< by canonical name

/// Whether `key` exists in these versions; of an unknown version: whether it always existed.
bool exists_in(const SettingKey& key, const Versions& versions);

/// `disable_cudnn_sdpa = false`: the key as it was written, with the value that it has there. Switches
/// may say the opposite of what the setting is called.
std::string show_as_written(const record::Setting& setting);

/// One key with its value as the framework spells it, not yet in the quotes of a syntax.
struct WrittenKey {
  const Framework* framework =
      nullptr;  ///< where the key is written: the asked one, or one of its `also`
  const SettingKey* key = nullptr;
  core::Value value;     ///< a truth, a number, or a text
  bool is_list = false;  ///< a text of items joined by `,`
};

struct WrittenSettings {
  std::vector<WrittenKey> keys;
  std::vector<std::string>
      left_out;  ///< canonical names that neither the framework nor its `also` has a key for
};

/// The keys to write so that the framework has these settings. Where one setting is spread over
/// switches (`bf16`, `fp16`) the others of them are written as off. `method` is what is trained for
/// (train.method): keys that its class does not take are left out; empty: no key is. Where several
/// keys can say a setting, the one under which the user states it is written (`trl.beta` before
/// `rl_beta`); where two settings want different values of one key, the first of them has it.
WrittenSettings write_settings(std::string_view framework,
                               const std::vector<SettingValue>& settings,
                               const Versions& versions = {}, std::string_view method = {},
                               const OwnKeys& own = {});

/// How `value` of `key.setting` is written under this key; nothing where the key cannot say it.
std::optional<core::Value> written_value_for(const SettingKey& key, const core::Value& value);

}  // namespace aplomb::knowledge
