#include "train/loop/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aplomb::train::loop {
namespace {

const Card k_t4{"Tesla T4", 7.5};
const Card k_h100{"NVIDIA H100 80GB HBM3", 9.0};

std::string format_of(const std::string& precision, bool on_gpu, const std::optional<Card>& card) {
  PrecisionFlags flags;
  flags.precision = precision;
  return choose_format(flags, on_gpu, card).name;
}

TEST(Device, TheFormatIsTheBestThatTheCardMultipliesIn) {
  EXPECT_EQ(format_of("auto", true, k_h100), "bf16");
  EXPECT_EQ(format_of("auto", true, k_t4), "fp16");
  EXPECT_EQ(format_of("auto", true, std::nullopt), "bf16");  // no driver to ask: a new card
  EXPECT_EQ(format_of("auto", false, std::nullopt), "fp32");
  for (const char* asked : {"fp32", "bf16", "fp16"}) {
    EXPECT_EQ(format_of(asked, true, k_t4), asked);
    EXPECT_EQ(format_of(asked, false, std::nullopt), asked);
  }
  EXPECT_EQ(choose_format({.precision = "fp16"}, false, {}).type, torch::kFloat16);
}

TEST(Device, TF32IsUsedWhereTheCardHasIt) {
  EXPECT_TRUE(uses_tf32({}, k_h100));
  EXPECT_FALSE(uses_tf32({}, k_t4));
  EXPECT_FALSE(uses_tf32({.tf32 = false}, k_h100));
  EXPECT_FALSE(uses_tf32({}, std::nullopt));
  allow_kernels({.tf32 = true, .disable_flash_sdpa = true});
  EXPECT_TRUE(at::globalContext().allowTF32CuBLAS());
  EXPECT_FALSE(at::globalContext().userEnabledFlashSDP());
  EXPECT_FALSE(at::globalContext().userEnabledCuDNNSDP());
  allow_kernels({.tf32 = false, .disable_cudnn_sdpa = false});
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
  EXPECT_TRUE(at::globalContext().userEnabledFlashSDP());
  EXPECT_TRUE(at::globalContext().userEnabledCuDNNSDP());
}

TEST(Device, ThePeakIsThatOfTheDatasheetForTheFormat) {
  EXPECT_DOUBLE_EQ(peak_flops(k_h100, "bf16", true), 989e12);
  EXPECT_DOUBLE_EQ(peak_flops(k_h100, "fp32", true), 494e12);
  EXPECT_DOUBLE_EQ(peak_flops(k_h100, "fp32", false), 67e12);
  EXPECT_DOUBLE_EQ(peak_flops(k_t4, "fp16", true), 65e12);
  EXPECT_EQ(peak_flops(k_t4, "bf16", true), 0);
  EXPECT_EQ(peak_flops({"Frobnicator 9000", 9.0}, "bf16", true), 0);
  EXPECT_EQ(peak_flops({"NVIDIA A100-SXM4-80GB MIG 1g.10gb", 8.0}, "bf16", true), 0);
}

TEST(Device, OfACpuNothingIsToldThatOnlyAcceleratorsHave) {
  EXPECT_FALSE(card_of(torch::kCPU));
  EXPECT_FALSE(held_memory_bytes(torch::kCPU));
  EXPECT_FALSE(free_memory_bytes(torch::kCPU));
}

}  // namespace
}  // namespace aplomb::train::loop
