#include "train/model/language_model.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "train/model/adapter.h"
#include "train/model/initialise.h"
#include "train/model/weights.h"

namespace aplomb::train::model {
namespace {

using testing::HasSubstr;
using torch::Tensor;

constexpr const char* k_small =
    R"({"architectures": ["LlamaForCausalLM"], "vocab_size": 500, "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2})";

std::shared_ptr<LanguageModel> make(const ModelOptions& options = {}) {
  torch::manual_seed(1);
  auto model =
      std::make_shared<LanguageModel>(*parse_model_config(k_small, "config.json"), options);
  initialise_weights(*model);
  return model;
}

/// Rows of random tokens, the last `padding` of each row padded.
text::TokenBatch make_batch(std::int64_t rows, std::int64_t columns, std::int64_t padding = 0) {
  text::TokenBatch batch{rows, columns, {}, {}, {}, {}, {}};
  torch::manual_seed(2);
  const torch::Tensor ids = torch::randint(0, 500, {rows * columns}, torch::kInt64);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const bool pad = i % columns >= columns - padding;
    batch.ids.push_back(pad ? 0 : ids[i].item<std::int64_t>());
    batch.labels.push_back(pad || i % columns == 0 ? text::k_ignored : batch.ids.back());
    batch.positions.push_back(pad ? 0 : i % columns);
    batch.segments.push_back(pad ? -1 : 0);
  }
  return batch;
}

std::string folder(const char* name) {
  const auto path = std::filesystem::path(testing::TempDir()) / "aplomb_language_model" / name;
  std::filesystem::remove_all(path);
  return path.string();
}

TEST(LanguageModel, starts_at_the_loss_of_a_uniform_guess) {
  const auto model = make();
  const LossSum loss = model->loss(make_batch(4, 32));
  EXPECT_EQ(loss.count, 4 * 31);
  EXPECT_NEAR(loss.sum.item<double>() / 124, std::log(500.0), 0.1);
}

