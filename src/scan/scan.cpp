#include "scan/scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "scan/element.h"
#include "scan/kernels.h"

namespace aplomb::scan {
namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();
constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();

struct TypeSpec {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<TypeSpec, 12> k_types = {{{"F64", 8},
                                               {"F32", 4},
                                               {"F16", 2},
                                               {"BF16", 2},
                                               {"F8_E4M3", 1},
                                               {"F8_E5M2", 1},
                                               {"I64", 8},
                                               {"I32", 4},
                                               {"I16", 2},
                                               {"I8", 1},
                                               {"U8", 1},
                                               {"BOOL", 1}}};

TensorView part_of(TensorView tensor, std::uint64_t from, std::uint64_t count) {
  return {static_cast<const char*>(tensor.data) + from * size_of(tensor.type), count, tensor.type};
}

/// Elements of a chunk: large against the cost of handing one out.
constexpr std::uint64_t k_chunk = 1U << 18U;

struct Chunk {
  std::size_t tensor;
  TensorView part;
  std::int64_t piece;  ///< of a tensor of several chunks: its partial result; else -1
};

std::vector<Chunk> chunks_of(std::span<const TensorView> tensors) {
  std::vector<Chunk> chunks;
  chunks.reserve(tensors.size());
  std::int64_t pieces = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::uint64_t from = 0; from < tensors[i].count; from += k_chunk) {
      const std::uint64_t count = std::min(k_chunk, tensors[i].count - from);
      const bool whole = tensors[i].count <= k_chunk;
      chunks.push_back({i, part_of(tensors[i], from, count), whole ? -1 : pieces++});
    }
  }
  return chunks;
}

/// Threads beside the calling one. Starting a thread takes about 30 us, in which one reads some
/// hundred KiB: each has to get 1 MiB at least. No pool is kept: its threads would be missing in a
/// forked child (PyTorch's data loaders fork).
std::size_t helpers_for(std::span<const TensorView> tensors, int threads) {
  std::uint64_t bytes = 0;
  for (const TensorView& each : tensors) bytes += each.count * size_of(each.type);
  const std::uint64_t useful = std::max<std::uint64_t>(bytes >> 20U, 1);
  return static_cast<std::size_t>(
             std::min<std::uint64_t>(useful, static_cast<std::uint64_t>(std::max(threads, 1)))) -
         1;
}

}  // namespace

std::size_t size_of(ScalarType type) { return k_types[static_cast<std::size_t>(type)].bytes; }
std::string_view name(ScalarType type) { return k_types[static_cast<std::size_t>(type)].name; }

std::optional<numerics::Format> format_of(ScalarType type) {
  switch (type) {
    case ScalarType::f64:
      return numerics::Format::fp64;
    case ScalarType::f32:
      return numerics::Format::fp32;
    case ScalarType::f16:
      return numerics::Format::fp16;
    case ScalarType::bf16:
      return numerics::Format::bf16;
    case ScalarType::f8_e4m3:
      return numerics::Format::fp8_e4m3;
    case ScalarType::f8_e5m2:
      return numerics::Format::fp8_e5m2;
    default:
      return std::nullopt;
  }
}

double TensorStats::norm() const {
  if (nan > 0) return k_nan;
  return inf > 0 ? k_infinity : std::sqrt(sum_squares);
}

double TensorStats::mean() const {
  if (nan + inf > 0 || count == 0) return k_nan;
  return sum / static_cast<double>(count);
}

std::uint64_t TensorStats::below_normal(numerics::Format format) const {
  const double smallest = numerics::spec_of(format).smallest_normal;
  if (smallest < 0x1p-126) return 0;  // float64: the histogram does not reach so far down
  std::uint64_t below = exponents[0] - zeros;
  for (std::size_t bin = 1; bin < scan::exponent_bin(smallest); ++bin) below += exponents[bin];
  return below;
}

std::uint64_t TensorStats::beyond_range(numerics::Format format) const {
  const double largest = numerics::spec_of(format).max_finite;
  if (largest > 0x1p128) return 0;
  std::uint64_t beyond = 0;
  for (std::size_t bin = scan::exponent_bin(largest) + 1; bin < 256; ++bin)
    beyond += exponents[bin];
  return beyond;
}

void TensorStats::add(const TensorStats& next) {
  if (first_nonfinite < 0 && next.first_nonfinite >= 0) {
    first_nonfinite = static_cast<std::int64_t>(count) + next.first_nonfinite;
  }
  count += next.count;
  nan += next.nan;
  inf += next.inf;
  zeros += next.zeros;
  sum += next.sum;
  sum_squares += next.sum_squares;
  max_abs = std::max(max_abs, next.max_abs);
  min_abs = std::min(min_abs, next.min_abs);
  for (std::size_t bin = 0; bin < exponents.size(); ++bin) exponents[bin] += next.exponents[bin];
}

TensorStats scan_reference(TensorView tensor) {
  TensorStats stats;
  scan::add_elements(stats, tensor, 0, tensor.count);
  return stats;
}

TensorStats scan(TensorView tensor) {
  switch (tensor.type) {
    case ScalarType::f64:
    case ScalarType::f32:
    case ScalarType::bf16:
    case ScalarType::f16:
    case ScalarType::f8_e4m3:
    case ScalarType::f8_e5m2:
      return scan::scan_simd(tensor);
    default:
      return scan_reference(tensor);
  }
}

void scan_many(std::span<const TensorView> tensors, std::span<TensorStats> stats, int threads) {
  const std::vector<Chunk> chunks = chunks_of(tensors);
  // A tensor of one chunk goes straight to its place; the others are joined from `pieces`.
  std::vector<TensorStats> pieces(static_cast<std::size_t>(std::count_if(
      chunks.begin(), chunks.end(), [](const Chunk& each) { return each.piece >= 0; })));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < chunks.size(); i = next.fetch_add(1)) {
      const Chunk& chunk = chunks[i];
      TensorStats& place =
          chunk.piece < 0 ? stats[chunk.tensor] : pieces[static_cast<std::size_t>(chunk.piece)];
      place = scan(chunk.part);
    }
  };
  {
    std::vector<std::jthread> helpers(helpers_for(tensors, threads));
    for (std::jthread& each : helpers) each = std::jthread(work);
    work();
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].count == 0 || tensors[i].count > k_chunk) stats[i] = TensorStats{};
  }
  for (const Chunk& chunk : chunks) {
    if (chunk.piece >= 0) stats[chunk.tensor].add(pieces[static_cast<std::size_t>(chunk.piece)]);
  }
}

std::string_view scan_target() { return scan::simd_target(); }

}  // namespace aplomb::scan
