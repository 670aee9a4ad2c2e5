#include "train/loop/gradients.h"

#include <gtest/gtest.h>

#include <cmath>

namespace aplomb::train::loop {
namespace {

NamedTensor with_gradient(const at::Tensor& gradient) {
  at::Tensor parameter = at::zeros(gradient.sizes(), gradient.options()).set_requires_grad(true);
  parameter.mutable_grad() = gradient;
  return {"p", parameter};
}

TEST(GradientScan, GivesTorchsNormsOfEveryType) {
  at::manual_seed(3);
  std::vector<NamedTensor> parameters;
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble})
    parameters.push_back(with_gradient(at::randn({17, 33}).to(type)));
  parameters.push_back(with_gradient(at::randn({8, 5}).t()));
  GradientScan scan(2);
  const auto groups = scan.read(parameters);
  ASSERT_EQ(groups.size(), parameters.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double norm = parameters[i].tensor.grad().to(at::kDouble).norm().item<double>();
    EXPECT_NEAR(std::sqrt(groups[i].sum_squares), norm, 1e-9 * norm) << i;
    EXPECT_EQ(groups[i].nonfinite, 0U);
  }
}

TEST(GradientScan, CountsWhatIsNotFiniteAndTakesAMissingGradientForZeros) {
  at::Tensor gradient = at::ones({10});
  gradient[3] = NAN;
  gradient[7] = INFINITY;
  GradientScan scan(1);
  const auto groups =
      scan.read({with_gradient(gradient), {"none", at::zeros({2}).set_requires_grad(true)}});
  EXPECT_EQ(groups[0].nonfinite, 2U);
  EXPECT_DOUBLE_EQ(groups[0].sum_squares, 8);
  EXPECT_EQ(groups[1].nonfinite, 0U);
  EXPECT_DOUBLE_EQ(groups[1].sum_squares, 0);
}

TEST(ScaleGradients, MultipliesAllAndEachByItsOwn) {
  const std::vector<NamedTensor> parameters = {with_gradient(at::ones({3})),
                                               with_gradient(at::ones({2}))};
  const double own[] = {1, 0.5};
  scale_gradients(parameters, 0.5, {});
  scale_gradients(parameters, 0.5, own);
  EXPECT_TRUE(at::equal(parameters[0].tensor.grad(), at::full({3}, 0.25)));
  EXPECT_TRUE(at::equal(parameters[1].tensor.grad(), at::full({2}, 0.125)));
}

}  // namespace
}  // namespace aplomb::train::loop
