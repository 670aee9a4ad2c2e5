#pragma once
// The kernels of the scan on a CUDA device. They name nothing of CUDA's headers but the language
// itself, so that tests can run the same source on emulated blocks (tests/scan/cuda_emulation.h).
//
// Shapes: a tensor is cut into chunks of k_chunk elements; `partials` has one entry a chunk,
// `results` one a tensor.
//
// scan_chunks, a persistent grid: each block takes every gridDim.x-th chunk. Elements come in
// 16-byte loads, several in flight before the first is used; each goes to float64 for the sums
// (products of fp32 are exact there). The exponents of the 32 elements that a warp holds at a time
// are counted by votes: five ballots give the bit planes of their codes, and lane L counts the
// elements of code L with three-input logic and one population count. 32 binades around what the
// warp has seen lie in this window; elements elsewhere, rare, are counted in shared memory, and the
// window moves when they are not rare. Rounds with a NaN or an Inf are looked at element by
// element.
//
// join_chunks: one block a tensor adds its chunks in their order. Sums do not depend on the grid:
// every launch gives the same bits.

#include "scan/cuda/gpu_layout.h"

#ifdef __CUDACC__
#define APLOMB_UNROLL _Pragma("unroll")
#define APLOMB_KERNELS device
#else  // the tests' emulation; another name, for both stand in one program
#define APLOMB_UNROLL
#define APLOMB_KERNELS emulated
#endif

