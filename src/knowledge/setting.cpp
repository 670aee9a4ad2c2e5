#include "knowledge/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "core/pair_table.h"
#include "core/text.h"
#include "knowledge/document.h"
#include "knowledge/written_value.h"

namespace aplomb::knowledge {
namespace {

std::optional<SettingType> type_of(std::string_view word) {
  static constexpr std::pair<std::string_view, SettingType> k_types[] = {
      {"truth", SettingType::truth},     {"number", SettingType::number},
      {"count", SettingType::count},     {"bytes", SettingType::bytes},
      {"seconds", SettingType::seconds}, {"word", SettingType::word},
      {"text", SettingType::text},       {"texts", SettingType::texts},
      {"version", SettingType::version},
  };
  return core::second_of(k_types, word);
}

SettingSpec load_spec(const Node& entry) {
  SettingSpec spec;
  spec.name = text_of(entry, "name");
  spec.meaning = text_of(entry, "meaning");
  spec.said = text_of(entry, "said");
  spec.unit = text_of(entry, "unit");
  spec.type = type_of(text_of(entry, "type")).value_or(SettingType::text);
  spec.open = truth_of(entry, "open");
  spec.numeric = truth_of(entry, "numeric");
  spec.overruled_by = text_of(entry, "overruled_by");
  spec.least = entry["least"].number();
  spec.most = entry["most"].number();
  for (const auto& [word, synonyms] : entry["words"].members()) {
    spec.words.emplace_back(core::lower(word), std::string(word));
    for (const std::string& synonym : texts_of(entry["words"], word)) {
      spec.words.emplace_back(core::lower(synonym), std::string(word));
    }
  }
  return spec;
}

/// The setting keys of one framework by folded key; several where one key sets several settings.
struct KeyIndex {
  std::unordered_multimap<std::string, const SettingKey*> keys;

  explicit KeyIndex(const Framework& framework) {
    for (const SettingKey& key : framework.settings) {
      if (!key.write_only) keys.emplace(fold_key(key.key), &key);
    }
  }
};

const std::vector<KeyIndex>& key_indices() {
  static const std::vector<KeyIndex> the_indices = [] {
    std::vector<KeyIndex> all;
    for (const Framework& framework : frameworks()) all.emplace_back(framework);
    return all;
  }();
  return the_indices;
}

/// Every key of every table: most of what a log holds is none of them, and is turned away by one
/// probe.
bool any_table_holds(const std::string& folded) {
  static const std::unordered_set<std::string> the_keys = [] {
    std::unordered_set<std::string> keys;
    for (const KeyIndex& index : key_indices()) {
      for (const auto& [key, entry] : index.keys) keys.insert(key);
    }
    return keys;
  }();
  return the_keys.contains(folded);
}

std::size_t position(std::string_view slug) {
  const auto& all = frameworks();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [slug](const Framework& one) { return one.slug == slug; });
  return static_cast<std::size_t>(found - all.begin());
}

/// Not the tables that serve all of them.
bool is_framework(const Framework& table) {
  return table.slug != "common" && table.slug != "environment";
}

/// A key is safe to understand without knowing the framework when it is more than one plain word.
bool telling(std::string_view folded) {
  return folded.size() >= 6 && folded.find_first_of("_.") != std::string_view::npos;
}

/// Below this the keys of a text speak for no framework: two telling keys that two tables share.
constexpr double k_least_weight = 1;
/// Two tables fit about alike when one has so much of the other's weight: a key of its own in ten
/// that both share is worth more.
constexpr double k_alike = 0.9;

/// Runs of one hold files and keys of the other: which of the two answers makes no difference.
bool are_kin(const Framework& a, const Framework& b) {
  const auto takes = [](const Framework& one, const Framework& other) {
    return one.extends == other.slug ||
           std::find(one.also.begin(), one.also.end(), other.slug) != one.also.end();
  };
  return takes(a, b) || takes(b, a) || (!a.extends.empty() && a.extends == b.extends);
}

/// How likely a table is to be meant by a key that several hold: what most people use, then what is
/// built on it, then the others.
int likelihood(const Framework& table) {
  const Framework* usual = usual_framework();
  if (usual == nullptr) return 0;
  return table.slug == usual->slug ? 2 : table.extends == usual->slug ? 1 : 0;
}

/// Index of the table that answers for keys of no known framework: every table that has the key
/// agrees on what it sets; frameworks().size() where they do not, or none has it. Of those the
/// likeliest one is named.
std::size_t agreed_table(const std::string& folded) {
  const auto& all = key_indices();
  std::size_t chosen = all.size();
  const SettingKey* meaning = nullptr;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto found = all[i].keys.find(folded);
    if (found == all[i].keys.end()) continue;
    if (meaning == nullptr) {
      meaning = found->second;
      chosen = i;
    } else if (meaning->setting == found->second->setting &&
               meaning->scale == found->second->scale) {
      if (likelihood(frameworks()[i]) > likelihood(frameworks()[chosen])) chosen = i;
    } else {
      return all.size();
    }
  }
  return chosen;
}

