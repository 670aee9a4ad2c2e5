#include "knowledge/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/text.h"
#include "knowledge/setting.h"

namespace aplomb::knowledge {
namespace {

using Json = nlohmann::ordered_json;

/// `a.b.c` -> the member of nested objects, made on the way. A list index (`betas.0`) makes a list
/// as long as it must be.
Json& member_at(Json& root, std::string_view path) {
  Json* here = &root;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string part(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
    const bool index = part.find_first_not_of("0123456789") == std::string::npos;
    if (!index) {
      here = &(*here)[part];
      continue;
    }
    const auto at = static_cast<std::size_t>(core::parse_number(part).value_or(0));
    if (!here->is_array()) *here = Json::array();
    while (here->size() <= at && here->size() < 16) here->push_back(nullptr);
    here = &(*here)[std::min<std::size_t>(at, 15)];
  }
  return *here;
}

std::string render_json(const std::vector<WrittenKey>& keys) {
  Json root = Json::object();
  for (const WrittenKey& written : keys)
    member_at(root, written.key->key) = core::ordered_json_from(spell(written, "json"));
  return core::json_text(root, 2);
}

/// YAML of nested maps: the same tree as JSON, written with the spelling of YAML.
void yaml_tree(const std::vector<WrittenKey>& keys, std::size_t skip, std::string_view indent,
               std::string& out) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view rest = std::string_view(keys[i].key->key).substr(skip);
    const std::size_t dot = rest.find('.');
    if (dot == std::string_view::npos) {
      out += fmt::format("{}{}: {}\n", indent, rest, spell(keys[i], "yaml"));
      continue;
    }
    const std::string head(keys[i].key->key.substr(0, skip + dot + 1));
    const auto of_group = [&](const WrittenKey& one) { return one.key->key.starts_with(head); };
    if (std::any_of(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(i), of_group))
      continue;
    std::vector<WrittenKey> group;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(group), of_group);
    out += fmt::format("{}{}:\n", indent, rest.substr(0, dot));
    yaml_tree(group, skip + dot + 1, std::string(indent) + "  ", out);
  }
}

std::string render_toml(const std::vector<WrittenKey>& keys) {
  std::map<std::string, std::string> sections;
  for (const WrittenKey& written : keys) {
    const std::string& path = written.key->key;
    const std::size_t dot = path.rfind('.');
    const std::string section = dot == std::string::npos ? "" : path.substr(0, dot);
    const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
    sections[section] += name + " = " + spell(written, "toml") + "\n";
  }
  std::string out;
  for (const auto& [section, lines] : sections)
    out += section.empty() ? lines : fmt::format("[{}]\n{}", section, lines);
  return out;
}

/// Of a key that several classes take it is the class of what is trained for.
const std::string& call_of(const WrittenKey& written, std::string_view method) {
  const SettingKey& key = *written.key;
  const std::string& usual = class_for(*written.framework, method);
  const bool takes = std::find(key.classes.begin(), key.classes.end(), usual) != key.classes.end();
  return key.call.empty() || takes ? usual : key.call;
}

std::string render_python(const std::vector<WrittenKey>& keys, std::string_view method) {
  std::vector<std::string> calls;
  std::map<std::string, std::string> keywords;
  std::string statements;
  for (const WrittenKey& written : keys) {
    const std::string& call = call_of(written, method);
    if (written.key->key.ends_with(".#0")) {  // its only argument: `enable_flash_sdp(False)`
      statements += fmt::format("{}({})\n", call, spell(written, "python"));
      continue;
    }
    std::string& list = keywords[call];
    if (list.empty()) calls.push_back(call);
    list += (list.empty() ? "" : ", ") + spell_keyword(written);
  }
  std::string out;
  for (const std::string& call : calls) {
    const std::string& list = keywords[call];
    const bool statement = call.empty();
    out += statement ? fmt::format("{}\n", list) : fmt::format("{}(..., {})\n", call, list);
  }
  return out + statements;
}

