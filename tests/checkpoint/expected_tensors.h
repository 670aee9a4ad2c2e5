#pragma once
/// Holds a tensor against what make_fixtures.py wrote down for it: the statistics that torch and
/// numpy give in float64.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/tensor.h"

namespace aplomb::test {

inline std::string torch_name(const ElementType& type) {
  for (const char* each :
       {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64",
        "int32", "int16", "int8", "uint8", "bool", "complex64"}) {
    if (element_type_of_torch(each) == &type) return each;
  }
  return std::string(type.name);
}

inline void expect_tensor(const Tensor& tensor, const nlohmann::json& want) {
  SCOPED_TRACE(tensor.name);
  ASSERT_NE(tensor.type, nullptr);
  EXPECT_EQ(torch_name(*tensor.type), want["dtype"].get<std::string>());
  EXPECT_EQ(tensor.shape, want["shape"].get<std::vector<std::int64_t>>());
  EXPECT_EQ(tensor.count, want["count"].get<std::uint64_t>());
  const auto stats = scan_tensor(tensor);
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->zeros, want["zeros"].get<std::uint64_t>());
  EXPECT_EQ(stats->nan, want["nan"].get<std::uint64_t>());
  EXPECT_EQ(stats->inf, want["inf"].get<std::uint64_t>());
  EXPECT_EQ(stats->max_abs, want["max_abs"].get<double>());
  const double norm = want["norm"].get<double>();
  EXPECT_NEAR(std::sqrt(stats->sum_squares), norm, 1e-12 * norm);
  EXPECT_NEAR(stats->sum, want["sum"].get<double>(),
              1e-12 * norm * static_cast<double>(tensor.count + 1));
  if (want["first"].is_null() || tensor.type->scalars != 1) return;
  double first = 0;
  ASSERT_TRUE(read_elements(tensor, 0, std::span(&first, 1)));
  EXPECT_EQ(first, want["first"].get<double>());
}

}  // namespace aplomb::test
