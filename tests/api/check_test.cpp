#include <aplomb/check.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace aplomb::api {
namespace {

namespace fs = std::filesystem;

const fs::path k_shared = fs::path(APLOMB_SOURCE_DIR) / ".." / "shared";

bool matters(const ReportFinding& finding) { return finding.severity != "note"; }

/// Published examples of frameworks: whoever follows them is not to be told that they are wrong.
TEST(Check, FindsNothingInPublishedExamplesButWhatIsJustified) {
  const fs::path corpus = k_shared / "corpus" / "configs";
  if (!fs::exists(corpus)) GTEST_SKIP() << "the corpus of configurations is not at hand";
  // Weights that Adam updates in bf16 (docs/check.md); ZeRO-3 that an FP8 example runs without overlap.
  const std::set<std::string> justified = {"precision.pure-bf16", "distributed.zero3-no-overlap"};
  // People's own runs, not examples.
  const std::set<std::string> own = {"GulbeycanCagri__IS-584-Term-Project", "saves"};
  std::size_t read = 0;
  for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".tsv") continue;
    const Report report = check({entry.path().string()}, {});
    ++read;
    const fs::path below = entry.path().lexically_relative(corpus);
    if (own.contains(below.begin()->string())) continue;
    for (const ReportFinding& each : report.findings) {
      if (matters(each) && !justified.contains(each.id))
        ADD_FAILURE() << below << ": " << each.id << ": " << each.title;
    }
  }
  EXPECT_GE(read, 50U);
}

/// Causes of a casebook that stand in the settings. A floor: it only rises.
TEST(Check, NamesTheCauseWhereTheConfigurationShowsIt) {
  const fs::path cases = k_shared / "cases";
  if (!fs::exists(cases)) GTEST_SKIP() << "the casebook is not at hand";
  std::size_t named = 0;
  for (const auto& entry : fs::directory_iterator(cases)) {
    std::ifstream file(entry.path() / "truth.json");
    if (!file) continue;
    const auto truth = nlohmann::json::parse(file);
    std::set<std::string> right = {truth["cause"].get<std::string>()};
    for (const auto& each : truth.value("accept", nlohmann::json::array())) right.insert(each);
    CheckOptions options;
    options.python = "/nonexistent/python3";  // settings alone
    const Report report = check({(entry.path() / "evidence").string()}, options);
    named += std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& each) {
      return matters(each) &&
             std::any_of(each.leads_to.begin(), each.leads_to.end(), [&](const std::string& cause) {
               return right.contains(cause.substr(cause.find('.') + 1));
             });
    });
  }
  EXPECT_GE(named, 14U);
}

TEST(Check, AModelBelowTheConfigurationThatNamesItIsPartOfItsRun) {
  const fs::path folder = fs::temp_directory_path() / ("check-model-" + std::to_string(::getpid()));
  fs::create_directories(folder / "base");
  fs::create_directories(folder / "other");
  std::ofstream(folder / "train.yaml")
      << "model_name_or_path: ./base/\nlearning_rate: 1e-4\nper_device_train_batch_size: 4\n";
  const char* model = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",)"
                      R"( "vocab_size": 300, "num_hidden_layers": 2, "hidden_size": )";
  std::ofstream(folder / "base" / "config.json") << model << "64}";
  std::ofstream(folder / "other" / "config.json") << model << "128}";
  const Report report = check({folder.string()}, {});
  std::error_code none;
  fs::remove_all(folder, none);
  EXPECT_EQ(report.settings.at("optim.lr"), ReportValue(1e-4));
  EXPECT_EQ(report.settings.at("model.hidden"), ReportValue(64.0));
}

TEST(Check, FixableHoldsTheFirstRemedyOfEachFindingTheWorstFirst) {
  Report report;
  const auto add = [&](const char* severity, std::map<std::string, ReportValue> set) {
    ReportFinding finding;
    finding.severity = severity;
    finding.remedies.push_back({"Do it.", std::move(set), {}});
    report.findings.push_back(std::move(finding));
  };
  add("failed", {{"precision.compute", std::string("fp16")}});
  add("warning", {{"precision.compute", std::string("bf16")}, {"optim.grad_clip", 1.0}});
  add("note", {{"optim.beta2", 0.95}});
  const Report fix = fixable(report);
  ASSERT_EQ(fix.causes.size(), 1U);
  const auto& set = fix.causes[0].remedies[0].set;
  EXPECT_EQ(set.size(), 2U);
  EXPECT_EQ(std::get<std::string>(set.at("precision.compute")), "fp16");
  EXPECT_EQ(std::get<double>(set.at("optim.grad_clip")), 1.0);
}

}  // namespace
}  // namespace aplomb::api
