#include "preflight/rule_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/text.h"
#include "knowledge/document.h"

namespace aplomb::preflight {
namespace {

using knowledge::Node;

std::vector<std::pair<std::string, core::Value>> values_of(const Node& object) {
  std::vector<std::pair<std::string, core::Value>> values;
  for (const auto& [name, value] : object.members())
    values.emplace_back(name, knowledge::value_of(value));
  return values;
}

/// The number at the head of `text`, which it takes off together with the dot behind it.
int take_part(std::string_view& text) {
  int part = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), part);
  if (done.ec != std::errc()) {
    text = {};
    return 0;
  }
  text.remove_prefix(static_cast<std::size_t>(done.ptr - text.data()));
  if (text.empty() || text.front() != '.') {
    text = {};
  } else {
    text.remove_prefix(1);
  }
  return part;
}

class BookReader {
 public:
  explicit BookReader(RuleBook& book) : book_(book) {}

  void rules(std::string_view topic, const Node& list) {
    for (const Node& entry : list.items()) {
      where_ = knowledge::text_of(entry, "id");
      if (auto rule = rule_of(topic, entry); !rule.when.empty()) {
        book_.rules.push_back(std::move(rule));
      }
    }
  }

  void shared(const Node& file) {
    for (const Node& entry : knowledge::list_of(file, "defaults")) {
      TrainerDefaults defaults{knowledge::text_of(entry, "framework"), {}, {}};
      defaults.settings = values_of(entry["settings"]);
      defaults.source = knowledge::text_of(entry, "source");
      book_.defaults.push_back(std::move(defaults));
    }
  }

 private:
  void mistake(const std::string& text) { book_.mistakes.push_back(where_ + ": " + text); }

  std::vector<diagnosis::Condition> condition(const std::string& text) {
    core::Result<diagnosis::Condition> parsed = diagnosis::Condition::parse(text);
    if (parsed) return {std::move(*parsed)};
    mistake(parsed.error().text);
    return {};
  }

  core::Severity severity(const std::string& text) {
    for (const core::Severity each : {core::Severity::note, core::Severity::warning,
                                      core::Severity::unstable, core::Severity::failed}) {
      if (text == name(each)) return each;
    }
    mistake("no severity '" + text + "'");
    return core::Severity::note;
  }

  VersionRange range(std::string_view package, std::string_view text) {
    VersionRange range{std::string(package), {}, false};
    if (text.starts_with("? ")) {
      range.or_unknown = true;
      text.remove_prefix(2);
    }
    while (!text.empty()) {
      const std::size_t blank = std::min(text.find(' '), text.size());
      const std::string_view bound = text.substr(0, blank);
      const std::size_t digit = std::min(bound.find_first_of("0123456789"), bound.size());
      range.bounds.push_back(
          {std::string(bound.substr(0, digit)), std::string(bound.substr(digit))});
      static constexpr std::array<std::string_view, 5> k_relations = {"<", "<=", ">", ">=", "=="};
      if (std::find(k_relations.begin(), k_relations.end(), range.bounds.back().relation) ==
              k_relations.end() ||
          range.bounds.back().version.empty())
        mistake("no version bound '" + std::string(bound) + "'");
      text.remove_prefix(std::min(blank + 1, text.size()));
    }
    return range;
  }

  diagnosis::RemedyRule remedy(const Node& entry) {
    diagnosis::RemedyRule rule;
    const std::string when = knowledge::text_of(entry, "when");
    if (!when.empty()) rule.when = condition(when);
    rule.remedy.text = knowledge::text_of(entry, "note");
    rule.remedy.set = values_of(entry["set"]);
    return rule;
  }

  CheckRule rule_of(std::string_view topic, const Node& entry) {
    CheckRule rule;
    rule.id = where_;
    rule.topic = topic;
    rule.title = knowledge::text_of(entry, "title");
    rule.when = condition(knowledge::text_of(entry, "when"));
    rule.severity = severity(knowledge::text_of(entry, "severity"));
    rule.because = knowledge::text_of(entry, "because");
    rule.leads_to = knowledge::texts_of(entry, "leads_to");
    rule.references = knowledge::texts_of(entry, "references");
    for (const auto& [package, bound] : entry["versions"].members()) {
      if (!bound.text()) mistake("a version bound is text");
      rule.versions.push_back(range(package, bound.text().value_or("")));
    }
    for (const Node& item : knowledge::list_of(entry, "remedies"))
      rule.remedies.push_back(remedy(item));
    for (const Node& item : knowledge::list_of(entry, "fires"))
      rule.fires.push_back(values_of(item));
    for (const Node& item : knowledge::list_of(entry, "silent"))
      rule.silent.push_back(values_of(item));
    return rule;
  }

  RuleBook& book_;
  std::string where_;
};

RuleBook read_book() {
  RuleBook book;
  BookReader reader(book);
  for (const knowledge::Entry& file : knowledge::folder("checks")) {
    std::string_view topic = file.path.substr(file.path.rfind('/') + 1);
    topic.remove_suffix(std::string_view(".yaml").size());
    reader.rules(topic, file.content);
  }
  reader.shared(knowledge::file("preflight.yaml"));
  return book;
}

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
  if (a.starts_with('v')) a.remove_prefix(1);
  if (b.starts_with('v')) b.remove_prefix(1);
  while (!a.empty() || !b.empty()) {
    const int first = take_part(a);
    const int second = take_part(b);
    if (first != second) return first < second ? -1 : 1;
  }
  return 0;
}

bool VersionRange::holds(std::string_view version) const {
  return std::all_of(bounds.begin(), bounds.end(), [&](const Bound& bound) {
    const int order = compare_versions(version, bound.version);
    if (bound.relation == "<") return order < 0;
    if (bound.relation == "<=") return order <= 0;
    if (bound.relation == ">") return order > 0;
    if (bound.relation == ">=") return order >= 0;
    return order == 0;
  });
}

const RuleBook& rule_book() {
  static const RuleBook book = read_book();
  return book;
}

}  // namespace aplomb::preflight
