#pragma once
/// Journal: what a run leaves to be read: train.log (always), metrics.jsonl, a TensorBoard event
/// file, and the progress line on the terminal. `aplomb diagnose FOLDER` reads all of it.
///
/// A record that the disk does not take is told once, on the terminal; the run goes on (checkpoints
/// fail by themselves, aloud).

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "train/loop/event_file.h"

namespace aplomb::train::loop {

/// What was measured at an optimizer step (counted from 1: steps taken). Unset: not measured.
struct Record {
  std::int64_t step = 0;
  std::optional<double> loss;       ///< nats per token, over the global batch
  std::optional<double> grad_norm;  ///< before clipping
  std::optional<double> lr;
  std::optional<double> epoch;
  std::optional<double> tokens_per_s;
  std::optional<double> step_time_s;
  std::optional<double> memory_bytes;       ///< of the accelerator
  std::optional<double> host_memory_bytes;  ///< resident
  std::optional<double> mfu;
  std::optional<double> loss_scale;
  std::optional<double> eval_loss;
};

/// `name: value` in the order in which they are shown; the names of metrics.jsonl.
std::vector<Scalar> scalars_of(const Record& record);
/// One line of metrics.jsonl, NaN and Infinity as Python's json writes them.
std::string json_line(const Record& record);
/// One line of train.log: `step 12/200 loss 2.3471 grad_norm 0.8213 lr 2.000e-05 ...`.
std::string log_line(const Record& record, std::int64_t total_steps);

struct JournalOptions {
  std::string folder;
  bool tensorboard = true;
  bool quiet = false;
  std::int64_t total_steps = 0;
  /// Records of steps above this one are taken out of metrics.jsonl: a resumed run writes them
  /// again. -1: a new run, the file begins anew.
  std::int64_t resumed_step = -1;
  bool silent = false;  ///< nothing on the terminal, warnings neither
  bool absent = false;  ///< no file either, as on every rank but the first: only earlier() is read
  /// Where the folder holds a run's files already, they stay as they are until begin(): a run that
  /// is refused leaves what it found. Lines for the log wait until then.
  bool waits = false;
};

class Journal {
 public:
  static core::Result<Journal> open(JournalOptions options);
  Journal(Journal&&) noexcept = default;

  /// Takes the folder over: opens the files, and cuts metrics.jsonl to what stays. Already done by
  /// open() unless it was told to wait and had reason to.
  core::Result<void> begin();
  bool has_begun() const { return has_begun_; }

  /// A line for log and terminal.
  void say(std::string_view text);
  /// The same where it has to be seen, also when quiet; on standard error.
  void warn(std::string_view text);
  /// For the log alone.
  void note(std::string_view text);
  void record(const Record& record);
  /// Rewrites the progress line (a terminal only), at most ten times a second.
  void progress(const Record& record);

  /// The records that metrics.jsonl kept of the time before a resume.
  const std::vector<Record>& earlier() const { return earlier_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  explicit Journal(JournalOptions options) : options_(std::move(options)) {}
  bool is_resumed() const { return options_.resumed_step >= 0; }
  std::string path_of(const char* name) const;
  bool finds_a_run() const;
  void read_earlier(const std::string& path);
  core::Result<void> keep_earlier(const std::string& path);
  void write(const File& file, std::string_view line);
  void clear_progress();

  JournalOptions options_;
  File log_;
  File metrics_;
  std::optional<EventFile> events_;
  std::vector<Record> earlier_;
  std::string earlier_lines_;  ///< of metrics.jsonl, that earlier_ was read from; until begin()
  std::string waiting_;        ///< lines for the log, until begin()
  bool has_begun_ = false;
  bool terminal_ = false;
  bool showing_ = false;
  bool complained_ = false;
  double shown_at_s_ = 0;
};

}  // namespace aplomb::train::loop