/// The table that explains `folded` for a user of `framework`; frameworks().size() where none does.
std::size_t table_for(std::string_view framework, const std::string& folded, KeyScope scope) {
  const auto& all = key_indices();
  if (!any_table_holds(folded)) return all.size();
  const auto holds = [&](std::size_t i) { return i < all.size() && all[i].keys.contains(folded); };
  const std::size_t own = position(framework);
  if (holds(own)) return own;
  if (own < all.size()) {
    const Framework& table = frameworks()[own];
    const std::size_t base = position(table.extends);
    if (holds(base)) return base;
    for (const std::string& slug : table.also) {
      if (const std::size_t other = position(slug); holds(other)) return other;
    }
  }
  if (const std::size_t common = position("common"); holds(common)) return common;
  return scope == KeyScope::anywhere && telling(folded) ? agreed_table(folded) : all.size();
}

std::optional<core::Value> value_by(const SettingKey& key, const SettingSpec& spec,
                                    std::string_view written) {
  const std::string_view word = unquote(core::trim(written));
  for (const auto& [spelled, canonical] : key.values) {
    const bool nothing = spelled == "null" && (core::iequals(word, "none") || word == "~");
    const bool same = nothing || core::iequals(spelled, word);
    if (same || (core::iequals(spelled, "true") && is_yes(word)) ||
        (core::iequals(spelled, "false") && is_no(word))) {
      return canonical;
    }
  }
  std::optional<core::Value> value = parse_value(spec, written);
  if (value && key.below > 0) {
    const double* number = core::as_number(*value);
    if (number == nullptr || *number <= 0 || *number >= key.below) return std::nullopt;
  }
  if (value && key.scale != 1) {
    if (const double* number = core::as_number(*value)) return core::Value(*number * key.scale);
  }
  return value;
}

/// A named word first: `none` and `no` are words of some settings.
std::optional<core::Value> word_value(const SettingSpec& spec, std::string_view written) {
  const std::string folded = core::lower(written);
  for (const auto& [spelled, canonical] : spec.words) {
    if (spelled == folded) return core::Value(canonical);
  }
  const bool plain = !says_nothing(written) && folded.size() <= 64 && !is_yes(written) &&
                     !is_no(written) && folded.find_first_of(" ()[]{}\"'") == std::string::npos;
  return spec.open && plain ? std::optional<core::Value>(folded) : std::nullopt;
}

}  // namespace

bool SettingSpec::holds(std::string_view word) const {
  return std::any_of(words.begin(), words.end(),
                     [word](const auto& known) { return core::iequals(known.first, word); });
}

