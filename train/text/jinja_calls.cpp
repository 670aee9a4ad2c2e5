#include "train/text/jinja_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "train/text/jinja_texts.h"
#include "train/text/utf8.h"

namespace aplomb::train::text::jinja {

namespace {

Outcome gave(Value value) { return {.value = std::move(value), .error = {}}; }
Outcome failed(std::string error) { return {.value = {}, .error = std::move(error)}; }

List split(std::string_view text, const Arguments& arguments) {
  List parts;
  const Value* given = arguments.get(0, "sep");
  const std::string* separator = given == nullptr ? nullptr : given->text();
  if (separator == nullptr || separator->empty()) {  // at runs of blanks
    std::string word;
    for (const char c : text) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        word += c;
      } else if (!word.empty()) {
        parts.emplace_back(std::exchange(word, {}));
      }
    }
    if (!word.empty()) parts.emplace_back(word);
    return parts;
  }
  const Value* limit = arguments.get(1, "maxsplit");
  const auto* most = limit == nullptr ? nullptr : limit->as<std::int64_t>();
  while (most == nullptr || *most < 0 || static_cast<std::int64_t>(parts.size()) < *most) {
    const std::size_t at = text.find(*separator);
    if (at == std::string_view::npos) break;
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + separator->size());
  }
  parts.emplace_back(text);
  return parts;
}

}  // namespace

const Value* Arguments::get(std::size_t place, std::string_view name) const {
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return place < positional.size() ? &positional[place] : nullptr;
}

std::string Arguments::text(std::size_t place, std::string_view name,
                            std::string_view fallback) const {
  const Value* value = get(place, name);
  return value == nullptr ? std::string(fallback) : to_text(*value);
}

std::optional<List> elements_of(const Value& value) {
  if (const List* list = value.list()) return *list;
  if (value.undefined()) return List();
  List made;
  if (const Mapping* map = value.mapping()) {
    for (const auto& entry : *map) made.emplace_back(entry.first);
    return made;
  }
  const std::string* text = value.text();
  if (text == nullptr) return std::nullopt;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t begin = at;
    next_valid(*text, at);
    made.emplace_back(text->substr(begin, at - begin));
  }
  return made;
}

