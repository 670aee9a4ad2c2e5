#pragma once
/// Values of the Jinja interpreter. Lists and mappings are shared, as in Python; strings are UTF-8.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace aplomb::train::text::jinja {

struct Macro;
struct Value;
using List = std::vector<Value>;
using Mapping = std::vector<std::pair<std::string, Value>>;  ///< in the order of entry

struct Undefined {};
struct None {};
/// A function of the template's world (range, raise_exception...), by its name.
struct Builtin {
  std::string name;
};

struct Value {
  std::variant<Undefined, None, bool, std::int64_t, double, std::string, std::shared_ptr<List>,
               std::shared_ptr<Mapping>, const Macro*, Builtin>
      is;

  Value() = default;
  Value(None) : is(None()) {}                              // NOLINT: values are made of these
  Value(bool flag) : is(flag) {}                           // NOLINT
  Value(std::int64_t number) : is(number) {}               // NOLINT
  Value(double number) : is(number) {}                     // NOLINT
  Value(std::string text) : is(std::move(text)) {}         // NOLINT
  Value(std::string_view text) : is(std::string(text)) {}  // NOLINT
  Value(const char* text) : is(std::string(text)) {}       // NOLINT
  Value(List list) : is(std::make_shared<List>(std::move(list))) {}      // NOLINT
  Value(Mapping map) : is(std::make_shared<Mapping>(std::move(map))) {}  // NOLINT

  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
  const std::string* text() const { return as<std::string>(); }
  const List* list() const {
    const auto* shared = as<std::shared_ptr<List>>();
    return shared == nullptr ? nullptr : shared->get();
  }
  Mapping* mapping() const {
    const auto* shared = as<std::shared_ptr<Mapping>>();
    return shared == nullptr ? nullptr : shared->get();
  }
  bool undefined() const { return as<Undefined>() != nullptr; }
  bool none() const { return as<None>() != nullptr; }
};

/// As Python: empty texts, lists and mappings, 0, none and undefined are false.
bool truthy(const Value& value);
bool equal(const Value& a, const Value& b);
/// Negative, 0, positive; nothing in common (a text and a number): `comparable` becomes false.
int compare(const Value& a, const Value& b, bool& comparable);
/// As {{ value }} writes it; `quoted`: as Python's repr does (inside lists).
std::string to_text(const Value& value, bool quoted = false);
/// As Python's json.dumps writes it (no escapes for non-ASCII); indent < 0: on one line.
std::string to_json(const Value& value, std::int64_t indent = -1);
/// The member of a mapping; undefined where it has none.
Value get(const Mapping& map, std::string_view key);
void put(Mapping& map, std::string_view key, Value value);
/// "text", "list"... for messages.
std::string_view kind_name(const Value& value);

}  // namespace aplomb::train::text::jinja
