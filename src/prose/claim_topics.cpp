#include "prose/claim_topics.h"

#include <fmt/format.h>

#include <algorithm>

#include "knowledge/document.h"
#include "prose/claim_phrases.h"

namespace aplomb::prose {
namespace {

using knowledge::Node;

std::vector<std::string> texts_of(const Node& list) {
  std::vector<std::string> texts;
  for (const Node& entry : list.items()) {
    if (const auto text = entry.text()) texts.emplace_back(*text);
  }
  return texts;
}

}  // namespace

const Topics& Topics::instance() {
  static const Topics the_topics;
  return the_topics;
}

Topics::Topics() {
  for (const knowledge::Entry& file : knowledge::folder("topics")) {
    for (const Node& entry : file.content.items()) add_topic(entry);
  }
}

void Topics::add_topic(const Node& entry) {
  Topic topic;
  topic.id = knowledge::text_of(entry, "id");
  topic.ordered = knowledge::truth_of(entry, "ordered");
  topic.question = knowledge::truth_of(entry, "question");
  const bool twice = std::any_of(topics_.begin(), topics_.end(),
                                 [&](const Topic& other) { return other.id == topic.id; });
  if (topic.id.empty() || twice)
    mistakes_.push_back(fmt::format("topics: no id, or it stands twice: '{}'", topic.id));
  topics_.push_back(topic);
  for (const Node& group : knowledge::list_of(entry, "all"))
    add_group(texts_of(group), static_cast<std::uint32_t>(topics_.back().groups++));
  if (topics_.back().groups == 0)
    mistakes_.push_back(fmt::format("topic '{}' asks for nothing", topic.id));
  const std::vector<std::string> none = knowledge::texts_of(entry, "none");
  if (!none.empty()) add_group(none, static_cast<std::uint32_t>(topics_.back().groups));
}

void Topics::add_group(const std::vector<std::string>& phrases, std::uint32_t group) {
  if (phrases.empty())
    mistakes_.push_back(fmt::format("topic '{}' has an empty group", topics_.back().id));
  for (const std::string& text : phrases) {
    Phrase phrase{words_of(text), static_cast<std::uint32_t>(topics_.size() - 1), group};
    if (phrase.words.empty() || is_short_stem(phrase.words)) {
      mistakes_.push_back(fmt::format("'{}' of topic '{}' is no phrase", text, topics_.back().id));
      continue;
    }
    phrases_[key_of(phrase.words)].push_back(std::move(phrase));
  }
}

std::vector<std::string> Topics::ids() const {
  std::vector<std::string> ids;
  ids.reserve(topics_.size());
  for (const Topic& topic : topics_) ids.push_back(topic.id);
  return ids;
}

void Topics::meet(const std::vector<Token>& line, std::size_t at,
                  std::vector<std::vector<Meeting>>& met) const {
  const auto look = [&](const std::string& key) {
    const auto bucket = phrases_.find(key);
    if (bucket == phrases_.end()) return;
    for (const Phrase& phrase : bucket->second) {
      if (meets(phrase.words, line, at)) met[phrase.topic].push_back({phrase.group, at});
    }
  };
  look(key_of(line[at]));
  if (line[at].kind == TokenKind::number) look("#");
}

bool Topics::is_heard(const Topic& topic, const std::vector<Meeting>& met, bool question) {
  if (met.empty() || (topic.question && !question)) return false;
  std::size_t behind = 0;  // `ordered`: where the next group may begin
  for (std::size_t group = 0; group < topic.groups; ++group) {
    const auto found = std::find_if(met.begin(), met.end(), [&](const Meeting& each) {
      return each.group == group && (!topic.ordered || each.at >= behind);
    });
    if (found == met.end()) return false;
    behind = found->at + 1;
  }
  return std::none_of(met.begin(), met.end(),
                      [&](const Meeting& each) { return each.group == topic.groups; });
}

std::vector<std::string> Topics::of(std::vector<Token> line) const {
  for (Token& token : line) {  // `doesn't match` is `not match`
    if (token.text.ends_with("n't")) token.text = "not";
  }
  std::vector<bool> heard(topics_.size(), false);
  std::vector<std::vector<Meeting>> met(topics_.size());
  const auto close = [&](bool question) {
    for (std::size_t i = 0; i < topics_.size(); ++i) {
      if (is_heard(topics_[i], met[i], question)) heard[i] = true;
      met[i].clear();
    }
  };
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (ends_sentence(line[at])) {
      close(line[at].text == "?");
    } else {
      meet(line, at, met);
    }
  }
  close(false);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < topics_.size(); ++i) {
    if (heard[i]) ids.push_back(topics_[i].id);
  }
  return ids;
}

}  // namespace aplomb::prose
