// The C functions of aplomb/scan.h.

#include "aplomb/scan.h"

#include <algorithm>
#include <exception>
#include <span>
#include <vector>

#include "scan/scan_c.h"

namespace {

using aplomb::scan::as_c;
using aplomb::scan::check;
using aplomb::scan::k_types;

static_assert(static_cast<int>(aplomb::scan::ScalarType::f64) == APLOMB_F64);
static_assert(static_cast<int>(aplomb::scan::ScalarType::bf16) == APLOMB_BF16);
static_assert(static_cast<int>(aplomb::scan::ScalarType::i64) == APLOMB_I64);
static_assert(static_cast<int>(aplomb::scan::ScalarType::boolean) == APLOMB_BOOL);
static_assert(APLOMB_BOOL + 1 == k_types);

/// Some tensors at a time, so that what lies between the two kinds of statistics stays in the
/// cache.
void scan_batches(std::span<const aplomb_tensor> tensors, int threads, aplomb_tensor_stats* stats) {
  constexpr std::size_t k_batch = 128;  // 256 KiB of statistics
  std::vector<aplomb::scan::TensorView> views;
  std::vector<aplomb::scan::TensorStats> found(std::min(k_batch, tensors.size()));
  for (std::size_t from = 0; from < tensors.size(); from += k_batch) {
    const auto batch = tensors.subspan(from, std::min(k_batch, tensors.size() - from));
    views.clear();
    for (const aplomb_tensor& each : batch) {
      views.push_back({each.data, each.count, static_cast<aplomb::scan::ScalarType>(each.dtype)});
    }
    aplomb::scan::scan_many(views, std::span(found).first(views.size()), threads);
    std::transform(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(views.size()),
                   stats + from, as_c);
  }
}

}  // namespace

int aplomb_scan(const aplomb_tensor* tensors, size_t tensor_count, int threads,
                aplomb_tensor_stats* stats, size_t stats_size) {
  if (stats_size != sizeof(aplomb_tensor_stats)) return APLOMB_SCAN_BAD_ARGUMENT;
  if (tensor_count == 0) return APLOMB_SCAN_OK;
  if (tensors == nullptr || stats == nullptr) return APLOMB_SCAN_BAD_ARGUMENT;
  for (size_t i = 0; i < tensor_count; ++i) {
    if (const int status = check(tensors[i]); status != APLOMB_SCAN_OK) return status;
  }
  try {
    scan_batches({tensors, tensor_count}, threads, stats);
    return APLOMB_SCAN_OK;
  } catch (const std::exception&) {  // of the vectors and threads above
    return APLOMB_SCAN_NO_RESOURCES;
  }
}

uint64_t aplomb_scan_below_normal(const aplomb_tensor_stats* stats, int32_t dtype) {
  if (stats == nullptr || dtype < 0 || dtype >= k_types) return 0;
  const auto format = aplomb::scan::format_of(static_cast<aplomb::scan::ScalarType>(dtype));
  if (!format) return 0;
  aplomb::scan::TensorStats counts;
  counts.zeros = stats->zeros;
  std::copy(std::begin(stats->exponents), std::end(stats->exponents), counts.exponents.begin());
  return counts.below_normal(*format);
}

const char* aplomb_scan_target(void) {  // NOLINT(modernize-redundant-void-arg): as declared for C
  return aplomb::scan::scan_target().data();  // a literal of Highway's: ends with 0
}
