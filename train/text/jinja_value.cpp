#include "train/text/jinja_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace aplomb::train::text::jinja {

namespace {

std::optional<double> number_of(const Value& value) {
  if (const auto* flag = value.as<bool>()) return *flag ? 1.0 : 0.0;
  if (const auto* whole = value.as<std::int64_t>()) return static_cast<double>(*whole);
  if (const auto* real = value.as<double>()) return *real;
  return std::nullopt;
}

std::string real_text(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string quoted_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string quoted_python(std::string_view text) {
  const bool doubled =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = doubled ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == quote || c == '\\') out += '\\';
    out += c;
  }
  return out + quote;
}

/// One separator and indent of a JSON list or object: "\n  ", or what stands on one line.
std::string json_break(std::int64_t indent, std::int64_t depth) {
  if (indent < 0) return "";
  return "\n" + std::string(static_cast<std::size_t>(indent * depth), ' ');
}

std::string json_of(const Value& value, std::int64_t indent, std::int64_t depth) {
  const std::string_view comma = indent < 0 ? ", " : ",";
  if (const auto* text = value.text()) return quoted_json(*text);
  if (const auto* flag = value.as<bool>()) return *flag ? "true" : "false";
  if (value.none() || value.undefined()) return "null";
  std::string out;
  if (const List* list = value.list()) {
    for (const Value& each : *list) {
      out += out.empty() ? "" : comma;
      out += json_break(indent, depth + 1) + json_of(each, indent, depth + 1);
    }
    return out.empty() ? "[]" : "[" + out + json_break(indent, depth) + "]";
  }
  if (const Mapping* map = value.mapping()) {
    for (const auto& [key, each] : *map) {
      out += out.empty() ? "" : comma;
      out += json_break(indent, depth + 1) + quoted_json(key) + ": " +
             json_of(each, indent, depth + 1);
    }
    return out.empty() ? "{}" : "{" + out + json_break(indent, depth) + "}";
  }
  return to_text(value);
}

/// Of a list or a mapping, its parts taken in one by one.
void take_in(Extent& whole, const Extent& part) {
  constexpr std::size_t k_endless = std::numeric_limits<std::size_t>::max();
  whole.depth = std::max(whole.depth, part.depth + 1);
  whole.size = part.size > k_endless - whole.size ? k_endless : whole.size + part.size;
  whole.has_namespace = whole.has_namespace || part.has_namespace;
}

Extent extent_of(const List& list) {
  Extent whole{.depth = 1};
  for (const Value& each : list) take_in(whole, each.extent());
  return whole;
}

Extent extent_of(const Mapping& map) {
  Extent whole{.depth = 1};
  for (const auto& [key, each] : map) {
    take_in(whole, {.size = key.size()});
    take_in(whole, each.extent());
  }
  return whole;
}

}  // namespace

Value::Value(List list) {
  auto node = std::make_shared<ListNode>();
  node->extent = extent_of(list);
  node->items = std::move(list);
  is = std::shared_ptr<const ListNode>(std::move(node));
}

Value::Value(Mapping map) {
  auto node = std::make_shared<MappingNode>();
  node->extent = extent_of(map);
  node->members = std::move(map);
  is = std::move(node);
}

Value Value::make_namespace(Mapping members) {
  auto node = std::make_shared<MappingNode>();
  node->extent = {.depth = 1, .has_namespace = true};
  node->members = std::move(members);
  node->is_namespace = true;
  Value made;
  made.is = std::move(node);
  return made;
}

const List* Value::list() const {
  const auto* shared = as<std::shared_ptr<const ListNode>>();
  return shared == nullptr ? nullptr : &(*shared)->items;
}

const Mapping* Value::mapping() const {
  const auto* shared = as<std::shared_ptr<MappingNode>>();
  return shared == nullptr ? nullptr : &(*shared)->members;
}

Mapping* Value::namespace_members() const {
  const auto* shared = as<std::shared_ptr<MappingNode>>();
  return shared == nullptr || !(*shared)->is_namespace ? nullptr : &(*shared)->members;
}

Extent Value::extent() const {
  if (const auto* shared = as<std::shared_ptr<const ListNode>>()) return (*shared)->extent;
  if (const auto* shared = as<std::shared_ptr<MappingNode>>()) return (*shared)->extent;
  if (const auto* string = text()) return {.size = string->size() + 1};
  return {};
}

bool truthy(const Value& value) {
  if (const auto number = number_of(value)) return *number != 0;
  if (const auto* text = value.text()) return !text->empty();
  if (const List* list = value.list()) return !list->empty();
  if (const Mapping* map = value.mapping()) return !map->empty();
  return !value.undefined() && !value.none();
}

bool equal(const Value& a, const Value& b) {
  const auto left = number_of(a);
  const auto right = number_of(b);
  if (left && right) return *left == *right;
  if (a.is.index() != b.is.index()) return false;
  if (const auto* text = a.text()) return *text == *b.text();
  if (const List* list = a.list())
    return std::equal(list->begin(), list->end(), b.list()->begin(), b.list()->end(), equal);
  if (const Mapping* map = a.mapping())
    return std::equal(map->begin(), map->end(), b.mapping()->begin(), b.mapping()->end(),
                      [](const auto& x, const auto& y) {
                        return x.first == y.first && equal(x.second, y.second);
                      });
  return a.none() || a.undefined();
}

int compare(const Value& a, const Value& b, bool& comparable) {
  const auto left = number_of(a);
  const auto right = number_of(b);
  if (left && right) return *left < *right ? -1 : (*left > *right ? 1 : 0);
  if (a.text() != nullptr && b.text() != nullptr) return a.text()->compare(*b.text());
  comparable = false;
  return 0;
}

std::string to_text(const Value& value, bool quoted) {
  if (const auto* text = value.text()) return quoted ? quoted_python(*text) : *text;
  if (const auto* flag = value.as<bool>()) return *flag ? "True" : "False";
  if (const auto* whole = value.as<std::int64_t>()) return fmt::format("{}", *whole);
  if (const auto* real = value.as<double>()) return real_text(*real);
  if (value.none()) return "None";
  std::string out;
  if (const List* list = value.list()) {
    for (const Value& each : *list) out += (out.empty() ? "" : ", ") + to_text(each, true);
    return "[" + out + "]";
  }
  if (const Mapping* map = value.mapping()) {
    for (const auto& [key, each] : *map)
      out += (out.empty() ? "" : ", ") + quoted_python(key) + ": " + to_text(each, true);
    return "{" + out + "}";
  }
  return {};
}

std::string to_json(const Value& value, std::int64_t indent) { return json_of(value, indent, 0); }

Value get(const Mapping& map, std::string_view key) {
  for (const auto& [name, value] : map) {
    if (name == key) return value;
  }
  return {};
}

void put(Mapping& map, std::string_view key, Value value) {
  for (auto& [name, old] : map) {
    if (name != key) continue;
    old = std::move(value);
    return;
  }
  map.emplace_back(key, std::move(value));
}

std::string_view kind_name(const Value& value) {
  if (value.text() != nullptr) return "a text";
  if (value.list() != nullptr) return "a list";
  if (value.mapping() != nullptr) return "a mapping";
  if (value.none()) return "none";
  if (value.undefined()) return "undefined";
  return number_of(value) ? "a number" : "a function";
}

}  // namespace aplomb::train::text::jinja
