#include "config_text/toml_text.h"

#include <toml++/toml.h>

#include <algorithm>

#include "config_text/text_places.h"

namespace aplomb::config_text {
namespace {

class Walker {
 public:
  Walker(std::string_view text, std::vector<ConfigEntry>& entries)
      : text_(text), places_(text), entries_(entries) {}

  void table(const toml::table& members, const std::string& path) {
    for (const auto& [key, value] : members) {
      const std::string name(key.str());
      node(value, path.empty() ? name : path + "." + name);
    }
  }

 private:
  void node(const toml::node& value, const std::string& path) {
    if (entries_.size() >= k_most_entries) return;
    if (const auto* members = value.as_table()) {
      table(*members, path);
      return;
    }
    const auto* items = value.as_array();
    if (items == nullptr) {
      add(value, path, scalar_text(value), value.is_string(), false);
      return;
    }
    std::string joined;
    bool scalars = !items->empty();
    std::size_t number = 0;
    for (const toml::node& item : *items) {
      scalars = scalars && !item.is_table() && !item.is_array();
      if (number > 0) joined += ',';
      if (scalars && joined.size() < 4096) joined += scalar_text(item);
      node(item, path + "." + std::to_string(number++));
    }
    if (scalars) add(value, path, joined, false, true);
  }

  static std::string scalar_text(const toml::node& value) {
    if (const auto* text = value.as_string()) return text->get();
    if (const auto* truth = value.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* whole = value.as_integer()) return std::to_string(whole->get());
    if (const auto* real = value.as_floating_point()) {
      char digits[40];
      std::snprintf(digits, sizeof digits, "%.17g", real->get());
      return digits;
    }
    return {};
  }

  void add(const toml::node& value, const std::string& path, std::string text, bool quoted,
           bool list) {
    const toml::source_region& place = value.source();
    const auto line = static_cast<std::uint64_t>(place.begin.line);
    const std::uint64_t begin = byte_of(place.begin);
    const std::uint64_t end = byte_of(place.end);
    entries_.push_back({path,
                        {},
                        std::move(text),
                        line,
                        begin,
                        end > begin ? end - begin : 0,
                        quoted,
                        list,
                        false,
                        false});
  }

  std::uint64_t byte_of(const toml::source_position& place) const {
    return places_.offset(static_cast<int>(place.line) - 1, static_cast<int>(place.column) - 1);
  }

  std::string_view text_;
  TextPlaces places_;
  std::vector<ConfigEntry>& entries_;
};

}  // namespace

TomlText parse_toml(std::string_view text) {
  TomlText result;
  try {
    Walker(text, result.entries).table(toml::parse(text), {});
  } catch (const toml::parse_error& error) {
    result.error = std::string(error.description());
    result.error_line = error.source().begin.line;
  }
  // Tables come in alphabetical order; entries are wanted in that of the text.
  std::stable_sort(result.entries.begin(), result.entries.end(),
                   [](const ConfigEntry& a, const ConfigEntry& b) { return a.offset < b.offset; });
  return result;
}

}  // namespace aplomb::config_text
