#include "train/text/jinja_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "train/text/unicode.h"
#include "train/text/utf8.h"

namespace aplomb::train::jinja {

namespace {

Outcome gave(Value value) { return {.value = std::move(value), .error = {}}; }
Outcome failed(std::string error) { return {.value = {}, .error = std::move(error)}; }

std::string stripped(std::string_view text, std::string_view characters, bool left, bool right) {
  const auto goes = [&](char32_t point) {
    if (characters.empty()) return is_space(point) || (point >= 0x1C && point <= 0x1F);
    std::string one;
    append_utf8(one, point);
    return characters.find(one) != std::string_view::npos;
  };
  std::size_t end = text.size();
  while (right && end > 0) {
    std::size_t begin = end;
    if (!goes(previous_valid(text, begin))) break;
    end = begin;
  }
  std::size_t begin = 0;
  while (left && begin < end) {
    std::size_t after = begin;
    if (!goes(next_valid(text, after))) break;
    begin = after;
  }
  return std::string(text.substr(begin, end - begin));
}

std::string cased(std::string text, bool upper) {
  if (!upper) {
    to_lower(text);
    return text;
  }
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// Words begin with a capital ("title"), or the text does ("capitalize").
std::string capitals(std::string_view text, bool every_word) {
  std::string out = cased(std::string(text), false);
  bool begins = true;
  for (char& c : out) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    if (letter && begins) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    begins = every_word && !letter;
  }
  return out;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string out;
  while (true) {
    const std::size_t at = text.find(from);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += to;
    text.remove_prefix(at + from.size());
  }
}

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

std::string indented(std::string_view text, std::int64_t width, bool first) {
  const std::string margin(static_cast<std::size_t>(std::clamp<std::int64_t>(width, 0, 1000)), ' ');
  std::string out = first ? margin : "";
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size() && text[i + 1] != '\n') out += margin;
  }
  return out;
}

List items(const Mapping& map) {
  List made;
  for (const auto& [key, value] : map) made.emplace_back(List{Value(key), value});
  return made;
}