const std::vector<SettingSpec>& setting_specs() {
  static const std::vector<SettingSpec> the_specs = [] {
    std::vector<SettingSpec> all;
    for (const Node& entry : file("settings.yaml").items()) all.push_back(load_spec(entry));
    return all;
  }();
  return the_specs;
}

const SettingSpec* find_setting_spec(std::string_view name) {
  static const std::unordered_map<std::string_view, const SettingSpec*> the_names = [] {
    std::unordered_map<std::string_view, const SettingSpec*> names;
    for (const SettingSpec& spec : setting_specs()) names.emplace(spec.name, &spec);
    return names;
  }();
  const auto known = the_names.find(name);
  return known == the_names.end() ? nullptr : known->second;
}

std::optional<core::Value> parse_value(const SettingSpec& spec, std::string_view written) {
  written = unquote(core::trim(written));
  if (spec.type != SettingType::word && says_nothing(written)) return std::nullopt;
  const auto as_value = [&spec](std::optional<double> number) -> std::optional<core::Value> {
    const bool fits = number && std::isfinite(*number) && !(spec.least && *number < *spec.least) &&
                      !(spec.most && *number > *spec.most);
    return fits ? std::optional<core::Value>(*number) : std::nullopt;
  };
  switch (spec.type) {
    case SettingType::truth:
      if (is_yes(written)) return core::Value(true);
      return is_no(written) ? std::optional<core::Value>(false) : std::nullopt;
    case SettingType::number:
      return as_value(written_number(written));
    case SettingType::count:
      return as_value(written_count(written));
    case SettingType::bytes:
      return as_value(written_bytes(written));
    case SettingType::seconds:
      return as_value(written_seconds(written));
    case SettingType::word:
      return word_value(spec, written);
    case SettingType::version: {
      const std::string_view head = written_version(written);
      return head.empty() ? std::nullopt : std::optional<core::Value>(std::string(head));
    }
    case SettingType::text:
    case SettingType::texts: {
      // A progress bar behind a key (`dataset:  47%|####   |`) is no value.
      const bool fits = !written.empty() && written.size() <= 4096 &&
                        (spec.numeric || !is_yes(written)) && (spec.numeric || !is_no(written)) &&
                        (spec.numeric || !core::parse_number(written)) &&
                        written.find("%|") == std::string_view::npos;
      return fits ? std::optional<core::Value>(std::string(written)) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::vector<Assignment> read_setting(std::string_view framework, std::string_view key,
                                     std::string_view written, KeyScope scope) {
  std::vector<Assignment> made;
  const std::string folded = fold_key(key);
  const std::size_t table = table_for(framework, folded, scope);
  if (table >= frameworks().size()) return made;
  const auto [first, last] = key_indices()[table].keys.equal_range(folded);
  for (auto entry = first; entry != last; ++entry) {
    const SettingSpec* spec = find_setting_spec(entry->second->setting);
    if (spec == nullptr) continue;
    if (auto value = value_by(*entry->second, *spec, written)) {
      made.push_back({spec, *std::move(value), &frameworks()[table]});
    }
  }
  return made;
}

std::string impossible_size(const SettingSpec& spec, std::string_view written, bool document) {
  if (!spec.most) return {};
  written = unquote(core::trim(written));
  if (says_nothing(written) || parse_value(spec, written)) return {};
  const auto number = written_number(written);
  if (!number) {
    const bool list = written.find_first_of(",[{(") != std::string_view::npos;
    return document && !list && !is_yes(written) && !is_no(written) ? "is no number"
                                                                    : std::string();
  }
  if (!std::isfinite(*number)) return "is not finite";
  // Frameworks write -1 for "not set" where a size may be missing.
  if (*number == -1 && spec.least.value_or(0) < 1) return {};
  if (*number < spec.least.value_or(0))
    return fmt::format("is below {}", core::show_number(spec.least.value_or(0), 15));
  if (*number > *spec.most) return fmt::format("is above {}", core::show_number(*spec.most, 15));
  return "is no whole number";
}

std::vector<const SettingSpec*> settings_of_key(std::string_view framework, std::string_view key,
                                                KeyScope scope) {
  std::vector<const SettingSpec*> found;
  const std::string folded = fold_key(key);
  const std::size_t table = table_for(framework, folded, scope);
  if (table >= frameworks().size()) return found;
  const auto [first, last] = key_indices()[table].keys.equal_range(folded);
  for (auto entry = first; entry != last; ++entry) {
    if (const SettingSpec* spec = find_setting_spec(entry->second->setting)) found.push_back(spec);
  }
  return found;
}

bool knows_setting_key(std::string_view framework, std::string_view key, KeyScope scope) {
  return table_for(framework, fold_key(key), scope) < frameworks().size();
}

namespace {

/// How well a table fits the keys of a text.
struct TableFit {
  double weight = 0;        ///< each key counts the more the fewer tables hold it
  std::size_t hits = 0;     ///< keys that the table holds
  std::size_t covered = 0;  ///< keys that it or the table under it holds
  /// A text of one framework holds few keys that only others know: two thirds of them known make
  /// the fit less than half as good.
  double fit(std::size_t known) const {
    const double share =
        static_cast<double>(covered) / static_cast<double>(std::max(known, covered));
    return known == 0 ? weight : weight * share * share;
  }
};

struct TableFits {
  std::vector<TableFit> tables;
  std::size_t known = 0;  ///< keys that any framework's table holds
};

TableFits fits_of(const std::vector<std::string_view>& keys) {
  const auto& indices = key_indices();
  TableFits all{std::vector<TableFit>(indices.size()), 0};
  std::vector<TableFit>& fits = all.tables;
  std::vector<std::size_t> holders;
  for (const std::string_view key : keys) {
    const std::string folded = fold_key(key);
    holders.clear();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (is_framework(frameworks()[i]) && indices[i].keys.contains(folded)) holders.push_back(i);
    }
    // A plain word (`model`, `patience`) tells little: notes use it too.
    const double telling_weight = telling(folded) ? 1 : 0.25;
    for (const std::size_t holder : holders) {
      fits[holder].weight += telling_weight / static_cast<double>(holders.size());
      ++fits[holder].hits;
    }
    if (holders.empty()) continue;
    ++all.known;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t base = position(frameworks()[i].extends);
      const bool below = base < indices.size() && indices[base].keys.contains(folded);
      if (below || indices[i].keys.contains(folded)) ++fits[i].covered;
    }
  }
  return all;
}

}  // namespace

std::string_view framework_by_keys(const std::vector<std::string_view>& keys,
                                   std::string_view syntax, std::size_t least) {
  const TableFits all = fits_of(keys);
  const std::vector<TableFit>& fits = all.tables;
  // A table of the artifact's own syntax is the likelier one of two that fit about as well.
  const auto fit = [&](std::size_t i) {
    const double own = fits[i].fit(all.known);
    return frameworks()[i].syntax == syntax ? own * 1.5 : own;
  };
  std::size_t best = fits.size();
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (fits[i].hits < least || fits[i].weight < k_least_weight) continue;
    if (best == fits.size() || fit(i) > fit(best)) best = i;
  }
  if (best == fits.size()) return {};
  // One that speaks too softly to be chosen may still be as likely.
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const bool rival = i != best && fits[i].hits >= least && fit(i) > fit(best) * k_alike;
    if (rival && !are_kin(frameworks()[i], frameworks()[best])) return {};
  }
  return frameworks()[best].slug;
}

std::string fold_key(std::string_view key) {
  key = core::trim(key);
  while (!key.empty() && key.front() == '-') key.remove_prefix(1);
  std::string folded = core::lower(key);
  std::replace(folded.begin(), folded.end(), '-', '_');
  std::replace(folded.begin(), folded.end(), ' ', '_');
  return folded;
}

}  // namespace aplomb::knowledge
