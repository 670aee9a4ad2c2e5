#include "knowledge/framework.h"

#include <algorithm>
#include <unordered_map>

#include "core/text.h"
#include "knowledge/document.h"

namespace aplomb::knowledge {
namespace {

SeriesAlias series_alias(std::string_view key, const Node& item) {
  SeriesAlias alias;
  alias.key = std::string(key);
  if (const auto name = item.text()) {
    alias.series = std::string(*name);
  } else {
    alias.series = text_of(item, "series");
    alias.scale = number_of(item, "scale", 1);
  }
  return alias;
}

SettingKey setting_key(std::string_view key, const Node& item) {
  SettingKey entry;
  entry.key = std::string(key);
  if (const auto name = item.text()) {
    entry.setting = std::string(*name);
    return entry;
  }
  entry.setting = text_of(item, "set");
  entry.scale = number_of(item, "scale", 1);
  entry.call = text_of(item, "call");
  entry.classes = texts_of(item, "classes");
  entry.read_only = truth_of(item, "read_only");
  entry.write_only = truth_of(item, "write_only");
  entry.in_block = truth_of(item, "in_block");
  entry.below = number_of(item, "below", 0);
  for (const auto& [member, versions] :
       {std::pair{"from", &entry.from}, {"before", &entry.before}}) {
    for (const auto& [package, version] : item[member].members()) {
      if (const auto text = version.text()) versions->emplace_back(package, *text);
    }
  }
  for (const auto& [written, canonical] : item["values"].members()) {
    if (canonical.is_scalar()) entry.values.emplace_back(std::string(written), value_of(canonical));
  }
  return entry;
}

Framework load(const Node& content) {
  Framework framework;
  framework.slug = text_of(content, "slug");
  framework.name = text_of(content, "name");
  framework.detect = texts_of(content, "detect");
  framework.step_keys = texts_of(content, "step_keys");
  framework.extends = text_of(content, "extends");
  framework.kind = text_of(content, "kind");
  framework.method = text_of(content, "method");
  framework.prints = texts_of(content, "prints");
  framework.repeats = texts_of(content, "repeats");
  framework.with_rewards = text_of(content, "with_rewards");
  framework.also = texts_of(content, "also");
  framework.json_flags = truth_of(content, "json_flags");
  framework.bare_switches = truth_of(content, "bare_switches");
  framework.syntax = text_of(content, "syntax");
  framework.command_line = truth_of(content, "command_line");
  framework.usual = truth_of(content, "usual");
  framework.part = truth_of(content, "part");
  framework.call = text_of(content, "call");
  for (const auto& [method, name] : content["call_for"].members())
    framework.call_for.emplace(method, name.text().value_or(""));
  framework.calls = texts_of(content, "calls");
  for (const auto& [key, item] : content["series"].members())
    framework.series.push_back(series_alias(key, item));
  for (const auto& [key, item] : content["settings"].members()) {
    if (!item.is_list()) framework.settings.push_back(setting_key(key, item));
    for (const Node& one : item.items()) framework.settings.push_back(setting_key(key, one));
  }
  return framework;
}

/// Kind and method of the framework that each is built on, where it states none of its own.
void inherit(std::vector<Framework>& all) {
  const auto find = [&all](const std::string& slug) {
    return std::find_if(all.begin(), all.end(),
                        [&slug](const Framework& each) { return each.slug == slug; });
  };
  constexpr int k_deepest = 8;  // tables that stand on each other end here
  for (Framework& one : all) {
    auto base = find(one.extends);
    for (int depth = 0; depth < k_deepest && base != all.end(); ++depth) {
      if (one.kind.empty()) one.kind = base->kind;
      if (one.method.empty()) one.method = base->method;
      base = find(base->extends);
    }
  }
}

/// What `*` of a pattern catches in `key`; nothing where it does not match. Both are lower case.
std::optional<std::string_view> caught_by(std::string_view pattern, std::string_view key) {
  const std::size_t star = pattern.find('*');
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  const bool fits = key.size() > head.size() + tail.size() && key.substr(0, head.size()) == head &&
                    key.substr(key.size() - tail.size()) == tail;
  if (!fits) return std::nullopt;
  return key.substr(head.size(), key.size() - head.size() - tail.size());
}

/// The series aliases of one table, ready to be asked.
struct SeriesIndex {
  std::unordered_map<std::string, const SeriesAlias*> exact;  // by lower-case key
  std::vector<std::pair<std::string, const SeriesAlias*>>
      patterns;  // with `*`, lower case, in table order
  std::unordered_map<std::string, bool> steps;

  explicit SeriesIndex(const Framework& framework) {
    for (const SeriesAlias& alias : framework.series) {
      std::string key = core::lower(alias.key);
      if (key.find('*') == std::string::npos) {
        exact.emplace(std::move(key), &alias);
      } else {
        patterns.emplace_back(std::move(key), &alias);
      }
    }
    for (const std::string& key : framework.step_keys) steps.emplace(core::lower(key), true);
  }

  std::optional<SeriesMatch> find_exact(const std::string& key, std::string_view slug) const {
    const auto known = exact.find(key);
    if (known == exact.end()) return std::nullopt;
    return SeriesMatch{known->second->series, known->second->scale, slug};
  }

