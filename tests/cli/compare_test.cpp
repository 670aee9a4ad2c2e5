#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/program.h"

namespace aplomb::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Six runs of one small model: five seeds, and one whose data goes bad at step 121
/// (tests/compare/make_runs.py).
std::string made(const std::string& name) {
  return APLOMB_SOURCE_DIR "/tests/compare/runs/" + name + ".jsonl";
}
std::string example(const std::string& name) { return APLOMB_SOURCE_DIR "/examples/" + name; }

const nlohmann::json& metric(const nlohmann::json& comparison, const std::string& name) {
  static const nlohmann::json k_none;
  for (const auto& each : comparison["metrics"])
    if (each["name"] == name) return each;
  return k_none;
}

/// Without the breaks that fit it into 80 columns.
std::string in_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string all;
  for (std::string word; words >> word;) all += (all.empty() ? "" : " ") + word;
  return all;
}

TEST(CompareCommand, TheSameRunIsIdenticalToItsLastStep) {
  const Said said = run_program("% compare " + example("healthy") + " " + example("healthy"));
  EXPECT_EQ(said.status, 0) << said.error;
  EXPECT_THAT(said.out, StartsWith("IDENTICAL equal to the last bit to step 300"));
  EXPECT_THAT(said.out, HasSubstr("\nDo        nothing"));
}

TEST(CompareCommand, ALogEqualsTheTrainersStateButForRounding) {
  const Said said = run_program("% compare --json " + example("healthy/train.log") + " " +
                                example("healthy/trainer_state.json"));
  EXPECT_EQ(said.status, 0) << said.error;
  const auto made = nlohmann::json::parse(said.out);
  EXPECT_EQ(made["verdict"], "identical");
  EXPECT_FALSE(made["equal"]["to_the_last_bit"]["first_difference"].is_null());
  EXPECT_TRUE(made["equal"]["but_for_rounding"]["first_difference"].is_null());
}

TEST(CompareCommand, SaysWhichRunBrokeWhyAndBehindWhichSetting) {
  const Said said =
      run_program("% compare " + example("healthy") + " " + example("lr-too-high-nan"));
  EXPECT_EQ(said.status, 1) << said.error;
  EXPECT_THAT(said.out, StartsWith("DIFFERS   B breaks: loss"));
  EXPECT_THAT(in_one_line(said.out), HasSubstr("B: The learning rate is too high"));
  EXPECT_THAT(in_one_line(said.out), HasSubstr("optim.lr (0.003 in A, 10 in B)"));
  EXPECT_THAT(said.out, HasSubstr("training_args.json:6"));
}

TEST(CompareCommand, ARunThatOverfitsIsExplainedByThatAndNotByTheFirstSettingThatDiffers) {
  const Said said =
      run_program("% compare --json " + example("healthy") + " " + example("overfitting"));
  EXPECT_EQ(said.status, 1) << said.error;
  const auto made = nlohmann::json::parse(said.out);
  EXPECT_THAT(made["ails"]["b"]["cause"].get<std::string>(), StartsWith("overfit."));
  EXPECT_TRUE(made["ails"]["a"].is_null());
  EXPECT_THAT(made["advice"].get<std::string>(), StartsWith("B: "));
  EXPECT_THAT(made["advice"].get<std::string>(), Not(HasSubstr("look first at")));
}

TEST(CompareCommand, SeveralRunsASideAreComparedByTheirMeans) {
  const std::string runs = "--a " + made("seed0") + " " + made("seed1") + " " + made("seed2") +
                           " --b " + made("seed3") + " " + made("seed4");
  const Said said = run_program("% compare --json " + runs);
  EXPECT_EQ(said.status, 0) << said.error;
  const auto told = nlohmann::json::parse(said.out);
  EXPECT_EQ(told["runs"]["noise"].size(), 2U);
  EXPECT_EQ(told["runs"]["noise_b"].size(), 1U);
  EXPECT_EQ(metric(told, "loss")["end"]["noise_from"], "groups");
  EXPECT_THAT(run_program("% compare " + runs).out,
              HasSubstr("3 runs of A against 2 of B (Welch's t"));
}

TEST(CompareCommand, AsksForTwoSides) {
  EXPECT_EQ(run_program("% compare " + made("seed0")).status, 2);
  EXPECT_EQ(run_program("% compare --a " + made("seed0")).status, 2);
  EXPECT_EQ(
      run_program("% compare " + made("seed0") + " " + made("seed1") + " --b " + made("seed2"))
          .status,
      2);
}

