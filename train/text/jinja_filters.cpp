#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "train/text/jinja_calls.h"
#include "train/text/jinja_texts.h"

namespace aplomb::train::text::jinja {

namespace {

Outcome gave(Value value) { return {.value = std::move(value), .error = {}}; }
Outcome failed(std::string error) { return {.value = {}, .error = std::move(error)}; }

std::string indented(std::string_view text, std::int64_t width, bool first) {
  const std::string margin(static_cast<std::size_t>(std::clamp<std::int64_t>(width, 0, 1000)), ' ');
  std::string out = first ? margin : "";
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size() && text[i + 1] != '\n') out += margin;
  }
  return out;
}

/// The attribute of a mapping by its name, `a.b` going deeper.
Value attribute(const Value& value, std::string_view path) {
  Value now = value;
  while (!path.empty()) {
    const Mapping* map = now.mapping();
    if (map == nullptr) return {};
    const std::size_t dot = std::min(path.find('.'), path.size());
    now = train::text::jinja::get(*map, path.substr(0, dot));
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

List unique(const List& list) {
  List made;
  for (const Value& each : list) {
    const bool there =
        std::any_of(made.begin(), made.end(), [&](const Value& old) { return equal(old, each); });
    if (!there) made.push_back(each);
  }
  return made;
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
  if (name == "unique") return gave(unique(*elements));
  return gave(std::move(*elements));
}

}  // namespace

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

}  // namespace aplomb::train::text::jinja
