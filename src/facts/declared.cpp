#include "facts/declared.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "facts/fact_view.h"
#include "knowledge/code_book.h"
#include "knowledge/document.h"

namespace aplomb::facts {
namespace {

using knowledge::Node;

void add_names(const Node& list, std::string_view before, std::string_view key,
               std::initializer_list<std::string_view> endings, std::vector<std::string>& out) {
  for (const Node& entry : list.items()) {
    const std::string name(entry.text() ? *entry.text() : knowledge::text_of(entry, key));
    if (name.empty()) continue;
    for (const std::string_view ending : endings)
      out.push_back(fmt::format("{}{}{}", before, name, ending));
  }
}

/// said.<subject>.<predicate> and its parts, for every pair of the lexicon; said.works_with.<x>,
/// ...
void add_said_names(std::vector<std::string>& out) {
  const auto ids = [&](std::string_view key) {
    std::vector<std::string> found;
    for (const Node& entry : knowledge::file(fmt::format("claims/{}.yaml", key)).items())
      found.push_back(knowledge::text_of(entry, "id"));
    return found;
  };
  const std::vector<std::string> predicates = ids("predicates");
  for (const std::string& subject : ids("subjects")) {
    out.push_back(fmt::format("said.{}.value", subject));
    out.push_back(fmt::format("said.{}.trend", subject));
    for (const std::string& predicate : predicates) {
      out.push_back(fmt::format("said.{}.{}", subject, predicate));
      out.push_back(fmt::format("said.{}.{}.*", subject, predicate));
    }
    for (const char* which : {"smaller_works", "works_at", "fails_at"})
      out.push_back(fmt::format("said.{}.{}", which, subject));
  }
  for (const knowledge::Entry& topics : knowledge::folder("topics"))
    add_names(topics.content, "said.about.", "id", {""}, out);
  for (const std::string& condition : ids("conditions")) {
    out.push_back(fmt::format("said.about.{}", condition));
    for (const char* how : {"works_with", "works_without", "fails_with", "fails_without"})
      out.push_back(fmt::format("said.{}.{}", how, condition));
  }
}

}  // namespace

std::vector<std::string> declared_facts() {
  std::vector<std::string> names;
  add_names(knowledge::file("facts.yaml"), "", "name", {""}, names);
  add_names(knowledge::file("settings.yaml"), "", "name", {""}, names);
  add_names(knowledge::file("errors.yaml"), "error.", "id", {"", ".*"}, names);
  add_names(knowledge::file("errors_training.yaml"), "error.", "id", {"", ".*"}, names);
  for (const knowledge::Entry& file : knowledge::folder("errors")) {
    add_names(file.content, "error.", "id", {"", ".*"}, names);
  }
  add_said_names(names);
  for (const knowledge::CodeEntry& entry : knowledge::code_book().entries) {
    names.push_back(entry.id);
    if (!entry.is_sign) names.push_back(knowledge::mistake_fact(entry.id));
  }
  add_names(knowledge::file("incidents.yaml"), "", "fact", {""}, names);
  add_names(knowledge::file("preflight.yaml")["facts"], "", "fact", {""}, names);
  add_names(knowledge::file("series.yaml"), "", "name",
            {".first", ".last", ".min", ".max", ".points"}, names);
  return names;
}

bool is_declared(const std::vector<std::string>& declared, std::string_view name) {
  return std::any_of(declared.begin(), declared.end(),
                     [&](const std::string& known) { return fits(known, name); });
}

}  // namespace aplomb::facts
