// The scan on a CUDA device, where one answers, against the scalar reference. The kernels' source
// on emulated blocks, everywhere: gpu_kernels_test.cpp.

#include "scan/gpu_scan.h"

#include <gtest/gtest.h>

#ifdef APLOMB_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

#include "made_tensors.h"
#include "scan/gpu_stats.h"

namespace aplomb::scan {
namespace {

using test::Buffer;
using test::expect_same;
using test::make;

constexpr ScalarType k_types[] = {ScalarType::f32, ScalarType::bf16, ScalarType::f16};

TEST(GpuScan, SaysWhatItCannotDo) {
  const float one = 1;
  const TensorView tensor{&one, 1, ScalarType::f32};
  EXPECT_FALSE(scan::gpu::chunks_of({{TensorView{&one, 1, ScalarType::f64}}}).has_value());
  const TensorView crooked{reinterpret_cast<const char*>(&one) + 1, 1, ScalarType::f32};
  EXPECT_FALSE(scan::gpu::chunks_of({{crooked}}).has_value());
  if (GpuScan::is_present()) GTEST_SKIP() << "a device answers: nothing to refuse";
  const auto scan = GpuScan::create({{tensor}}, {});
  ASSERT_FALSE(scan.has_value());
  EXPECT_EQ(scan.error().code, core::ErrorCode::unsupported);
}

TEST(GpuScan, OnADeviceEqualsTheReferenceAndNeverWaits) {
#ifndef APLOMB_HAS_CUDA
  GTEST_SKIP() << "built without nvcc";
#else
  if (!GpuScan::is_present()) GTEST_SKIP() << "no CUDA device answers";
  std::vector<Buffer> buffers;
  std::vector<TensorView> on_host;
  std::vector<TensorView> on_device;
  for (const ScalarType type : k_types) {
    for (const std::size_t count : {0UL, 1UL, 512UL, 300000UL}) {
      for (const auto& [spread, odd] : {std::pair{1.0, 0.0}, {40.0, 1e-3}}) {
        buffers.push_back(make(type, count, spread, odd, count + 3));
      }
    }
  }
  for (const Buffer& each : buffers) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, each.bytes.size() + 1), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(memory, each.bytes.data(), each.bytes.size(), cudaMemcpyDefault),
              cudaSuccess);
    on_host.push_back(each.view());
    on_device.push_back({memory, each.view().count, each.type});
  }
  const auto scan = GpuScan::create(on_device, {.slots = 2});
  ASSERT_TRUE(scan.has_value()) << scan.error().text;
  std::vector<TensorStats> first(on_device.size());
  std::vector<TensorStats> second(on_device.size());
  const auto one = (*scan)->launch();
  const auto two = (*scan)->launch();
  ASSERT_TRUE(one && two);
  EXPECT_FALSE((*scan)->launch().has_value()) << "both slots are under way";
  while (!(*scan)->poll(*one, first)) {
  }
  while (!(*scan)->poll(*two, second)) {
  }
  EXPECT_FALSE((*scan)->poll(*one, first)) << "a ticket is good once";
  for (std::size_t i = 0; i < on_host.size(); ++i) {
    expect_same(first[i], scan_reference(on_host[i]), "tensor " + std::to_string(i));
    EXPECT_EQ(first[i].sum_squares, second[i].sum_squares);
  }
  EXPECT_TRUE((*scan)->retarget(on_device));
  for (const TensorView& each : on_device) cudaFree(const_cast<void*>(each.data));  // NOLINT
#endif
}

}  // namespace
}  // namespace aplomb::scan
