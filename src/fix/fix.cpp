#include "fix/fix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "fix/text_edit.h"
#include "knowledge/setting.h"
#include "knowledge/written_value.h"

namespace aplomb::fix {
namespace {

using knowledge::Framework;
using knowledge::SettingKey;
using knowledge::SettingValue;
using knowledge::WrittenKey;

/// One key that stands in the file and decides a setting.
struct Standing {
  const config_text::ConfigEntry* entry = nullptr;
  const SettingKey* key = nullptr;
  const Framework* table = nullptr;  ///< that has the key
};

class Fixer {
 public:
  Fixer(const ConfigFile& file, const Framework& framework, const knowledge::Versions& versions)
      : file_(file), framework_(framework), versions_(versions) {
    fixed_.syntax = file.syntax;
    fixed_.framework = framework.slug;
  }

  FixedConfig fix(const std::vector<SettingValue>& settings) {
    for (const SettingValue& setting : settings) {
      const std::size_t changed = fixed_.changes.size();
      if (!change(setting) && !add(setting)) {
        fixed_.left_out.push_back(setting.first);
      } else if (fixed_.changes.size() == changed) {
        fixed_.already.push_back(setting.first);
      }
      silence_rival(setting.first);
    }
    fixed_.text = apply_edits(file_.text, std::move(edits_));
    return std::move(fixed_);
  }

  bool any_done() const { return done_; }

 private:
  /// Whether the key is there to state the setting; not one that states another and touches this
  /// one in passing.
  static bool states(const Framework& table, const SettingKey& key, std::string_view setting) {
    if (key.setting != setting) return false;
    if (!key.read_only) return true;
    return std::none_of(table.settings.begin(), table.settings.end(), [&](const SettingKey& other) {
      return &other != &key && other.key == key.key && !other.read_only;
    });
  }

  /// Keywords of a call belong to the table that names the call: `LoraConfig` in a Trainer's
  /// script.
  const Framework& table_of(const config_text::ConfigEntry& entry) const {
    const Framework* named =
        entry.call.empty() ? nullptr : knowledge::framework_of_call(entry.call);
    return named == nullptr ? framework_ : *named;
  }

  /// A key that the setting's own would be overruled by is set to 0: `warmup_steps: 500` beside
  /// `warmup_ratio`.
  void silence_rival(std::string_view setting) {
    const knowledge::SettingSpec* spec = knowledge::find_setting_spec(setting);
    const bool held =
        std::find(fixed_.left_out.begin(), fixed_.left_out.end(), setting) == fixed_.left_out.end();
    if (spec == nullptr || spec->overruled_by.empty() || !held) return;
    for (const Standing& one : standing(spec->overruled_by)) {
      const auto number = knowledge::written_number(one.entry->text);
      const bool edited = std::any_of(edits_.begin(), edits_.end(), [&](const TextEdit& edit) {
        return edit.offset == one.entry->offset;
      });
      const bool other = number && *number != 0 && !edited && !says(one, setting);
      if (other) replace(one, {spec->overruled_by, 0.0}, 0.0);
    }
  }

  /// Whether the entry's value, as it stands, is one of this setting.
  bool says(const Standing& one, std::string_view setting) const {
    const auto read = knowledge::read_setting(one.table->slug, one.entry->path, one.entry->text,
                                              knowledge::KeyScope::own);
    return std::any_of(read.begin(), read.end(), [setting](const knowledge::Assignment& made) {
      return made.spec->name == setting;
    });
  }

  std::vector<Standing> standing(std::string_view setting) const {
    std::vector<Standing> found;
    for (const config_text::ConfigEntry& entry : file_.entries) {
      const std::string folded = knowledge::fold_key(entry.path);
      const Framework& own = table_of(entry);
      for (const Framework* table : {&own, knowledge::find_framework(own.extends)}) {
        if (table == nullptr) continue;
        const auto key = std::find_if(
            table->settings.begin(), table->settings.end(), [&](const SettingKey& one) {
              return states(*table, one, setting) && knowledge::fold_key(one.key) == folded;
            });
        if (key == table->settings.end()) continue;
        const Standing one{&entry, &*key, table};
        // A number below 1 under a key of steps means a share in newer versions only.
        if (!knowledge::exists_in(*key, versions_) && !says(one, setting)) continue;
        found.push_back(one);
        break;
      }
    }
    return found;
  }

