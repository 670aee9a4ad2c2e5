#include "task/metric_words.h"

#include <gmock/gmock.h>

namespace aplomb::task {
namespace {

using record::Role;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MetricWords, NamesAreCutIntoWords) {
  EXPECT_THAT(name_words("eps-mse"), ElementsAre("eps", "mse"));
  EXPECT_THAT(name_words("lossD"), ElementsAre("loss", "d"));
  EXPECT_THAT(name_words("mem_rss_mb"), ElementsAre("mem", "rss", "mb"));
  EXPECT_THAT(name_words("val/SmoothL1"), ElementsAre("val", "smooth", "l1"));
}

TEST(MetricWords, LossesByTheirFormula) {
  EXPECT_EQ(metric_words("huber").role, Role::loss);
  EXPECT_EQ(metric_words("huber").formula, "huber");
  EXPECT_EQ(metric_words("eps-mse").formula, "noise");
  EXPECT_EQ(metric_words("train/mse").formula, "mse");
  EXPECT_TRUE(metric_words("val bce").held_out);
  EXPECT_EQ(metric_words("val bce").formula, "cross_entropy");
}

TEST(MetricWords, PartsOfATask) {
  EXPECT_EQ(metric_words("rewards/accuracies").part, Part::preference_accuracy);
  EXPECT_TRUE(metric_words("eval_rewards/accuracies").held_out);
  EXPECT_EQ(metric_words("logps/rejected").part, Part::logp_rejected);
  EXPECT_EQ(metric_words("loss_G").part, Part::generator);
  EXPECT_EQ(metric_words("val_r2").part, Part::explained_variance);
  EXPECT_EQ(metric_words("fwd+bwd").part, Part::compute_time);
}

TEST(MetricWords, WordsThatSayOnlyWhichDataAreBare) {
  EXPECT_TRUE(metric_words("train").bare);
  EXPECT_TRUE(metric_words("val").bare);
  EXPECT_TRUE(metric_words("val").held_out);
  EXPECT_FALSE(metric_words("mmd").bare);
  EXPECT_EQ(metric_words("mmd").role, Role::other);
  EXPECT_TRUE(metric_words("best_val_mse").extreme);
}

TEST(MetricWords, TheTableIsInOrder) { EXPECT_THAT(metric_words_mistakes(), IsEmpty()); }

}  // namespace
}  // namespace aplomb::task
