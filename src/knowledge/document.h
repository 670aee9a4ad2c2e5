#pragma once
/// The knowledge base as it was embedded at build: one JSON document, `{"causes/nan.yaml": [...],
/// ...}`. Parsed once, at first use (about 1 ms a megabyte); safe to use from several threads
/// afterwards.
///
///     for (const Node& entry : file("errors.yaml").items()) text_of(entry, "id");

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace simdjson::dom {
class element;  // NOLINT(readability-identifier-naming): not ours
}

namespace aplomb::knowledge {

struct Member;

/// A value of a JSON document: null, a truth, a number, a text, a list or an object. A handle of
/// two words, valid as long as its document, which for the embedded one is always. Asked for what
/// it is not, it gives nothing. (simdjson's element behind a header that costs nothing to include:
/// its own takes 2 s of compiling a file.)
class Node {
 public:
  Node() = default;                              ///< null
  explicit Node(const simdjson::dom::element&);  ///< of a document parsed elsewhere

  std::optional<std::string_view> text() const;
  std::optional<double> number() const;
  std::optional<bool> truth() const;
  bool is_null() const;
  bool is_scalar() const;  ///< a text, number or truth
  bool is_list() const;
  /// Of a list, in its order.
  std::vector<Node> items() const;
  /// Of an object, in the order of the text.
  std::vector<Member> members() const;
  /// The member of that name; null where there is none.
  Node operator[](std::string_view key) const;
  /// As JSON text, without blanks.
  std::string json() const;

 private:
  std::array<std::size_t, 2> element_{};  ///< the element's bytes; zeros: null
};

struct Member {
  std::string_view key;
  Node value;
};

/// The parsed file, e.g. `file("errors.yaml")`; null where there is none.
Node file(std::string_view path);

/// Every file below a folder, e.g. `folder("causes")`, in alphabetical order.
struct Entry {
  std::string_view path;
  Node content;
};
std::vector<Entry> folder(std::string_view path);

/// Reading helpers: the member, or the default where it is missing or of another type.
std::string text_of(const Node& object, std::string_view key, std::string_view otherwise = "");
double number_of(const Node& object, std::string_view key, double otherwise = 0);
bool truth_of(const Node& object, std::string_view key, bool otherwise = false);
/// A text or a list of texts.
std::vector<std::string> texts_of(const Node& object, std::string_view key);
/// A truth, a number or a text; an empty text for anything else.
core::Value value_of(const Node& item);
/// The member as a list; empty where it is missing.
std::vector<Node> list_of(const Node& object, std::string_view key);

}  // namespace aplomb::knowledge
