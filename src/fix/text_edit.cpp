#include "fix/text_edit.h"

#include <algorithm>

#include "core/text.h"

namespace aplomb::fix {
namespace {

constexpr std::string_view k_note = "# added by aplomb\n";

std::size_t line_start(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return before == std::string_view::npos ? 0 : before + 1;
}

std::string_view indent_at(std::string_view text, std::size_t start) {
  const std::size_t end = text.find_first_not_of(" \t", start);
  return text.substr(start, (end == std::string_view::npos ? text.size() : end) - start);
}

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}
std::string_view name_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

/// The first entry that stands directly below `parent` (empty: at the top).
const config_text::ConfigEntry* child_of(const std::vector<config_text::ConfigEntry>& entries,
                                         std::string_view parent) {
  const auto found = std::find_if(
      entries.begin(), entries.end(),
      [&](const config_text::ConfigEntry& entry) { return parent_of(entry.path) == parent; });
  return found == entries.end() ? nullptr : &*found;
}

bool below(const std::vector<config_text::ConfigEntry>& entries, std::string_view parent) {
  return std::any_of(entries.begin(), entries.end(), [&](const config_text::ConfigEntry& entry) {
    return entry.path.size() > parent.size() && entry.path.starts_with(parent) &&
           entry.path[parent.size()] == '.';
  });
}

/// The longest part of `path` under which something stands already; empty where nothing does.
std::string_view known_parent(const std::vector<config_text::ConfigEntry>& entries,
                              std::string_view path) {
  std::string_view parent = parent_of(path);
  while (!parent.empty() && !below(entries, parent)) parent = parent_of(parent);
  return parent;
}

/// What must be new below the known parent: `b.c` for `a.b.c` with `a` known.
std::string_view new_part(std::string_view path, std::string_view parent) {
  return parent.empty() ? path : path.substr(parent.size() + 1);
}

/// `b.c: value` as nested YAML lines.
std::string yaml_lines(std::string_view path, std::string_view value, std::string indent) {
  std::string out;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    out += indent + std::string(path.substr(0, dot)) + ":\n";
    indent += "  ";
    path.remove_prefix(dot + 1);
  }
  return out + indent + std::string(path) + ": " + std::string(value) + "\n";
}

std::string at_end(std::string_view text, std::string lines) {
  const bool open_line = !text.empty() && text.back() != '\n';
  return (open_line ? "\n" : "") + std::string(k_note) + std::move(lines);
}

/// The dotted name behind which the parenthesis of the entry's call opens.
std::string_view callee_of(std::string_view text, const config_text::ConfigEntry& entry) {
  const std::size_t open = text.rfind(entry.call + "(", entry.offset);
  if (entry.call.empty() || open == std::string_view::npos) return {};
  const std::size_t before = text.find_last_of(" \t\n=([,{", open);
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  return text.substr(start, open + entry.call.size() - start);
}

/// Whether the entry is a keyword of this call, or of another that takes the same ones. Of a method
/// (`from_pretrained`) the kind of its class must fit as well: a tokenizer's is not a model's.
bool is_keyword_of(std::string_view text, const config_text::ConfigEntry& entry,
                   const KeywordCall& call) {
  const std::string_view method = name_of(call.name);
  if (entry.call != method) {
    const bool configures = entry.call.ends_with("Config") || entry.call.ends_with("Arguments");
    return configures && call.name == method &&
           call.name.ends_with("Config") == entry.call.ends_with("Config") &&
           std::find(call.others.begin(), call.others.end(), entry.call) != call.others.end();
  }
  if (call.name == method) return true;
  const auto is_tokenizer = [](std::string_view name) {
    return name.find("okenizer") != std::string_view::npos;
  };
  return is_tokenizer(call.name) == is_tokenizer(callee_of(text, entry));
}

/// Whether the entry's own key begins its line, so that a line may be put before it.
bool begins_line(std::string_view text, const config_text::ConfigEntry& entry, std::size_t start) {
  const std::string_view line = core::trim(text.substr(start, entry.offset - start));
  const std::string_view name = name_of(entry.path);
  return line.starts_with(name) || (line.size() > 1 && line.substr(1).starts_with(name));
}

}  // namespace

std::string apply_edits(std::string_view text, std::vector<TextEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const TextEdit& a, const TextEdit& b) { return a.offset < b.offset; });
  std::string out;
  std::uint64_t at = 0;
  for (const TextEdit& edit : edits) {
    const std::uint64_t from = std::min<std::uint64_t>(std::max(edit.offset, at), text.size());
    out += text.substr(at, from - at);
    out += edit.text;
    at = std::min<std::uint64_t>(std::max(from, edit.offset + edit.size), text.size());
  }
  return out + std::string(text.substr(at));
}

std::optional<TextEdit> insert_yaml(std::string_view text,
                                    const std::vector<config_text::ConfigEntry>& entries,
                                    std::string_view path, std::string_view value) {
  const std::string_view parent = known_parent(entries, path);
  if (parent.empty()) {
    // A document that starts in the middle of an indentation, or ends by `...`, still takes a
    // top-level key at its end.
    return TextEdit{text.size(), 0, at_end(text, yaml_lines(path, value, {}))};
  }
  const config_text::ConfigEntry* child = child_of(entries, parent);
  if (child == nullptr) return std::nullopt;
  const std::size_t start = line_start(text, child->offset);
  if (!begins_line(text, *child, start)) return std::nullopt;
  const std::string indent(indent_at(text, start));
  return TextEdit{start, 0,
                  indent + std::string(k_note) + yaml_lines(new_part(path, parent), value, indent)};
}