/// The attribute of a mapping by its name, `a.b` going deeper.
Value attribute(const Value& value, std::string_view path) {
  Value now = value;
  while (!path.empty()) {
    const Mapping* map = now.mapping();
    if (map == nullptr) return {};
    const std::size_t dot = std::min(path.find('.'), path.size());
    now = jinja::get(*map, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return now;
}

/// selectattr and rejectattr, select and reject.
Outcome chosen(const Value& value, const Arguments& arguments, bool by_attribute, bool keeps) {
  const auto elements = elements_of(value);
  if (!elements) return failed(fmt::format("{} has no elements to select from", kind_name(value)));
  const std::size_t first = by_attribute ? 1 : 0;
  const std::string path = by_attribute ? arguments.text(0, "", "") : "";
  const std::string test = arguments.text(first, "", "");
  Arguments rest;
  for (std::size_t i = first + 1; i < arguments.positional.size(); ++i)
    rest.positional.push_back(arguments.positional[i]);
  List made;
  for (const Value& each : *elements) {
    const Value looked = by_attribute ? attribute(each, path) : each;
    bool holds = truthy(looked);
    if (!test.empty()) {
      const auto outcome = apply_test(test, looked, rest);
      if (!outcome) return failed(fmt::format("the test `{}` is not supported", test));
      if (!outcome->error.empty()) return *outcome;
      holds = truthy(outcome->value);
    }
    if (holds == keeps) made.push_back(each);
  }
  return gave(std::move(made));
}

Outcome mapped(const Value& value, const Arguments& arguments) {
  const auto elements = elements_of(value);
  if (!elements) return failed(fmt::format("{} has no elements to map", kind_name(value)));
  const Value* path = arguments.get(99, "attribute");
  List made;
  for (const Value& each : *elements) {
    if (path != nullptr) {
      made.push_back(attribute(each, to_text(*path)));
      continue;
    }
    Arguments rest = arguments;
    const std::string filter = arguments.text(0, "", "");
    if (!rest.positional.empty()) rest.positional.erase(rest.positional.begin());
    const auto outcome = apply_filter(filter, each, rest);
    if (!outcome) return failed(fmt::format("the filter `{}` is not supported", filter));
    if (!outcome->error.empty()) return *outcome;
    made.push_back(outcome->value);
  }
  return gave(std::move(made));
}

std::string joined(const List& list, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += separator;
    out += to_text(list[i]);
  }
  return out;
}

Value to_whole(const Value& value) {
  if (const auto* real = value.as<double>()) return static_cast<std::int64_t>(*real);
  if (const auto* flag = value.as<bool>()) return static_cast<std::int64_t>(*flag ? 1 : 0);
  if (value.as<std::int64_t>() != nullptr) return value;
  std::int64_t number = 0;
  for (const char c : to_text(value)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 || number > (std::int64_t{1} << 58U))
      break;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::optional<Outcome> text_filter(std::string_view name, const Value& value,
                                   const Arguments& arguments) {
  const std::string text = to_text(value);
  if (name == "trim") return gave(stripped(text, arguments.text(0, "chars", ""), true, true));
  if (name == "upper") return gave(cased(text, true));
  if (name == "lower") return gave(cased(text, false));
  if (name == "title") return gave(capitals(text, true));
  if (name == "capitalize") return gave(capitals(text, false));
  if (name == "string" || name == "safe") return gave(text);
  if (name == "replace")
    return gave(replaced(text, arguments.text(0, "old", ""), arguments.text(1, "new", "")));
  if (name == "indent") {
    const Value* width = arguments.get(0, "width");
    const auto* number = width == nullptr ? nullptr : width->as<std::int64_t>();
    const Value* first = arguments.get(1, "first");
    return gave(
        indented(text, number == nullptr ? 4 : *number, first != nullptr && truthy(*first)));
  }
  return std::nullopt;
}

std::optional<Outcome> list_filter(std::string_view name, const Value& value,
                                   const Arguments& arguments) {
  if (name == "selectattr") return chosen(value, arguments, true, true);
  if (name == "rejectattr") return chosen(value, arguments, true, false);
  if (name == "select") return chosen(value, arguments, false, true);
  if (name == "reject") return chosen(value, arguments, false, false);
  if (name == "map") return mapped(value, arguments);
  const bool known = name == "length" || name == "count" || name == "first" || name == "last" ||
                     name == "list" || name == "join" || name == "reverse" || name == "unique";
  if (!known) return std::nullopt;
  auto elements = elements_of(value);
  if (!elements) return failed(fmt::format("`{}` of {}", name, kind_name(value)));
  if (name == "length" || name == "count") return gave(static_cast<std::int64_t>(elements->size()));
  if (name == "first") return gave(elements->empty() ? Value() : elements->front());
  if (name == "last") return gave(elements->empty() ? Value() : elements->back());
  if (name == "join") return gave(joined(*elements, arguments.text(0, "d", "")));
  if (name == "reverse") {
    std::reverse(elements->begin(), elements->end());
    if (value.text() != nullptr) return gave(joined(*elements, ""));
  }
  if (name == "unique") {
    List made;
    for (const Value& each : *elements) {
      if (std::none_of(made.begin(), made.end(),
                       [&](const Value& old) { return equal(old, each); }))
        made.push_back(each);
    }
    return gave(std::move(made));
  }
  return gave(std::move(*elements));
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

std::optional<Outcome> apply_filter(std::string_view name, const Value& value,
                                    const Arguments& arguments) {
  if (name == "default" || name == "d") {
    const Value* also_false = arguments.get(1, "boolean");
    const bool replaces =
        value.undefined() || (also_false != nullptr && truthy(*also_false) && !truthy(value));
    const Value* other = arguments.get(0, "default_value");
    return gave(replaces ? (other == nullptr ? Value("") : *other) : value);
  }
  if (name == "tojson") {
    const Value* indent = arguments.get(0, "indent");
    const auto* width = indent == nullptr ? nullptr : indent->as<std::int64_t>();
    return gave(to_json(value, width == nullptr ? -1 : *width));
  }
  if (name == "int") return gave(to_whole(value));
  if (name == "items" || name == "dictsort") {
    const Mapping* map = value.mapping();
    if (map == nullptr) return failed(fmt::format("`{}` of {}", name, kind_name(value)));
    Mapping sorted = *map;
    if (name == "dictsort")
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    return gave(items(sorted));
  }
  if (auto done = text_filter(name, value, arguments)) return done;
  return list_filter(name, value, arguments);
}

std::optional<Outcome> apply_test(std::string_view name, const Value& value,
                                  const Arguments& arguments) {
  if (name == "defined") return gave(!value.undefined());
  if (name == "undefined") return gave(value.undefined());
  if (name == "none") return gave(value.none());
  if (name == "string") return gave(value.text() != nullptr);
  if (name == "mapping") return gave(value.mapping() != nullptr);
  if (name == "sequence")
    return gave(value.list() != nullptr || value.text() != nullptr || value.mapping() != nullptr);
  if (name == "iterable")
    return gave(value.list() != nullptr || value.text() != nullptr || value.mapping() != nullptr);
  if (name == "boolean") return gave(value.as<bool>() != nullptr);
  if (name == "integer") return gave(value.as<std::int64_t>() != nullptr);
  if (name == "float") return gave(value.as<double>() != nullptr);
  if (name == "number") return gave(kind_name(value) == "a number");
  if (name == "true") return gave(value.as<bool>() != nullptr && truthy(value));
  if (name == "false") return gave(value.as<bool>() != nullptr && !truthy(value));
  const Value* other = arguments.get(0, "");
  if (name == "equalto" || name == "eq" || name == "==" || name == "sameas")
    return gave(other != nullptr && equal(value, *other));
  if (name == "ne") return gave(other == nullptr || !equal(value, *other));
  if (name == "in") {
    const auto elements = other == nullptr ? std::nullopt : elements_of(*other);
    return gave(elements && std::any_of(elements->begin(), elements->end(),
                                        [&](const Value& each) { return equal(each, value); }));
  }
  const auto* whole = value.as<std::int64_t>();
  if (name == "odd") return gave(whole != nullptr && *whole % 2 != 0);
  if (name == "even") return gave(whole != nullptr && *whole % 2 == 0);
  return std::nullopt;
}

std::optional<Outcome> call_method(const Value& object, std::string_view name,
                                   const Arguments& arguments) {
  if (const Mapping* map = object.mapping()) {
    if (name == "items") return gave(items(*map));
    if (name == "keys") return gave(*elements_of(object));
    if (name == "get") {
      const Value found = get(*map, arguments.text(0, "", ""));
      if (!found.undefined()) return gave(found);
      const Value* fallback = arguments.get(1, "");
      return gave(fallback == nullptr ? Value(None()) : *fallback);
    }
    if (name == "values") {
      List made;
      for (const auto& entry : *map) made.push_back(entry.second);
      return gave(std::move(made));
    }
    return std::nullopt;
  }
  const std::string* text = object.text();
  if (text == nullptr) return std::nullopt;
  const std::string argument = arguments.text(0, "", "");
  if (name == "strip") return gave(stripped(*text, argument, true, true));
  if (name == "lstrip") return gave(stripped(*text, argument, true, false));
  if (name == "rstrip") return gave(stripped(*text, argument, false, true));
  if (name == "startswith") return gave(text->starts_with(argument));
  if (name == "endswith") return gave(text->ends_with(argument));
  if (name == "split") return gave(split(*text, arguments));
  if (name == "upper" || name == "lower") return gave(cased(*text, name == "upper"));
  if (name == "title" || name == "capitalize") return gave(capitals(*text, name == "title"));
  if (name == "replace") return gave(replaced(*text, argument, arguments.text(1, "", "")));
  if (name == "find") {
    const std::size_t at = text->find(argument);
    return gave(at == std::string::npos ? std::int64_t{-1} : static_cast<std::int64_t>(at));
  }
  if (name == "join") {
    const Value* list = arguments.get(0, "");
    const auto elements = list == nullptr ? std::nullopt : elements_of(*list);
    return gave(elements ? joined(*elements, *text) : "");
  }
  return std::nullopt;
}

bool is_builtin(std::string_view name) {
  return name == "range" || name == "raise_exception" || name == "namespace" || name == "dict";
}

std::optional<Outcome> call_builtin(std::string_view name, const Arguments& arguments) {
  if (name == "raise_exception") return failed(arguments.text(0, "message", "raise_exception"));
  if (name == "namespace" || name == "dict") {
    Mapping made;
    for (const auto& [key, value] : arguments.named) put(made, key, value);
    return gave(std::move(made));
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

}  // namespace aplomb::train::jinja