namespace aplomb::scan::gpu::APLOMB_KERNELS {

constexpr unsigned k_all = 0xFFFFFFFFU;  ///< lanes of a warp
constexpr unsigned k_infinity = 0x7F800000U;
constexpr unsigned k_headroom = 4;  ///< binades left free above what the warp has seen
constexpr unsigned k_window = 32;
constexpr int k_loads = 4;           ///< in flight per thread
constexpr unsigned k_far_lanes = 8;  ///< of a round, before the window moves

/// fp32 bits of the element `at` (of 16 / Width) of a 16-byte load.
template <Kind kind>
__device__ inline unsigned bits_at(const Load& load, int at) {
  if constexpr (kind == Kind::f32) {
    return load.word[at];
  } else {
    const unsigned half = (load.word[at / 2] >> (at % 2 * 16)) & 0xFFFFU;
    if constexpr (kind == Kind::bf16) return half << 16U;
    // fp16: the magnitude in fp32's place is the value times 2^-112, subnormals included; Inf and
    // NaN keep their payload below fp32's highest exponent.
    const unsigned magnitude = half & 0x7FFFU;
    const unsigned sign = (half & 0x8000U) << 16U;
    if (magnitude > 0x7BFFU) return sign | k_infinity | (magnitude & 0x3FFU) << 13U;
    return sign | __float_as_uint(__uint_as_float(magnitude << 13U) * 0x1p112F);
  }
}

/// Of the elements that a thread, a warp or a block has seen. Plain: it lies in shared memory, too.
struct Totals {
  double sum;
  double squares;
  unsigned most;   ///< largest finite magnitude, as bits
  unsigned least;  ///< smallest magnitude but zero, as bits, less one
  unsigned nan;
  unsigned inf;
  unsigned zeros;
  unsigned low;    ///< zeros and subnormal elements: bin 0
  unsigned first;  ///< index of the first NaN or Inf in the chunk
};

/// What a thread holds while it scans a chunk.
struct Lane {
  Totals own = {0, 0, 0, k_all, 0, 0, 0, 0, k_all};
  unsigned base = 0;   ///< of the warp's window; 0 before it is placed
  unsigned count = 0;  ///< the warp's elements in binade base + lane
  unsigned top = 0;    ///< largest exponent of this round
  unsigned far = 0;    ///< elements outside the window in this round
};

/// One element in the low bits.
template <Kind kind>
__device__ inline unsigned word_at(const void* data, unsigned index) {
  if constexpr (kind == Kind::f32) return static_cast<const std::uint32_t*>(data)[index];
  return static_cast<const std::uint16_t*>(data)[index];
}

__device__ inline unsigned lane_number() { return threadIdx.x % 32U; }

/// One element a lane, by all lanes of the warp together. `in`: this lane has one, and it is
/// finite.
__device__ inline void add_element(Lane& lane, unsigned bits, bool in, unsigned* bins) {
  const unsigned magnitude = in ? bits & 0x7FFFFFFFU : 0U;
  const unsigned exponent = magnitude >> 23U;
  const double value = in ? static_cast<double>(__uint_as_float(bits)) : 0.0;
  lane.own.sum += value;
  lane.own.squares = fma(value, value, lane.own.squares);
  lane.own.most = max(lane.own.most, magnitude);
  lane.own.least = min(lane.own.least, magnitude - 1U);  // a zero becomes the largest number
  lane.own.zeros += in && magnitude == 0 ? 1U : 0U;
  lane.own.low += in && exponent == 0 ? 1U : 0U;
  lane.top = max(lane.top, exponent);
  const unsigned code = exponent - lane.base;  // wraps below the window
  const bool inside = exponent != 0 && code < k_window;
  const unsigned own = lane_number();
  unsigned mine = __ballot_sync(k_all, inside);
  for (unsigned bit = 0; bit < 5; ++bit) {
    const unsigned plane = __ballot_sync(k_all, (code >> bit & 1U) != 0);
    mine &= plane ^ ((own >> bit & 1U) - 1U);  // lanes whose number lacks the bit: complement
  }
  lane.count += static_cast<unsigned>(__popc(mine));
  if (exponent != 0 && !inside) {
    atomicAdd(&bins[exponent], 1U);
    ++lane.far;
  }
}

__device__ inline unsigned warp_max(unsigned value) {
  for (unsigned step = 16; step > 0; step /= 2) {
    value = max(value, __shfl_xor_sync(k_all, value, static_cast<int>(step)));
  }
  return value;
}

/// Brings the warp's counts into the bins, and moves the window to what it now sees.
__device__ inline void flush(Lane& lane, unsigned* bins) {
  if (lane.count > 0) atomicAdd(&bins[lane.base + lane_number()], lane.count);
  lane.count = 0;
}
__device__ inline void place_window(Lane& lane, unsigned top, unsigned* bins) {
  flush(lane, bins);
  const unsigned above = min(top + k_headroom, 254U);
  lane.base = above >= k_window ? above - k_window + 1U : 1U;
}

/// A NaN or an Inf: counted, and its place kept.
__device__ inline void add_nonfinite(Lane& lane, unsigned bits, unsigned index) {
  ++((bits & 0x7FFFFFFFU) > k_infinity ? lane.own.nan : lane.own.inf);
  lane.own.first = min(lane.own.first, index);
}

/// One 16-byte load a lane: elements [index, index + n) of the chunk, of which `left` are its own.
template <Kind kind>
__device__ inline void add_load(Lane& lane, const Load& load, unsigned index, unsigned left,
                                unsigned* bins) {
  constexpr int k_elements = 16 / k_width<kind>;
  unsigned most = 0;
  for (int i = 0; i < k_elements; ++i) {
    const bool own = static_cast<unsigned>(i) < left;
    most = max(most, own ? bits_at<kind>(load, i) & 0x7FFFFFFFU : 0U);
  }
  const bool regular = !__any_sync(k_all, most >= k_infinity);
  if (lane.base == 0 && regular) {
    place_window(lane, warp_max(most) >> 23U, bins);
  } else if (lane.base == 0) {
    lane.base = 127U - k_window / 2U;
  }
  for (int i = 0; i < k_elements; ++i) {
    const unsigned bits = bits_at<kind>(load, i);
    const bool own = static_cast<unsigned>(i) < left;
    const bool finite = regular || (bits & 0x7FFFFFFFU) < k_infinity;
    if (own && !finite) add_nonfinite(lane, bits, index + static_cast<unsigned>(i));
    add_element(lane, bits, own && finite, bins);
  }
}

/// Moves the window where it missed much of the round.
__device__ inline void end_round(Lane& lane, unsigned* bins) {
  const unsigned far = __ballot_sync(k_all, lane.far > 0);
  const unsigned top = warp_max(lane.top);
  if (static_cast<unsigned>(__popc(far)) > k_far_lanes) place_window(lane, top, bins);
  lane.far = 0;
  lane.top = 0;
}

/// The elements before the first 16-byte boundary, or too few for a load, one a lane.
template <Kind kind>
__device__ inline void add_loose(Lane& lane, const void* data, unsigned from, unsigned count,
                                 unsigned* bins) {
  for (unsigned at = 0; at < count; at += blockDim.x) {
    const bool own = at + threadIdx.x < count;
    const unsigned index = from + at + threadIdx.x;
    Load load = {};
    if (own) load.word[0] = word_at<kind>(data, index);
    add_load<kind>(lane, load, index, own ? 1U : 0U, bins);
  }
  end_round(lane, bins);
}

template <Kind kind>
__device__ inline void scan_chunk(const Chunk& chunk, Lane& lane, unsigned* bins) {
  constexpr unsigned k_elements = 16 / k_width<kind>;
  const auto address = reinterpret_cast<unsigned long long>(chunk.data);
  const unsigned past = static_cast<unsigned>(address % 16U) / k_width<kind>;
  const unsigned head = min(past == 0 ? 0U : k_elements - past, chunk.count);
  const unsigned loads = (chunk.count - head) / k_elements;
  if (head > 0) add_loose<kind>(lane, chunk.data, 0, head, bins);
  const Load* const data =
      reinterpret_cast<const Load*>(static_cast<const char*>(chunk.data) + head * k_width<kind>);
  for (unsigned at = 0; at < loads; at += blockDim.x * k_loads) {
    Load held[k_loads];
    bool own[k_loads];
    APLOMB_UNROLL
    for (int i = 0; i < k_loads; ++i) {
      const unsigned index = at + static_cast<unsigned>(i) * blockDim.x + threadIdx.x;
      own[i] = index < loads;
      held[i] = own[i] ? data[index] : Load{};
    }
    APLOMB_UNROLL
    for (int i = 0; i < k_loads; ++i) {
      const unsigned index = at + static_cast<unsigned>(i) * blockDim.x + threadIdx.x;
      add_load<kind>(lane, held[i], head + index * k_elements, own[i] ? k_elements : 0U, bins);
    }
    end_round(lane, bins);
  }
  const unsigned done = head + loads * k_elements;
  if (done < chunk.count) add_loose<kind>(lane, chunk.data, done, chunk.count - done, bins);
  flush(lane, bins);
}

__device__ inline void join(Totals& to, const Totals& from) {
  to.sum += from.sum;
  to.squares += from.squares;
  to.most = max(to.most, from.most);
  to.least = min(to.least, from.least);
  to.nan += from.nan;
  to.inf += from.inf;
  to.zeros += from.zeros;
  to.low += from.low;
  to.first = min(to.first, from.first);
}

__device__ inline void join_warp(Totals& own) {
  for (int step = 16; step > 0; step /= 2) {
    Totals other;
    other.sum = __shfl_xor_sync(k_all, own.sum, step);
    other.squares = __shfl_xor_sync(k_all, own.squares, step);
    other.most = __shfl_xor_sync(k_all, own.most, step);
    other.least = __shfl_xor_sync(k_all, own.least, step);
    other.nan = __shfl_xor_sync(k_all, own.nan, step);
    other.inf = __shfl_xor_sync(k_all, own.inf, step);
    other.zeros = __shfl_xor_sync(k_all, own.zeros, step);
    other.low = __shfl_xor_sync(k_all, own.low, step);
    other.first = __shfl_xor_sync(k_all, own.first, step);
    join(own, other);
  }
}

/// `warps` and `bins` lie in shared memory and are complete.
__device__ inline void write_partial(const Totals* warps, const unsigned* bins, Partial& to) {
  for (unsigned bin = threadIdx.x; bin < k_bins; bin += blockDim.x) {
    if (bin > 0) to.exponents[bin] = bins[bin];
  }
  if (threadIdx.x != 0) return;
  Totals all = warps[0];
  for (unsigned i = 1; i < blockDim.x / 32U; ++i) join(all, warps[i]);
  to.sum = all.sum;
  to.sum_squares = all.squares;
  to.most = all.most;
  to.least = all.least;
  to.nan = all.nan;
  to.inf = all.inf;
  to.zeros = all.zeros;
  to.first = all.first;
  to.exponents[0] = all.low;
}

__global__ void scan_chunks(const Chunk* chunks, unsigned count, Partial* partials) {
  __shared__ unsigned bins[k_bins];
  __shared__ Totals warps[k_threads / 32];
  for (unsigned i = blockIdx.x; i < count; i += gridDim.x) {
    for (unsigned bin = threadIdx.x; bin < k_bins; bin += blockDim.x) bins[bin] = 0;
    __syncthreads();
    const Chunk chunk = chunks[i];
    Lane lane;
    if (chunk.kind == Kind::f32) {
      scan_chunk<Kind::f32>(chunk, lane, bins);
    } else if (chunk.kind == Kind::bf16) {
      scan_chunk<Kind::bf16>(chunk, lane, bins);
    } else {
      scan_chunk<Kind::f16>(chunk, lane, bins);
    }
    join_warp(lane.own);
    if (lane_number() == 0) warps[threadIdx.x / 32U] = lane.own;
    __syncthreads();
    write_partial(warps, bins, partials[i]);
    __syncthreads();
  }
}

/// `first` has one entry a tensor and one more: the chunks of tensor t are [first[t], first[t+1]).
__global__ void join_chunks(const Partial* partials, const unsigned* first, Stats* results) {
  const unsigned tensor = blockIdx.x;
  const unsigned begin = first[tensor];
  const unsigned end = first[tensor + 1];
  Stats& to = results[tensor];
  for (unsigned bin = threadIdx.x; bin < k_bins; bin += blockDim.x) {
    unsigned long long sum = 0;
    for (unsigned i = begin; i < end; ++i) sum += partials[i].exponents[bin];
    to.exponents[bin] = sum;
  }
  if (threadIdx.x != 0) return;
  Stats all = {};
  unsigned most = 0;
  unsigned least = k_all;
  all.first_nonfinite = -1;
  for (unsigned i = begin; i < end; ++i) {
    const Partial& each = partials[i];
    all.sum += each.sum;
    all.sum_squares += each.sum_squares;
    all.nan += each.nan;
    all.inf += each.inf;
    all.zeros += each.zeros;
    most = max(most, each.most);
    least = min(least, each.least);
    if (all.first_nonfinite < 0 && each.first != k_all) {
      all.first_nonfinite =
          static_cast<long long>(i - begin) * k_chunk + static_cast<long long>(each.first);
    }
  }
  to.sum = all.sum;
  to.sum_squares = all.sum_squares;
  to.nan = all.nan;
  to.inf = all.inf;
  to.zeros = all.zeros;
  to.first_nonfinite = all.first_nonfinite;
  to.max_bits = most;
  to.min_bits = least == k_all || least + 1U >= k_infinity ? 0U : least + 1U;
}

}  // namespace aplomb::scan::gpu::APLOMB_KERNELS