  /// Changes the keys that stand in the file already; whether one of them now says the value.
  bool change(const SettingValue& setting) {
    bool said = false;
    bool off = false;
    for (const Standing& one : standing(setting.first)) {
      auto value = knowledge::written_value_for(*one.key, setting.second);
      const bool is_switch =
          std::any_of(one.key->values.begin(), one.key->values.end(),
                      [](const auto& named) { return core::iequals(named.first, "true"); });
      if (value) {
        said = replace(one, setting, *value) || said;
      } else if (is_switch) {
        off = replace(one, setting, core::Value(false)) || off;
      }
    }
    const std::string* word = core::as_text(setting.second);
    return said || (off && word != nullptr && (*word == "fp32" || *word == "none"));
  }

  /// Puts the value where the entry has its own. False where that place cannot be edited, or where
  /// a setting before this one wanted another value of the same key.
  bool replace(const Standing& one, const SettingValue& setting, const core::Value& value) {
    const config_text::ConfigEntry& entry = *one.entry;
    const knowledge::SettingSpec* spec = knowledge::find_setting_spec(setting.first);
    const bool list = spec != nullptr && spec->type == knowledge::SettingType::texts;
    const std::string spelled =
        knowledge::spell({&framework_, one.key, value, list}, name_of(file_.syntax));
    const auto* truth = std::get_if<bool>(&value);
    const auto [decided, first] = decided_.emplace(&entry, spelled);
    if (!first) return decided->second == spelled;
    if (same_value(entry, value)) return done_ = true;
    if (entry.size > 0 && !wrong_operand(entry, truth)) {
      edits_.push_back({entry.offset, entry.size, spelled});
    } else if (entry.is_flag && truth != nullptr && !*truth && framework_.bare_switches) {
      const std::size_t flag = file_.text.rfind("--", entry.offset);
      if (flag == std::string_view::npos) return false;
      edits_.push_back({flag, end_of_flag(flag) - flag, ""});
    } else if (entry.is_flag && !(truth != nullptr && *truth)) {
      edits_.push_back({end_of_flag(file_.text.rfind("--", entry.offset)), 0, " " + spelled});
    } else if (!entry.is_flag) {
      return false;
    }
    fixed_.changes.push_back({setting.first, entry.path, entry.text, spelled, entry.line});
    return done_ = true;
  }

  /// A switch before another word (`--fp16 train.py`): the word is not its value.
  static bool wrong_operand(const config_text::ConfigEntry& entry, const bool* truth) {
    return entry.is_flag && truth != nullptr && !knowledge::is_yes(entry.text) &&
           !knowledge::is_no(entry.text);
  }

  std::size_t end_of_flag(std::size_t flag) const {
    const std::size_t end = file_.text.find_first_of(" \t\n\\=", flag);
    return end == std::string_view::npos ? file_.text.size() : end;
  }

  static bool same_value(const config_text::ConfigEntry& entry, const core::Value& value) {
    if (const auto* truth = std::get_if<bool>(&value)) {
      return *truth ? knowledge::is_yes(entry.text) : knowledge::is_no(entry.text);
    }
    if (const double* number = core::as_number(value))
      return knowledge::written_number(entry.text) == *number;
    return entry.text == *core::as_text(value);
  }

  /// Adds keys that are missing; whether any of them could be put into this file.
  bool add(const SettingValue& setting) {
    const knowledge::WrittenSettings written =
        knowledge::write_settings(framework_.slug, {setting}, versions_);
    bool added = false;
    for (const WrittenKey& key : written.keys) {
      const bool here = belongs_here(key);
      const auto* truth = std::get_if<bool>(&key.value);
      const bool off = truth != nullptr && !*truth && written.keys.size() > 1;
      if (!here || stands(key.key->key)) continue;
      if (off && &key != &written.keys.front())
        continue;  // what is not there need not be turned off
      const auto edit = insertion(key);
      if (!edit) continue;
      edits_.push_back(*edit);
      fixed_.changes.push_back(
          {setting.first, key.key->key, {}, knowledge::spell(key, name_of(file_.syntax)), 0});
      added = true;
    }
    done_ = done_ || added;
    return added;
  }