std::optional<TextEdit> insert_json(std::string_view text,
                                    const std::vector<config_text::ConfigEntry>& entries,
                                    std::string_view path, std::string_view value) {
  const std::string_view parent = known_parent(entries, path);
  std::size_t brace = text.find('{');
  if (!parent.empty()) {
    const auto inside =
        std::find_if(entries.begin(), entries.end(), [&](const config_text::ConfigEntry& entry) {
          return entry.path.starts_with(parent) && entry.path.size() > parent.size() &&
                 entry.path[parent.size()] == '.';
        });
    const std::string key = "\"" + std::string(name_of(parent)) + "\"";
    const std::size_t named = text.rfind(key, inside->offset);
    brace = named == std::string_view::npos ? named : text.find('{', named);
    if (brace == std::string_view::npos || brace > inside->offset) return std::nullopt;
  }
  if (brace == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(brace + 1);
  const std::size_t next = rest.find_first_not_of(" \t\r\n");
  const bool empty_object = next == std::string_view::npos || rest[next] == '}';
  const std::size_t line_break = rest.find('\n');
  const bool spread = line_break != std::string_view::npos && line_break < next;
  const std::string indent(spread ? indent_at(rest, line_break + 1) : std::string_view());
  std::string member;
  std::string close;
  std::string_view part = new_part(path, parent);
  for (std::size_t dot = part.find('.'); dot != std::string_view::npos; dot = part.find('.')) {
    member += "\"" + std::string(part.substr(0, dot)) + "\": {";
    close += "}";
    part.remove_prefix(dot + 1);
  }
  member +=
      "\"" + std::string(part) + "\": " + std::string(value) + close + (empty_object ? "" : ",");
  return TextEdit{brace + 1, 0,
                  spread ? "\n" + indent + member : member + (empty_object ? "" : " ")};
}

std::optional<TextEdit> insert_toml(std::string_view text,
                                    const std::vector<config_text::ConfigEntry>& entries,
                                    std::string_view path, std::string_view value) {
  const std::string_view parent = parent_of(path);
  const std::string line = std::string(name_of(path)) + " = " + std::string(value) + "\n";
  if (const config_text::ConfigEntry* child = child_of(entries, parent)) {
    const std::size_t start = line_start(text, child->offset);
    if (begins_line(text, *child, start)) {
      const std::string indent(indent_at(text, start));
      return TextEdit{start, 0, indent + std::string(k_note) + indent + line};
    }
    return std::nullopt;
  }
  if (parent.empty()) return TextEdit{0, 0, std::string(k_note) + line};
  return TextEdit{text.size(), 0, at_end(text, "[" + std::string(parent) + "]\n" + line)};
}

std::optional<TextEdit> insert_flag(std::string_view text,
                                    const std::vector<config_text::ConfigEntry>& entries,
                                    std::string_view words) {
  const auto first =
      std::find_if(entries.begin(), entries.end(), [&](const config_text::ConfigEntry& entry) {
        // A launcher's own flags stand before the script; the new flag belongs behind it.
        return entry.is_flag && text.substr(0, entry.offset).find(".py") != std::string_view::npos;
      });
  const auto any =
      first != entries.end()
          ? first
          : std::find_if(entries.begin(), entries.end(),
                         [](const config_text::ConfigEntry& entry) { return entry.is_flag; });
  if (any == entries.end()) return std::nullopt;
  const std::size_t flag = text.rfind("--", any->offset);
  if (flag == std::string_view::npos) return std::nullopt;
  const std::size_t start = line_start(text, flag);
  const bool alone = core::trim(text.substr(start, flag - start)).empty() && start > 0;
  if (!alone) return TextEdit{flag, 0, std::string(words) + " "};
  // A shell joins lines by `\`; a file of arguments has one on each line.
  const std::size_t before = line_start(text, start - 1);
  const std::string_view line = core::trim(text.substr(before, start - 1 - before));
  const std::string_view join = line.ends_with("\\") ? " \\" : "";
  return TextEdit{
      flag, 0, std::string(words) + std::string(join) + "\n" + std::string(indent_at(text, start))};
}

std::optional<TextEdit> insert_keyword(std::string_view text,
                                       const std::vector<config_text::ConfigEntry>& entries,
                                       const KeywordCall& call, std::string_view keyword) {
  // A dict that stands there already takes no second keyword of its name.
  if (below(entries, keyword.substr(0, keyword.find('=')))) return std::nullopt;
  const auto first =
      std::find_if(entries.begin(), entries.end(), [&](const config_text::ConfigEntry& entry) {
        return entry.path.find('.') == std::string::npos && is_keyword_of(text, entry, call);
      });
  if (first == entries.end()) return std::nullopt;
  const std::size_t name = text.rfind(first->path, first->offset);
  if (name == std::string_view::npos) return std::nullopt;
  const std::size_t start = line_start(text, name);
  const std::string_view indent = indent_at(text, start);
  if (start + indent.size() != name) return TextEdit{name, 0, std::string(keyword) + ", "};
  return TextEdit{name, 0,
                  std::string(keyword) + ",  " + std::string(k_note) + std::string(indent)};
}

}  // namespace aplomb::fix
