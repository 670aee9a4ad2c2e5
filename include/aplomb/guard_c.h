#ifndef APLOMB_GUARD_C_H_
#define APLOMB_GUARD_C_H_
/* The guard for C, and for whatever calls C: the same as aplomb/guard.h, which says what each
 * number means.
 *
 *     aplomb_guard_options options;
 *     aplomb_guard_default_options(&options);
 *     options.max_norm = 1.0;
 *     aplomb_guard* guard = aplomb_guard_new(&options);
 *     aplomb_guard_verdict verdict;
 *     aplomb_guard_step(guard, &step, groups, group_count, NULL, &verdict);
 *     if (verdict.action <= APLOMB_GUARD_CLIP) ... take the step, gradients times verdict.scale
 *     aplomb_guard_free(guard);
 *
 * Structs begin with their own size, so that a caller compiled against an older header keeps
 * working: set it with the initialiser functions and leave it alone. No function throws. */

#include <stddef.h> /* NOLINT(modernize-deprecated-headers): C */
#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C */

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): C's names */
typedef struct aplomb_guard aplomb_guard;

enum {
  APLOMB_GUARD_PROCEED = 0,
  APLOMB_GUARD_CLIP = 1,
  APLOMB_GUARD_SKIP = 2,
  APLOMB_GUARD_ROLLBACK = 3,
  APLOMB_GUARD_HALT = 4
};

typedef struct {
  size_t size;
  double max_norm;
  double max_group_norm;
  double initial_loss_scale;
  double loss_scale_growth;
  double loss_scale_backoff;
  uint32_t loss_scale_interval;
  uint32_t rollback_retries;
  uint32_t most_skips_in_a_row;
  int32_t skip_nonfinite; /* switches: 0 or 1 */
  int32_t spikes;
  int32_t reset_momentum;
  int32_t lower_lr;
  int32_t loss_has_level;
  int32_t keeps_loss_scale;
} aplomb_guard_options;

typedef struct {
  uint64_t nonfinite;
  double sum_squares;
} aplomb_guard_group;

typedef struct {
  size_t size;
  int64_t step;
  double loss;
  double lr;
  double loss_scale; /* 1 where there is none */
  int32_t has_loss;
  int32_t has_lr;
  int32_t unscaled;
} aplomb_guard_step_info;

typedef struct {
  size_t size;
  double scale;
  double grad_norm;
  double loss_scale;
  double lr_factor;
  int64_t rollback_step;
  uint64_t skip_steps;
  int32_t action; /* APLOMB_GUARD_... */
  int32_t reset_momentum;
  int32_t aside;
  char policy[32];  /* NUL-terminated, empty where nobody speaks */
  char reason[248]; /* likewise */
} aplomb_guard_verdict;

void aplomb_guard_default_options(aplomb_guard_options* options);
void aplomb_guard_default_step(aplomb_guard_step_info* step);

/* NULL options: the defaults. NULL where memory is out or options->size is unknown. */
aplomb_guard* aplomb_guard_new(const aplomb_guard_options* options);
void aplomb_guard_free(aplomb_guard* guard);

/* Per-module scales go to group_scales (group_count of them) where it is not NULL; all 1 where
 * nothing is clipped by group. */
void aplomb_guard_step(aplomb_guard* guard, const aplomb_guard_step_info* step,
                       const aplomb_guard_group* groups, size_t group_count, double* group_scales,
                       aplomb_guard_verdict* verdict);
void aplomb_guard_note_snapshot(aplomb_guard* guard, int64_t step);

/* Copies the state to `bytes` if `capacity` suffices; returns its size in any case, 0 on failure.
 */
size_t aplomb_guard_save(const aplomb_guard* guard, void* bytes, size_t capacity);
/* 1 where the state was taken; 0, and the guard unchanged, where it is no state of such a guard. */
int aplomb_guard_load(aplomb_guard* guard, const void* bytes, size_t size);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif /* APLOMB_GUARD_C_H_ */
