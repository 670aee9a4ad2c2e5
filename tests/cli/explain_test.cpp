#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "cli/topics.h"
#include "core/edit_distance.h"

namespace aplomb::cli {
namespace {

using test::run_program;
using test::Said;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(ExplainCommand, ExplainsEveryKindOfName) {
  for (const TopicKind& kind : topic_kinds()) {
    const std::vector<Topic> all = topics(kind.name);
    ASSERT_FALSE(all.empty()) << kind.name;
    const Said said = run_program("% explain " + all.front().slug);
    EXPECT_EQ(said.status, 0) << all.front().slug;
    EXPECT_THAT(said.out, HasSubstr(all.front().slug));
    EXPECT_THAT(said.out, HasSubstr(std::string(kind.one)));
  }
}

TEST(ExplainCommand, HasSomethingToSayAboutEveryTopic) {
  for (const Topic& topic : topics()) {
    EXPECT_FALSE(explain_topic(topic).empty()) << topic.kind << " " << topic.slug;
    EXPECT_FALSE(topic.summary.empty()) << topic.kind << " " << topic.slug;
  }
}

TEST(ExplainCommand, FindsACauseByTheLastPartOfItsNameAndASymptomByItsDetector) {
  const Said cause = run_program("% explain lr-too-high");
  EXPECT_EQ(cause.status, 0);
  EXPECT_THAT(cause.out, HasSubstr("nan.lr-too-high"));
  EXPECT_THAT(cause.out, HasSubstr("diverge.lr-too-high"));
  const Said symptom = run_program("% explain loss.nonfinite");
  EXPECT_EQ(symptom.status, 0);
  EXPECT_THAT(symptom.out, HasSubstr("Reports"));
}

TEST(ExplainCommand, SuggestsTheNearestNamesForAWordItDoesNotKnow) {
  const Said said = run_program("% explain los.nonfinit");
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.error, HasSubstr("loss.nonfinite"));
  EXPECT_THAT(run_program("% explain qqqqqqqqqqqqqq").error, HasSubstr("aplomb list"));
}

TEST(ExplainCommand, SurvivesHostileWords) {
  EXPECT_EQ(run_program("% explain \"$(printf '\\033[31m\\377')\"").status, 2);
  EXPECT_EQ(run_program("% explain ''").status, 2);
}

TEST(EditDistance, CountsChangesAdditionsLossesAndSwaps) {
  EXPECT_EQ(core::edit_distance("", ""), 0U);
  EXPECT_EQ(core::edit_distance("abc", ""), 3U);
  EXPECT_EQ(core::edit_distance("loss.spike", "los.spike"), 1U);
  EXPECT_EQ(core::edit_distance("spike", "sipke"), 1U);
  EXPECT_EQ(core::edit_distance("kitten", "sitting"), 3U);
}

TEST(NearNames, FindsAWordInsideALongerName) {
  EXPECT_THAT(near_names("grad_cli"), Contains("optim.grad_clip"));
}

}  // namespace
}  // namespace aplomb::cli
