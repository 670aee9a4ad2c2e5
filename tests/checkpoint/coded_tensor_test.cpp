// Optimizer states in 8 and 4 bits, as bitsandbytes and torchao wrote them (make_coded.py), against
// what the libraries themselves decode.

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "checkpoint/coded_tensor.h"
#include "checkpoint/precision.h"
#include "expected_tensors.h"

namespace aplomb::checkpoint {
namespace {

const std::filesystem::path k_data = APLOMB_SOURCE_DIR "/tests/checkpoint/data/coded";

TEST(CodedTensors, AreReadAsTheLibrariesDecodeThem) {
  const auto said = test::json_of(k_data / "expected.json");
  ASSERT_EQ(said.size(), 5U);
  for (const auto& [name, states] : said.items()) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint((k_data / name).string());
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
    for (const tensors::Finding& each : checkpoint->findings) ADD_FAILURE() << each.text;
    ASSERT_TRUE(checkpoint->optimizer.has_value());
    EXPECT_EQ(checkpoint->optimizer->tensors.size(), states.size());
    for (const tensors::Tensor& tensor : checkpoint->optimizer->tensors) {
      ASSERT_TRUE(states.contains(tensor.name)) << tensor.name;
      test::expect_tensor(tensor, states[tensor.name]);
    }
    for (const ParameterState& state : checkpoint->optimizer->states) EXPECT_EQ(state.step, 3.0);
  }
}

TEST(CodedTensors, UpdatesOfAdamInEightBitsArePredicted) {
  for (const char* name : {"adamw8bit", "ao8bit", "ao4bit", "aofp8"}) {
    const auto checkpoint = open_checkpoint((k_data / name).string());
    ASSERT_TRUE(checkpoint.has_value());
    const Precision precision = predict_precision(*checkpoint);
    EXPECT_EQ(precision.tensors.size(), 2U) << name << precision.why_not;
    EXPECT_GT(precision.lost, 0U) << name;
  }
}

class Parts : public ::testing::Test {
 protected:
  tensors::Tensor bytes(std::uint64_t count) {
    held_.emplace_back(count, std::byte{1});
    tensors::Tensor tensor;
    tensor.type = tensors::element_type("U8");
    tensor.count = count;
    tensor.shape = {static_cast<std::int64_t>(count)};
    tensor.bytes = held_.back();
    tensor.mapped = false;
    return tensor;
  }
  tensors::Tensor floats(std::uint64_t count) {
    tensors::Tensor tensor = bytes(4 * count);
    tensor.type = tensors::element_type("F32");
    tensor.count = count;
    tensor.shape = {static_cast<std::int64_t>(count)};
    return tensor;
  }
  std::deque<std::vector<std::byte>> held_;
};

TEST_F(Parts, ThatDoNotFitEachOtherAreRefused) {
  const std::vector<float> values(256, 1.0F);
  EXPECT_TRUE(decode_tensor({bytes(1000), values, floats(4)}, {10, 100}).has_value());
  EXPECT_FALSE(decode_tensor({bytes(1000), values, floats(4)}, {10, 101}).has_value());
  EXPECT_FALSE(decode_tensor({bytes(1000), values, floats(0)}, {1000}).has_value());
  EXPECT_FALSE(decode_tensor({bytes(1000), values, floats(1001)}, {1000}).has_value());
  EXPECT_FALSE(decode_tensor({bytes(1000), values, floats(3)}, {1000}).has_value());
  EXPECT_FALSE(decode_tensor({bytes(1000), {1.0F, 2.0F}, floats(4)}, {1000}).has_value());
  EXPECT_FALSE(decode_tensor({bytes(1000), {}, floats(4)}, {1000}).has_value());
  EXPECT_TRUE(decode_tensor({bytes(3), std::vector<float>(16, 1.0F), floats(1)}, {6}).has_value());
}

TEST_F(Parts, FourBitCodesAreReadFromAnyElement) {
  std::vector<float> values(16);
  for (std::size_t i = 0; i < 16; ++i) values[i] = static_cast<float>(i);
  tensors::Tensor codes = bytes(4);
  for (std::size_t i = 0; i < 4; ++i)
    held_.back()[i] = static_cast<std::byte>(16 * (2 * i) + 2 * i + 1);
  const tensors::Tensor scales = floats(1);
  const float one = 1;
  std::memcpy(held_.back().data(), &one, 4);
  const auto tensor = decode_tensor({codes, values, scales}, {8});
  ASSERT_TRUE(tensor.has_value());
  for (std::uint64_t from = 0; from < 8; ++from) {
    for (std::uint64_t count = 1; from + count <= 8; ++count) {
      std::vector<float> got(count);
      ASSERT_TRUE(tensors::read_elements(*tensor, from, std::span<float>(got)));
      for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(got[i], static_cast<float>(from + i));
    }
  }
}

}  // namespace
}  // namespace aplomb::checkpoint
