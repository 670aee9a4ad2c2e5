#include "task/roles.h"

#include <gtest/gtest.h>

#include "record/run_builder.h"

namespace aplomb::task {
namespace {

using record::Role;

class Made {
 public:
  Made() : build_(run_), source_(build_.open("train.log", "text-log", 0)) {}
  Made& with(const char* name, Role role, const std::vector<double>& values) {
    const auto id = build_.series(source_, name, name, role, record::StepKind::explicit_);
    std::int64_t step = 0;
    for (const double value : values) build_.append(id, ++step, value, 1, 1);
    return *this;
  }
  record::Run& settled() {
    settle_roles(run_);
    return run_;
  }

 private:
  record::Run run_;
  record::RunBuilder build_;
  record::SourceId source_;
};

TEST(Roles, WhatAProgramCallsHuberIsItsLoss) {
  Made made;
  record::Run& run = made.with("huber", Role::other, {0.5, 0.4, 0.3, 0.2})
                         .with("val_huber", Role::other, {0.6, 0.5, 0.4, 0.3})
                         .with("val_mae", Role::other, {9, 8, 7, 6})
                         .settled();
  ASSERT_NE(run.primary(Role::loss), nullptr);
  EXPECT_EQ(run.primary(Role::loss)->raw_name, "huber");
  EXPECT_EQ(run.primary(Role::loss)->name, "loss");
  ASSERT_NE(run.primary(Role::eval_loss), nullptr);
  EXPECT_EQ(run.primary(Role::eval_loss)->raw_name, "val_huber");
  EXPECT_EQ(run.find("val_mae")->role, Role::eval_metric);
}

TEST(Roles, ABareTrainIsTheWholeLoss) {
  Made made;
  record::Run& run = made.with("train", Role::other, {1.5, 1.1, 0.7})
                         .with("val bce", Role::other, {0.6, 0.5, 0.4})
                         .settled();
  EXPECT_EQ(run.primary(Role::loss)->raw_name, "train");
  EXPECT_EQ(run.primary(Role::eval_loss)->raw_name, "val bce");
}

TEST(Roles, BareSharesBesideALossAreAccuracies) {
  Made made;
  record::Run& run = made.with("loss", Role::loss, {1.79, 1.77, 1.76})
                         .with("train", Role::other, {0.22, 0.23, 0.22})
                         .with("val", Role::eval_loss, {0.16, 0.16, 0.15})
                         .settled();
  EXPECT_EQ(run.primary(Role::eval_loss), nullptr);
  EXPECT_EQ(run.primary(Role::eval_accuracy)->raw_name, "val");
  EXPECT_EQ(run.primary(Role::accuracy)->raw_name, "train");
  Made other;
  record::Run& losses = other.with("loss", Role::loss, {0.79, 0.5, 0.4})
                            .with("train", Role::other, {0.8, 0.51, 0.41})
                            .with("val", Role::eval_loss, {0.8, 0.6, 0.5})
                            .settled();
  EXPECT_NE(losses.primary(Role::eval_loss), nullptr) << "the same number twice is the loss";
}

TEST(Roles, ATimeThatOnlyGrowsIsThatSinceTheStart) {
  Made elapsed;
  elapsed.with("step_time_s", Role::step_time_s, {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13});
  EXPECT_EQ(elapsed.settled().primary(Role::step_time_s), nullptr);
  Made slower;
  slower.with("step_time_s", Role::step_time_s,
              {0.3, 0.31, 0.33, 0.35, 0.36, 0.4, 0.42, 0.45, 0.5, 0.52, 0.6, 0.7});
  EXPECT_NE(slower.settled().primary(Role::step_time_s), nullptr) << "steps that become slower";
  Made noisy;
  noisy.with("step_time_s", Role::step_time_s, {1, 2, 1, 3, 4, 3, 5, 6, 7, 8, 9, 12});
  EXPECT_NE(noisy.settled().primary(Role::step_time_s), nullptr);
}

TEST(Roles, WhereALossIsKnownNothingTakesItsPlace) {
  Made made;
  record::Run& run =
      made.with("loss", Role::loss, {3, 2, 1}).with("mse", Role::other, {0.5, 0.4, 0.3}).settled();
  EXPECT_EQ(run.primary(Role::loss)->raw_name, "loss");
  EXPECT_EQ(run.find("mse")->role, Role::other);
}

TEST(Roles, TwoNumbersAreNoCurveAndTheBestSoFarIsNoLoss) {
  Made made;
  record::Run& run = made.with("mse", Role::other, {0.5, 0.4})
                         .with("best_mse", Role::other, {0.5, 0.4, 0.3, 0.2})
                         .settled();
  EXPECT_EQ(run.primary(Role::loss), nullptr);
}

TEST(Roles, ResidentMemoryIsInBytes) {
  constexpr double k_mib = 1024.0 * 1024.0;
  Made mib;
  record::Run& first = mib.with("mem_rss_mb", Role::other, {331, 375, 421}).settled();
  ASSERT_NE(first.primary(Role::host_memory_bytes), nullptr);
  EXPECT_EQ(first.primary(Role::host_memory_bytes)->value[0], 331 * k_mib);
  EXPECT_EQ(first.primary(Role::host_memory_bytes)->max, 421 * k_mib);
  Made gib;
  record::Run& second = gib.with("rss", Role::other, {1.5, 1.6, 1.7}).settled();
  EXPECT_EQ(second.primary(Role::host_memory_bytes)->value[0], 1.5 * 1024 * k_mib);
}

TEST(Roles, TimesOfOneLineHaveOneUnit) {
  Made made;
  record::Run& run = made.with("loss", Role::loss, {1, 0.9, 0.8})
                         .with("fetch", Role::other, {255, 266, 238})
                         .with("fwd+bwd", Role::other, {5.4, 4.1, 3.5})
                         .settled();
  ASSERT_NE(run.primary(Role::data_time_s), nullptr);
  EXPECT_NEAR(run.primary(Role::data_time_s)->value[0], 0.255, 1e-9);
  EXPECT_NEAR(run.find("fwd+bwd")->value[0], 0.0054, 1e-9);
}

TEST(Roles, ThePairOfAnAdversaryIsNoSingleLoss) {
  Made made;
  record::Run& run = made.with("errD", Role::other, {0.7, 0.6, 0.5})
                         .with("errG", Role::other, {0.9, 1.1, 1.3})
                         .settled();
  EXPECT_EQ(run.primary(Role::loss), nullptr);
  EXPECT_EQ(run.find("errD")->role, Role::loss_component);
}

TEST(Roles, AReturnOverAWindowIsTheRewardWhereAPolicyIsTrained) {
  Made made;
  record::Run& run = made.with("return20", Role::other, {19, 40, 120, 290})
                         .with("mean_q", Role::other, {1, 5, 12, 49})
                         .with("eps", Role::other, {0.7, 0.4, 0.2, 0.04})
                         .settled();
  ASSERT_NE(run.primary(Role::reward), nullptr);
  EXPECT_EQ(run.primary(Role::reward)->raw_name, "return20");
}

TEST(Roles, LettersOfPoliciesAreReadWhereOneIsTrained) {
  Made made;
  record::Run& run = made.with("R", Role::other, {-318, -300, -200})
                         .with("ratio", Role::other, {0.7, 0.9, 1.0})
                         .with("vf", Role::other, {23, 5, 2})
                         .with("clipfrac", Role::other, {0.6, 0.2, 0.1})
                         .settled();
  ASSERT_NE(run.primary(Role::reward), nullptr);
  EXPECT_NE(run.primary(Role::is_ratio_mean), nullptr);
  Made other;
  record::Run& plain = other.with("R", Role::other, {0.3, 0.4, 0.5})
                           .with("ratio", Role::other, {0.7, 0.9, 1.0})
                           .settled();
  EXPECT_EQ(plain.primary(Role::reward), nullptr);
  EXPECT_EQ(plain.primary(Role::is_ratio_mean), nullptr);
}

TEST(Roles, WhatAModelOfRewardsGivesIsNoReward) {
  Made made;
  record::Run& run = made.with("loss", Role::loss, {0.69, 0.6, 0.5, 0.4})
                         .with("mean_reward", Role::reward, {0.2, 0.1, -0.1, -0.2})
                         .with("min_reward", Role::other, {0, -1, -2, -2})
                         .with("max_reward", Role::other, {0, 1, 2, 2})
                         .with("margin", Role::other, {0, 0.5, 1, 1.4})
                         .settled();
  EXPECT_EQ(run.primary(Role::reward), nullptr);
}

}  // namespace
}  // namespace aplomb::task
