#pragma once
/// WordLines: what the lines of a log say in words. Error messages are looked for in every line;
/// settings and what somebody claims of the run, in those that hold no metrics.

#include "log_errors/signatures.h"
#include "log_samples/baseline_lines.h"
#include "log_samples/checkpoint_lines.h"
#include "log_samples/sample_lines.h"
#include "log_samples/token_labels.h"
#include "log_text/length_counts.h"
#include "log_text/line_record.h"
#include "log_text/lines.h"
#include "log_text/score_lines.h"
#include "log_text/settings_scan.h"
#include "log_text/split_scores.h"
#include "prose/claims.h"
#include "prose/text_features.h"
#include "record/run_builder.h"

namespace aplomb::log_text {

class WordLines {
 public:
  WordLines(record::RunBuilder& build, record::SourceId source) : build_(build), source_(source) {}

  /// Any line, as it was printed.
  void heard(const Line& line) {
    words_.line(line.text, line.number, line.offset);
    samples_.line(line.text, line.number, line.offset);
    split_scores_.line(line.text, line.number, line.offset);
    lengths_.line(line.text, line.number, line.offset);
    token_labels_.line(line.text, line.number, line.offset);
    baselines_.line(line.text, line.number, line.offset);
    checkpoints_.line(line.text, line.number, line.offset);
  }
  /// A line whose shape is not that of metrics seen before: what people write of a run often holds
  /// numbers too.
  void message(const LogLine& line) {
    signatures_.line(line.text, line.where.number, line.where.offset, line.where.rank, build_,
                     source_);
  }
  /// A line that no other stage can tell everything of.
  void told(const LogLine& line) {
    if (is_drawn(line.text)) return;
    settings_.line(line.text, line.where.number, line.where.offset, build_, source_);
    claims_.line(line.text, line.where.number, line.where.offset);
    scores_.line(line.text, line.where.number, line.where.offset);
  }
  /// Frames and rows that a program draws (`│ 0 │ net │ 41.9 K │`) are no sentences.
  static bool is_drawn(std::string_view text) {
    return text.find("\xE2\x94") != std::string_view::npos ||
           text.find("\xE2\x95") != std::string_view::npos;
  }
  void finish() {
    signatures_.finish(build_, source_);
    settings_.finish(build_, source_);
    claims_.finish(build_, source_);
    words_.finish(build_, source_);
    samples_.finish(build_, source_);
    scores_.finish(build_, source_);
    split_scores_.finish(build_, source_);
    lengths_.finish(build_, source_);
    token_labels_.finish(build_, source_);
    baselines_.finish(build_, source_);
    checkpoints_.finish(build_, source_);
  }

 private:
  record::RunBuilder& build_;
  record::SourceId source_;
  log_errors::SignatureMatcher signatures_;
  SettingScanner settings_;
  prose::ClaimReader claims_{prose::ClaimReader::Text::log};
  prose::TextFeatures words_;
  log_samples::SampleLines samples_;
  ScoreLines scores_;
  SplitScores split_scores_;
  LengthCounts lengths_;
  log_samples::TokenLabels token_labels_;
  log_samples::BaselineLines baselines_;
  log_samples::CheckpointLines checkpoints_;
};

}  // namespace aplomb::log_text
