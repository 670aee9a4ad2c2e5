#include "report/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/run_builder.h"

namespace aplomb::report {
namespace {

std::string line_of(const record::Source& source, const record::Origin& origin) {
  return source.path + " line " + std::to_string(origin.line);
}

class EvidenceTest : public ::testing::Test {
 protected:
  /// `lines`: whether the artifact has lines to look up.
  record::SourceId add(const std::string& path, bool lines, std::initializer_list<double> values,
                       std::int64_t first_step = 1) {
    const record::SourceId source = build_.open(path, "made", 100);
    const record::SeriesId series =
        build_.series(source, "loss", "loss", record::Role::loss, record::StepKind::explicit_);
    std::uint64_t at = 0;
    for (const double value : values) {
      ++at;
      build_.append(series, first_step++, value, lines ? at : 0, 100 * at);
    }
    return source;
  }
  std::vector<Evidence> find(const std::vector<record::Origin>& origins,
                             const LineReader& line_at = line_of) {
    return EvidenceFinder(run_, line_at).find(origins);
  }
  aplomb::record::Run run_;
  record::RunBuilder build_{run_};
};

TEST_F(EvidenceTest, GivesPathLineStepAndTheLineAsItStandsThere) {
  const record::SourceId log = add("train.log", true, {2.5, 2.0});
  const auto found = find({{log, 2, 200}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "train.log");
  EXPECT_EQ(found[0].line, 2U);
  EXPECT_EQ(found[0].step, 2);
  EXPECT_EQ(found[0].text, "train.log line 2");
}

TEST_F(EvidenceTest, SaysWhatWasMeasuredWhereALineCannotBeHad) {
  const record::SourceId events = add("events.out", false, {2.5, 2.0});
  const auto found = find({{events, 0, 200}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].line, 0U);
  EXPECT_EQ(found[0].text, "loss = 2");
}

TEST_F(EvidenceTest, PrefersALineOfTextThatSaysTheSameToAPlaceInABinaryFile) {
  const record::SourceId events = add("events.out", false, {2.5001, 2.0001, 1.5001});
  add("train.log", true, {2.5, 2.0, 1.5});
  EXPECT_EQ(find({{events, 0, 200}})[0].text, "train.log line 2");
}

TEST_F(EvidenceTest, FindsTheSameSampleByItsPlaceWhereStepsAreCountedOtherwise) {
  const record::SourceId events = add("events.out", false, {2.5, 2.0, 1.5}, 1);
  add("train.log", true, {2.5, 2.0, 1.5}, 0);
  EXPECT_EQ(find({{events, 0, 200}})[0].text, "train.log line 2");
}

TEST_F(EvidenceTest, DoesNotTakeAnotherValueForTheSame) {
  const record::SourceId events = add("events.out", false, {2.5, 2.0, 1.5});
  add("train.log", true, {2.5, 7.0, 1.5});
  EXPECT_EQ(find({{events, 0, 200}})[0].text, "loss = 2");
}

TEST_F(EvidenceTest, NamesAPlaceOnceAndStaysShort) {
  const record::SourceId log = add("train.log", true, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(find({{log, 2, 200}, {log, 2, 200}}).size(), 1U);
  std::vector<record::Origin> many;
  for (std::uint64_t i = 1; i <= 12; ++i) many.push_back({log, i, 100 * i});
  EXPECT_EQ(find(many).size(), EvidenceFinder::k_most_lines);
}

TEST_F(EvidenceTest, SurvivesOriginsThatLeadNowhere) {
  EXPECT_TRUE(find({{7, 1, 1}}).empty());
  const record::SourceId log = add("train.log", true, {1});
  EXPECT_EQ(find({{log, 99, 9999}}, LineReader{})[0].text, "");
}

TEST(TidyLine, TakesOutColoursControlCharactersAndLength) {
  EXPECT_EQ(tidy_line("\x1b[31mred\x1b[0m\tand \x01 \xFF", 80), "red and   \xEF\xBF\xBD");
  EXPECT_EQ(tidy_line("\x1b]0;title\alog", 80), "log");
  EXPECT_EQ(tidy_line("\x1b", 80), "");
  EXPECT_EQ(tidy_line(std::string(500, 'a'), 20).size(), 20U);
}

}  // namespace
}  // namespace aplomb::report
