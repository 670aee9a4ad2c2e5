// What torch's writers leave of a model that is spread over ranks: written just now by four ranks,
// and put together again tensor for tensor.

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/precision.h"
#include "core/folder.h"
#include "expected_tensors.h"
#include "made_checkpoints.h"
#include "with_python.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void expect_every_layout(const std::string& made, const Json& all) {
  for (const auto& [name, said] : all.items()) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(made + "/" + name);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text;
    test::expect_whole(*checkpoint, said);
    EXPECT_EQ(checkpoint->tensors.size(), said["weights"].size());
  }
  EXPECT_EQ(all.size(), 7U);
}

void expect_groups(const std::string& made) {
  for (const char* name : {"fsdp", "accelerate", "pickled"}) {
    SCOPED_TRACE(name);
    const auto checkpoint = open_checkpoint(made + "/" + name);
    ASSERT_TRUE(checkpoint.has_value());
    ASSERT_TRUE(checkpoint->optimizer.has_value());
    EXPECT_EQ(checkpoint->optimizer->groups.at(0).numbers.at("weight_decay"), 0.1);
    EXPECT_EQ(checkpoint->optimizer->groups.at(0).numbers.at("beta2"), 0.999);
    const Precision precision = predict_precision(*checkpoint);
    EXPECT_EQ(precision.tensors.size(), 5U) << precision.why_not;
    EXPECT_TRUE(precision.certain);
  }
  EXPECT_EQ(open_checkpoint(made + "/fsdp")->step(), 3);
}

void expect_missing_ranks_said(const std::string& made) {
  const std::pair<const char*, const char*> gone[] = {
      {"fsdp", "__1_0.distcp"},
      {"laid", "pytorch_model_fsdp_0_rank2.bin"},
      {"sharded", "pytorch_model_fsdp_0_rank3.bin"},
      {"blocks", "shard-00002-model-00001-of-00001.safetensors"},
  };
  for (const auto& [name, file] : gone) {
    SCOPED_TRACE(name);
    fs::remove(fs::path(made) / name / file);
    const auto torn = open_checkpoint(made + "/" + name);
    ASSERT_TRUE(torn.has_value());
    ASSERT_FALSE(torn->findings.empty());
    EXPECT_EQ(torn->findings[0].kind, "checkpoint.incomplete") << torn->findings[0].text;
    for (const tensors::Tensor& tensor : torn->tensors) tensors::scan_tensor(tensor);
  }
}

void expect_parts_of_one_rank(const std::string& made) {
  const auto part = open_checkpoint(made + "/laid/pytorch_model_fsdp_0_rank1.bin");
  ASSERT_TRUE(part.has_value());
  const tensors::Tensor* both = part->tensor("both");
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->shape, (std::vector<std::int64_t>{3, 5}));
  EXPECT_TRUE(tensors::scan_tensor(*both).has_value());
  ASSERT_EQ(part->findings.size(), 1U);
  EXPECT_EQ(part->findings[0].kind, "checkpoint.partial");
  EXPECT_EQ(part->findings[0].severity, core::Severity::note);
}

// One test, so that four ranks write once: CTest runs every test in a process of its own.
TEST(Sharded, EveryLayoutIsReadTensorForTensorAndRanksThatAreMissingAreSaid) {
  const std::string python = test::python_with("torch.distributed.fsdp, safetensors, numpy");
  if (python.empty()) GTEST_SKIP() << "no Python with torch here";
  const test::Folder folder;
  const std::string made = folder / "made";
  ASSERT_TRUE(test::run_script(python, "make_sharded.py", made));
  expect_every_layout(made, test::json_of(made + "/expected.json"));
  expect_groups(made);
  expect_parts_of_one_rank(made);
  expect_missing_ranks_said(made);
}

}  // namespace
}  // namespace aplomb::checkpoint
