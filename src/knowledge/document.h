#pragma once
/// The knowledge base as it was embedded at build: one JSON document, `{"causes/nan.yaml": [...],
/// ...}`. Parsed once, at first use (about 1 ms a megabyte); safe to use from several threads
/// afterwards.

#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace aplomb::knowledge {

/// The parsed file, e.g. `file("errors.yaml")`; an empty optional-like null element where there is
/// none.
simdjson::dom::element file(std::string_view path);

/// Every file below a folder, e.g. `folder("causes")`, in alphabetical order.
struct Entry {
  std::string_view path;
  simdjson::dom::element content;
};
std::vector<Entry> folder(std::string_view path);

/// Reading helpers: the member, or the default where it is missing or of another type.
std::string text_of(simdjson::dom::element object, std::string_view key,
                    std::string_view otherwise = "");
double number_of(simdjson::dom::element object, std::string_view key, double otherwise = 0);
bool truth_of(simdjson::dom::element object, std::string_view key, bool otherwise = false);
std::vector<std::string> texts_of(simdjson::dom::element object,
                                  std::string_view key);  ///< a text or a list of texts
/// A truth, a number or a text; an empty text for anything else.
Value value_of(simdjson::dom::element item);
/// The member as a list; empty where it is missing.
simdjson::dom::array list_of(simdjson::dom::element object, std::string_view key);

}  // namespace aplomb::knowledge
