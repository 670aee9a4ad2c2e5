#pragma once
/// Scores that a run logs as series under names of the program's own (`exact_match: 0.0` beside the
/// evaluations): what their course says is told by the events that scores in lines of words make
/// (src/log_text/score_lines.h), so that nothing depends on how a program prints them.

#include "record/run.h"

namespace aplomb::task {

/// Adds an event `score-none`, `score-worse`, `score-unmoved` or `score-stuck` (held-out answers hardly get better while
/// the training loss falls to half) for such series; series with a role of training
/// have detectors of their own. Call it when the roles are settled.
void note_scores(record::Run& run);

}  // namespace aplomb::task
