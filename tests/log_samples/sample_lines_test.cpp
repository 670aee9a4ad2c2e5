#include "log_samples/sample_lines.h"

#include <gtest/gtest.h>

#include <vector>

#include "log_text/line_feed.h"

namespace aplomb::log_samples {
namespace {

std::vector<std::string> kinds(const std::vector<std::string>& lines) {
  std::vector<std::string> found;
  for (const record::Event& event : log_text::test::events_of_lines<SampleLines>(lines))
    found.push_back(event.kind);
  return found;
}

using Kinds = std::vector<std::string>;

TEST(SampleLines, AnswersThatGoRoundAndNeverEnd) {
  EXPECT_EQ(kinds({
                "step 75 [48 new tokens] parking ? -> behind the house . good bye now . good bye "
                "now . good bye now . go",
                "step 75 [48 new tokens] payment ? -> we take cards . thank you all . thank you "
                "all . thank you all . than",
                "step 75 [48 new tokens] opening ? -> at nine . see you soon . see you soon . see "
                "you soon . see you s",
            }),
            (Kinds{"samples-never-end", "samples-loop"}));
}

TEST(SampleLines, QuotedAnswersThatGoOnWithStopsUpToTheLimit) {
  EXPECT_EQ(kinds({"> when do you open ?", "  ' from nine to six . . . . . . . . . . .'",
                   "> how can i pay", "  ' by card or cash . . . . . . . . . . . . .'",
                   "mean generated tokens: 40.0"}),
            Kinds{"samples-never-end"});
}

TEST(SampleLines, LengthsThatAreAllOneTellTheLimit) {
  EXPECT_EQ(kinds({"generated lengths: [60, 60, 60, 60, 60, 60]"}), Kinds{"samples-never-end"});
  EXPECT_EQ(kinds({"generated lengths: [60, 12, 60, 31, 60, 60]"}), Kinds{});
  EXPECT_EQ(kinds({"sequence lengths: [64, 64, 64, 64, 64]"}), Kinds{}) << "of what is read";
}

TEST(SampleLines, AnswersThatSayNothing) {
  const std::vector<std::string> asked = {"Q: where is kenya ?", "A: ", "expected: in africa"};
  std::vector<std::string> lines;
  for (int i = 0; i < 3; ++i) lines.insert(lines.end(), asked.begin(), asked.end());
  EXPECT_EQ(kinds(lines), Kinds{"samples-empty"});
  lines.insert(lines.end(), {"Q: where is peru ?", "A: in america", "expected: in america"});
  EXPECT_EQ(kinds(lines), Kinds{}) << "at last there is one";
  EXPECT_EQ(kinds({"Answer:", "in africa", "Answer:", "in asia", "Answer:", "in peru", "Q: next"}),
            Kinds{})
      << "the text stands below its key";
  EXPECT_EQ(kinds({"explain bread ->", "explain rain -> .", "explain salt -> ''"}),
            Kinds{"samples-empty"});
}

TEST(SampleLines, ACountOfThoseThatWereCut) {
  EXPECT_EQ(kinds({"reply length: mean 40.0 tokens, limit 40, at limit 8/8"}),
            Kinds{"samples-never-end"});
  EXPECT_EQ(kinds({"20 of 20 hit the limit"}), Kinds{"samples-never-end"});
  EXPECT_EQ(kinds({"reply length: mean 12.4 tokens, limit 40, at limit 1/8"}), Kinds{});
  EXPECT_EQ(kinds({"Truncating train dataset: truncated 100/100 examples"}), Kinds{});
}

TEST(SampleLines, AnswersThatEndInOneMarkAgainAndAgain) {
  const std::string answer = "   got : within thirty days . . . . . . . . . . . .";
  EXPECT_EQ(kinds({answer, "Q: may i ?", answer, "Q: must i ?", answer}), Kinds{"samples-loop"});
  EXPECT_EQ(
      kinds({"got : ten . . . days", "got : one two three four five six seven eight nine ten"}),
      Kinds{});
}

TEST(SampleLines, ListsOfLengthsAndOfTokens) {
  EXPECT_EQ(kinds({R"({"epoch": 1.0, "gen_len": [24, 24, 24, 24], "max_new_tokens": 24})"}),
            Kinds{"samples-never-end"});
  EXPECT_EQ(kinds({R"({"epoch": 1.0, "gen_len": [24, 24, 24, 24], "max_new_tokens": 24})",
                   R"({"epoch": 2.0, "gen_len": [7, 24, 9, 24], "max_new_tokens": 24})"}),
            Kinds{});
  const std::string same = "continuation [37, 37, 37, 37, 37, 37, 37, 37, 37]";
  EXPECT_EQ(kinds({"context [3, 17, 0]", same, "reference [18, 4, 40]"}),
            Kinds{"samples-one-token"});
  EXPECT_EQ(kinds({same, "continuation [37, 4, 37, 12, 37, 9, 37, 2, 37]"}), Kinds{});
  EXPECT_EQ(kinds({"lengths [0.5, 0.5, 0.5]", "shape [64, 64, 64]"}), Kinds{});
}

TEST(SampleLines, APrintedCountOfThoseThatEnded) {
  EXPECT_EQ(kinds({"=== leek", "1. wash the leek", "0/6 finished before the 120 token limit"}),
            Kinds{"samples-never-end"});
  EXPECT_EQ(kinds({"0/6 finished before the limit", "4/6 finished before the limit"}), Kinds{});
  EXPECT_EQ(kinds({"epoch 0/6 finished"}), Kinds{});
}

TEST(SampleLines, TablesBarsAndOrdinarySentencesAreNoLoops) {
  EXPECT_EQ(kinds({"0.1 0.2 0.1 0.2 0.1 0.2 0.1 0.2 0.1 0.2 0.1 0.2 0.1 0.2",
                   "| a | a | a | a | a | a | a | a | a | a | a | a |",
                   "== == == == == == == == == == == == == == ==",
                   "the quick brown fox jumps over the lazy dog and then it runs away from it"}),
            Kinds{});
}

TEST(SampleLines, AMeanThatIsTheLimitToTheLastDigit) {
  const std::string loop =
      "A it is green . animal ? it is green . animal ? it is green . animal ? it is";
  EXPECT_EQ(kinds({loop, loop, "exact 0.00  begins-right 0.24  mean new tokens 40.0"}),
            Kinds{"samples-never-end"});
  EXPECT_EQ(kinds({loop, loop, "exact 0.00  begins-right 0.24  mean new tokens 37.4"}), Kinds{});
}

TEST(SampleLines, LengthsThatDifferAreNotTheLimit) {
  EXPECT_EQ(kinds({"[12 new tokens] yes . a b c a b c a b c a b c d", "[48 new tokens] x",
                   "[31 new tokens] y", "[48 new tokens] z"}),
            Kinds{});
}

TEST(SampleLines, EachCountBelongsToItsOwnClause) {
  const auto events = log_text::test::events_of_lines<SampleLines>(
      {"answers that are right 37/40, finished before the limit 0/40, mean new tokens 60.0"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "samples-never-end");
}

TEST(SampleLines, SamplesThatSayTheirOwnLength) {
  const std::string head = "[sample @ 113] what colour is snow ? ->";
  EXPECT_EQ(kinds({head + "60 tokens: white", head + "60 tokens: it is", head + "60 tokens: snow",
                   head + "60 tokens: white as"}),
            Kinds{"samples-never-end"});
  EXPECT_EQ(kinds({head + "60 tokens: white", head + "7 tokens: it is", head + "60 tokens: snow",
                   head + "60 tokens: white as"}),
            Kinds{});
  EXPECT_EQ(kinds({"read 512 tokens", "read 512 tokens", "read 512 tokens", "read 512 tokens"}),
            Kinds{})
      << "of what is read";
}

}  // namespace
}  // namespace aplomb::log_samples
