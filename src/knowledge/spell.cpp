#include "knowledge/spell.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/text.h"
#include "knowledge/written_value.h"

namespace aplomb::knowledge {
namespace {

std::string in_quotes(std::string_view text) {
  return core::json_text(nlohmann::json(std::string(text)));
}

/// Whether YAML reads the bare word as text.
bool plain_in_yaml(std::string_view text) {
  if (text.empty() || core::parse_number(text) || is_yes(text) || is_no(text) || says_nothing(text))
    return false;
  const bool signs = text.find_first_of(":#{}[],&*!|>'\"%@`?\n") != std::string_view::npos;
  return !signs && text.front() != '-' && text.front() != ' ' && text.back() != ' ';
}

std::string list_text(std::string_view joined, std::string_view syntax) {
  std::string out = "[";
  while (!joined.empty()) {
    const std::size_t comma = std::min(joined.find(','), joined.size());
    const std::string_view item = core::trim(joined.substr(0, comma));
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

}  // namespace

std::string digits(double number) {
  std::string text = fmt::format("{}", number);
  const std::size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  return text;
}

std::string spell(const WrittenKey& key, std::string_view syntax) {
  if (const auto* truth = std::get_if<bool>(&key.value)) {
    const bool python =
        syntax == "python" || syntax == "assignments" || syntax == "flags" || syntax == "hydra";
    return python ? (*truth ? "True" : "False") : (*truth ? "true" : "false");
  }
  if (const double* number = core::as_number(key.value)) return digits(*number);
  const std::string& text = *core::as_text(key.value);
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
  if (path.ends_with(".#0")) return {};  // a call in code is no flag
  const std::size_t dot = path.find('.');
  if (json && dot != std::string::npos) {
    return fmt::format("--{} '{{{}: {}}}'", path.substr(0, dot), in_quotes(path.substr(dot + 1)),
                       core::json_text(core::json_from(spell(key, "json"))));
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

}  // namespace aplomb::knowledge