TEST(CompareCommand, WritesAPageThatLoadsNothing) {
  const Folder folder;
  const Said said = run_program("% compare " + made("seed0") + " " + made("labels") + " --html " +
                                (folder / "page.html"));
  EXPECT_EQ(said.status, 1) << said.error;
  const std::string page = content(folder / "page.html");
  EXPECT_THAT(page, HasSubstr("the runs differ"));
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

TEST(CompareCommand, LinesStayWithinEightyColumns) {
  const Said said =
      run_program("% compare --verbose " + example("healthy") + " " + example("overfitting"));
  std::stringstream lines(said.out);
  for (std::string line; std::getline(lines, line);) {
    const auto wide = std::count_if(line.begin(), line.end(), [](char each) {
      return (static_cast<unsigned char>(each) & 0xC0U) != 0x80U;  // UTF-8: heads of characters
    });
    EXPECT_LE(wide, 80) << line;
  }
}

TEST(CompareCommand, TwinsThatDifferInOneSetting) {
  const Said said =
      run_program("% compare --json " + example("bf16-frozen-norms") + " " + example("fp32-twin"));
  EXPECT_EQ(said.status, 1) << said.error;
  const auto made = nlohmann::json::parse(said.out);
  EXPECT_EQ(made["schema"], "aplomb.compare/1");
  EXPECT_EQ(made["settings"][0]["name"], "precision.params");
  EXPECT_TRUE(metric(made, "loss")["end"]["beyond_noise"]);
  EXPECT_FALSE(metric(made, "lr")["end"]["beyond_noise"]);
  EXPECT_LT(made["levels"][0]["ratio"], 0.6);
}

TEST(CompareCommand, ALossOfExactlyZeroIsNoSuccess) {
  const Said said =
      run_program("% compare " + example("healthy") + " " + example("all-labels-masked"));
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, HasSubstr("B trains nothing"));
}

TEST(CompareCommand, ARunThatLearntItsDataByHeartIsWorse) {
  const Said said = run_program("% compare " + example("healthy") + " " + example("overfitting"));
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, StartsWith("DIFFERS   B is worse: eval_loss"));
  EXPECT_THAT(said.out, HasSubstr("but loss 0.0"));
}

TEST(CompareCommand, FindsTheStepAtWhichTheDataWentBad) {
  for (const std::string& noise :
       {std::string(), " --noise " + made("seed1") + " " + made("seed2") + " " + made("seed3") +
                           " " + made("seed4")}) {
    const Said said =
        run_program("% compare --json " + made("seed0") + " " + made("labels") + noise);
    EXPECT_EQ(said.status, 1) << said.error;
    const auto loss = metric(nlohmann::json::parse(said.out), "loss");
    EXPECT_NEAR(loss["apart_from"].get<double>(), 121, 3) << noise;
    EXPECT_EQ(loss["end"]["noise_from"], noise.empty() ? "within-run" : "seeds");
  }
}

TEST(CompareCommand, SeedsOfOneConfigurationAreRarelyTakenForADifference) {
  int alarms = 0;
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      if (a == b) continue;
      std::string noise;
      for (int each = 0; each < 5; ++each)
        if (each != a && each != b) noise += " " + made("seed" + std::to_string(each));
      const Said said = run_program("% compare " + made("seed" + std::to_string(a)) + " " +
                                    made("seed" + std::to_string(b)) + " --noise" + noise);
      ASSERT_THAT(said.status, ::testing::AnyOf(0, 1)) << said.error;
      alarms += said.status;
    }
  }
  // Four of the twenty judge the same seed, so that alarms come in fours: 5 % each.
  EXPECT_LE(alarms, 4);
}

TEST(CompareCommand, RefusesWhatCannotBeCompared) {
  const Folder folder;
  const std::string empty = folder.write("empty.log", "nothing here\n");
  const Said none = run_program("% compare " + made("seed0") + " " + empty);
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.error, HasSubstr("holds no metrics"));
  const std::string other =
      folder.write("other.jsonl",
                   "{\"step\": 1, \"reward\": 1}\n{\"step\": 2, \"reward\": 2}\n"
                   "{\"step\": 3, \"reward\": 1}\n");
  const Said strange = run_program("% compare " + made("seed0") + " " + other);
  EXPECT_EQ(strange.status, 2);
  EXPECT_THAT(strange.error, HasSubstr("no metric in common"));
  const Said tokens = run_program("% compare --by tokens " + made("seed0") + " " + made("seed1"));
  EXPECT_EQ(tokens.status, 2);
  EXPECT_THAT(tokens.error, HasSubstr("does not tell its tokens"));
  EXPECT_EQ(run_program("% compare " + made("seed0")).status, 2);
  EXPECT_EQ(run_program("% compare " + made("seed0") + " /no/such/run").status, 2);
}

}  // namespace
}  // namespace aplomb::test
