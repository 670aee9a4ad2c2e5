#include "checkpoint/tensor_diff.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "checkpoint/precision.h"
#include "checkpoint/resume_audit.h"
#include "checkpoint/tensor_survey.h"
#include "core/folder.h"
#include "made_checkpoints.h"

namespace aplomb::checkpoint {
namespace {

using test::as_bytes;
using test::raw;

tensors::Tensor tensor(const std::string& bytes, const char* type, std::vector<std::int64_t> shape,
                       std::string name = "w") {
  tensors::Tensor made;
  made.name = std::move(name);
  made.type = tensors::element_type(type);
  made.shape = std::move(shape);
  made.count = *tensors::count_of(made.shape);
  made.bytes = as_bytes(bytes);
  made.mapped = false;
  return made;
}

TEST(TensorDiff, CountsUlpsAndNormsOfBf16) {
  // 1.0, -1.0, 2.0, 0 -> 1.0078125 (1 ULP), -1.0, 1.9921875 (1 ULP below 2), -0
  const std::string a = raw<std::uint16_t>({0x3F80, 0xBF80, 0x4000, 0x0000});
  const std::string b = raw<std::uint16_t>({0x3F81, 0xBF80, 0x3FFF, 0x8000});
  const TensorDiff diff = diff_tensors(tensor(a, "BF16", {4}), tensor(b, "BF16", {4}));
  ASSERT_TRUE(diff.compared);
  EXPECT_EQ(diff.changed, 2U);
  EXPECT_EQ(diff.max_ulps, 1U);
  EXPECT_EQ(diff.sum_ulps, 2);
  EXPECT_EQ(diff.max_abs, 0.0078125);
  EXPECT_DOUBLE_EQ(diff.sum_squares, 2 * 0.0078125 * 0.0078125);
  EXPECT_FALSE(diff.frozen());
}

TEST(TensorDiff, UlpsCrossZeroInEveryWidth) {
  // From the smallest negative subnormal to the smallest positive one: two steps.
  const std::string a32 = raw<std::uint32_t>({0x80000001U});
  const std::string b32 = raw<std::uint32_t>({0x00000001U});
  EXPECT_EQ(diff_tensors(tensor(a32, "F32", {1}), tensor(b32, "F32", {1})).max_ulps, 2U);
  const std::string a16 = raw<std::uint16_t>({0x8001});
  const std::string b16 = raw<std::uint16_t>({0x0001});
  EXPECT_EQ(diff_tensors(tensor(a16, "F16", {1}), tensor(b16, "F16", {1})).max_ulps, 2U);
}

TEST(TensorDiff, NonFiniteElementsAreCountedAndPoisonNothing) {
  const float nan = std::nanf("");
  const std::string a = raw<float>({1.0F, nan, 2.0F, INFINITY});
  const std::string b = raw<float>({1.5F, nan, nan, INFINITY});
  const TensorDiff diff = diff_tensors(tensor(a, "F32", {4}), tensor(b, "F32", {4}));
  EXPECT_EQ(diff.nonfinite, 3U);
  EXPECT_EQ(diff.changed, 2U);
  EXPECT_EQ(diff.max_abs, 0.5);
  EXPECT_EQ(diff.sum_squares, 0.25);
}

TEST(TensorDiff, ASingleChangedElementInALargeTensorIsFound) {
  std::vector<float> numbers(3'000'001, 1.0F);
  std::string a(numbers.size() * 4, '\0');
  std::memcpy(a.data(), numbers.data(), a.size());
  for (const std::size_t at : {std::size_t{0}, std::size_t{1'048'576}, numbers.size() - 1}) {
    std::string b = a;
    const float other = 2.0F;
    std::memcpy(b.data() + at * 4, &other, 4);
    const auto shape = static_cast<std::int64_t>(numbers.size());
    const TensorDiff diff = diff_tensors(tensor(a, "F32", {shape}), tensor(b, "F32", {shape}));
    EXPECT_EQ(diff.changed, 1U);
    EXPECT_EQ(diff.max_abs, 1.0);
  }
}

TEST(TensorDiff, IntegersAndDoublesAreComparedToo) {
  const std::string a = raw<std::int64_t>({1, 2, 3});
  const std::string b = raw<std::int64_t>({1, 2, 5});
  EXPECT_EQ(diff_tensors(tensor(a, "I64", {3}), tensor(b, "I64", {3})).changed, 1U);
  const std::string c = raw<double>({1.0, 2.0});
  const std::string d = raw<double>({1.0, 2.5});
  EXPECT_EQ(diff_tensors(tensor(c, "F64", {2}), tensor(d, "F64", {2})).max_abs, 0.5);
}

TEST(TensorDiff, AnotherShapeOrDtypeIsNotCompared) {
  const std::string bytes(8, '\0');
  EXPECT_FALSE(diff_tensors(tensor(bytes, "F32", {2}), tensor(bytes, "F64", {1})).compared);
  EXPECT_FALSE(diff_tensors(tensor(bytes, "F32", {2}), tensor(bytes, "F32", {1, 2})).compared);
}

/// A file of tensors of several parts each: frozen, moved at its end only, and moved everywhere.
std::string large_file(const test::Folder& folder, const char* name, float step) {
  constexpr std::size_t k_count = 3U << 20U;  // three parts of 4 MiB
  std::vector<float> frozen(k_count);
  for (std::size_t i = 0; i < k_count; ++i) frozen[i] = 0.5F + static_cast<float>(i % 977) * 1e-3F;
  std::vector<float> late = frozen;
  std::vector<float> moved = frozen;
  late.back() += step;
  for (float& each : moved) each += step * 0.1F;
  std::string data;
  std::string header = "{";
  for (const auto& [key, values] :
       {std::pair{"frozen", &frozen}, std::pair{"late", &late}, std::pair{"moved", &moved}}) {
    header +=
        fmt::format("{}\"{}\":{{\"dtype\":\"F32\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                    data.empty() ? "" : ",", key, k_count, data.size(), data.size() + 4 * k_count);
    data.append(reinterpret_cast<const char*>(values->data()), 4 * k_count);
  }
  return folder.write(name, test::safetensors(header + "}", data));
}

TEST(CheckpointDiff, ThreadsAndProcessesDoNotChangeTheResult) {
  const test::Folder folder;
  const auto before = open_checkpoint(large_file(folder, "a.safetensors", 0));
  const auto after = open_checkpoint(large_file(folder, "b.safetensors", 0.25F));
  ASSERT_TRUE(before && after);
  const CheckpointDiff alone = diff_checkpoints(*before, *after);
  ASSERT_EQ(alone.tensors.size(), 3U);
  EXPECT_TRUE(alone.tensors[0].frozen());
  EXPECT_EQ(alone.tensors[0].min_weight, 0.5);
  EXPECT_EQ(alone.tensors[1].changed, 1U);
  EXPECT_EQ(alone.tensors[1].max_weight, 0);
  EXPECT_EQ(alone.tensors[2].changed, alone.tensors[2].count);
  std::uint64_t most = 0;
  DiffOptions four;
  four.threads = 4;
  std::mutex one;
  four.progress = [&](std::uint64_t done, std::uint64_t all) {
    const std::scoped_lock hold(one);
    EXPECT_LE(done, all);
    most = std::max(most, done);
  };
  // Two processes: the second's parts are handed to the first.
  std::vector<std::optional<PartDiff>> theirs;
  DiffOptions second;
  second.ranks = 2;
  second.rank = 1;
  second.join = [&](auto& parts) { theirs = parts; };
  diff_checkpoints(*before, *after, second);
  DiffOptions first;
  first.ranks = 2;
  first.join = [&](auto& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_NE(parts[i].has_value(), theirs[i].has_value()) << i;
      if (!parts[i]) parts[i] = theirs[i];
    }
  };
  for (const DiffOptions& how : {four, first}) {
    const CheckpointDiff shared = diff_checkpoints(*before, *after, how);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(shared.tensors[i].changed, alone.tensors[i].changed);
      EXPECT_EQ(shared.tensors[i].sum_squares, alone.tensors[i].sum_squares);
      EXPECT_EQ(shared.tensors[i].before_squares, alone.tensors[i].before_squares);
      EXPECT_EQ(shared.tensors[i].min_weight, alone.tensors[i].min_weight);
    }
  }
  EXPECT_EQ(most, before->weight_bytes() + after->weight_bytes());
}

TEST(TensorKind, KnowsTheNamesOfSeveralLibraries) {
  const std::string bytes(64, '\0');
  const auto kind = [&](const char* name, std::vector<std::int64_t> shape) {
    return kind_of(tensor(bytes, "F32", std::move(shape), name));
  };
  EXPECT_EQ(kind("model.layers.0.input_layernorm.weight", {4}), TensorKind::norm);
  EXPECT_EQ(kind("transformer.h.3.ln_1.weight", {4}), TensorKind::norm);
  EXPECT_EQ(kind("transformer.h.3.ln_1.bias", {4}), TensorKind::bias);
  EXPECT_EQ(kind("layers.2.attention_norm.weight", {4}), TensorKind::norm);
  EXPECT_EQ(kind("model.embed_tokens.weight", {4, 4}), TensorKind::embedding);
  EXPECT_EQ(kind("transformer.wte.weight", {4, 4}), TensorKind::embedding);
  EXPECT_EQ(kind("lm_head.weight", {4, 4}), TensorKind::head);
  EXPECT_EQ(kind("model.layers.1.self_attn.q_proj.weight", {4, 4}), TensorKind::attention);
  EXPECT_EQ(kind("model.layers.1.mlp.gate_proj.weight", {4, 4}), TensorKind::mlp);
  EXPECT_EQ(kind("m.q_proj.lora_A.weight", {2, 4}), TensorKind::lora_a);
  EXPECT_EQ(kind("m.q_proj.lora_B.default.weight", {4, 2}), TensorKind::lora_b);
  EXPECT_EQ(kind("bn1.running_mean", {4}), TensorKind::buffer);
}

/// The shipped run whose norms never move, and what is known of it.
class FrozenNorms : public ::testing::Test {
 protected:
  static std::string at(const char* checkpoint) {
    return std::string(APLOMB_SOURCE_DIR "/examples/bf16-frozen-norms/") + checkpoint;
  }
};

TEST_F(FrozenNorms, AreFoundFromTwoCheckpoints) {
  const auto before = open_checkpoint(at("checkpoint-200"));
  const auto after = open_checkpoint(at("checkpoint-400"));
  ASSERT_TRUE(before && after);
  const CheckpointDiff diff = diff_checkpoints(*before, *after);
  const KindDiff* norms = diff.of(TensorKind::norm);
  ASSERT_NE(norms, nullptr);
  EXPECT_EQ(norms->tensors, 5U);
  EXPECT_EQ(norms->frozen, 5U);
  EXPECT_EQ(diff.frozen(), 5U);
  EXPECT_EQ(diff.trainable(), 20U);
}

TEST_F(FrozenNorms, ArePredictedFromTheFirstCheckpointAlone) {
  const auto first = open_checkpoint(at("checkpoint-200"));
  const auto after = open_checkpoint(at("checkpoint-400"));
  ASSERT_TRUE(first && after);
  const Precision precision = predict_precision(*first);
  ASSERT_EQ(precision.why_not, "");
  ASSERT_EQ(precision.tensors.size(), 20U);
  const CheckpointDiff diff = diff_checkpoints(*first, *after);
  for (const TensorDiff& each : diff.tensors) {
    for (const TensorPrecision& said : precision.tensors) {
      if (said.name != each.name) continue;
      EXPECT_EQ(said.all_lost(), each.frozen()) << each.name;
    }
  }
  EXPECT_EQ(precision.frozen(), 5U);
  EXPECT_EQ(predict_precision(*first, {numerics::Format::fp32}).frozen(), 0U);
  // Two bytes more a weight, two a gradient, four for both moments.
  EXPECT_EQ(precision.price.weights_bytes, 2 * precision.price.parameters);
  EXPECT_EQ(precision.price.moments_bytes, 4 * precision.price.parameters);
}

TEST_F(FrozenNorms, ResumeAndSurveyFindThemWhole) {
  const auto checkpoint = open_checkpoint(at("checkpoint-400"));
  ASSERT_TRUE(checkpoint);
  const ResumeAudit audit = audit_resume(*checkpoint);
  EXPECT_TRUE(audit.complete());
  EXPECT_TRUE(audit.disagreements.empty());
  const Survey seen = survey(*checkpoint);
  EXPECT_EQ(seen.params_dtype, "bf16");
  EXPECT_EQ(seen.nonfinite, 0U);
  EXPECT_EQ(seen.all_zero, 0U);
}

TEST(ResumeAudit, NamesWhatIsMissingAndStepsThatDisagree) {
  Checkpoint checkpoint;
  checkpoint.trainer_state["global_step"] = 100;
  checkpoint.scheduler["last_epoch"] = 250;
  const ResumeAudit audit = audit_resume(checkpoint);
  EXPECT_FALSE(audit.complete());
  EXPECT_EQ(audit.disagreements.size(), 1U);
  checkpoint.scheduler["last_epoch"] = 400;  // four processes
  EXPECT_TRUE(audit_resume(checkpoint).disagreements.empty());
}

}  // namespace
}  // namespace aplomb::checkpoint
