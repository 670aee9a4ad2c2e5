#pragma once
/// Holds a tensor against what make_fixtures.py wrote down for it: the statistics that torch and
/// numpy give in float64.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace aplomb::test {

inline std::string torch_name(const tensors::ElementType& type) {
  for (const char* each :
       {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64",
        "int32", "int16", "int8", "uint8", "bool", "complex64"}) {
    if (tensors::element_type_of_torch(each) == &type) return each;
  }
  return std::string(type.name);
}

inline void expect_tensor(const tensors::Tensor& tensor, const nlohmann::json& want) {
  SCOPED_TRACE(tensor.name);
  ASSERT_NE(tensor.type, nullptr);
  EXPECT_EQ(torch_name(*tensor.type), want["dtype"].get<std::string>());
  EXPECT_EQ(tensor.shape, want["shape"].get<std::vector<std::int64_t>>());
  EXPECT_EQ(tensor.count, want["count"].get<std::uint64_t>());
  const auto stats = tensors::scan_tensor(tensor);
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->zeros, want["zeros"].get<std::uint64_t>());
  EXPECT_EQ(stats->nan, want["nan"].get<std::uint64_t>());
  EXPECT_EQ(stats->inf, want["inf"].get<std::uint64_t>());
  EXPECT_EQ(stats->max_abs, want["max_abs"].get<double>());
  const double norm = want["norm"].get<double>();
  EXPECT_NEAR(std::sqrt(stats->sum_squares), norm, 1e-12 * norm);
  EXPECT_NEAR(stats->sum, want["sum"].get<double>(),
              1e-12 * norm * static_cast<double>(tensor.count + 1));
  if (want.contains("order") && tensor.type->scalars == 1) {
    std::vector<double> elements(tensor.count);
    ASSERT_TRUE(tensors::read_elements(tensor, 0, std::span<double>(elements)));
    double order = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (std::isfinite(elements[i])) order += elements[i] * static_cast<double>(i % 251 + 1);
    }
    EXPECT_NEAR(order, want["order"].get<double>(), 1e-10 * norm * 251 + 1e-300);
  }
  if (want["first"].is_null() || tensor.type->scalars != 1) return;
  double first = 0;
  ASSERT_TRUE(tensors::read_elements(tensor, 0, std::span(&first, 1)));
  EXPECT_EQ(first, want["first"].get<double>());
}

inline nlohmann::json json_of(const std::filesystem::path& path) {
  nlohmann::json json;
  std::ifstream(path) >> json;
  return json;
}

/// A checkpoint of three steps against {"weights": {...}, "states": {...}}.
inline void expect_whole(const checkpoint::Checkpoint& checkpoint, const nlohmann::json& said) {
  for (const tensors::Finding& each : checkpoint.findings) {
    EXPECT_EQ(each.severity, core::Severity::note) << each.text;
  }
  // Of stage 1 zero_to_fp32 leaves the frozen weights out.
  for (const tensors::Tensor& each : checkpoint.tensors) {
    EXPECT_TRUE(said["weights"].contains(each.name) || each.name == "frozen.weight") << each.name;
  }
  for (const auto& [name, want] : said["weights"].items()) {
    const tensors::Tensor* tensor = checkpoint.tensor(name);
    ASSERT_NE(tensor, nullptr) << name;
    // zero_to_fp32 widens the bf16 copies of what is not trained.
    nlohmann::json as_kept = want;
    if (name.find("frozen") != std::string::npos) as_kept["dtype"] = "bfloat16";
    expect_tensor(*tensor, as_kept);
  }
  if (said["states"].empty()) return;
  ASSERT_TRUE(checkpoint.optimizer.has_value());
  EXPECT_EQ(checkpoint.optimizer->tensors.size(), said["states"].size());
  for (const tensors::Tensor& tensor : checkpoint.optimizer->tensors) {
    ASSERT_TRUE(said["states"].contains(tensor.name)) << tensor.name;
    expect_tensor(tensor, said["states"][tensor.name]);
  }
  for (const checkpoint::ParameterState& state : checkpoint.optimizer->states)
    EXPECT_EQ(state.step, 3.0);
}

}  // namespace aplomb::test
