#include <gtest/gtest.h>

#include <string>

#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::read_with;

// As clearml 2.1.12 writes them offline.
std::string event(int step, const std::string& metric, const std::string& variant, double value) {
  return R"({"timestamp": 1795482016616, "type": "training_stats_scalar", "task": "offline-88dc", "iter": )" +
         std::to_string(step) + R"(, "metric": ")" + metric + R"(", "variant": ")" + variant +
         R"(", "value": )" + std::to_string(value) + R"(, "method": "get"})";
}

std::string batches(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text +=
        "[" + event(2 * i, "loss", "train", 3.0 - 0.01 * i) + ", " +
        event(2 * i, "loss", "eval", 3.5 - 0.01 * i) +
        R"(, {"type": "plot", "iter": 0, "metric": "loss", "variant": "x", "plot_str": "{}"}, )" +
        event(2 * i + 1, "loss", "train", 3.0 - 0.01 * i) + "]\n";
  }
  return text;
}

const std::string k_task =
    R"({"execution": {"artifacts": []}, "hyperparams": {"General": {"learning_rate": {"description": "",)"
    R"( "name": "learning_rate", "section": "General", "type": "float", "value": "0.001"}, "odd": 7}},)"
    R"( "id": "offline-88dc", "name": "e", "project_name": "p"})";

TEST(Clearml, GivesScalarsByTheirSteps) {
  const record::Run run = read_with("clearml", batches(50));
  EXPECT_TRUE(run.defects.empty());
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->count, 100U);
  EXPECT_EQ(loss->step.back(), 99);
  ASSERT_NE(run.primary(record::Role::eval_loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::eval_loss)->count, 50U);
  EXPECT_EQ(run.series.size(), 2U);
}

TEST(Clearml, PartsOfAnySizeGiveTheSame) {
  const record::Run run = read_with("clearml", batches(20));
  for (const std::size_t part : {1UL, 7UL, 1000UL})
    test::expect_same_series(run, read_with("clearml", batches(20), part));
}

TEST(Clearml, TakesTheTasksParametersForSettings) {
  const record::Run run = read_with("clearml", k_task);
  ASSERT_NE(run.setting("optim.lr"), nullptr);
  EXPECT_EQ(*core::as_number(run.setting("optim.lr")->value), 0.001);
}

TEST(Clearml, ATornTailAndWhatIsNoEventEndNothing) {
  const std::string file = batches(3);
  for (std::size_t size = 2; size < file.size(); size += 3) {
    const record::Run run = read_with("clearml", std::string_view(file).substr(0, size));
    for (const record::Defect& defect : run.defects) EXPECT_EQ(defect.kind, "truncated") << size;
  }
  const record::Run run = read_with(
      "clearml", "[1, null, [], {\"type\": 7, \"iter\": \"x\", \"value\": {}}]\nnonsense\n" + file);
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::loss)->count, 6U);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].times, 1U) << "the first line is a list";
  for (std::size_t size = 2; size < k_task.size(); size += 3)
    (void)read_with("clearml", std::string_view(k_task).substr(0, size));
}

TEST(Clearml, SniffsItsOwnOnly) {
  EXPECT_EQ(test::chosen_reader("metrics.jsonl", batches(2)), "clearml");
  EXPECT_EQ(test::chosen_reader("task.json", k_task), "clearml");
  EXPECT_NE(test::chosen_reader("metrics.jsonl", "[{\"loss\": 1.0, \"step\": 1}]\n"), "clearml");
}

}  // namespace
}  // namespace aplomb::sources
