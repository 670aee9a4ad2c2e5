#include "knowledge/document.h"

namespace aplomb {
extern const std::size_t k_knowledge_json_size;
extern const char k_knowledge_json[];
}  // namespace aplomb

namespace aplomb::knowledge {
namespace {

struct Document {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::parser null_parser;
  simdjson::dom::element null_element;
  simdjson::dom::array no_items;

  Document() {
    // The text is followed by 64 blanks, more than SIMDJSON_PADDING asks for: no copy is needed.
    static_assert(simdjson::SIMDJSON_PADDING <= 64);
    root = parser.parse(k_knowledge_json, k_knowledge_json_size, false).value_unsafe();
    null_element = null_parser.parse(std::string_view("[null, []]")).value_unsafe();
    simdjson::dom::array pair = null_element.get_array().value_unsafe();
    no_items = pair.at(1).get_array().value_unsafe();
    null_element = pair.at(0).value_unsafe();
  }
};

const Document& document() {
  static const Document the_document;
  return the_document;
}

}  // namespace

simdjson::dom::element file(std::string_view path) {
  simdjson::dom::object files;
  simdjson::dom::element found;
  if (document().root.get(files) != simdjson::SUCCESS) return document().null_element;
  return files.at_key(path).get(found) == simdjson::SUCCESS ? found : document().null_element;
}

std::vector<Entry> folder(std::string_view path) {
  std::vector<Entry> entries;
  simdjson::dom::object files;
  if (document().root.get(files) != simdjson::SUCCESS) return entries;
  for (const auto& field : files) {
    const bool inside = field.key.size() > path.size() &&
                        field.key.substr(0, path.size()) == path && field.key[path.size()] == '/';
    if (inside) entries.push_back({field.key, field.value});
  }
  return entries;
}

std::string text_of(simdjson::dom::element object, std::string_view key,
                    std::string_view otherwise) {
  std::string_view text;
  if (object.at_key(key).get(text) != simdjson::SUCCESS) text = otherwise;
  return std::string(text);
}

double number_of(simdjson::dom::element object, std::string_view key, double otherwise) {
  double number = 0;
  return object.at_key(key).get(number) == simdjson::SUCCESS ? number : otherwise;
}

bool truth_of(simdjson::dom::element object, std::string_view key, bool otherwise) {
  bool truth = false;
  return object.at_key(key).get(truth) == simdjson::SUCCESS ? truth : otherwise;
}

simdjson::dom::array list_of(simdjson::dom::element object, std::string_view key) {
  simdjson::dom::array list;
  return object.at_key(key).get(list) == simdjson::SUCCESS ? list : document().no_items;
}

std::vector<std::string> texts_of(simdjson::dom::element object, std::string_view key) {
  std::vector<std::string> texts;
  std::string_view one;
  if (object.at_key(key).get(one) == simdjson::SUCCESS) {
    texts.emplace_back(one);
    return texts;
  }
  for (simdjson::dom::element item : list_of(object, key)) {
    if (item.get(one) == simdjson::SUCCESS) texts.emplace_back(one);
  }
  return texts;
}

Value value_of(simdjson::dom::element item) {
  bool flag = false;
  double number = 0;
  std::string_view text;
  if (item.get(flag) == simdjson::SUCCESS) return flag;
  if (item.get(number) == simdjson::SUCCESS) return number;
  if (item.get(text) == simdjson::SUCCESS) return std::string(text);
  return std::string();
}

}  // namespace aplomb::knowledge
