#include "cli/remember.h"

#include <aplomb/diagnose.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "core/json_text.h"
#include "core/new_file.h"
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
  if (wrapped.status) {
    const int status = *wrapped.status;
    run.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  run.program = wrapped.script.empty() ? wrapped.command.front() : absolute(wrapped.script);
  auto told = store::tell_store(path, true, run);
  if (!told) return tl::unexpected(told.error());
  report.seen_before = std::move(told->seen_before);
  return told->id;
}

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Beside the store, or, of a team's, beside the usual one; empty where runs are not kept.
fs::path folder_of_notes(const std::string& store) {
  const bool is_file = !store.empty() && store.find("://") == std::string::npos;
  const std::string path = is_file ? store : store::default_path();
  if (path.empty() || path.find("://") != std::string::npos) return {};
  return fs::path(absolute(fs::path(path).parent_path().string())) / "under-way";
}

struct UnderWay {
  WrappedRun run;
  watch::RunNote note;
};

std::optional<UnderWay> read_under_way(const fs::path& path) {
  constexpr std::uintmax_t k_most_bytes = 1U << 20U;
  std::error_code why;
  if (fs::is_symlink(path, why) || fs::file_size(path, why) > k_most_bytes || why)
    return std::nullopt;
  std::ifstream file(path);
  const json all = core::json_from(file);
  try {
    UnderWay found;
    found.run.folder = all.at("folder");
    found.run.store = all.at("store");
    found.run.script = all.at("script");
    found.run.command = all.at("command").get<std::vector<std::string>>();
    found.note.pid = all.at("pid");
    found.note.process_started = all.at("process");
    found.note.started = all.at("started");
    if (found.run.command.empty()) return std::nullopt;
    return found;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

/// False where its folder is another run's by now, or gone.
bool take_in(UnderWay lost) {
  const auto note = watch::read_note(lost.run.folder);
  const std::string log = lost.run.folder + "/output.log";
  struct stat about{};
  const bool is_its = note && note->pid == lost.note.pid && note->started == lost.note.started;
  if (!is_its || ::stat(log.c_str(), &about) != 0) return false;
  lost.run.began = note->started;
  lost.run.ended = note->ended > 0 ? note->ended : static_cast<double>(about.st_mtime);
  if (note->ended > 0) lost.run.status = note->status;
  std::vector<std::string> paths = {log};
  if (!lost.run.script.empty()) paths.insert(paths.begin(), lost.run.script);
  Report report = diagnose(paths, {});
  const auto kept = remember_wrapped(report, lost.run);
  if (!kept) {
    complain(core::sanitize(kept.error().text));
    return false;
  }
  complain(core::sanitize(
      fmt::format("{}: its aplomb run was killed; kept as {} from its log, to the last line",
                  lost.run.folder, *kept)));
  return true;
}

}  // namespace

std::string note_under_way(const WrappedRun& run, const watch::RunNote& note) {
  const fs::path folder = folder_of_notes(run.store);
  if (folder.empty()) return {};
  if (!store::make_private_folder(folder.string())) return {};
  const std::string path =
      (folder / fmt::format("{}-{:.0f}.json", note.pid, note.started * 1000)).string();
  const json all = {{"folder", absolute(run.folder)},
                    {"store", run.store},
                    {"script", run.script.empty() ? "" : absolute(run.script)},
                    {"command", run.command},
                    {"pid", note.pid},
                    {"process", note.process_started},
                    {"started", std::round(note.started * 1000) / 1000}};  // as run.lock has it
  const std::string text = core::json_text(all, 2) + "\n";
  return core::replace_file(path, text) ? path : std::string();
}

void forget_under_way(const std::string& path) {
  if (!path.empty()) core::remove_file(path);
}

void take_in_lost_runs(const std::string& store) {
  const fs::path folder = folder_of_notes(store);
  std::error_code why;
  if (folder.empty() || !fs::is_directory(folder, why)) return;
  std::vector<fs::path> notes;
  for (fs::directory_iterator at(folder, why), end; !why && at != end; at.increment(why)) {
    if (at->path().extension() == ".json") notes.push_back(at->path());
  }
  std::sort(notes.begin(), notes.end());
  for (const fs::path& each : notes) {
    auto lost = read_under_way(each);
    if (lost && (watch::is_alive(lost->note) || watch::is_log_written(lost->run.folder))) continue;
    // Whoever takes the note away first keeps the run: two commands may look at once.
    const fs::path mine = each.string() + "." + std::to_string(::getpid());
    fs::rename(each, mine, why);
    if (why) {
      why.clear();
      continue;
    }
    if (lost) take_in(*std::move(lost));
    fs::remove(mine, why);
    why.clear();
  }
}

}  // namespace aplomb::cli
