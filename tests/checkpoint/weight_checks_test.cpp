#include "checkpoint/weight_checks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "checkpoint/tensor_filter.h"

namespace aplomb::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SurveyOptions threads(int count) {
  SurveyOptions options;
  options.threads = count;
  return options;
}

/// A checkpoint whose weights live here.
class Made {
 public:
  tensors::Tensor& add(const std::string& name, std::vector<std::int64_t> shape,
                       std::vector<float> values) {
    const std::vector<float>& kept = values_.emplace_back(std::move(values));
    tensors::Tensor tensor;
    tensor.name = name;
    tensor.type = tensors::element_type("F32");
    tensor.shape = std::move(shape);
    tensor.count = kept.size();
    tensor.bytes = std::as_bytes(std::span(kept));
    tensor.mapped = false;
    checkpoint.tensors.push_back(std::move(tensor));
    return checkpoint.tensors.back();
  }
  /// A weight with a deviation of about `size`, and another `seed` for other elements.
  tensors::Tensor& weight(const std::string& name, double size, unsigned seed,
                          std::int64_t rows = 16, std::int64_t columns = 16) {
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    unsigned state = seed * 2654435761U + 1;
    for (float& each : values) {
      state = state * 1664525U + 1013904223U;
      each = static_cast<float>(size * (static_cast<double>(state >> 8U) / 8388608.0 - 1) * 1.732);
    }
    return add(name, {rows, columns}, std::move(values));
  }
  std::vector<WeightNote> notes(std::optional<double> step = std::nullopt) {
    checkpoint.trainer_state.clear();
    if (step) checkpoint.trainer_state["global_step"] = *step;
    return check_weights(checkpoint, survey(checkpoint, threads(2)));
  }
  Checkpoint checkpoint;

 private:
  std::deque<std::vector<float>> values_;
};

std::vector<std::string> said(const std::vector<WeightNote>& notes, const Checkpoint& checkpoint) {
  std::vector<std::string> all;
  for (const WeightNote& each : notes) {
    all.push_back(std::string(each.id) + " " + checkpoint.tensors[each.tensor].name);
  }
  return all;
}

Made healthy() {
  Made made;
  made.weight("model.embed_tokens.weight", 0.02, 1, 64, 16);
  for (unsigned layer = 0; layer < 4; ++layer) {
    const std::string at = fmt::format("model.layers.{}.", layer);
    made.weight(at + "self_attn.q_proj.weight", 0.02, 10 + layer);
    made.weight(at + "self_attn.o_proj.weight", 0.02, 20 + layer);
    made.weight(at + "mlp.down_proj.weight", 0.02, 30 + layer);
    made.add(at + "input_layernorm.weight", {16}, std::vector<float>(16, 1.0F));
  }
  return made;
}

TEST(WeightChecks, StaySilentOnAHealthyModelAtItsStart) {
  Made made = healthy();
  EXPECT_THAT(said(made.notes(0), made.checkpoint), IsEmpty());
}

TEST(WeightChecks, FindAnAbsurdScaleAmongItsKindAndBeyondFp16) {
  Made made = healthy();
  made.weight("model.layers.4.mlp.down_proj.weight", 3.0, 5);
  made.weight("model.layers.5.mlp.down_proj.weight", 1e5, 6);
  EXPECT_THAT(said(made.notes(), made.checkpoint),
              ElementsAre("tensor.absurd_scale model.layers.4.mlp.down_proj.weight",
                          "tensor.absurd_scale model.layers.5.mlp.down_proj.weight"));
}

TEST(WeightChecks, FindCopiesButNotConstants) {
  Made made = healthy();
  made.weight("model.layers.4.self_attn.q_proj.weight", 0.02, 10);  // that of layer 0
  const auto notes = made.notes();
  ASSERT_THAT(said(notes, made.checkpoint),
              ElementsAre("tensor.duplicated model.layers.4.self_attn.q_proj.weight"));
  EXPECT_THAT(notes[0].text, HasSubstr("model.layers.0.self_attn.q_proj.weight"));
  EXPECT_EQ(notes[0].severity, core::Severity::note);
}

