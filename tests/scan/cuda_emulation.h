#pragma once
/// Runs a CUDA kernel's source on the host: the words of the language that the scan's kernels use,
/// and blocks whose threads take turns. A vote or a shuffle waits for the 32 lanes of its warp, a
/// barrier for the block; lanes that meet at different ones (which a device would not forgive) end
/// the test. Include before the kernel.
///
///     cuda::run({grid}, {block}, [&] { kernel(arguments...); });

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#define __device__
#define __global__ inline
#define __shared__ static  // blocks run one after the other

namespace aplomb::test::cuda {

struct Dim {
  unsigned x = 1;
};

/// Threads of a block or of a warp that wait for each other, and what they hand each other.
struct Meeting {
  unsigned members = 0;
  unsigned arrived = 0;
  std::uint64_t times = 0;
  const char* at = nullptr;
  std::array<std::array<std::uint64_t, 32>, 2> values{};
};

struct Thread {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  bool done = false;
};

struct Block {
  ucontext_t scheduler{};
  std::vector<Thread> threads;
  std::vector<Meeting> warps;
  Meeting whole;
  std::size_t now = 0;
  std::function<void()> kernel;
};

inline Dim thread_index, block_index, block_size, grid_size;
inline Block* running = nullptr;

inline void yield() {
  Block& block = *running;
  swapcontext(&block.threads[block.now].context, &block.scheduler);
}

/// Waits for all members; gives what they brought.
inline const std::array<std::uint64_t, 32>& meet(Meeting& meeting, const char* at,
                                                 std::uint64_t value) {
  if (meeting.arrived > 0 && meeting.at != at) std::abort();  // lanes have diverged
  meeting.at = at;
  auto& values = meeting.values[meeting.times % 2];
  values[running->now % 32] = value;
  const std::uint64_t turn = meeting.times;
  if (++meeting.arrived == meeting.members) {
    meeting.arrived = 0;
    ++meeting.times;
  }
  while (meeting.times == turn) yield();
  return values;
}
inline Meeting& warp() { return running->warps[running->now / 32]; }

inline void enter() {
  Block& block = *running;
  block.kernel();
  block.threads[block.now].done = true;
  swapcontext(&block.threads[block.now].context, &block.scheduler);
}

inline void run_block(unsigned size, const std::function<void()>& kernel) {
  constexpr std::size_t k_stack = 256U << 10U;
  Block block;
  block.kernel = kernel;
  block.threads.resize(size);
  block.warps.resize(size / 32);
  block.whole.members = size;
  for (Meeting& each : block.warps) each.members = 32;
  running = &block;
  for (Thread& each : block.threads) {
    each.stack = std::make_unique<char[]>(k_stack);
    getcontext(&each.context);
    each.context.uc_stack.ss_sp = each.stack.get();
    each.context.uc_stack.ss_size = k_stack;
    makecontext(&each.context, enter, 0);
  }
  for (std::size_t left = size; left > 0;) {
    left = 0;
    for (block.now = 0; block.now < size; ++block.now) {
      if (block.threads[block.now].done) continue;
      thread_index.x = static_cast<unsigned>(block.now);
      swapcontext(&block.scheduler, &block.threads[block.now].context);
      left += block.threads[block.now].done ? 0 : 1;
    }
  }
  running = nullptr;
}

inline void run(Dim grid, Dim block, const std::function<void()>& kernel) {
  grid_size = grid;
  block_size = block;
  for (unsigned i = 0; i < grid.x; ++i) {
    block_index.x = i;
    run_block(block.x, kernel);
  }
}

}  // namespace aplomb::test::cuda

namespace aplomb::scan::gpu {

#define threadIdx ::aplomb::test::cuda::thread_index
#define blockIdx ::aplomb::test::cuda::block_index
#define blockDim ::aplomb::test::cuda::block_size
#define gridDim ::aplomb::test::cuda::grid_size

using std::fma;
using std::max;
using std::min;

inline unsigned __ballot_sync(unsigned, bool vote) {
  const auto& votes = test::cuda::meet(test::cuda::warp(), "ballot", vote ? 1 : 0);
  unsigned all = 0;
  for (unsigned lane = 0; lane < 32; ++lane) all |= votes[lane] != 0 ? 1U << lane : 0U;
  return all;
}
inline bool __any_sync(unsigned all, bool vote) { return __ballot_sync(all, vote) != 0; }

template <class T>
T __shfl_xor_sync(unsigned, T value, int lanes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  const std::size_t from = test::cuda::running->now % 32 ^ static_cast<std::size_t>(lanes);
  const std::uint64_t theirs = test::cuda::meet(test::cuda::warp(), "shuffle", bits)[from];
  std::memcpy(&value, &theirs, sizeof value);
  return value;
}

inline void __syncthreads() { test::cuda::meet(test::cuda::running->whole, "barrier", 0); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline void atomicAdd(unsigned* to, unsigned value) { *to += value; }

}  // namespace aplomb::scan::gpu
