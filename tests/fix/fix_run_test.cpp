/// The remedy of a report, put into the files of a run.

#include "fix/fix_run.h"

#include <gmock/gmock.h>

#include "cli/program.h"

namespace aplomb::fix {
namespace {

using test::Folder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A report whose first cause has one remedy.
Report report_with(std::map<std::string, ReportValue> set,
                   const std::vector<std::pair<std::string, std::string>>& inputs) {
  Report report;
  report.verdict = Verdict::failed;
  ReportCause cause;
  cause.id = "diverge.lr-too-high";
  cause.remedies.push_back({"do it", std::move(set), {{"generic", "by hand"}}});
  report.causes.push_back(std::move(cause));
  for (const auto& [path, kind] : inputs) report.inputs.push_back({path, kind, 0, {}});
  return report;
}

std::string dump_of_everything() {
  std::string text = "{\n  \"learning_rate\": 0.5,\n  \"max_grad_norm\": 0.0";
  for (int i = 0; i < 100; ++i) text += ",\n  \"argument_" + std::to_string(i) + "\": null";
  return text + "\n}\n";
}

const char* const k_axolotl =
    "base_model: m\nsequence_len: 512\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\n"
    "learning_rate: 0.5  # try\nwarmup_steps: 0\n";

std::vector<std::string> paths_of(const RunFix& fix) {
  std::vector<std::string> paths;
  for (const FileFix& file : fix.files) paths.push_back(file.path);
  return paths;
}

TEST(PlanFix, TakesWhatTheUserWroteBeforeWhatTheTrainerWroteDown) {
  const Folder folder;
  const std::string dump = folder.write("training_args.json", dump_of_everything());
  const std::string own = folder.write("my.yml", k_axolotl);
  const auto fix =
      plan_fix(report_with({{"optim.lr", 1e-4}}, {{dump, "config-json"}, {own, "config-yaml"}}));
  ASSERT_TRUE(fix) << fix.error().text;
  EXPECT_THAT(paths_of(*fix), ElementsAre(own));
  EXPECT_THAT(fix->files[0].fixed.text, HasSubstr("learning_rate: 0.0001  # try\n"));
  EXPECT_FALSE(fix->files[0].written_by_program);
}

TEST(PlanFix, SaysThatADumpStartsNoRunWhereNothingElseIsThere) {
  const Folder folder;
  const std::string dump = folder.write("training_args.json", dump_of_everything());
  const auto fix = plan_fix(report_with({{"optim.lr", 1e-4}}, {{dump, "config-json"}}));
  ASSERT_TRUE(fix) << fix.error().text;
  EXPECT_TRUE(fix->files[0].written_by_program);
}

TEST(PlanFix, ChangesASettingInEveryFileThatStatesItAndLeavesAutoAlone) {
  const Folder folder;
  const std::string own = folder.write("my.yml", k_axolotl);
  const std::string says =
      folder.write("ds_says.json",
                   "{\"zero_optimization\": {\"stage\": 2}, \"gradient_accumulation_steps\": 4}\n");
  const std::string open = folder.write(
      "ds_open.json",
      "{\"zero_optimization\": {\"stage\": 2}, \"gradient_accumulation_steps\": \"auto\"}\n");
  const auto fix =
      plan_fix(report_with({{"batch.accumulation", 8.0}},
                           {{own, "config-yaml"}, {says, "config-json"}, {open, "config-json"}}));
  ASSERT_TRUE(fix) << fix.error().text;
  EXPECT_THAT(paths_of(*fix), ElementsAre(own, says));
}

TEST(PlanFix, SpreadsASetOverTheFilesThatHaveThePlaceAndNamesTheRest) {
  const Folder folder;
  const std::string own = folder.write("my.yml", k_axolotl);
  const std::string deep =
      folder.write("ds.json", "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {}}\n");
  const auto fix = plan_fix(
      report_with({{"dist.zero_stage", 3.0}, {"optim.grad_clip", 1.0}, {"rl.entropy_coef", 0.01}},
                  {{own, "config-yaml"}, {deep, "config-json"}}));
  ASSERT_TRUE(fix) << fix.error().text;
  ASSERT_THAT(paths_of(*fix), ElementsAre(own, deep));
  EXPECT_THAT(fix->files[0].fixed.text, HasSubstr("max_grad_norm: 1\n"));
  EXPECT_THAT(fix->files[1].fixed.text, HasSubstr("\"stage\": 3"));
  EXPECT_THAT(fix->left_out, ElementsAre("rl.entropy_coef"));
}

TEST(PlanFix, GoesOnToTheNextRemedyWhereTheFirstIsInPlace) {
  const Folder folder;
  const std::string own = folder.write("my.yml", k_axolotl);
  Report report = report_with({{"batch.micro", 2.0}}, {{own, "config-yaml"}});
  report.causes[0].remedies.push_back({"next", {{"optim.lr", 1e-4}}, {}});
  const auto fix = plan_fix(report);
  ASSERT_TRUE(fix) << fix.error().text;
  EXPECT_EQ(fix->remedy, "next");
}

/// Two causes, neither of them likelier than not.
Report doubtful(const std::string& config) {
  Report report = report_with({{"optim.lr", 1e-4}}, {{config, "config-yaml"}});
  report.causes[0].title = "The rate is too high";
  report.causes[0].probability = 0.4;
  ReportCause other;
  other.id = "diverge.short-warmup";
  other.title = "The warm-up is too short";
  other.probability = 0.3;
  other.remedies.push_back({"warm up", {{"schedule.warmup_steps", 100.0}}, {}});
  report.causes.push_back(std::move(other));
  return report;
}

TEST(PlanFix, SaysWhichCauseItLeavesOpenWhereTwoArePutForward) {
  const Folder folder;
  const std::string own = folder.write("my.yml", k_axolotl);
  const auto fix = plan_fix(doubtful(own));
  ASSERT_TRUE(fix) << fix.error().text;
  EXPECT_EQ(fix->remedy, "do it");
  EXPECT_THAT(fix->doubt, HasSubstr("The rate is too high"));
  EXPECT_THAT(fix->doubt, HasSubstr("not \"The warm-up is too short\""));
  Report sure = doubtful(own);
  sure.causes[0].probability = 0.8;
  EXPECT_TRUE(plan_fix(sure)->doubt.empty());
}

TEST(PlanFix, PrefersTheRemedyThatTwoCausesShare) {
  const Folder folder;
  const std::string own = folder.write("my.yml", k_axolotl);
  Report report = doubtful(own);
  report.causes[0].remedies.push_back({"warm up", {{"schedule.warmup_steps", 100.0}}, {}});
  const auto fix = plan_fix(report);
  ASSERT_TRUE(fix) << fix.error().text;
  EXPECT_EQ(fix->remedy, "warm up");
  EXPECT_TRUE(fix->doubt.empty()) << fix->doubt;
}

TEST(PlanFix, LeavesTheFilesOfOtherRunsAlone) {
  const Folder folder;
  std::filesystem::create_directories(folder / "a");
  std::filesystem::create_directories(folder / "b");
  const std::string bad = folder.write("a/my.yml", k_axolotl);
  const std::string good = folder.write("b/my.yml", k_axolotl);
  Report report = report_with({{"optim.lr", 1e-4}}, {{bad, "config-yaml"}, {good, "config-yaml"}});
  report.runs.push_back({folder / "a", Verdict::failed, {}, {}, 0});
  report.runs.push_back({folder / "b", Verdict::healthy, {}, {}, 0});
  const auto fix = plan_fix(report);
  ASSERT_TRUE(fix) << fix.error().text;
  EXPECT_THAT(paths_of(*fix), ElementsAre(bad));
}

TEST(PlanFix, ChoosesTheKeyOfTheInstalledVersion) {
  const Folder folder;
  const std::string script = folder.write("run.sh",
                                          "python train.py \\\n    --learning_rate 1e-3 \\\n    "
                                          "--max_grad_norm 1 \\\n    --output_dir o\n");
  Report report = report_with({{"schedule.warmup_frac", 0.05}}, {{script, "settings-text"}});
  report.summary["framework"] = std::string("hf-trainer");
  const auto old = plan_fix(report);
  ASSERT_TRUE(old) << old.error().text;
  EXPECT_THAT(old->files[0].fixed.text, HasSubstr("--warmup_ratio 0.05 \\\n"));
  report.settings["env.transformers"] = std::string("5.2.0");
  const auto current = plan_fix(report);
  ASSERT_TRUE(current) << current.error().text;
  EXPECT_THAT(current->files[0].fixed.text, HasSubstr("--warmup_steps 0.05 \\\n"));
}

TEST(PlanFix, SilencesTheKeyThatWouldOverruleTheNewOne) {
  const Folder folder;
  const std::string own = folder.write(
      "my.yml", "base_model: m\nsequence_len: 512\nmicro_batch_size: 2\nwarmup_steps: 10\n");
  const auto fix = plan_fix(report_with({{"schedule.warmup_frac", 0.05}}, {{own, "config-yaml"}}));
  ASSERT_TRUE(fix) << fix.error().text;
  EXPECT_THAT(fix->files[0].fixed.text, HasSubstr("warmup_steps: 0\n"));
  EXPECT_THAT(fix->files[0].fixed.text, HasSubstr("warmup_ratio: 0.05\n"));
}

TEST(PlanFix, ToldByHandWhereThereIsNoConfiguration) {
  const Folder folder;
  const std::string model = folder.write("config.json", "{\"hidden_size\": 8}\n");
  const auto fix = plan_fix(report_with({{"optim.lr", 1e-4}}, {{model, "config-json"}}));
  ASSERT_FALSE(fix);
  EXPECT_EQ(fix.error().code, core::ErrorCode::unsupported);
  EXPECT_THAT(fix.error().text, HasSubstr("no configuration among the inputs"));
  EXPECT_THAT(fix.error().text, HasSubstr("by hand"));
}

TEST(PlacesOf, OneFileGoesWhereAskedSeveralIntoAFolder) {
  const Folder folder;
  RunFix fix;
  fix.files.push_back({folder / "x/my.yml", "", {}, false});
  EXPECT_THAT(*places_of(fix, {}, folder / "out.yml"), ElementsAre(folder / "out.yml"));
  EXPECT_THAT(*places_of(fix, {}, folder / "new/"), ElementsAre(folder / "new/my.yml"));
  fix.files.push_back({folder / "y/my.yml", "", {}, false});
  EXPECT_THAT(*places_of(fix, {}, folder / "new"),
              ElementsAre(folder / "new/my.yml", folder / "new/2-my.yml"));
  const auto one = places_of(fix, {}, folder / "out.yml");
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code, core::ErrorCode::bad_usage);
}

TEST(PlacesOf, NeverAnInputNorWhatSaysSomethingElse) {
  const Folder folder;
  const std::string own = folder.write("my.yml", "a: 1\n");
  const std::string other = folder.write("other.yml", "b: 1\n");
  RunFix fix;
  fix.files.push_back({own, "a: 1\n", {"a: 2\n", ConfigSyntax::yaml, {}, {}, {}, {}}, false});
  Report report;
  report.inputs.push_back({own, "config-yaml", 0, {}});
  EXPECT_FALSE(places_of(fix, report, own));
  EXPECT_FALSE(places_of(fix, report, folder / "."));  // the folder of the input
  EXPECT_FALSE(places_of(fix, report, other));
  folder.write("other.yml", "a: 2\n");  // a second run of the same command
  EXPECT_TRUE(places_of(fix, report, other));
}

}  // namespace
}  // namespace aplomb::fix
