// The source of the scan's CUDA kernels on emulated blocks, against the scalar reference.

#include <gtest/gtest.h>

#include "cuda_emulation.h"
#include "made_tensors.h"
#include "scan/cuda/scan_kernel.cuh"
#include "scan/gpu_stats.h"

namespace aplomb::scan {
namespace {

using test::Buffer;
using test::expect_same;
using test::make;

constexpr ScalarType k_types[] = {ScalarType::f32, ScalarType::bf16, ScalarType::f16};

std::vector<TensorStats> scan_emulated(const std::vector<TensorView>& tensors, unsigned blocks,
                                       unsigned threads) {
  const auto table = scan::gpu::chunks_of(tensors);
  EXPECT_TRUE(table.has_value());
  std::vector<scan::gpu::Partial> partials(table->chunks.size() + 1);
  std::vector<scan::gpu::Stats> results(tensors.size());
  const auto chunks = static_cast<unsigned>(table->chunks.size());
  test::cuda::run({blocks}, {threads}, [&] {
    scan::gpu::emulated::scan_chunks(table->chunks.data(), chunks, partials.data());
  });
  test::cuda::run({static_cast<unsigned>(tensors.size())}, {threads}, [&] {
    scan::gpu::emulated::join_chunks(partials.data(), table->first.data(), results.data());
  });
  std::vector<TensorStats> stats;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    stats.push_back(scan::gpu::stats_of(results[i], tensors[i].count));
  }
  return stats;
}

TEST(GpuKernels, EqualTheReferenceOverLengthsMisalignmentsAndKindsOfData) {
  for (const ScalarType type : k_types) {
    std::vector<Buffer> buffers;
    for (const std::size_t count : {0UL, 1UL, 3UL, 64UL, 257UL, 3000UL}) {
      for (const auto& [spread, odd] : {std::pair{0.0, 0.0}, {6.0, 1e-3}, {40.0, 0.3}}) {
        buffers.push_back(make(type, count, spread, odd, count + 7));
      }
    }
    std::vector<TensorView> views;
    for (const Buffer& each : buffers) {
      for (const std::uint64_t skip : {0UL, 1UL, 3UL}) {
        if (skip <= each.view().count) views.push_back(each.view(skip));
      }
    }
    const auto found = scan_emulated(views, 3, 64);
    for (std::size_t i = 0; i < views.size(); ++i) {
      expect_same(found[i], scan_reference(views[i]),
                  std::string(name(type)) + " tensor " + std::to_string(i));
    }
  }
}

TEST(GpuKernels, JoinTheChunksOfALongTensorInOrder) {
  Buffer buffer = make(ScalarType::bf16, scan::gpu::k_chunk * 2 + 77, 2, 0, 5);
  const std::uint16_t nan = 0x7FC0;
  const std::size_t place = scan::gpu::k_chunk + 1000;
  std::memcpy(buffer.bytes.data() + 2 * place, &nan, 2);
  const auto found = scan_emulated({buffer.view()}, 2, 256);
  expect_same(found[0], scan_reference(buffer.view()), "three chunks");
  EXPECT_EQ(found[0].first_nonfinite, static_cast<std::int64_t>(place));
}

TEST(GpuKernels, SumsDoNotDependOnTheGrid) {
  const Buffer buffer = make(ScalarType::f32, 5000, 3, 1e-3, 9);
  const auto one = scan_emulated({buffer.view()}, 1, 64);
  const auto four = scan_emulated({buffer.view()}, 4, 64);
  EXPECT_EQ(one[0].sum, four[0].sum);
  EXPECT_EQ(one[0].sum_squares, four[0].sum_squares);
}

TEST(GpuKernels, TheWindowFollowsWhatTheWarpsSee) {
  // From 2^-120 to 2^120 in steps: nothing may be counted twice or lost on the way.
  Buffer buffer{{}, ScalarType::f32};
  for (int exponent = -120; exponent <= 120; ++exponent) {
    for (int i = 0; i < 40; ++i) buffer.push(std::ldexp(1.0 + i / 64.0, exponent));
  }
  expect_same(scan_emulated({buffer.view()}, 1, 64)[0], scan_reference(buffer.view()), "stairs");
}

}  // namespace
}  // namespace aplomb::scan
