#ifndef APLOMB_SCAN_H_
#define APLOMB_SCAN_H_
/* The scan for C, C++ and whatever calls C: every statistic that a judgement of tensors needs, in
 * one pass at the speed of memory.
 *
 *     aplomb_tensor grads[] = {{data, count, APLOMB_BF16}, ...};
 *     aplomb_tensor_stats stats[sizeof(grads) / sizeof(grads[0])];
 *     if (aplomb_scan(grads, 2, 4, stats, sizeof(stats[0])) != APLOMB_SCAN_OK) ...
 *     if (stats[0].nan + stats[0].inf > 0) report(stats[0].first_nonfinite);
 *
 * Tensors are flat and contiguous, in host memory, at any alignment; they are only read. NaN and
 * Inf are normal input: the sums and extremes leave them out, norm and mean do not. The result does
 * not depend on the number of threads. Any thread may call any function at any time; nothing is
 * kept between calls. No function throws, prints or ends the program.
 *
 * Link with libaplomb_scan. */

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): C */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C */

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C's names and words */

/* Element types. fp8 as OCP defines them: E4M3 has no Inf and one NaN of each sign. */
enum {
  APLOMB_F64 = 0,
  APLOMB_F32 = 1,
  APLOMB_F16 = 2,
  APLOMB_BF16 = 3,
  APLOMB_F8_E4M3 = 4,
  APLOMB_F8_E5M2 = 5,
  APLOMB_I64 = 6, /* rounded to float64 */
  APLOMB_I32 = 7,
  APLOMB_I16 = 8,
  APLOMB_I8 = 9,
  APLOMB_U8 = 10,
  APLOMB_BOOL = 11 /* a byte: 0, or anything else for true */
};

/* What a call returns. */
enum {
  APLOMB_SCAN_OK = 0,
  /* Nothing has been written: */
  APLOMB_SCAN_BAD_TYPE = 1,     /* a dtype that is none of the above */
  APLOMB_SCAN_BAD_ARGUMENT = 2, /* a null pointer with a count above 0, or an unknown stats_size */
  /* Some statistics may have been written: */
  APLOMB_SCAN_NO_RESOURCES = 3, /* no memory, or a thread could not be started */
  /* Of the scan on a device: */
  APLOMB_SCAN_NO_DEVICE = 4, /* built without nvcc, no CUDA device, or the device refused */
  APLOMB_SCAN_NOT_YET = 5    /* every slot is under way; the statistics have not arrived */
};

typedef struct {
  const void* data; /* may be null where count is 0 */
  uint64_t count;   /* elements */
  int32_t dtype;
} aplomb_tensor;

typedef struct {
  uint64_t count; /* elements: finite + nan + inf */
  uint64_t nan;
  uint64_t inf; /* of either sign */
  uint64_t zeros;
  int64_t first_nonfinite; /* index of the first NaN or Inf; -1 where there is none */
  double sum;              /* over finite elements, in float64 */
  double sum_squares;      /* likewise */
  double norm;             /* L2: NaN with a NaN inside, else Inf with an Inf inside */
  double mean;             /* NaN where an element is not finite, or there is none */
  double max_abs;          /* over finite elements; 0 where there is none */
  double min_abs;          /* over finite elements other than 0; Inf where there is none */
  /* Finite elements by floor(log2 |x|) + 127: bin 127 holds [1, 2). Bin 0 holds zeros and all
   * below 2^-126, bin 255 all from 2^128 up. Exact. */
  uint64_t exponents[256];
} aplomb_tensor_stats;

/* Scans `tensors[0..tensor_count)` into `stats[0..tensor_count)`, on at most `threads` threads
 * (below 1 counts as 1; the calling one is among them, and small work gets fewer). `stats_size` is
 * sizeof(aplomb_tensor_stats) as the caller knows it. */
int aplomb_scan(const aplomb_tensor* tensors, size_t tensor_count, int threads,
                aplomb_tensor_stats* stats, size_t stats_size);

/* Elements other than 0 that lie below the smallest normal number of a floating `dtype`: they
 * would be subnormal or vanish there. 0 for APLOMB_F64 and integers. */
uint64_t aplomb_scan_below_normal(const aplomb_tensor_stats* stats, int32_t dtype);

/* The SIMD target in use, e.g. "AVX3_DL": for bug reports. */
const char* aplomb_scan_target(void);

/* The same for tensors in the memory of a CUDA device, without ever waiting for it:
 *
 *     aplomb_gpu_scan* scan;
 *     if (aplomb_gpu_scan_create(grads, n, 0, stream, &scan) != APLOMB_SCAN_OK) ...
 *     aplomb_gpu_scan_launch(scan, &ticket);              // after the backward pass
 *     ...
 *     if (aplomb_gpu_scan_poll(scan, ticket, stats, sizeof(stats[0])) == APLOMB_SCAN_OK) ...
 *
 * F32, BF16 and F16, aligned to their elements. Kernels and the copy of the results run on `stream`
 * (a cudaStream_t; null: the default one) behind what is on it. Up to four launches may be under
 * way; each has to be polled until it gives APLOMB_SCAN_OK. One thread at a time. */
typedef struct aplomb_gpu_scan aplomb_gpu_scan;

int aplomb_gpu_scan_create(const aplomb_tensor* tensors, size_t tensor_count, int device,
                           void* stream, aplomb_gpu_scan** scan);
/* Other addresses for the same tensors, for the launches that follow. */
int aplomb_gpu_scan_retarget(aplomb_gpu_scan* scan, const aplomb_tensor* tensors,
                             size_t tensor_count);
int aplomb_gpu_scan_launch(aplomb_gpu_scan* scan, uint64_t* ticket);
/* Fills one entry a tensor. */
int aplomb_gpu_scan_poll(aplomb_gpu_scan* scan, uint64_t ticket, aplomb_tensor_stats* stats,
                         size_t stats_size);
/* Waits for what is under way. Null is allowed. */
void aplomb_gpu_scan_free(aplomb_gpu_scan* scan);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* APLOMB_SCAN_H_ */
