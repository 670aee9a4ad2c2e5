#include "knowledge/document.h"

#include <simdjson.h>

#include <bit>
#include <type_traits>

namespace aplomb::knowledge {
extern const std::size_t k_knowledge_json_size;
extern const char k_knowledge_json[];
}  // namespace aplomb::knowledge

namespace aplomb::knowledge {
namespace {

using simdjson::dom::element;

using Bytes = std::array<std::size_t, 2>;
static_assert(std::is_trivially_copyable_v<element> && sizeof(element) == sizeof(Bytes),
              "a Node is the bytes of an element: a document's address and a place in it");

struct Document {
  simdjson::dom::parser parser;
  Node root;

  Document() {
    // The text is followed by 64 blanks, more than SIMDJSON_PADDING asks for: no copy is needed.
    static_assert(simdjson::SIMDJSON_PADDING <= 64);
    root = Node(parser.parse(k_knowledge_json, k_knowledge_json_size, false).value_unsafe());
  }
};

const Document& document() {
  static const Document the_document;
  return the_document;
}

/// The element's value as a `T`; nothing where it is null or of another type.
template <class T>
std::optional<T> as(const Bytes& bytes) {
  T value;
  if (bytes == Bytes{} || std::bit_cast<element>(bytes).get(value) != simdjson::SUCCESS)
    return std::nullopt;
  return value;
}

}  // namespace

Node::Node(const element& value) : element_(std::bit_cast<Bytes>(value)) {}

std::optional<std::string_view> Node::text() const { return as<std::string_view>(element_); }
std::optional<double> Node::number() const { return as<double>(element_); }
std::optional<bool> Node::truth() const { return as<bool>(element_); }

bool Node::is_null() const {
  return element_ == Bytes{} || std::bit_cast<element>(element_).is_null();
}
bool Node::is_scalar() const { return text() || number() || truth(); }
bool Node::is_list() const { return as<simdjson::dom::array>(element_).has_value(); }

std::vector<Node> Node::items() const {
  std::vector<Node> all;
  if (const auto list = as<simdjson::dom::array>(element_)) {
    all.reserve(list->size());
    for (const element item : *list) all.emplace_back(item);
  }
  return all;
}

std::vector<Member> Node::members() const {
  std::vector<Member> all;
  if (const auto object = as<simdjson::dom::object>(element_)) {
    all.reserve(object->size());
    for (const auto& field : *object) all.push_back({field.key, Node(field.value)});
  }
  return all;
}

Node Node::operator[](std::string_view key) const {
  element found;
  const auto object = as<simdjson::dom::object>(element_);
  return object && object->at_key(key).get(found) == simdjson::SUCCESS ? Node(found) : Node();
}

std::string Node::json() const {
  return element_ == Bytes{} ? "null" : simdjson::minify(std::bit_cast<element>(element_));
}

Node file(std::string_view path) { return document().root[path]; }

std::vector<Entry> folder(std::string_view path) {
  std::vector<Entry> entries;
  for (const auto& [key, value] : document().root.members()) {
    const bool inside =
        key.size() > path.size() && key.substr(0, path.size()) == path && key[path.size()] == '/';
    if (inside) entries.push_back({key, value});
  }
  return entries;
}

std::string text_of(const Node& object, std::string_view key, std::string_view otherwise) {
  return std::string(object[key].text().value_or(otherwise));
}

double number_of(const Node& object, std::string_view key, double otherwise) {
  return object[key].number().value_or(otherwise);
}

bool truth_of(const Node& object, std::string_view key, bool otherwise) {
  return object[key].truth().value_or(otherwise);
}

std::vector<Node> list_of(const Node& object, std::string_view key) { return object[key].items(); }

std::vector<std::string> texts_of(const Node& object, std::string_view key) {
  std::vector<std::string> texts;
  const Node member = object[key];
  if (const auto one = member.text()) texts.emplace_back(*one);
  for (const Node& item : member.items()) {
    if (const auto one = item.text()) texts.emplace_back(*one);
  }
  return texts;
}

core::Value value_of(const Node& item) {
  if (const auto truth = item.truth()) return *truth;
  if (const auto number = item.number()) return *number;
  return std::string(item.text().value_or(""));
}

}  // namespace aplomb::knowledge