TEST(LanguageModel, residual_writers_start_smaller) {
  const auto model = make();
  const auto deviation = [&](const std::string& name) {
    return model->named_parameters()[name].std().item<double>();
  };
  EXPECT_NEAR(deviation("model.embed_tokens.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("model.layers.3.self_attn.q_proj.weight"), 0.02, 0.001);
  EXPECT_NEAR(deviation("model.layers.3.self_attn.o_proj.weight"), 0.02 / 4, 0.0003);
  EXPECT_NEAR(deviation("model.layers.3.mlp.down_proj.weight"), 0.02 / 4, 0.0003);
  EXPECT_EQ(model->named_parameters()["model.norm.weight"].min().item<float>(), 1);
}

TEST(LanguageModel, padding_changes_nothing) {
  const auto model = make();
  const text::TokenBatch padded = make_batch(3, 20, 5);
  text::TokenBatch cut{3, 15, {}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < 60; ++i) {
    if (i % 20 >= 15) continue;
    cut.ids.push_back(padded.ids[i]);
    cut.labels.push_back(padded.labels[i]);
    cut.positions.push_back(padded.positions[i]);
    cut.segments.push_back(0);
  }
  EXPECT_NEAR(model->loss(padded).sum.item<double>(), model->loss(cut).sum.item<double>(), 1e-3);
  EXPECT_EQ(model->loss(padded).count, 3 * 14);
}

TEST(LanguageModel, a_batch_without_labels_has_no_loss) {
  const auto model = make();
  text::TokenBatch batch = make_batch(1, 8);
  batch.labels.assign(8, text::k_ignored);
  const LossSum loss = model->loss(batch);
  EXPECT_EQ(loss.count, 0);
  EXPECT_EQ(loss.sum.item<float>(), 0);
}

TEST(LanguageModel, ids_outside_the_vocabulary_are_a_fault) {
  const auto model = make();
  text::TokenBatch batch = make_batch(1, 8);
  batch.ids[3] = 500;
  EXPECT_THROW(model->loss(batch), c10::Error);
}

TEST(LanguageModel, gradient_checkpointing_changes_no_gradient) {
  const auto gradients = [](bool checkpointing, double dropout) {
    const auto model = make({.gradient_checkpointing = checkpointing});
    EXPECT_TRUE(attach_adapter(*model, {.rank = 4, .dropout = dropout}));
    torch::manual_seed(5);
    for (const auto& [name, each] : model->trainable_parameters()) each.detach().normal_(0, 0.05);
    model->loss(make_batch(2, 16)).sum.backward();
    std::vector<torch::Tensor> found;
    for (const auto& [name, each] : model->trainable_parameters()) found.push_back(each.grad());
    return found;
  };
  for (const double dropout : {0.0, 0.3}) {
    const auto plain = gradients(false, dropout), checkpointed = gradients(true, dropout);
    ASSERT_EQ(plain.size(), checkpointed.size());
    for (std::size_t i = 0; i < plain.size(); ++i)
      EXPECT_TRUE(torch::allclose(plain[i], checkpointed[i], 1e-4, 1e-6));
  }
}

TEST(LanguageModel, nothing_trains_until_it_is_told_to) {
  const auto model = make({.base = torch::kBFloat16, .compute = torch::kBFloat16});
  EXPECT_TRUE(model->trainable_parameters().empty());
  const auto attached =
      attach_adapter(*model, {.rank = 4, .targets = {"q_proj", "mlp.up_proj"}, .dora = true});
  ASSERT_TRUE(attached) << attached.error().text;
  EXPECT_EQ(attached->layers, 16);
  EXPECT_EQ(attached->parameters, 8 * (4 * (64 + 64) + 64 + 4 * (64 + 96) + 96));
  for (const auto& [name, each] : model->trainable_parameters())
    EXPECT_EQ(each.scalar_type(), torch::kFloat32);
  const auto full = make({.base = torch::kBFloat16, .compute = torch::kBFloat16});
  full->train_all_parameters();
  EXPECT_EQ(full->trainable_parameters().size(), full->named_parameters().size());
  full->loss(make_batch(2, 16)).sum.backward();
  for (const auto& [name, each] : full->trainable_parameters()) {
    EXPECT_EQ(each.scalar_type(), torch::kFloat32);
    EXPECT_TRUE(each.grad().defined()) << name;
  }
}

TEST(LanguageModel, targets_that_no_layer_has_are_named) {
  const auto model = make();
  const auto attached = attach_adapter(*model, {.targets = {"q_proj", "query_key_value"}});
  ASSERT_FALSE(attached);
  EXPECT_THAT(attached.error().text, HasSubstr("query_key_value"));
  EXPECT_THAT(attached.error().text, HasSubstr("down_proj"));
  EXPECT_FALSE(attach_adapter(*model, {.rank = 0}));
  EXPECT_FALSE(attach_adapter(*model, {.dropout = 1}));
  ASSERT_TRUE(attach_adapter(*model, {}));
  EXPECT_FALSE(attach_adapter(*model, {}));
}

TEST(LanguageModel, saved_weights_come_back_bit_for_bit) {
  const auto model = make();
  const std::string path = folder("full");
  ASSERT_TRUE(save_full(*model, path, torch::kFloat32));
  const auto again = load_model(path, {});
  ASSERT_TRUE(again) << again.error().text;
  for (const auto& each : model->named_parameters()) {
    EXPECT_TRUE(torch::equal((*again)->named_parameters()[each.key()], each.value())) << each.key();
  }
  const auto scanned = checkpoint::open_checkpoint(path);
  ASSERT_TRUE(scanned);
  EXPECT_TRUE(scanned->findings.empty());
}

TEST(LanguageModel, mapped_weights_are_those_of_the_file_and_writes_to_them_stay_here) {
  const auto model = make();
  const std::string path = folder("mapped");
  ASSERT_TRUE(save_full(*model, path, torch::kFloat32));
  const auto mapped = load_model(path, {.map_base = true});
  ASSERT_TRUE(mapped) << mapped.error().text;
  for (const auto& each : model->named_parameters()) {
    const torch::Tensor own = (*mapped)->named_parameters()[each.key()];
    EXPECT_TRUE(torch::equal(own, each.value())) << each.key();
    const torch::NoGradGuard no_grad;
    own.fill_(1);
  }
  const auto again = load_model(path, {});
  ASSERT_TRUE(again) << again.error().text;
  for (const auto& each : model->named_parameters())
    EXPECT_TRUE(torch::equal((*again)->named_parameters()[each.key()], each.value())) << each.key();
}

TEST(LanguageModel, weights_in_shards_come_back_and_leave_no_file_of_the_other_form) {
  const auto model = make();
  const std::string path = folder("shards");
  constexpr std::uint64_t k_most = 300'000;  // of 1.2 MB
  ASSERT_TRUE(save_full(*model, path, torch::kFloat32));
  ASSERT_TRUE(save_full(*model, path, torch::kFloat32, k_most));
  EXPECT_FALSE(std::filesystem::exists(path + "/model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(path + "/model.safetensors.index.json"));
  const auto scanned = checkpoint::open_checkpoint(path);
  ASSERT_TRUE(scanned);
  EXPECT_TRUE(scanned->findings.empty());
  EXPECT_GT(scanned->files.size(), 2U);
  const auto again = load_model(path, {});
  ASSERT_TRUE(again) << again.error().text;
  for (const auto& each : model->named_parameters())
    EXPECT_TRUE(torch::equal((*again)->named_parameters()[each.key()], each.value())) << each.key();
  ASSERT_TRUE(save_full(*model, path, torch::kFloat32));
  EXPECT_FALSE(std::filesystem::exists(path + "/model.safetensors.index.json"));
}

TEST(LanguageModel, an_adapter_comes_back_and_merges) {
  const auto model = make();
  const AdapterOptions options{.rank = 4, .alpha = 8, .dora = true};
  ASSERT_TRUE(attach_adapter(*model, options));
  for (const auto& [name, each] : model->trainable_parameters()) each.detach().normal_(0, 0.05);
  const text::TokenBatch batch = make_batch(2, 16);
  const double loss = model->loss(batch).sum.item<double>();
  const std::string path = folder("adapter"), merged = folder("merged");
  ASSERT_TRUE(save_adapter(*model, options, path, "somewhere"));
  const auto again = make();
  const auto loaded = load_adapter(*again, path);
  ASSERT_TRUE(loaded) << loaded.error().text;
  EXPECT_EQ(again->loss(batch).sum.item<double>(), loss);
  ASSERT_TRUE(save_full(*again, merged, torch::kFloat32));
  EXPECT_NEAR((*load_model(merged, {}))->loss(batch).sum.item<double>(), loss, 1e-3);
  merge_adapter(*again);
  EXPECT_NEAR(again->loss(batch).sum.item<double>(), loss, 1e-3);
  EXPECT_TRUE(again->trainable_parameters().empty());
}

TEST(LanguageModel, a_place_that_cannot_be_written_is_told_with_the_reason) {
  const auto written = write_text("/proc/aplomb/config.json", "{}");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, core::ErrorCode::not_writable);
  EXPECT_THAT(written.error().text, HasSubstr("No such file"));
  // A full disk, where the system has one to offer.
  if (std::filesystem::exists("/dev/full")) {
    std::filesystem::create_directories(folder("full_disk"));
    const std::string path = folder("full_disk");
    std::filesystem::create_directories(path);
    std::filesystem::create_symlink("/dev/full", path + "/model.safetensors.tmp");
    const auto full = write_safetensors(path + "/model.safetensors", {{"w", torch::zeros({8})}});
    ASSERT_FALSE(full);
    EXPECT_THAT(full.error().text, HasSubstr("No space left"));
  }
}

TEST(LanguageModel, qk_norm_turns_a_llama_into_a_qwen3) {
  const auto config = with_qk_norm(*parse_model_config(k_small, "config.json"));
  ASSERT_TRUE(config) << config.error().text;
  EXPECT_TRUE(config->attention.qk_norm);
  EXPECT_EQ(config->architecture, "Qwen3ForCausalLM");
  EXPECT_EQ(config->attention.head_dim, 16);
  torch::manual_seed(1);
  LanguageModel model(*config, {});
  initialise_weights(model);
  EXPECT_NEAR(model.loss(make_batch(2, 16)).sum.item<double>() / 30, std::log(500.0), 0.1);
  auto biased = *parse_model_config(k_small, "config.json");
  biased.attention.qkv_bias = true;
  EXPECT_EQ(with_qk_norm(biased).error().code, core::ErrorCode::unsupported);
}

}  // namespace
}  // namespace aplomb::train::model