  /// `folded` is `key` in lower case; what is put back keeps its case.
  std::optional<SeriesMatch> find_pattern(std::string_view key, const std::string& folded,
                                          std::string_view slug) const {
    for (const auto& [pattern, alias] : patterns) {
      const auto caught = caught_by(pattern, folded);
      if (!caught) continue;
      std::string series = alias->series;
      const auto start = static_cast<std::size_t>(caught->data() - folded.data());
      if (const auto place = series.find("$1"); place != std::string::npos) {
        series.replace(place, 2, key.substr(start, caught->size()));
      }
      return SeriesMatch{std::move(series), alias->scale, slug};
    }
    return std::nullopt;
  }
};

const std::vector<SeriesIndex>& series_indices() {
  static const std::vector<SeriesIndex> the_indices = [] {
    std::vector<SeriesIndex> all;
    for (const Framework& framework : frameworks()) all.emplace_back(framework);
    return all;
  }();
  return the_indices;
}

/// Indices into frameworks() in the order in which a key is looked up: the given one, `common`, the
/// others.
template <class Visit>
bool in_order(std::string_view framework, bool others, Visit visit) {
  const auto& all = frameworks();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!framework.empty() && all[i].slug == framework && visit(i)) return true;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool wanted = all[i].slug == "common" || (others && all[i].slug != framework);
    if (wanted && visit(i)) return true;
  }
  return false;
}

}  // namespace

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> the_frameworks = [] {
    std::vector<Framework> all;
    for (const Entry& entry : folder("frameworks")) all.push_back(load(entry.content));
    inherit(all);
    std::stable_partition(all.begin(), all.end(),
                          [](const Framework& one) { return one.slug == "common"; });
    return all;
  }();
  return the_frameworks;
}

const Framework* find_framework(std::string_view slug) {
  for (const Framework& framework : frameworks()) {
    if (framework.slug == slug) return &framework;
  }
  return nullptr;
}

const Framework* usual_framework() {
  const auto& all = frameworks();
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Framework& one) { return one.usual; });
  return found == all.end() ? nullptr : &*found;
}

const std::string& class_for(const Framework& framework, std::string_view method) {
  const auto special = framework.call_for.find(method);
  return special == framework.call_for.end() ? framework.call : special->second;
}

const Framework* framework_of_call(std::string_view call) {
  static const std::unordered_map<std::string_view, const Framework*> the_calls = [] {
    std::unordered_map<std::string_view, const Framework*> calls;
    for (const Framework& framework : frameworks()) {
      const std::size_t dot = framework.call.rfind('.');
      const std::string_view usual = framework.call;
      if (!usual.empty())
        calls.emplace(dot == std::string::npos ? usual : usual.substr(dot + 1), &framework);
      for (const std::string& further : framework.calls) calls.emplace(further, &framework);
    }
    return calls;
  }();
  const auto known = the_calls.find(call);
  return known == the_calls.end() ? nullptr : known->second;
}

std::optional<SeriesMatch> find_series_alias(std::string_view key, std::string_view framework) {
  const std::string folded = core::lower(key);
  const auto& all = frameworks();
  std::optional<SeriesMatch> match;
  const bool exact = in_order(framework, true, [&](std::size_t i) {
    return (match = series_indices()[i].find_exact(folded, all[i].slug)).has_value();
  });
  if (exact) return match;
  in_order(framework, true, [&](std::size_t i) {
    return (match = series_indices()[i].find_pattern(key, folded, all[i].slug)).has_value();
  });
  return match;
}

bool is_step_key(std::string_view key, std::string_view framework) {
  const std::string folded = core::lower(key);
  return in_order(framework, framework.empty(),
                  [&](std::size_t i) { return series_indices()[i].steps.contains(folded); });
}

record::Role series_role(std::string_view series) {
  static const std::unordered_map<std::string, record::Role> the_roles = [] {
    std::unordered_map<std::string, record::Role> roles;
    for (const Node& entry : file("series.yaml").items()) {
      if (const auto role = record::role_of(text_of(entry, "role")))
        roles.emplace(text_of(entry, "name"), *role);
    }
    return roles;
  }();
  static constexpr std::pair<std::string_view, record::Role> k_components[] = {
      {"loss/", record::Role::loss_component},
      {"eval_loss/", record::Role::eval_component},
      {"reward/", record::Role::reward_component},
      {"reward_std/", record::Role::reward_component_std},
  };
  if (const auto known = the_roles.find(std::string(series)); known != the_roles.end())
    return known->second;
  for (const auto& [prefix, role] : k_components) {
    if (series.size() > prefix.size() && series.substr(0, prefix.size()) == prefix) return role;
  }
  return record::Role::other;
}

std::string_view detect_framework(std::string_view text) {
  std::string_view best;
  std::size_t most = 0;
  for (const Framework& framework : frameworks()) {
    const auto found = static_cast<std::size_t>(std::count_if(
        framework.detect.begin(), framework.detect.end(),
        [text](const std::string& piece) { return text.find(piece) != std::string_view::npos; }));
    if (found > most && framework.slug != "environment") {
      most = found;
      best = framework.slug;
    }
  }
  return best;
}

}  // namespace aplomb::knowledge
