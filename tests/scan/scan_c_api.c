/* aplomb/scan.h from C: compiles as C11, and says what it promises. */

#include <aplomb/scan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "not so: %s\n", what);
}

static void statistics(void) {
  const float floats[] = {3.0F, -4.0F, 0.0F, 1e-6F};
  const uint16_t halves[] = {0x3F80, 0x7F80, 0x7FC0}; /* bf16: 1, Inf, NaN */
  const aplomb_tensor tensors[] = {
      {floats, 4, APLOMB_F32}, {halves, 3, APLOMB_BF16}, {NULL, 0, APLOMB_I8}};
  aplomb_tensor_stats stats[3];
  expect(aplomb_scan(tensors, 3, 2, stats, sizeof(stats[0])) == APLOMB_SCAN_OK, "three scanned");
  expect(fabs(stats[0].norm - 5.0) < 1e-12, "norm 5");
  expect(stats[0].zeros == 1 && stats[0].max_abs == 4.0, "one zero, largest 4");
  expect(stats[0].exponents[128] == 1 && stats[0].exponents[129] == 1, "exponents of 3 and 4");
  expect(aplomb_scan_below_normal(&stats[0], APLOMB_F16) == 1, "1e-6 is subnormal in fp16");
  expect(aplomb_scan_below_normal(&stats[0], APLOMB_BF16) == 0, "and normal in bf16");
  expect(stats[1].nan == 1 && stats[1].inf == 1 && stats[1].first_nonfinite == 1, "NaN and Inf");
  expect(isnan(stats[1].norm) && stats[1].sum == 1.0, "norm NaN, sum of the finite one");
  expect(stats[2].count == 0 && isinf(stats[2].min_abs), "an empty tensor");
}

static void errors(void) {
  const float one = 1.0F;
  aplomb_tensor tensor = {&one, 1, 99};
  aplomb_tensor_stats stats;
  memset(&stats, 7, sizeof(stats));
  const aplomb_tensor_stats before = stats;
  expect(aplomb_scan(&tensor, 1, 1, &stats, sizeof(stats)) == APLOMB_SCAN_BAD_TYPE, "bad type");
  tensor.dtype = APLOMB_F32;
  tensor.data = NULL;
  expect(aplomb_scan(&tensor, 1, 1, &stats, sizeof(stats)) == APLOMB_SCAN_BAD_ARGUMENT, "null");
  tensor.data = &one;
  expect(aplomb_scan(&tensor, 1, 1, &stats, 8) == APLOMB_SCAN_BAD_ARGUMENT, "other struct");
  expect(memcmp(&before, &stats, sizeof(stats)) == 0, "nothing written after an error");
  expect(aplomb_scan(NULL, 0, 1, NULL, sizeof(stats)) == APLOMB_SCAN_OK, "nothing to do");
  expect(strlen(aplomb_scan_target()) > 0, "a target");
}

/* On any machine: what is refused. On one with a device gpu_scan_test.cpp does the rest. */
static void device(void) {
  const float one = 1.0F;
  const aplomb_tensor wrong = {&one, 1, 99};
  aplomb_gpu_scan* scan = NULL;
  uint64_t ticket = 0;
  expect(aplomb_gpu_scan_create(&wrong, 1, 0, NULL, &scan) == APLOMB_SCAN_BAD_TYPE, "bad type");
  expect(aplomb_gpu_scan_create(NULL, 0, 0, NULL, &scan) == APLOMB_SCAN_BAD_ARGUMENT, "no tensors");
  expect(aplomb_gpu_scan_launch(NULL, &ticket) == APLOMB_SCAN_BAD_ARGUMENT, "no scan");
  expect(scan == NULL, "nothing made");
  aplomb_gpu_scan_free(NULL);
}

int main(void) {
  device();
  statistics();
  errors();
  return failures == 0 ? 0 : 1;
}
