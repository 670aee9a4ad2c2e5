#include "diagnosis/cause_book.h"

#include <fmt/format.h>

#include <algorithm>

#include "knowledge/code_book.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

using knowledge::Node;

/// Reads one entry after another and keeps what was wrong with them.
class BookReader {
 public:
  explicit BookReader(CauseBook& book) : book_(book) {}

  void causes(std::string_view family, const Node& list) {
    for (const Node& entry : list.items()) {
      where_ = knowledge::text_of(entry, "id");
      book_.causes.push_back(cause(family, entry));
    }
  }

  /// What a program shows to be wrong speaks for the causes that the code book names.
  void code_findings() {
    for (const knowledge::CodeEntry& entry : knowledge::code_book().entries) {
      for (const auto& [id, weight] : entry.supports) {
        const auto cause = std::find_if(book_.causes.begin(), book_.causes.end(),
                                        [&id = id](const Cause& each) { return each.id == id; });
        where_ = entry.id;
        if (cause == book_.causes.end()) {
          book_.mistakes.push_back(fmt::format("{}: there is no cause {}", where_, id));
          continue;
        }
        support(entry, weight, *cause);
      }
    }
  }

  void next_steps(const Node& list) {
    for (const Node& entry : list.items()) {
      where_ = "next_steps.yaml";
      std::vector<Condition> when = condition(knowledge::text_of(entry, "when"));
      if (!when.empty()) book_.next_steps.push_back({std::move(when.front()), experiment(entry)});
    }
  }

 private:
  /// A mistake is explained by its cause whatever the curves say; what is only suspected there adds
  /// less. Fragments have conditions of their own in the causes.
  void support(const knowledge::CodeEntry& entry, double weight, Cause& cause) {
    constexpr double k_suspected = 0.4;  // of the nats of the same finding where it is sure
    const auto add = [&](const std::string& when, double nats) {
      for (Condition& each : condition(when))
        cause.evidence.push_back({std::move(each), nats, entry.title});
    };
    if (!entry.is_mistake) return add(entry.id, weight);
    const std::string mistake = knowledge::mistake_fact(entry.id);
    if (weight > 0) cause.explains.push_back(mistake);
    add(mistake, weight);
    if (entry.patterns.empty())
      add(fmt::format("{} && unseen({})", entry.id, mistake), k_suspected * weight);
  }

  std::vector<Condition> condition(const std::string& text) {
    core::Result<Condition> parsed = Condition::parse(text);
    if (parsed) return {std::move(*parsed)};
    book_.mistakes.push_back(fmt::format("{}: {}", where_, parsed.error().text));
    return {};
  }

  static Experiment experiment(const Node& entry) {
    return {knowledge::text_of(entry, "text"), knowledge::text_of(entry, "reads"),
            knowledge::texts_of(entry, "separates")};
  }

  static Remedy remedy(const Node& entry) {
    Remedy remedy;
    remedy.text = entry.text() ? *entry.text() : knowledge::text_of(entry, "note");
    for (const auto& [setting, value] : entry["set"].members())
      remedy.set.emplace_back(setting, knowledge::value_of(value));
    return remedy;
  }

  std::vector<Sentence> sentences(const Node& told) {
    if (told.text()) return {{{}, std::string(*told.text())}};
    std::vector<Sentence> all;
    for (const Node& each : told.items()) {
      if (each.text()) {
        all.push_back({{}, std::string(*each.text())});
        continue;
      }
      std::vector<Condition> when = condition(knowledge::text_of(each, "when"));
      if (!when.empty()) all.push_back({std::move(when), knowledge::text_of(each, "say")});
    }
    return all;
  }

