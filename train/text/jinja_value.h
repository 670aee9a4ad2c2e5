#pragma once
/// Values of the Jinja interpreter. Lists and mappings are shared, as in Python; strings are UTF-8.
/// Only a namespace changes once it is made, and it can't hold a namespace: so no value contains
/// itself, and the extent of a list or a mapping is known when it is made.

#include <cstddef>
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

/// What a value holds, shared parts counted as often as they would be printed.
struct Extent {
  std::size_t depth = 0;  ///< lists and mappings within each other; 0: a text or a number
  std::size_t size = 1;   ///< bytes of texts, and one for every other value
  bool has_namespace = false;
};

struct ListNode;
struct MappingNode;

struct Value {
  std::variant<Undefined, None, bool, std::int64_t, double, std::string,
               std::shared_ptr<const ListNode>, std::shared_ptr<MappingNode>, const Macro*, Builtin>
      is;

  Value() = default;
  Value(None) : is(None()) {}                              // NOLINT: values are made of these
  Value(bool flag) : is(flag) {}                           // NOLINT
  Value(std::int64_t number) : is(number) {}               // NOLINT
  Value(double number) : is(number) {}                     // NOLINT
  Value(std::string text) : is(std::move(text)) {}         // NOLINT
  Value(std::string_view text) : is(std::string(text)) {}  // NOLINT
  Value(const char* text) : is(std::string(text)) {}       // NOLINT
  Value(List list);                                        // NOLINT
  Value(Mapping map);                                      // NOLINT
  static Value make_namespace(Mapping members);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&is);
  }
  const std::string* text() const { return as<std::string>(); }
  const List* list() const;
  const Mapping* mapping() const;
  /// The members of a namespace(), to change; nullptr for everything else.
  Mapping* namespace_members() const;
  Extent extent() const;
  bool undefined() const { return as<Undefined>() != nullptr; }
  bool none() const { return as<None>() != nullptr; }
};

struct ListNode {
  List items;
  Extent extent;
};

struct MappingNode {
  Mapping members;
  Extent extent;  ///< of a namespace: without its members, as they change
  bool is_namespace = false;
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
