#include "cli/remember.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cli/output.h"
#include "core/text.h"
#include "store/place.h"
#include "watch/run_note.h"

namespace aplomb::cli {
namespace {

std::string absolute(const std::string& path) {
  std::error_code why;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, why);
  return why || !std::filesystem::exists(whole, why) ? path : whole.string();
}

void make_absolute(store::PastRun& run) {
  for (std::string& each : run.paths) each = absolute(each);
  if (!run.lead_path.empty()) run.lead_path = absolute(run.lead_path);
  if (!run.name.empty()) run.name = absolute(run.name);
}

/// `/data/out/exp-12` and `/data/out/exp-13` are two runs of one program.
std::string without_numbers(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0)
      out += c;
    else if (!out.ends_with('#'))
      out += '#';
  }
  return out;
}

std::string program_of(const store::PastRun& run) {
  for (const std::string& each : run.paths) {
    if (each.ends_with(".py")) return each;
  }
  std::error_code no_throw;
  return std::filesystem::exists(run.name, no_throw) ? without_numbers(run.name) : std::string();
}

double seconds_of(const struct statx_timestamp& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// By the note of `aplomb run`, else by the times of the file.
void set_times(store::PastRun& run) {
  const std::string folder = std::filesystem::path(run.lead_path).parent_path().string();
  if (const auto note = watch::read_note(folder); note && run.lead_path.ends_with("/output.log")) {
    run.began = note->started;
    run.ended = note->ended;
    return;
  }
  struct statx about{};
  if (::statx(AT_FDCWD, run.lead_path.c_str(), 0, STATX_MTIME | STATX_BTIME, &about) != 0) {
    run.began = run.ended = static_cast<double>(std::time(nullptr));
    return;
  }
  run.ended = run.began = seconds_of(about.stx_mtime);
  if ((about.stx_mask & STATX_BTIME) != 0)
    run.began = std::min(run.ended, seconds_of(about.stx_btime));
}

}  // namespace

void Remembering::begin(bool remembers, const std::string& place) {
  remembers_ = remembers;
  const std::string path = place.empty() ? store::default_path() : place;
  if (remembers && path.empty()) {
    complain("the run is not remembered: APLOMB_STORE is off, or no home folder is known");
    return;
  }
  if (!remembers && !store::is_there(path)) return;
  attendant_ = store::Attendant::start(path, remembers);
  if (attendant_ == nullptr) complain("no process for the store of runs: it is not asked");
}

void Remembering::finish(Report& report) {
  if (attendant_ == nullptr) return;
  store::PastRun run = store::past_run_of(report);
  run.origin = "diagnose";
  make_absolute(run);
  run.program = program_of(run);
  set_times(run);
  auto told = attendant_->tell(run);
  if (!told) {
    complain(core::sanitize(told.error().text));
    return;
  }
  report.seen_before = std::move(told->seen_before);
  if (!remembers_) return;
  complain(fmt::format("remembered as {}: aplomb history show {}", told->id, told->id));
  if (report.runs.size() > 1) {
    complain(fmt::format(
        "of {} runs the one that the report is about: diagnose the others by themselves",
        report.runs.size()));
  }
}

core::Result<std::string> remember_wrapped(Report& report, const WrappedRun& wrapped) {
  const std::string path = wrapped.store.empty() ? store::default_path() : wrapped.store;
  if (path.empty()) return std::string();
  store::PastRun run = store::past_run_of(report);
  run.origin = "run";
  make_absolute(run);
  run.name = absolute(wrapped.folder);
  run.began = wrapped.began;
  run.ended = wrapped.ended;
  run.status =
      WIFSIGNALED(wrapped.status) ? 128 + WTERMSIG(wrapped.status) : WEXITSTATUS(wrapped.status);
  run.program = wrapped.script.empty() ? wrapped.command.front() : absolute(wrapped.script);
  auto told = store::tell_store(path, true, run);
  if (!told) return tl::unexpected(told.error());
  report.seen_before = std::move(told->seen_before);
  return told->id;
}

}  // namespace aplomb::cli