  Cause cause(std::string_view family, const Node& entry) {
    Cause cause;
    cause.id = where_;
    cause.family = family;
    cause.title = knowledge::text_of(entry, "title");
    cause.headline = knowledge::text_of(entry, "headline");
    cause.explains = knowledge::texts_of(entry, "explains");
    const std::string needs = knowledge::text_of(entry, "needs");
    if (!needs.empty()) cause.needs = condition(needs);
    cause.prior = knowledge::number_of(entry, "prior");
    cause.because = sentences(entry["because"]);
    cause.verify = knowledge::text_of(entry, "verify");
    cause.references = knowledge::texts_of(entry, "references");
    for (const Node& rule : knowledge::list_of(entry, "evidence")) {
      std::vector<Condition> when = condition(knowledge::text_of(rule, "when"));
      if (when.empty()) continue;
      cause.evidence.push_back({std::move(when.front()), knowledge::number_of(rule, "weight"),
                                knowledge::text_of(rule, "because")});
    }
    for (const Node& rule : knowledge::list_of(entry, "refuted_by")) {
      std::vector<Condition> when = condition(knowledge::text_of(rule, "when"));
      if (when.empty()) continue;
      cause.refuted_by.push_back({std::move(when.front()), knowledge::text_of(rule, "because")});
    }
    for (const Node& item : knowledge::list_of(entry, "remedies")) {
      const std::string when = knowledge::text_of(item, "when");
      cause.remedies.push_back({when.empty() ? std::vector<Condition>() : condition(when),
                                remedy(item), knowledge::truth_of(item, "stands")});
    }
    for (const Node& item : knowledge::list_of(entry, "experiments")) {
      PricedExperiment priced{experiment(item), knowledge::number_of(item, "cost", 5)};
      priced.experiment.separates.insert(priced.experiment.separates.begin(), cause.id);
      cause.experiments.push_back(std::move(priced));
    }
    return cause;
  }

  CauseBook& book_;
  std::string where_;
};

Calibration read_calibration(const Node& entry) {
  const Calibration usual;
  const auto number = [&](std::string_view key, double otherwise) {
    return knowledge::number_of(entry, key, otherwise);
  };
  return {
      number("temperature", usual.temperature),
      number("unknown", usual.unknown),
      number("no_metrics_temperature", number("temperature", usual.temperature)),
      number("no_metrics_unknown", number("unknown", usual.unknown)),
      number("asks_normal", usual.asks_normal),
      number("healthy", usual.healthy),
      number("explains_failed", usual.explains_failed),
      number("explains_unstable", usual.explains_unstable),
      number("explains_warning", usual.explains_warning),
      number("explains_note", usual.explains_note),
      number("explains_unseen", usual.explains_unseen),
      number("leaves_failure", usual.leaves_failure),
      number("leaves_unstable", usual.leaves_unstable),
      number("leaves_warning", usual.leaves_warning),
      number("explains_none", usual.explains_none),
      number("words", usual.words),
      number("words_most", usual.words_most),
      number("words_least", usual.words_least),
      number("platt_slope", usual.platt_slope),
      number("platt_offset", usual.platt_offset),
      {number("text_words", usual.text.words), number("text_floor", usual.text.floor),
       number("text_temperature", usual.text.temperature),
       number("text_unknown", usual.text.unknown), number("text_healthy", usual.text.healthy),
       number("text_platt_slope", usual.text.platt_slope),
       number("text_platt_offset", usual.text.platt_offset), number("text_most", usual.text.most)}};
}

CauseBook read_book() {
  CauseBook book;
  BookReader reader(book);
  for (const knowledge::Entry& file : knowledge::folder("causes")) {
    std::string_view family = file.path.substr(file.path.rfind('/') + 1);
    family.remove_suffix(std::string_view(".yaml").size());
    reader.causes(family, file.content);
  }
  reader.code_findings();
  reader.next_steps(knowledge::file("next_steps.yaml"));
  book.calibration = read_calibration(knowledge::file("calibration.yaml"));
  return book;
}

}  // namespace

const Cause* CauseBook::find(std::string_view id) const {
  const auto found = std::find_if(causes.begin(), causes.end(),
                                  [&](const Cause& cause) { return cause.id == id; });
  return found == causes.end() ? nullptr : &*found;
}

const CauseBook& cause_book() {
  static const CauseBook book = read_book();
  return book;
}

}  // namespace aplomb::diagnosis
