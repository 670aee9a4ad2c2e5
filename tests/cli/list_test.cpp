#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "cli/program.h"
#include "cli/topics.h"
#include "report/terminal_text.h"

namespace aplomb::cli {
namespace {

using test::run_program;
using test::Said;
using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ListCommand, CountsEveryKind) {
  const Said said = run_program("% list");
  EXPECT_EQ(said.status, 0);
  for (const TopicKind& kind : topic_kinds()) {
    EXPECT_THAT(said.out, HasSubstr(std::to_string(topics(kind.name).size()) + "  " +
                                    std::string(kind.name)));
  }
}

TEST(ListCommand, ListsEachTopicOfAKindOnALineOfEightyColumns) {
  for (const TopicKind& kind : topic_kinds()) {
    const Said said = run_program("% list " + std::string(kind.name));
    EXPECT_EQ(said.status, 0);
    const auto lines = lines_of(said.out);
    EXPECT_EQ(lines.size(), topics(kind.name).size());
    for (const std::string& line : lines) EXPECT_LE(report::columns(line), 80U) << line;
  }
}

TEST(ListCommand, GivesNamesForTheShellSortedAndOnce) {
  const auto lines = lines_of(run_program("% list --names").out);
  EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end());
  EXPECT_THAT(lines, ::testing::Contains("loss.nonfinite"));
}

TEST(ListCommand, SaysTwoForAKindItDoesNotKnow) {
  EXPECT_EQ(run_program("% list nonsense").status, 2);
}

}  // namespace
}  // namespace aplomb::cli
