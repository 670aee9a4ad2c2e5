#include "knowledge/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "knowledge/setting.h"
#include "knowledge/written_value.h"

namespace aplomb::knowledge {
namespace {

using Json = nlohmann::ordered_json;

/// A key that is switched on to name one value of its setting: `bf16: true`.
bool is_switch(const SettingKey& key) {
  return std::any_of(key.values.begin(), key.values.end(),
                     [](const auto& named) { return iequals(named.first, "true"); });
}

Value unquoted_value(std::string_view spelled) {
  if (iequals(spelled, "true")) return true;
  if (iequals(spelled, "false")) return false;
  if (const auto number = parse_number(spelled)) return *number;
  return std::string(spelled);
}

/// Leading numbers of two versions compared: whether `version` is at least `least`.
bool at_least(std::string_view version, std::string_view least) {
  while (true) {
    const NumberPrefix have = parse_number_prefix(version.substr(0, version.find('.')));
    const NumberPrefix want = parse_number_prefix(least.substr(0, least.find('.')));
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

using KeysFound = std::vector<std::pair<const Framework*, const SettingKey*>>;

/// A table's keys that may be written for a setting, as keys of `place`. `any_call`: false leaves
/// out those that stand in a call of their own.
void own_keys(const Framework& table, const Framework& place, std::string_view setting,
              bool any_call, const Versions& versions, KeysFound& found) {
  for (const SettingKey& key : table.settings) {
    const bool fits = any_call || key.call.empty();
    if (key.setting == setting && !key.read_only && fits && !gone_from(key, versions))
      found.emplace_back(&place, &key);
  }
}

/// The keys that may be written for a setting: the framework's own, else those of what it extends
/// (keys of another call there belong to code, which a framework of another syntax does not have),
/// else those of its `also`.
KeysFound keys_for(const Framework& framework, std::string_view setting, const Versions& versions) {
  KeysFound found;
  own_keys(framework, framework, setting, true, versions, found);
  const Framework* base = find_framework(framework.extends);
  if (found.empty() && base != nullptr)
    own_keys(*base, framework, setting, framework.syntax == base->syntax, versions, found);
  for (const std::string& slug : framework.also) {
    if (!found.empty()) break;
    if (const Framework* other = find_framework(slug))
      own_keys(*other, *other, setting, true, versions, found);
  }
  // Where the version is not known, keys that every version has come first.
  std::stable_partition(found.begin(), found.end(),
                        [&](const auto& each) { return exists_in(*each.second, versions); });
  return found;
}

/// Values that a setting has where none of its switches is on.
bool is_the_rest(const Value& value) {
  const std::string* word = as_text(value);
  return word != nullptr && (*word == "fp32" || *word == "none");
}

/// Writes one setting; whether any key could say it.
bool write_one(const Framework& framework, const SettingValue& setting, const Versions& versions,
               std::vector<WrittenKey>& out) {
  const SettingSpec* spec = find_setting_spec(setting.first);
  if (spec == nullptr) return false;
  const auto keys = keys_for(framework, setting.first, versions);
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
    if (!spread || key == said || !is_switch(*key)) continue;
    out.push_back({where, key, Value(false), false});
    any = true;
  }
  return any;
}

std::string in_quotes(std::string_view text) { return Json(std::string(text)).dump(); }

/// The shortest digits that read back as the same number; `2.0e-05`, which YAML 1.1 takes for a
/// number, not `2e-05`.
std::string digits(double number) {
  std::string text = fmt::format("{}", number);
  const std::size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  return text;
}

/// Whether YAML reads the bare word as text.
bool plain_in_yaml(std::string_view text) {
  if (text.empty() || parse_number(text) || is_yes(text) || is_no(text) || says_nothing(text))
    return false;
  const bool signs = text.find_first_of(":#{}[],&*!|>'\"%@`?\n") != std::string_view::npos;
  return !signs && text.front() != '-' && text.front() != ' ' && text.back() != ' ';
}

std::string list_text(std::string_view joined, std::string_view syntax) {
  std::string out = "[";
  while (!joined.empty()) {
    const std::size_t comma = std::min(joined.find(','), joined.size());
    const std::string_view item = trim(joined.substr(0, comma));
    const bool bare = syntax == "hydra" || (syntax == "yaml" && plain_in_yaml(item));
    if (out.size() > 1) out += syntax == "hydra" ? "," : ", ";
    out += bare ? std::string(item) : in_quotes(item);
    joined.remove_prefix(std::min(comma + 1, joined.size()));
  }
  return out + "]";
}

std::string spell_text(std::string_view text, bool list, std::string_view syntax) {
  if (syntax == "flags") {
    std::string words(text);
    if (list) std::replace(words.begin(), words.end(), ',', ' ');
    const bool plain =
        words.find_first_of(" \t\"'$&|;<>()*") == std::string::npos && !words.empty();
    return plain || list ? words : in_quotes(words);
  }
  // One item is written as it stands: `all-linear`, or an expression that names modules.
  if (list && text.find(',') != std::string_view::npos) return list_text(text, syntax);
  if (syntax == "yaml") return plain_in_yaml(text) ? std::string(text) : in_quotes(text);
  if (syntax == "hydra") {
    return text.find_first_of(" ,=\"'") == std::string_view::npos ? std::string(text)
                                                                  : in_quotes(text);
  }
  const bool code = (syntax == "python" || syntax == "assignments") && text.starts_with("torch.");
  return code ? std::string(text) : in_quotes(text);
}

Json json_value(const WrittenKey& written) {
  if (const auto* truth = std::get_if<bool>(&written.value)) return *truth;
  if (const double* number = as_number(written.value)) {
    const bool whole = *number == std::floor(*number) && std::fabs(*number) < 1e15;
    return whole ? Json(static_cast<std::int64_t>(*number)) : Json(*number);
  }
  const std::string& text = *as_text(written.value);
  if (!written.is_list || text.find(',') == std::string::npos) return text;
  Json list = Json::array();
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    list.push_back(std::string(trim(rest.substr(0, comma))));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return list;
}

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
    const auto at = static_cast<std::size_t>(parse_number(part).value_or(0));
    if (!here->is_array()) *here = Json::array();
    while (here->size() <= at && here->size() < 16) here->push_back(nullptr);
    here = &(*here)[std::min<std::size_t>(at, 15)];
  }
  return *here;
}

std::string render_json(const std::vector<WrittenKey>& keys) {
  Json root = Json::object();
  for (const WrittenKey& written : keys) member_at(root, written.key->key) = json_value(written);
  return root.dump(2);
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

std::string render_python(const std::vector<WrittenKey>& keys) {
  std::vector<std::string> calls;
  std::map<std::string, std::string> keywords;
  for (const WrittenKey& written : keys) {
    const std::string& call =
        written.key->call.empty() ? written.framework->call : written.key->call;
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
  return out;
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

std::string render_block(const std::vector<WrittenKey>& keys, std::string_view syntax) {
  if (syntax == "json") return render_json(keys) + "\n";
  if (syntax == "toml") return render_toml(keys);
  if (syntax == "python") return render_python(keys);
  if (syntax == "flags") return render_flags(keys);
  if (syntax != "yaml") return render_lines(keys, syntax);
  std::string out;
  yaml_tree(keys, 0, "", out);
  return out;
}

}  // namespace

bool exists_in(const SettingKey& key, const Versions& versions) {
  if (gone_from(key, versions)) return false;
  return std::all_of(key.from.begin(), key.from.end(),
                     [&](const auto& since) { return versions.contains(since.first); });
}

std::optional<Value> written_value_for(const SettingKey& key, const Value& value) {
  for (const auto& [spelled, canonical] : key.values) {
    if (canonical == value) return unquoted_value(spelled);
  }
  const SettingSpec* spec = find_setting_spec(key.setting);
  if (spec == nullptr || is_switch(key)) return std::nullopt;
  // A table that names the words of a key names all that it takes.
  if (spec->type == SettingType::word && !key.values.empty()) return std::nullopt;
  if (const double* number = as_number(value)) {
    const bool numeric = spec->type == SettingType::number || spec->type == SettingType::count ||
                         spec->type == SettingType::bytes || spec->type == SettingType::seconds;
    const bool fits = key.below == 0 || (*number > 0 && *number < key.below);
    if (numeric) return fits ? std::optional<Value>(*number / key.scale) : std::nullopt;
    return spec->numeric ? std::optional<Value>(digits(*number)) : std::nullopt;
  }
  if (std::holds_alternative<bool>(value))
    return spec->type == SettingType::truth ? std::optional<Value>(value) : std::nullopt;
  const bool wordy = spec->type == SettingType::word || spec->type == SettingType::text ||
                     spec->type == SettingType::texts || spec->type == SettingType::version;
  return wordy ? std::optional<Value>(value) : std::nullopt;
}

std::string spell(const WrittenKey& key, std::string_view syntax) {
  if (const auto* truth = std::get_if<bool>(&key.value)) {
    const bool python =
        syntax == "python" || syntax == "assignments" || syntax == "flags" || syntax == "hydra";
    return python ? (*truth ? "True" : "False") : (*truth ? "true" : "false");
  }
  if (const double* number = as_number(key.value)) return digits(*number);
  const std::string& text = *as_text(key.value);
  if (text == "null") {
    const bool python = syntax == "python" || syntax == "assignments" || syntax == "flags";
    return python ? "None" : "null";
  }
  return spell_text(text, key.is_list, syntax);
}

std::string spell_flag(const WrittenKey& key) {
  const Framework* base = find_framework(key.framework->extends);
  const bool json = key.framework->json_flags || (base != nullptr && base->json_flags);
  const auto* truth = std::get_if<bool>(&key.value);
  const std::string& path = key.key->key;
  const std::size_t dot = path.find('.');
  if (json && dot != std::string::npos) {
    return fmt::format("--{} '{{{}: {}}}'", path.substr(0, dot), in_quotes(path.substr(dot + 1)),
                       json_value(key).dump());
  }
  if (!key.framework->bare_switches || truth == nullptr)
    return "--" + path + " " + spell(key, "flags");
  return *truth ? "--" + path : std::string();  // a bare switch is off where it is left out
}

std::string spell_keyword(const WrittenKey& key) {
  const std::string& path = key.key->key;
  const std::string value = spell(key, "python");
  // A name of a module is assigned to, not passed.
  if (key.key->call.empty() && key.framework->call.empty()) return path + " = " + value;
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) return path + "=" + value;
  return path.substr(0, dot) + "={" + in_quotes(path.substr(dot + 1)) + ": " + value + "}";
}

WrittenSettings write_settings(std::string_view framework,
                               const std::vector<SettingValue>& settings,
                               const Versions& versions) {
  WrittenSettings written;
  const Framework* table = find_framework(framework);
  for (const SettingValue& setting : settings) {
    if (table == nullptr || !write_one(*table, setting, versions, written.keys))
      written.left_out.push_back(setting.first);
  }
  return written;
}

std::string render_settings(std::string_view framework, const std::vector<SettingValue>& settings,
                            std::string_view syntax, const Versions& versions) {
  const WrittenSettings written = write_settings(framework, settings, versions);
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
    out += render_block(keys, how);
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace aplomb::knowledge
