#include "train/dist/gradient_buckets.h"

#include <gtest/gtest.h>

#include <mutex>

#include "ranks.h"

namespace aplomb::train::dist {
namespace {

std::vector<at::Tensor> parameters(int count) {
  std::vector<at::Tensor> all;
  for (int i = 0; i < count; ++i) {
    const at::Tensor values = at::arange(40 + 7 * i, at::kFloat).mul(0.01 * (i + 1));
    all.push_back(values.clone().set_requires_grad(true));
  }
  return all;
}

/// A chain in which each parameter's gradient depends on all and on `factor`.
at::Tensor loss_of(const std::vector<at::Tensor>& all, double factor) {
  at::Tensor sum = at::ones({}, at::kFloat);
  for (const at::Tensor& each : all) sum = (sum * factor + each.square().sum()).sin() + sum;
  return sum;
}

std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& all) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& each : all) out.push_back(each.grad().clone());
  return out;
}

TEST(GradientBuckets, SumOfAllRanksAndPassesThoughOneRankHasNone) {
  constexpr int k_ranks = 3, k_parameters = 9;
  // Rank r makes r passes: rank 0 takes part with nothing.
  std::vector<at::Tensor> alone = parameters(k_parameters);
  for (int rank = 0; rank < k_ranks; ++rank) {
    for (int pass = 0; pass < rank; ++pass) loss_of(alone, 1 + rank + 0.5 * pass).backward();
  }
  const std::vector<at::Tensor> wanted = gradients(alone);
  with_ranks(k_ranks, [&](Group& group) {
    std::vector<at::Tensor> own = parameters(k_parameters);
    // Small buckets: several parameters in one, and more than one bucket.
    GradientBuckets buckets(group, own, 800, 300);
    EXPECT_GT(buckets.count(), 2U);
    EXPECT_LT(buckets.count(), static_cast<std::size_t>(k_parameters));
    for (int step = 0; step < 3; ++step) {
      for (const at::Tensor& each : own) each.mutable_grad().reset();
      for (int pass = 0; pass < group.rank(); ++pass) {
        const at::Tensor loss = loss_of(own, 1 + group.rank() + 0.5 * pass);
        if (pass + 1 == group.rank()) buckets.arm();
        loss.backward();
      }
      buckets.finish();
      for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_TRUE(at::allclose(own[i].grad(), wanted[i], 1e-4, 1e-5)) << step << " " << i;
    }
    leave_well(group);
  });
}

TEST(GradientBuckets, AParameterLargerThanABucketHasOneOfItsOwn) {
  with_ranks(2, [](Group& group) {
    std::vector<at::Tensor> own = {at::ones({1000}).set_requires_grad(true),
                                   at::ones({3}).set_requires_grad(true)};
    GradientBuckets buckets(group, own, 100, 100);
    EXPECT_EQ(buckets.count(), 2U);
    buckets.arm();
    (own[0].sum() * 2 + own[1].sum()).backward();
    buckets.finish();
    EXPECT_EQ(own[0].grad().sum().item<float>(), 4000);
    EXPECT_EQ(own[1].grad().sum().item<float>(), 6);
    leave_well(group);
  });
}

TEST(GradientBuckets, AloneLeavesGradientsAsTheyAre) {
  std::vector<at::Tensor> own = parameters(3);
  GradientBuckets buckets(Group::alone(), own);
  buckets.arm();
  loss_of(own, 1).backward();
  const at::Tensor before = own[0].grad();
  buckets.finish();
  EXPECT_TRUE(own[0].grad().is_same(before));
}

TEST(GradientBuckets, NothingIsHookedAfterwards) {
  with_ranks(2, [&](Group& group) {
    const std::vector<at::Tensor> own = parameters(2);
    std::make_unique<GradientBuckets>(group, own)->arm();
    loss_of(own, 1).backward();  // would call into what is gone
    EXPECT_TRUE(own[0].grad().defined());
    leave_well(group);
  });
}

}  // namespace
}  // namespace aplomb::train::dist
