#include "config_text/config_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "config_text/command_line.h"
#include "config_text/setting_sink.h"
#include "core/pair_table.h"
#include "core/text.h"
#include "knowledge/setting.h"

namespace aplomb::config_text {
namespace {

/// Names that say what a file is, whatever its keys.
constexpr std::pair<std::string_view, std::string_view> k_names[] = {
    {"adapter_config.json", "peft"},
    {"tokenizer_config.json", "hf-tokenizer"},
    {"special_tokens_map.json", "hf-tokenizer"},
    {"generation_config.json", "hf-tokenizer"},
    {"training_args.json", "hf-trainer"},
};

bool is_number(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The list that an item belongs to: `args` for `args.3`; empty for what is no item.
std::string_view list_of_item(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos)
    return is_number(path) ? path.substr(0, 0) : std::string_view("\x01");
  return is_number(path.substr(dot + 1)) ? path.substr(0, dot) : std::string_view("\x01");
}

/// Lists whose items are words of a command line, put together again: `--lr`, `1e-4`.
std::size_t put_commands(const std::vector<ConfigEntry>& entries, SettingSink& sink) {
  std::size_t made = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string_view list = list_of_item(entries[i].path);
    const std::string_view text = entries[i].text;
    const bool flag = text.starts_with("--");
    const bool override_word = !flag && text.find('=') != std::string_view::npos &&
                               text.find(' ') == std::string_view::npos;
    if (list == "\x01" || !(flag || override_word)) continue;
    std::string words(text);
    std::size_t next = i + 1;
    for (; next < entries.size() && list_of_item(entries[next].path) == list; ++next) {
      words += ' ';
      words += entries[next].text;
    }
    for (ConfigEntry& entry : parse_command(words, entries[i].line, entries[i].offset)) {
      entry.offset = entries[i].offset;
      entry.size = 0;  // the words are no longer where they stood
      made += sink.put(entry);
    }
    i = next - 1;
  }
  return made;
}

}  // namespace

std::string read_config_text(input::ByteStream& bytes, record::RunBuilder& build,
                             record::SourceId source) {
  std::string text;
  for (std::string_view part; !(part = bytes.next()).empty();) {
    const std::size_t room = k_largest_config_bytes - text.size();
    text += part.substr(0, room);
    if (part.size() <= room) continue;
    build.defect({source, text.size(), "truncated", core::Severity::note,
                  fmt::format("[config] only the first {} were read; a configuration is smaller",
                              core::show_bytes(static_cast<double>(k_largest_config_bytes)))});
    break;
  }
  if (!bytes.broken().empty()) {
    build.defect({source, text.size(), "truncated", core::Severity::warning, bytes.broken()});
  }
  return text;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view framework_of(const std::vector<ConfigEntry>& entries, std::string_view path,
                              std::string_view syntax) {
  if (const auto named = core::second_of(k_names, file_name(path))) return *named;
  std::vector<std::string_view> keys;
  for (const ConfigEntry& entry : entries) {
    keys.push_back(entry.path);
    if (keys.size() >= 2000) break;
  }
  return knowledge::framework_by_keys(keys, syntax);
}

std::string_view framework_of_script(const std::vector<ConfigEntry>& entries, std::string_view path,
                                     std::string_view text) {
  const std::string_view by_keys = framework_of(entries, path, "assignments");
  const knowledge::Framework* table = knowledge::find_framework(by_keys);
  // Tables of command lines share most keys with the classes of a program: what it imports says which.
  if (table != nullptr && !table->part && table->syntax != "flags") return by_keys;
  const std::string_view by_words = knowledge::detect_framework(text);
  return by_words.empty() ? by_keys : by_words;
}

std::size_t known_keys(const std::vector<ConfigEntry>& entries, std::string_view framework) {
  return static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [&](const ConfigEntry& entry) {
        return knowledge::knows_setting_key(framework, entry.path);
      }));
}

void resolve_references(std::vector<ConfigEntry>& entries) {
  std::unordered_map<std::string_view, std::size_t> by_path;
  for (std::size_t i = 0; i < entries.size(); ++i) by_path.emplace(entries[i].path, i);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (int hops = 0; hops < 4; ++hops) {  // a reference may name another one; a circle ends
      const std::string_view text = entries[i].text;
      if (!text.starts_with("${") || !text.ends_with("}")) break;
      std::string_view path = text.substr(2, text.size() - 3);
      if (path.starts_with("oc.select:")) path = path.substr(10, path.find(',') - 10);
      const auto named = by_path.find(path);
      if (named == by_path.end() || named->second == i) break;
      entries[i].text = entries[named->second].text;
    }
  }
}

/// W&B wraps every value: `lr: {desc: null, value: 0.1}`.
void unwrap_values(std::vector<ConfigEntry>& entries) {
  constexpr std::string_view k_wrapper = ".value";
  const auto wrapped = [&](const ConfigEntry& entry) {
    return entry.path.ends_with(k_wrapper) || entry.path.find(".value.") != std::string::npos;
  };
  const auto count =
      static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), wrapped));
  if (count < 3 || 3 * count < entries.size()) return;
  for (ConfigEntry& entry : entries) {
    const std::size_t at = entry.path.find(k_wrapper);
    if (wrapped(entry) && at != std::string::npos) entry.path.erase(at, k_wrapper.size());
  }
}

void drop_generation_defaults(std::vector<ConfigEntry>& entries) {
  const auto stands = [&](std::string_view key) {
    return std::any_of(entries.begin(), entries.end(),
                       [key](const ConfigEntry& entry) { return entry.path == key; });
  };
  // Nobody sets these two for training; PretrainedConfig carries both.
  if (!stands("num_beams") || !stands("length_penalty")) return;
  constexpr std::string_view k_of_generation[] = {
      "max_length", "min_length", "temperature",         "top_k",
      "top_p",      "do_sample",  "num_return_sequences"};
  std::erase_if(entries, [&](const ConfigEntry& entry) {
    return std::find(std::begin(k_of_generation), std::end(k_of_generation), entry.path) !=
           std::end(k_of_generation);
  });
}

std::size_t put_entries(std::vector<ConfigEntry> entries, std::string_view framework,
                        record::RunBuilder& build, record::SourceId source, bool code) {
  resolve_references(entries);
  drop_generation_defaults(entries);
  SettingSink sink(build, source, framework);
  sink.code(code);
  sink.document(!code);
  if (build.source(source).framework.empty())
    build.source(source).framework = std::string(framework);
  std::size_t made = 0;
  for (const ConfigEntry& entry : entries) made += sink.put(entry);
  return made + put_commands(entries, sink);
}

}  // namespace aplomb::config_text
