#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

RunOf autoencoder(const std::function<double(double)>& kl,
                  const std::function<double(double)>& rec) {
  RunOf run;
  const auto none = [] { return 0.0; };
  run.with("recon_loss", record::Role::loss, curve(25, rec, none));
  run.with("kl", record::Role::kl, curve(25, kl, none));
  return run;
}

TEST(LatentCollapse, ADivergenceThatGoesToNothing) {
  const auto symptoms = autoencoder([](double i) { return 0.008 * std::exp(-i / 3); },
                                    [](double i) { return 0.493 + 0.07 * std::exp(-i); })
                            .detect();
  EXPECT_TRUE(has(symptoms, "latent.collapsed")) << told(symptoms);
}

TEST(LatentCollapse, ACodeInUseCosts) {
  EXPECT_FALSE(has(
      autoencoder([](double i) { return 12 + 0.1 * i; }, [](double i) { return 90 - i; }).detect(),
      "latent.collapsed"));
  // A mean over 784 pixels of a code of 20 nats.
  EXPECT_FALSE(has(
      autoencoder([](double) { return 0.025; }, [](double i) { return 0.2 - 0.002 * i; }).detect(),
      "latent.collapsed"));
}

TEST(LatentCollapse, WhileTheReconstructionFallsOrTheWeightGrowsItIsNoState) {
  EXPECT_FALSE(has(
      autoencoder([](double) { return 0.002; }, [](double i) { return 0.5 * std::exp(-i / 10); })
          .detect(),
      "latent.collapsed"));
  EXPECT_FALSE(
      has(autoencoder([](double i) { return 0.0002 * i; }, [](double) { return 0.5; }).detect(),
          "latent.collapsed"));
}

TEST(LatentCollapse, APolicyMayStayAtItsReference) {
  RunOf run;
  run.with("kl", record::Role::kl, std::vector<double>(20, 0.0005));
  run.with("reward", record::Role::reward, std::vector<double>(20, 0.4));
  EXPECT_FALSE(has(run.detect(), "latent.collapsed"));
}

}  // namespace
}  // namespace aplomb::testing
