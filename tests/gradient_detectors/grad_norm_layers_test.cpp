#include <gtest/gtest.h>

#include "detection/feed.h"

namespace aplomb::testing {
namespace {

/// A run of `layers` whose gradient norms are `level(layer, step)`, under a name that `call` makes.
template <typename Level, typename Call>
RunOf run_of(int layers, const Level& level, const Call& call) {
  RunOf run;
  run.loss(curve(40, [](double i) { return 2.3 - 0.01 * i; }, [] { return 0.0; }));
  for (int layer = 0; layer < layers; ++layer) {
    std::vector<double> values;
    for (int step = 0; step < 40; ++step) values.push_back(level(layer, step));
    run.with(call(layer), record::Role::other, values);
  }
  return run;
}
std::string plain(int layer) { return "grad_norm/layers." + std::to_string(layer); }
std::string torch_name(int layer) {
  return "grad/model.blocks." + std::to_string(layer) + ".mlp.weight";
}

TEST(LayerNorms, VanishWithDepth) {
  const auto falls = [](int layer, int) { return std::pow(4.0, layer - 11); };
  for (const auto& call : {plain, torch_name}) {
    const auto symptoms = run_of(12, falls, call).detect();
    const detectors::Symptom* found = find(symptoms, "grad_norm.layer_vanishing");
    ASSERT_NE(found, nullptr) << told(symptoms);
    EXPECT_EQ(number(found, "of"), 12);
    EXPECT_EQ(number(found, "count"), 7);
    EXPECT_NE(found->summary.find("0 to 6"), std::string::npos) << found->summary;
  }
}

TEST(LayerNorms, TheOneThatExplodesIsNamed) {
  const auto one = [](int layer, int step) {
    return layer == 5 ? 0.3 * std::exp(0.3 * step) : 0.3;
  };
  const auto symptoms = run_of(8, one, plain).detect();
  const detectors::Symptom* found = find(symptoms, "grad_norm.layer_exploding");
  ASSERT_NE(found, nullptr) << told(symptoms);
  EXPECT_EQ(number(found, "layer"), 5);
}

TEST(LayerNorms, FactorsOfTenBetweenBlocksAreUsual) {
  const auto usual = [](int layer, int step) { return (layer == 0 ? 0.9 : 0.1) + 0.001 * step; };
  const auto symptoms = run_of(12, usual, plain).detect();
  EXPECT_FALSE(has(symptoms, "grad_norm.layer_vanishing")) << told(symptoms);
  EXPECT_FALSE(has(symptoms, "grad_norm.layer_exploding"));
}

}  // namespace
}  // namespace aplomb::testing