TEST(WeightChecks, CountEmbeddingRowsThatTrainingNeverReached) {
  Made made;
  tensors::Tensor& table = made.weight("model.embed_tokens.weight", 0.02, 1, 64, 16);
  auto* values = const_cast<float*>(reinterpret_cast<const float*>(table.bytes.data()));
  std::fill(values + 3 * 16, values + 5 * 16, 0.0F);
  for (int i = 0; i < 16; ++i) values[60 * 16 + i] *= 0.01F;
  const auto notes = made.notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].id, "embedding.untrained_rows");
  EXPECT_THAT(notes[0].text, HasSubstr("2 of 64 rows are zero and 1 shorter"));
  EXPECT_THAT(notes[0].text, HasSubstr("3, 4, 60"));
}

TEST(WeightChecks, JudgeTheStartOnlyWhereItIsOne) {
  Made made = healthy();
  made.weight("transformer.wte.weight", 1.0, 3, 64, 16);  // torch.nn.Embedding's own default
  made.weight("model.layers.4.mlp.down_proj.weight", 0.3, 5);
  EXPECT_THAT(said(made.notes(), made.checkpoint), IsEmpty());
  EXPECT_THAT(said(made.notes(0), made.checkpoint),
              ElementsAre("init.unusual transformer.wte.weight",
                          "init.unusual model.layers.4.mlp.down_proj.weight"));
}

TEST(WeightChecks, NormsOfOneAreTheirStartAndLaterAFault) {
  Made made;
  for (int layer = 0; layer < 3; ++layer) {
    for (const char* name : {"attn_norm", "mlp_norm"})
      made.add(fmt::format("layers.{}.{}.weight", layer, name), {16}, std::vector<float>(16, 1));
  }
  EXPECT_THAT(made.notes(0), IsEmpty());
  EXPECT_THAT(made.notes(1), IsEmpty()) << "the first rate of a warm-up may be 0";
  EXPECT_THAT(said(made.notes(754), made.checkpoint),
              ElementsAre("norm.at_start layers.0.attn_norm.weight"));
  made.add("norm.weight", {16}, std::vector<float>(16, 0.99F));
  EXPECT_THAT(made.notes(754), IsEmpty()) << "one has moved: the others may be frozen on purpose";
}

TEST(WeightChecks, NormsBehindTheSumsOfADeepStack) {
  Made made;
  for (int layer = 0; layer < 12; ++layer) {
    for (const char* name : {"norm1", "norm2"})
      made.add(fmt::format("layers.{}.{}.weight", layer, name), {16}, std::vector<float>(16, 1));
  }
  EXPECT_THAT(said(made.notes(0), made.checkpoint),
              ElementsAre("init.post_norm layers.0.norm1.weight"));
  made.add("final_norm.weight", {16}, std::vector<float>(16, 1));
  EXPECT_THAT(made.notes(0), IsEmpty());
}

TEST(WeightChecks, EverySymptomIsExplained) {
  for (const CheckpointSymptom& each : checkpoint_symptoms()) {
    EXPECT_FALSE(each.summary.empty() || each.why_bad.empty()) << each.id;
  }
}

TEST(TensorFilter, GlobsAndKinds) {
  EXPECT_TRUE(matches_glob("*norm*", "model.norm.weight"));
  EXPECT_TRUE(matches_glob("model.layers.?.mlp.*.weight", "model.layers.3.mlp.up_proj.weight"));
  EXPECT_FALSE(matches_glob("model.layers.?.mlp", "model.layers.3.mlp.up_proj.weight"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_FALSE(matches_glob("?", ""));
  // What makes a backtracking matcher take for ever.
  EXPECT_FALSE(matches_glob("*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
  ASSERT_EQ(kind_words().size(), static_cast<std::size_t>(TensorKind::count_));
  Made made = healthy();
  keep_tensors(made.checkpoint, {{"*layers.1.*", "*layers.2.*"}, {"norm"}});
  ASSERT_EQ(made.checkpoint.tensors.size(), 2U);
  EXPECT_EQ(made.checkpoint.tensors[1].name, "model.layers.2.input_layernorm.weight");
}

TEST(Survey, IsTheSameForEveryNumberOfThreads) {
  Made made = healthy();
  const Survey one = survey(made.checkpoint);
  const Survey many = survey(made.checkpoint, threads(7));
  ASSERT_EQ(one.tensors.size(), many.tensors.size());
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    EXPECT_EQ(one.tensors[i].stats->sum_squares, many.tensors[i].stats->sum_squares);
  }
}

}  // namespace
}  // namespace aplomb::checkpoint
