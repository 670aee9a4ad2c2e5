#include "train/loop/journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"

namespace aplomb::train::loop {
namespace {

constexpr const char* k_log = "train.log";
constexpr const char* k_metrics = "metrics.jsonl";

double wall_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

core::Error cannot_write(const std::string& path) {
  return {core::ErrorCode::not_writable, "[journal] " + path + ": " + std::strerror(errno)};
}

/// A line of metrics.jsonl; NaN and Infinity stand there as words that JSON does not know.
std::optional<Record> record_of(std::string line) {
  for (const char* word : {"-Infinity", "Infinity", "NaN"}) {
    for (std::size_t at = 0; (at = line.find(word, at)) != std::string::npos;)
      line.replace(at, std::strlen(word), std::string("\"") + word[0] + "\"");
  }
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer())
    return std::nullopt;
  Record record;
  record.step = json["step"].get<std::int64_t>();
  const auto take = [&](const char* name, std::optional<double>& to) {
    const auto found = json.find(name);
    if (found == json.end()) return;
    if (found->is_number()) to = found->get<double>();
    if (found->is_string())
      to = core::parse_number(*found == "N" ? "nan" : *found == "I" ? "inf" : "-inf");
  };
  take("loss", record.loss);
  take("eval_loss", record.eval_loss);
  take("grad_norm", record.grad_norm);
  take("learning_rate", record.lr);
  take("epoch", record.epoch);
  take("memory_bytes", record.memory_bytes);
  take("host_memory_bytes", record.host_memory_bytes);
  return record;
}

}  // namespace

core::Result<Journal> Journal::open(JournalOptions options) {
  std::error_code why;
  if (!options.absent) std::filesystem::create_directories(options.folder, why);
  if (why)
    return core::fail(core::ErrorCode::not_writable,
                      "[journal] " + options.folder + ": " + why.message());
  Journal journal(std::move(options));
  if (journal.is_resumed()) journal.read_earlier(journal.path_of(k_metrics));
  if (journal.options_.absent) {
    journal.options_.silent = true;
    journal.has_begun_ = true;
    return journal;
  }
  journal.terminal_ =
      ::isatty(STDERR_FILENO) != 0 && !journal.options_.quiet && !journal.options_.silent;
  if (journal.options_.waits && journal.finds_a_run()) return journal;
  if (auto begun = journal.begin(); !begun) return tl::unexpected(begun.error());
  return journal;
}

core::Result<void> Journal::begin() {
  if (has_begun_) return {};
  const char* mode = is_resumed() ? "ae" : "we";
  log_.reset(std::fopen(path_of(k_log).c_str(), mode));
  if (!log_) return tl::unexpected(cannot_write(path_of(k_log)));
  if (is_resumed()) {
    if (auto kept = keep_earlier(path_of(k_metrics)); !kept) return kept;
  }
  metrics_.reset(std::fopen(path_of(k_metrics).c_str(), mode));
  if (!metrics_) return tl::unexpected(cannot_write(path_of(k_metrics)));
  if (options_.tensorboard) {
    auto events = EventFile::create(options_.folder);
    if (!events) return tl::unexpected(events.error());
    events_ = std::move(*events);
  }
  has_begun_ = true;
  write(log_, std::exchange(waiting_, {}));
  return {};
}

std::string Journal::path_of(const char* name) const { return options_.folder + "/" + name; }

bool Journal::finds_a_run() const {
  std::error_code no_throw;
  return std::filesystem::exists(path_of(k_log), no_throw) ||
         std::filesystem::exists(path_of(k_metrics), no_throw);
}

void Journal::read_earlier(const std::string& path) {
  std::ifstream before(path);
  // The last line of a killed run may be torn: it is no record, and left out.
  for (std::string line; std::getline(before, line);) {
    const auto record = record_of(line);
    if (!record || record->step > options_.resumed_step) continue;
    earlier_lines_ += line + "\n";
    earlier_.push_back(*record);
  }
}

core::Result<void> Journal::keep_earlier(const std::string& path) {
  std::error_code no_throw;
  if (!std::filesystem::exists(path, no_throw)) return {};  // nothing was kept
  const std::string beside = path + ".tmp";
  {
    std::ofstream after(beside);
    after << std::exchange(earlier_lines_, {});
    after.flush();
    if (!after) return tl::unexpected(cannot_write(beside));
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return tl::unexpected(cannot_write(path));
  return {};
}

void Journal::write(const File& file, std::string_view line) {
  if (!file) return;  // absent
  const bool whole = std::fwrite(line.data(), 1, line.size(), file.get()) == line.size() &&
                     std::fflush(file.get()) == 0;
  if (whole || complained_) return;
  complained_ = true;
  fmt::print(stderr, "aplomb train: {}: {}; the run goes on without a whole log\n", options_.folder,
             std::strerror(errno));
}

void Journal::clear_progress() {
  if (!showing_) return;
  fmt::print(stderr, "\r\x1b[K");
  showing_ = false;
}

void Journal::note(std::string_view text) {
  const std::string line = std::string(text) + "\n";
  if (has_begun_) return write(log_, line);
  waiting_ += line;
}

void Journal::say(std::string_view text) {
  note(text);
  if (options_.quiet || options_.silent) return;
  clear_progress();
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void Journal::warn(std::string_view text) {
  note(text);
  if (options_.silent) return;
  clear_progress();
  fmt::print(stderr, "{}\n", text);
}

void Journal::record(const Record& record) {
  const std::string line = log_line(record, options_.total_steps);
  // On a terminal the progress line shows the steps; evaluations stay.
  if (terminal_ && !record.eval_loss) {
    note(line);
  } else {
    say(line);
  }
  write(metrics_, json_line(record));
  if (events_) {
    const std::vector<Scalar> scalars = scalars_of(record);
    if (!events_->write(record.step, wall_s(), scalars)) {
      warn("[events] " + events_->path() + ": the disk takes no more; no further events");
      events_.reset();
    }
  }
}

void Journal::progress(const Record& record) {
  if (!terminal_) return;
  const double now = wall_s();
  if (now - shown_at_s_ < 0.1) return;
  shown_at_s_ = now;
  constexpr std::int64_t k_cells = 24;
  const std::int64_t total = std::max<std::int64_t>(options_.total_steps, 1);
  const auto done = static_cast<std::size_t>(std::min(record.step * k_cells / total, k_cells));
  clear_progress();
  fmt::print(stderr, "[{}{}] {}", std::string(done, '='),
             std::string(static_cast<std::size_t>(k_cells) - done, ' '),
             log_line(record, options_.total_steps));
  std::fflush(stderr);
  showing_ = true;
}

}  // namespace aplomb::train::loop
