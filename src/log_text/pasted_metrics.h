#pragma once
/// Metrics that somebody pasted among words: `loss went up here:`, then lines of the trainer.
///
///     read_pasted_metrics(text, build, source);
///
/// Lines that are no sentences, or that hold about as many numbers as words, are read as a log
/// (scanner.h); three records and more are one, fewer belong to what is told. Words,
/// settings and messages of the same text are left to their readers. Cost: twice that of a log,
/// for notes of a few kilobytes.

#include <string_view>

#include "record/run_builder.h"

namespace aplomb::log_text {

void read_pasted_metrics(std::string_view text, record::RunBuilder& build, record::SourceId source);

}  // namespace aplomb::log_text