namespace {

/// What a value is; nothing for names that ask something else.
std::optional<bool> is_of_kind(std::string_view name, const Value& value) {
  const bool text = value.text() != nullptr;
  const bool flag = value.as<bool>() != nullptr;
  if (name == "defined") return !value.undefined();
  if (name == "undefined") return value.undefined();
  if (name == "none") return value.none();
  if (name == "string") return text;
  if (name == "mapping") return value.mapping() != nullptr;
  if (name == "sequence" || name == "iterable")
    return value.list() != nullptr || text || value.mapping() != nullptr;
  if (name == "boolean") return flag;
  if (name == "integer") return value.as<std::int64_t>() != nullptr;
  if (name == "float") return value.as<double>() != nullptr;
  if (name == "number") return kind_name(value) == "a number";
  if (name == "true" || name == "false") return flag && truthy(value) == (name == "true");
  return std::nullopt;
}

bool is_in(const Value& value, const Value& where) {
  const auto elements = elements_of(where);
  return elements && std::any_of(elements->begin(), elements->end(),
                                 [&](const Value& each) { return equal(each, value); });
}

std::optional<Outcome> mapping_method(const Value& object, const Mapping& map,
                                      std::string_view name, const Arguments& arguments) {
  if (name == "items") return gave(items(map));
  if (name == "keys") return gave(*elements_of(object));
  if (name == "get") {
    const Value found = get(map, arguments.text(0, "", ""));
    if (!found.undefined()) return gave(found);
    const Value* fallback = arguments.get(1, "");
    return gave(fallback == nullptr ? Value(None()) : *fallback);
  }
  if (name != "values") return std::nullopt;
  List made;
  for (const auto& entry : map) made.push_back(entry.second);
  return gave(std::move(made));
}

std::optional<Outcome> text_method(const std::string& text, std::string_view name,
                                   const Arguments& arguments) {
  const std::string argument = arguments.text(0, "", "");
  if (name == "strip") return gave(stripped(text, argument, true, true));
  if (name == "lstrip") return gave(stripped(text, argument, true, false));
  if (name == "rstrip") return gave(stripped(text, argument, false, true));
  if (name == "startswith") return gave(text.starts_with(argument));
  if (name == "endswith") return gave(text.ends_with(argument));
  if (name == "split") return gave(split(text, arguments));
  if (name == "upper" || name == "lower") return gave(cased(text, name == "upper"));
  if (name == "title" || name == "capitalize") return gave(capitals(text, name == "title"));
  if (name == "replace") return gave(replaced(text, argument, arguments.text(1, "", "")));
  if (name == "find") {
    const std::size_t at = text.find(argument);
    return gave(at == std::string::npos ? std::int64_t{-1} : static_cast<std::int64_t>(at));
  }
  if (name == "join") {
    const Value* list = arguments.get(0, "");
    const auto elements = list == nullptr ? std::nullopt : elements_of(*list);
    return gave(elements ? joined(*elements, text) : "");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Outcome> apply_test(std::string_view name, const Value& value,
                                  const Arguments& arguments) {
  if (const auto is = is_of_kind(name, value)) return gave(*is);
  const Value* other = arguments.get(0, "");
  if (name == "equalto" || name == "eq" || name == "==" || name == "sameas")
    return gave(other != nullptr && equal(value, *other));
  if (name == "ne") return gave(other == nullptr || !equal(value, *other));
  if (name == "in") return gave(other != nullptr && is_in(value, *other));
  const auto* whole = value.as<std::int64_t>();
  if (name == "odd") return gave(whole != nullptr && *whole % 2 != 0);
  if (name == "even") return gave(whole != nullptr && *whole % 2 == 0);
  return std::nullopt;
}

std::optional<Outcome> call_method(const Value& object, std::string_view name,
                                   const Arguments& arguments) {
  if (const Mapping* map = object.mapping()) return mapping_method(object, *map, name, arguments);
  const std::string* text = object.text();
  return text == nullptr ? std::nullopt : text_method(*text, name, arguments);
}

bool is_builtin(std::string_view name) {
  return name == "range" || name == "raise_exception" || name == "namespace" || name == "dict";
}

std::optional<Outcome> call_builtin(std::string_view name, const Arguments& arguments) {
  if (name == "raise_exception") return failed(arguments.text(0, "message", "raise_exception"));
  if (name == "namespace" || name == "dict") {
    Mapping made;
    for (const auto& [key, value] : arguments.named) put(made, key, value);
    if (name == "dict") return gave(std::move(made));
    for (const auto& [key, value] : made)
      if (value.extent().has_namespace) return failed(std::string(k_nested_namespace));
    return gave(Value::make_namespace(std::move(made)));
  }
  if (name != "range") return std::nullopt;
  std::int64_t bounds[3] = {0, 0, 1};
  const std::size_t count = std::min<std::size_t>(arguments.positional.size(), 3);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* number = arguments.positional[i].as<std::int64_t>();
    if (number == nullptr) return failed("range() needs whole numbers");
    bounds[count == 1 ? 1 : i] = *number;
  }
  constexpr std::int64_t k_most = 100000;  // of Jinja's sandbox
  List made;
  for (std::int64_t i = bounds[0];
       bounds[2] != 0 && (bounds[2] > 0 ? i < bounds[1] : i > bounds[1]); i += bounds[2]) {
    if (static_cast<std::int64_t>(made.size()) >= k_most) return failed("range() is too long");
    made.emplace_back(i);
  }
  return gave(std::move(made));
}

}  // namespace aplomb::train::text::jinja
