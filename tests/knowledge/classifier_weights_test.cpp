#include "knowledge/classifier_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace aplomb::knowledge {
namespace {

std::string file_of(std::string_view header, std::string_view data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((header.size() >> (8 * i)) & 0xFFU);
  return out + std::string(header) + std::string(data);
}

/// Two causes, one feature that speaks for the second, one word with one axis.
std::string small_file(std::string_view cause = std::string_view("\1\0", 2)) {
  const std::string_view half = std::string_view("\0\0\0\x3F", 4);  // 0.5 in F32
  const std::string_view zero = std::string_view("\0\0\0\0", 4);
  const std::string_view one = std::string_view("\1\0\0\0", 4);
  std::string data;
  for (const std::string_view each : {half, zero, half, half, half, zero, one, cause}) data += each;
  data += static_cast<char>(-3);
  return file_of(R"({"__metadata__":{"causes":"nan.a\nnan.b","features":"nan","words":"loss"},)"
                 R"("bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                 R"("feature.nats":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
                 R"("axis.nats":{"dtype":"F32","shape":[1,2],"data_offsets":[12,20]},)"
                 R"("feature.begin":{"dtype":"I32","shape":[2],"data_offsets":[20,28]},)"
                 R"("feature.cause":{"dtype":"I16","shape":[1],"data_offsets":[28,30]},)"
                 R"("word.steps":{"dtype":"I8","shape":[1,1],"data_offsets":[30,31]}})",
                 data);
}

TEST(ClassifierWeights, ReadsWhatAFileHolds) {
  const auto read = read_classifier_weights(small_file());
  ASSERT_TRUE(read.has_value()) << read.error().text;
  EXPECT_EQ(read->causes, (std::vector<std::string>{"nan.a", "nan.b"}));
  EXPECT_EQ(read->bias, (std::vector<float>{0.5F, 0}));
  ASSERT_EQ(read->of(0).size(), 1U);
  EXPECT_EQ(read->of(0)[0].cause, 1U);
  EXPECT_EQ(read->of(0)[0].nats, 0.5);
  ASSERT_EQ(read->steps_of(0).size(), 1U);
  EXPECT_EQ(read->steps_of(0)[0], -3);
}

TEST(ClassifierWeights, RefusesWhatIsTornOrPointsOutside) {
  const std::string file = small_file();
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(read_classifier_weights(file.substr(0, size)).has_value()) << size;
  EXPECT_FALSE(read_classifier_weights(small_file(std::string_view("\2\0", 2))).has_value())
      << "a cause that is none";
  EXPECT_FALSE(read_classifier_weights(small_file(std::string_view("\xFF\xFF", 2))).has_value());
  EXPECT_FALSE(read_classifier_weights(std::string(64, '\xFF')).has_value());
}

TEST(ClassifierWeights, TheEmbeddedOnesAreWhole) {
  const auto read = read_classifier_weights(embedded_classifier());
  ASSERT_TRUE(read.has_value()) << read.error().text;
  EXPECT_GT(read->features.size(), 10'000U);
  EXPECT_GT(read->words.size(), 5'000U);
  EXPECT_EQ(read->axis_count, 64U);
  for (const auto& each : read->weights) ASSERT_TRUE(std::isfinite(each.nats));
}

}  // namespace
}  // namespace aplomb::knowledge
