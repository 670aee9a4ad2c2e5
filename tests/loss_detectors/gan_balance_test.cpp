#include "detection/feed.h"

#include <gtest/gtest.h>

namespace aplomb::testing {
namespace {

RunOf pair_of(const std::function<double(double)>& judge,
              const std::function<double(double)>& maker, double noise = 0) {
  RunOf run;
  Draw draw(25);
  const auto scatter = [&] { return noise * draw.normal(); };
  run.with("loss_D", record::Role::loss_component, curve(60, judge, scatter));
  run.with("loss_G", record::Role::loss_component, curve(60, maker, scatter));
  return run;
}

TEST(GanBalance, AJudgeThatIsAlwaysRight) {
  const auto symptoms = pair_of([](double i) { return 0.7 * std::exp(-i / 8); },
                                [](double i) { return 0.9 + 0.15 * i; })
                            .detect();
  EXPECT_TRUE(has(symptoms, "gan.discriminator_wins")) << told(symptoms);
}

TEST(GanBalance, LossesThatWanderAreHowItTrains) {
  EXPECT_FALSE(has(pair_of([](double i) { return 0.6 + 0.1 * std::sin(i / 5); },
                           [](double i) { return 1.2 - 0.3 * std::sin(i / 5); }, 0.1)
                       .detect(),
                   "gan.discriminator_wins"));
}

TEST(GanBalance, ACriticOfTheWassersteinKindHasNoZero) {
  EXPECT_FALSE(
      has(pair_of([](double i) { return -5 + 0.05 * i; }, [](double i) { return 3 + 0.2 * i; })
              .detect(),
          "gan.discriminator_wins"));
}

}  // namespace
}  // namespace aplomb::testing
