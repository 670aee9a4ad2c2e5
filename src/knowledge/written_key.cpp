#include "knowledge/written_key.h"

#include <algorithm>

#include "core/text.h"
#include "knowledge/setting.h"
#include "knowledge/spell.h"

namespace aplomb::knowledge {
namespace {

/// A key that is switched on to name one value of its setting: `bf16: true`.
bool is_switch(const SettingKey& key) {
  return std::any_of(key.values.begin(), key.values.end(),
                     [](const auto& named) { return core::iequals(named.first, "true"); });
}

core::Value unquoted_value(std::string_view spelled) {
  if (core::iequals(spelled, "true")) return true;
  if (core::iequals(spelled, "false")) return false;
  if (const auto number = core::parse_number(spelled)) return *number;
  return std::string(spelled);
}

/// Leading numbers of two versions compared: whether `version` is at least `least`.
bool at_least(std::string_view version, std::string_view least) {
  while (true) {
    const core::NumberPrefix have = core::parse_number_prefix(version.substr(0, version.find('.')));
    const core::NumberPrefix want = core::parse_number_prefix(least.substr(0, least.find('.')));
    if (want.size == 0) return true;
    if (have.size == 0 || have.value < want.value) return false;
    if (have.value > want.value) return true;
    version.remove_prefix(std::min(version.find('.'), version.size() - 1) + 1);
    least.remove_prefix(std::min(least.find('.'), least.size() - 1) + 1);
  }
}

/// Whether a version that is known does not have the key.
bool gone_from(const SettingKey& key, const Versions& versions) {
  const auto known = [&](const std::string& package) {
    const auto found = versions.find(package);
    return found == versions.end() ? std::string() : found->second;
  };
  for (const auto& [package, least] : key.from) {
    const std::string version = known(package);
    if (!version.empty() && !at_least(version, least)) return true;
  }
  for (const auto& [package, end] : key.before) {
    const std::string version = known(package);
    if (!version.empty() && at_least(version, end)) return true;
  }
  return false;
}

/// Whether the class that trains for this method takes the key.
bool taken_for(const SettingKey& key, const Framework& table, std::string_view method) {
  if (method.empty() || key.classes.empty()) return true;
  return std::find(key.classes.begin(), key.classes.end(), class_for(table, method)) !=
         key.classes.end();
}

/// What is asked for beside the setting itself.
struct Wanted {
  const Versions& versions;
  std::string_view method;
};

using KeysFound = std::vector<std::pair<const Framework*, const SettingKey*>>;

/// A table's keys that may be written for a setting, as keys of `place`. `any_call`: false leaves
/// out those that stand in a call of their own.
void own_keys(const Framework& table, const Framework& place, std::string_view setting,
              bool any_call, const Wanted& wanted, KeysFound& found) {
  for (const SettingKey& key : table.settings) {
    const bool fits = any_call || key.call.empty();
    if (key.setting == setting && !key.read_only && fits && !gone_from(key, wanted.versions) &&
        taken_for(key, table, wanted.method))
      found.emplace_back(&place, &key);
  }
}

/// The keys that may be written for a setting: the framework's own, else those of what it extends
/// (keys of another call there belong to code, which a framework of another syntax does not have),
/// else those of its `also`.
KeysFound keys_for(const Framework& framework, std::string_view setting, const Wanted& wanted) {
  KeysFound found;
  own_keys(framework, framework, setting, true, wanted, found);
  const Framework* base = find_framework(framework.extends);
  if (found.empty() && base != nullptr)
    own_keys(*base, framework, setting, framework.syntax == base->syntax, wanted, found);
  for (const std::string& slug : framework.also) {
    if (!found.empty()) break;
    if (const Framework* other = find_framework(slug))
      own_keys(*other, *other, setting, true, wanted, found);
  }
  // Where the version is not known, keys that every version has come first.
  std::stable_partition(found.begin(), found.end(),
                        [&](const auto& each) { return exists_in(*each.second, wanted.versions); });
  return found;
}

/// Values that a setting has where none of its switches is on.
bool is_the_rest(const core::Value& value) {
  const std::string* word = core::as_text(value);
  return word != nullptr && (*word == "fp32" || *word == "none");
}

/// Whether the key is written already, for a setting that came first.
bool is_taken(const std::vector<WrittenKey>& out, const Framework* where, const SettingKey& key) {
  return std::any_of(out.begin(), out.end(), [&](const WrittenKey& each) {
    return each.framework == where && each.key->key == key.key;
  });
}

/// Writes one setting; whether any key could say it.
bool write_one(const Framework& framework, const SettingValue& setting, const Wanted& wanted,
               const OwnKeys& own, std::vector<WrittenKey>& out) {
  const SettingSpec* spec = find_setting_spec(setting.first);
  if (spec == nullptr) return false;
  auto keys = keys_for(framework, setting.first, wanted);
  if (const auto stated = own.find(setting.first); stated != own.end()) {
    std::stable_partition(keys.begin(), keys.end(), [&](const auto& each) {
      return fold_key(each.second->key) == fold_key(stated->second.key);
    });
  }
  const bool taken = std::any_of(keys.begin(), keys.end(), [&](const auto& each) {
    return is_taken(out, each.first, *each.second);
  });
  if (taken) return false;
  const SettingKey* said = nullptr;
  for (const auto& [where, key] : keys) {
    const auto value = written_value_for(*key, setting.second);
    if (!value) continue;
    said = key;
    out.push_back({where, key, *value, spec->type == SettingType::texts});
    break;
  }
  // The other switches of the same setting go off; all of them where none says the value (`fp32`:
  // neither bf16 nor fp16).
  if (spec->type != SettingType::word) return said != nullptr;
  const bool spread = said != nullptr ? is_switch(*said) : is_the_rest(setting.second);
  bool any = said != nullptr;
  for (const auto& [where, key] : keys) {
    if (!spread || key == said || !is_switch(*key) || is_taken(out, where, *key)) continue;
    out.push_back({where, key, core::Value(false), false});
    any = true;
  }
  return any;
}

}  // namespace

bool exists_in(const SettingKey& key, const Versions& versions) {
  if (gone_from(key, versions)) return false;
  return std::all_of(key.from.begin(), key.from.end(),
                     [&](const auto& since) { return versions.contains(since.first); });
}

std::string show_as_written(const record::Setting& setting) {
  core::Value value = setting.value;
  const Framework* framework = find_framework(setting.framework);
  if (framework != nullptr && std::holds_alternative<bool>(value)) {
    for (const SettingKey& key : framework->settings) {
      if (key.setting != setting.name || !setting.raw_key.ends_with(key.key)) continue;
      const auto written = written_value_for(key, value);
      if (written && std::holds_alternative<bool>(*written)) value = *written;
      break;
    }
  }
  return setting.raw_key + " = " + core::show(value);
}

std::optional<core::Value> written_value_for(const SettingKey& key, const core::Value& value) {
  for (const auto& [spelled, canonical] : key.values) {
    if (canonical == value) return unquoted_value(spelled);
  }
  const SettingSpec* spec = find_setting_spec(key.setting);
  if (spec == nullptr || is_switch(key)) return std::nullopt;
  // A table that names the words of a key names all that it takes.
  if (spec->type == SettingType::word && !key.values.empty()) return std::nullopt;
  if (const double* number = core::as_number(value)) {
    const bool numeric = spec->type == SettingType::number || spec->type == SettingType::count ||
                         spec->type == SettingType::bytes || spec->type == SettingType::seconds;
    const bool fits = key.below == 0 || (*number > 0 && *number < key.below);
    if (numeric) return fits ? std::optional<core::Value>(*number / key.scale) : std::nullopt;
    return spec->numeric ? std::optional<core::Value>(digits(*number)) : std::nullopt;
  }
  if (std::holds_alternative<bool>(value))
    return spec->type == SettingType::truth ? std::optional<core::Value>(value) : std::nullopt;
  const bool wordy = spec->type == SettingType::word || spec->type == SettingType::text ||
                     spec->type == SettingType::texts || spec->type == SettingType::version;
  return wordy ? std::optional<core::Value>(value) : std::nullopt;
}

WrittenSettings write_settings(std::string_view framework,
                               const std::vector<SettingValue>& settings, const Versions& versions,
                               std::string_view method, const OwnKeys& own) {
  WrittenSettings written;
  const Framework* table = find_framework(framework);
  for (const SettingValue& setting : settings) {
    if (table == nullptr || !write_one(*table, setting, {versions, method}, own, written.keys))
      written.left_out.push_back(setting.first);
  }
  return written;
}

}  // namespace aplomb::knowledge
