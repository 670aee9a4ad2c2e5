#include "log_text/settings_scan.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace aplomb::log_text {
namespace {

/// Everything that a text sets, by canonical name; of several the last.
std::map<std::string, std::string> scan(std::string_view text, TextKind kind = TextKind::log) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log.txt", "text-log", text.size());
  SettingScanner scanner(kind);
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    scanner.line(text.substr(at, end - at), ++number, at, build, source);
    at = end + 1;
  }
  scanner.finish(build, source);
  std::map<std::string, std::string> found;
  for (const record::Setting& setting : run.settings)
    found[setting.name] = core::show(setting.value);
  return found;
}

using Found = std::map<std::string, std::string>;

TEST(SettingScanner, ReadsVersionsThatCondaPins) {
  const Found found = scan(
      "conda install -c nvidia pytorch=1.12.1=py3.9_cuda11.3 cudatoolkit=10.1.243\n"
      "  - numpy=1.26\n",
      TextKind::declared);
  EXPECT_EQ(found.at("env.cuda"), "10.1.243");
  EXPECT_EQ(found.at("env.torch"), "1.12.1");
  EXPECT_EQ(found.at("env.numpy"), "1.26");
}

TEST(SettingScanner, ReadsVersionsAndCardsOfAnEnvironmentReport) {
  const Found found = scan(
      "PyTorch version: 2.4.1+cu121\n"
      "GPU 0: NVIDIA A100-SXM4-80GB\nGPU 1: NVIDIA A100-SXM4-80GB\n"
      "[pip3] transformers==4.44.2\n"
      "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4     |\n");
  EXPECT_EQ(found.at("env.torch"), "2.4.1+cu121");
  EXPECT_EQ(found.at("env.gpu"), "NVIDIA A100 80GB");
  EXPECT_EQ(found.at("env.gpu_count"), "2");
  EXPECT_EQ(found.at("env.transformers"), "4.44.2");
  EXPECT_EQ(found.at("env.driver"), "550.54.15");
  EXPECT_EQ(found.at("env.cuda_driver"), "12.4");
}

TEST(SettingScanner, ALineShownBelowAWarningOpensNothing) {
  const Found found = scan(
      "/opt/site-packages/transformers/modeling_utils.py:3303: FutureWarning: `x` is deprecated\n"
      "  super().__init__(\n"
      "/opt/site-packages/torch/utils/data/dataloader.py:759: UserWarning: 'pin_memory'\n"
      "  warnings.warn(\n"
      "trainable params: 58,560 || all params: 844,352 || trainable%: 6.9355\n");
  ASSERT_TRUE(found.contains("model.params"));
  EXPECT_EQ(found.at("model.params"), "844352");
}

TEST(SettingScanner, TakesNoMetricsForSettings) {
  EXPECT_TRUE(scan("loss: 2.31 | grad_norm: 0.8\n{'loss': 2.3, 'epoch': 0.1}\nstep 4090 of 10000\n")
                  .empty());
}

}  // namespace
}  // namespace aplomb::log_text