  /// A file is flat: keys of a call have no place in it but those of configuration classes, whose
  /// parsers take them from files as well.
  bool belongs_here(const WrittenKey& key) const {
    if (file_.syntax == ConfigSyntax::python) return key.framework->syntax == "python";
    const std::size_t dot = key.key->key.rfind('.');
    if (key.key->in_block && !block_stands(std::string_view(key.key->key).substr(0, dot)))
      return false;
    return key.framework == &framework_ &&
           (key.key->call.empty() || key.key->call.ends_with("Config"));
  }

  bool block_stands(std::string_view block) const {
    return std::any_of(file_.entries.begin(), file_.entries.end(),
                       [&](const config_text::ConfigEntry& entry) {
                         return entry.path.size() > block.size() && entry.path.starts_with(block) &&
                                entry.path[block.size()] == '.';
                       });
  }

  bool stands(std::string_view key) const {
    return std::any_of(file_.entries.begin(), file_.entries.end(),
                       [&](const config_text::ConfigEntry& entry) {
                         return knowledge::fold_key(entry.path) == knowledge::fold_key(key);
                       });
  }

  std::optional<TextEdit> insertion(const WrittenKey& key) const {
    const std::string value = knowledge::spell(key, name_of(file_.syntax));
    const std::string& path = key.key->key;
    switch (file_.syntax) {
      case ConfigSyntax::yaml:
        return insert_yaml(file_.text, file_.entries, path, value);
      case ConfigSyntax::json:
        return insert_json(file_.text, file_.entries, path, value);
      case ConfigSyntax::toml:
        return insert_toml(file_.text, file_.entries, path, value);
      case ConfigSyntax::command: {
        const std::string flag = knowledge::spell_flag(key);
        return flag.empty() ? std::nullopt : insert_flag(file_.text, file_.entries, flag);
      }
      case ConfigSyntax::python: {
        const std::string& call = key.key->call.empty() ? key.framework->call : key.key->call;
        return insert_keyword(file_.text, file_.entries, {call, key.framework->calls},
                              knowledge::spell_keyword(key));
      }
    }
    return std::nullopt;
  }

  const ConfigFile& file_;
  const Framework& framework_;
  const knowledge::Versions& versions_;
  std::vector<TextEdit> edits_;
  std::map<const config_text::ConfigEntry*, std::string> decided_;  ///< what each key is to say
  FixedConfig fixed_;
  bool done_ = false;
};

std::string names_of(const std::vector<SettingValue>& settings) {
  std::string names;
  for (const auto& [name, value] : settings) names += (names.empty() ? "" : ", ") + name;
  return names;
}

}  // namespace

std::string FixChange::text() const {
  if (added()) return fmt::format("{}: {} (added)", key, after);
  return fmt::format("{}: {} -> {} (line {})", key, core::shorten(before, 40), after, line);
}

core::Result<FixedConfig> fix_config(const ConfigFile& file, std::string_view framework,
                                     const std::vector<SettingValue>& settings,
                                     const knowledge::Versions& versions) {
  const std::string_view named = file.path.empty() ? std::string_view("the text") : file.path;
  const Framework* table =
      knowledge::find_framework(framework.empty() ? std::string_view(file.framework) : framework);
  if (table == nullptr) {
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[fix] no framework's keys in {}; likely it is no training "
                                  "configuration; name the file that the "
                                  "run was started with",
                                  named));
  }
  if (file.entries.empty()) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[fix] no settings could be read from {} as {}; mend its syntax first", named,
                    name_of(file.syntax)));
  }
  Fixer fixer(file, *table, versions);
  FixedConfig fixed = fixer.fix(settings);
  if (!fixer.any_done()) {
    return core::fail(
        core::ErrorCode::unsupported,
        fmt::format(
            "[fix] {} has no place for {} in {}; change them where the run's code sets them",
            table->name, names_of(settings), name_of(file.syntax)));
  }
  return fixed;
}

core::Result<FixedConfig> fix_config(std::string_view original, std::string_view framework,
                                     const std::vector<SettingValue>& settings,
                                     std::string_view path, const knowledge::Versions& versions) {
  return fix_config(read_config_file(std::string(original), std::string(path)), framework, settings,
                    versions);
}

}  // namespace aplomb::fix
