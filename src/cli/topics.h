#pragma once
/// Everything that has a name: what `aplomb list` lists, `aplomb explain` explains and the shell
/// completes. Read from the specs of the members and from the knowledge base, so that a new member
/// or entry is here by itself.

#include <string>
#include <string_view>
#include <vector>

namespace aplomb::cli {

struct TopicKind {
  std::string_view name;     ///< `causes`, as `aplomb list` takes it
  std::string_view one;      ///< `cause`
  std::string_view meaning;  ///< one line
};

/// A paragraph of an explanation; `items` stand below it, one a line.
struct TopicPart {
  std::string heading;
  std::string text;
  std::vector<std::string> items;
};

struct Topic {
  std::string_view kind;  ///< TopicKind::name
  std::string slug;
  std::string summary;
  std::vector<std::string> also;  ///< further names that lead here: a detector's symptoms
};

const std::vector<TopicKind>& topic_kinds();

/// Of one kind, in the order of its roster or file; of every kind where `kind` is empty.
std::vector<Topic> topics(std::string_view kind = {});

/// The whole of what is known of a topic.
std::vector<TopicPart> explain_topic(const Topic& topic);

/// The topics that a word names: by slug or further name; else causes and symptoms whose last part
/// it is (`lr-too-high`). Without regard to case.
std::vector<Topic> find_topics(std::string_view word);

/// Names near to a word that names nothing, nearest first, at most `most`.
std::vector<std::string> near_names(std::string_view word, std::size_t most = 4);

}  // namespace aplomb::cli