std::string render_flags(const std::vector<WrittenKey>& keys) {
  std::string out;
  for (const WrittenKey& written : keys) {
    const std::string flag = spell_flag(written);
    if (!flag.empty()) out += (out.empty() ? "" : " ") + flag;
  }
  return out + (out.empty() ? "" : "\n");
}

std::string render_lines(const std::vector<WrittenKey>& keys, std::string_view syntax) {
  std::string out;
  for (const WrittenKey& written : keys) {
    out += written.key->key + (syntax == "hydra" ? "=" : " = ") + spell(written, syntax) + "\n";
  }
  return out;
}

std::string render_block(const std::vector<WrittenKey>& keys, std::string_view syntax,
                         std::string_view method) {
  if (syntax == "json") return render_json(keys) + "\n";
  if (syntax == "toml") return render_toml(keys);
  if (syntax == "python") return render_python(keys, method);
  if (syntax == "flags") return render_flags(keys);
  if (syntax != "yaml") return render_lines(keys, syntax);
  std::string out;
  yaml_tree(keys, 0, "", out);
  return out;
}

/// `key: value` as the user's own file has it; empty where that key cannot say the value.
std::string say_with(const OwnKey& own, const SettingValue& setting) {
  for (const std::string_view slug :
       {std::string_view(own.framework), std::string_view("common")}) {
    const Framework* table = find_framework(slug);
    if (table == nullptr) continue;
    for (const SettingKey& key : table->settings) {
      if (key.setting != setting.first || fold_key(key.key) != fold_key(own.key)) continue;
      const auto value = written_value_for(key, setting.second);
      if (value) return own.key + ": " + spell({table, &key, *value, false}, "yaml");
    }
  }
  return {};
}

/// `learning rate: 3e-06`, `gradient checkpointing: on`.
std::string say_in_words(const SettingValue& setting) {
  const SettingSpec* spec = find_setting_spec(setting.first);
  if (spec == nullptr) return {};
  const std::string name = spec->said.empty() ? spec->meaning : spec->said;
  const bool* truth = std::get_if<bool>(&setting.second);
  return name + ": " + (truth == nullptr ? core::show(setting.second) : *truth ? "on" : "off");
}

}  // namespace

std::string say_settings(const std::vector<SettingValue>& settings, const OwnKeys& own) {
  std::string out;
  for (const SettingValue& each : settings) {
    const auto stated = own.find(each.first);
    std::string line = stated == own.end() ? std::string() : say_with(stated->second, each);
    if (line.empty()) line = say_in_words(each);
    if (!line.empty()) out += (out.empty() ? "" : "\n") + line;
  }
  return out;
}

std::string render_settings(std::string_view framework, const std::vector<SettingValue>& settings,
                            std::string_view syntax, const Versions& versions,
                            std::string_view method, const OwnKeys& own_keys) {
  const WrittenSettings written = write_settings(framework, settings, versions, method, own_keys);
  const Framework* own = find_framework(framework);
  std::vector<const Framework*> places;
  for (const WrittenKey& key : written.keys) {
    if (std::find(places.begin(), places.end(), key.framework) == places.end())
      places.push_back(key.framework);
  }
  std::stable_partition(places.begin(), places.end(),
                        [own](const Framework* place) { return place == own; });
  std::string out;
  for (const Framework* place : places) {
    std::vector<WrittenKey> keys;
    std::copy_if(written.keys.begin(), written.keys.end(), std::back_inserter(keys),
                 [place](const WrittenKey& key) { return key.framework == place; });
    const bool is_own = place == own;
    const std::string_view how =
        is_own && !syntax.empty() ? syntax : std::string_view(place->syntax);
    if (!is_own && how != "python") out += "# " + place->name + "\n";
    out += render_block(keys, how, method);
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace aplomb::knowledge
