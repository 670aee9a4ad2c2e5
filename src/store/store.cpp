#include "store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "core/text.h"
#include "store/likeness.h"
#include "store/place.h"
#include "store/schema.h"

namespace aplomb::store {
namespace {

using core::ErrorCode;

constexpr std::int64_t k_candidates = 200;  // runs of one cause that are looked through
constexpr const char* k_line_columns =
    "SELECT id, began, verdict, name, program, CASE answered WHEN 1 THEN cause ELSE '' END, "
    "headline, steps, helped, (SELECT count(*) FROM change WHERE change.run = run.number) FROM "
    "run ";
/// A full-text index keeps the words of what was deleted until its parts are merged.
constexpr const char* k_drop_words = "INSERT INTO words(words) VALUES('optimize')";
constexpr int k_packed_point = 16;  // bytes: the step, the value; little-endian

ErrorCode code_of(int code) {
  switch (code) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return ErrorCode::bad_format;
    case SQLITE_SCHEMA:
      return ErrorCode::unsupported;
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_BUSY:
      return ErrorCode::not_writable;
    default:
      return ErrorCode::not_readable;
  }
}

const char* what_to_do(int code) {
  switch (code) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return "; move the file away, or name another by APLOMB_STORE";
    case SQLITE_SCHEMA:
      return "; update aplomb, or name another file by APLOMB_STORE";
    case SQLITE_BUSY:
      return "; other processes have held it for 5 seconds";
    default:
      return "";
  }
}

/// The file for SQLite to open, with its folder, for this user alone.
core::Result<void> make_file(const std::string& path) {
  const auto folder = make_private_folder(std::filesystem::path(path).parent_path().string());
  if (!folder) return folder;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return core::fail(ErrorCode::not_writable, "[store] " + path + ": " + std::strerror(errno));
  ::close(file);
  return {};
}

std::string packed(const std::vector<ChartPoint>& chart) {
  std::string out;
  out.reserve(chart.size() * k_packed_point);
  const auto put = [&out](std::uint64_t bits) {
    for (int i = 0; i < 8; ++i)
      out += static_cast<char>((bits >> (8U * static_cast<unsigned>(i))) & 0xFFU);
  };
  for (const ChartPoint& each : chart) {
    put(std::bit_cast<std::uint64_t>(each.step));
    put(std::bit_cast<std::uint64_t>(each.value));
  }
  return out;
}

std::vector<ChartPoint> unpacked(std::span<const char> bytes) {
  std::vector<ChartPoint> out;
  const auto get = [&bytes](std::size_t at) {
    std::uint64_t bits = 0;
    for (std::size_t i = 8; i-- > 0;) bits = bits << 8U | static_cast<unsigned char>(bytes[at + i]);
    return bits;
  };
  for (std::size_t at = 0; at + k_packed_point <= bytes.size(); at += k_packed_point)
    out.push_back({std::bit_cast<std::int64_t>(get(at)), std::bit_cast<double>(get(at + 8))});
  return out;
}

/// A query of FTS5 for all of the words, whatever marks stand in them.
std::string query_of(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    std::string quoted;
    for (const char c : word) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    out += (out.empty() ? "\"" : " \"") + quoted + "\"*";
  }
  return out;
}

PastLine line_of(const Statement& row) {
  PastLine line;
  line.id = row.text(0);
  line.began = row.real(1);
  line.verdict = row.text(2);
  line.name = row.text(3);
  line.program = row.text(4);
  line.cause = row.text(5);
  line.headline = row.text(6);
  line.steps = static_cast<std::uint64_t>(row.integer(7));
  line.helped = helped_of(row.text(8));
  line.changed = static_cast<std::size_t>(row.integer(9));
  return line;
}

}  // namespace

/// What SQLite throws becomes an Error that names the file; no exception leaves the store.
template <class Work>
auto Store::guarded(Work work) -> core::Result<decltype(work())> {
  try {
    return work();
  } catch (const DatabaseFault& fault) {
    return core::fail(code_of(fault.code()), fmt::format("[store] {}: {}{}", path_, fault.what(),
                                                         what_to_do(fault.code())));
  }
}

core::Result<Store> Store::open(const std::string& path, Access access) {
  if (path.empty()) {
    return core::fail(
        ErrorCode::not_found,
        "[store] runs are not remembered here: APLOMB_STORE is off, or no home folder "
        "is known");
  }
  std::error_code no_throw;
  if (access == Access::write) {
    if (const auto made = make_file(path); !made) return tl::unexpected(made.error());
  } else if (!std::filesystem::exists(path, no_throw)) {
    return core::fail(ErrorCode::not_found, "[store] " + path + ": no run is remembered yet");
  }
  // Where several make the file at once SQLite answers "busy" without waiting: setting WAL is not
  // waited for.
  constexpr std::chrono::seconds k_patience{5};
  constexpr std::chrono::milliseconds k_pause{20};
  const auto until = std::chrono::steady_clock::now() + k_patience;
  while (true) {
    try {
      Database database(path);
      prepare(database, path);
      return Store(std::move(database), path);
    } catch (const DatabaseFault& fault) {
      const bool busy = fault.code() == SQLITE_BUSY || fault.code() == SQLITE_LOCKED;
      if (!busy || std::chrono::steady_clock::now() > until) {
        return core::fail(code_of(fault.code()), fmt::format("[store] {}: {}{}", path, fault.what(),
                                                             what_to_do(fault.code())));
      }
    }
    std::this_thread::sleep_for(k_pause);
  }
}

std::string Store::host() const {
  Statement salt(database_, "SELECT value FROM about WHERE name = 'salt'");
  return host_pseudonym(salt.next() ? salt.text(0) : std::string());
}

std::int64_t Store::same_run(const PastRun& run) const {
  Statement found(database_,
                  "SELECT number, origin, began, lead_last FROM run WHERE lead_path = ? AND "
                  "lead_first = ? AND host = ? ORDER BY number DESC");
  found.bind(run.lead_path).bind(run.lead_first).bind(run.host);
  while (found.next()) {
    const std::int64_t number = found.integer(0);
    // A wrapped run knows when it began; one that is read from files is known by what they hold: by its
    // end, or (it has gone on) by its settings.
    if (run.origin == "run" && found.text(1) == "run") {
      if (found.real(2) == run.began) return number;
      continue;
    }
    if (found.text(3) == run.lead_last && !run.lead_last.empty()) return number;
    if (read(number, Curves::without).settings == run.settings) return number;
  }
  return 0;
}

void Store::compare_with_previous(PastRun& run, std::int64_t own) const {
  Statement before(database_,
                   "SELECT number FROM run WHERE program = ? AND began <= ? AND number != ? "
                   "ORDER BY began DESC, number DESC LIMIT 1");
  before.bind(run.program).bind(run.began).bind(own);
  run.previous.clear();
  run.changed.clear();
  run.helped = Helped::unknown;
  if (run.program.empty() || !before.next()) return;
  const PastRun previous = read(before.integer(0), Curves::without);
  run.previous = previous.id;
  run.changed = changes_between(previous, run);
  run.helped = helped(previous.verdict, run.verdict);
}

core::Result<std::string> Store::add(PastRun run) {
  return guarded([&] {
    Transaction change(database_);
    run.host = host();
    const std::int64_t own = same_run(run);
    if (own != 0) {
      const PastRun kept = read(own, Curves::without);
      run.id = kept.id;
      if (kept.origin == "run" && run.origin != "run") {  // who started it knows more of it
        run.origin = kept.origin;
        run.program = kept.program;
        run.began = kept.began;
        run.ended = kept.ended;
        run.status = kept.status;
      }
    } else {
      do {
        run.id = new_id();
      } while (Statement(database_, "SELECT 1 FROM run WHERE id = ?").bind(run.id).next());
    }
    compare_with_previous(run, own);
    if (own != 0) remove(own);
    insert(run, own);
    change.commit();
    return run.id;
  });
}

void Store::insert(const PastRun& run, std::int64_t number) {
  Statement row(
      database_,
      "INSERT INTO run(number, id, origin, program, name, host, began, ended, status, "
      "verdict, headline, answered, cause, steps, previous, helped, lead_path, lead_first, "
      "lead_last, kinds) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  number == 0 ? row.bind_null() : row.bind(number);
  row.bind(run.id).bind(run.origin).bind(run.program).bind(run.name).bind(run.host);
  row.bind(run.began).bind(run.ended);
  run.status ? row.bind(std::int64_t{*run.status}) : row.bind_null();
  row.bind(run.verdict).bind(run.headline).bind(std::int64_t{run.is_answered});
  row.bind(run.causes.empty() ? std::string_view() : std::string_view(run.causes.front().id));
  row.bind(static_cast<std::int64_t>(run.steps)).bind(run.previous).bind(name(run.helped));
  row.bind(run.lead_path).bind(run.lead_first).bind(run.lead_last).bind(run.kinds);
  row.done();
  const std::int64_t own = number == 0 ? database_.last_row() : number;
  Statement path(database_, "INSERT INTO path VALUES(?,?)");
  for (const std::string& each : run.paths) path.bind(own).bind(each).done();
  Statement cause(database_, "INSERT INTO cause VALUES(?,?,?,?)");
  for (const PastCause& each : run.causes)
    cause.bind(own).bind(each.id).bind(each.title).bind(each.probability).done();
  Statement symptom(database_, "INSERT INTO symptom VALUES(?,?,?,?,?,?)");
  for (const PastSymptom& each : run.symptoms) {
    symptom.bind(own).bind(each.id).bind(each.severity).bind(each.first_step);
    symptom.bind(each.last_step).bind(each.summary).done();
  }
  Statement setting(database_, "INSERT INTO setting VALUES(?,?,?,?)");
  for (const auto& [name, value] : run.settings)
    setting.bind(own).bind(name).bind(value).bind(std::int64_t{0}).done();
  for (const auto& [name, value] : run.environment)
    setting.bind(own).bind(name).bind(value).bind(std::int64_t{1}).done();
  Statement changed(database_, "INSERT INTO change VALUES(?,?,?,?)");
  for (const ReportChange& each : run.changed)
    changed.bind(own).bind(each.name).bind(each.before).bind(each.after).done();
  Statement series(database_, "INSERT INTO series VALUES(?,?,?,?,?)");
  for (const PastSeries& each : run.series) {
    series.bind(own).bind(each.name).bind(each.role).bind(static_cast<std::int64_t>(each.points));
    series.bind_bytes(packed(each.chart)).done();
  }
  Statement(database_, "INSERT INTO words(rowid, text) VALUES(?,?)")
      .bind(own)
      .bind(core::lower(words_of(run)))
      .done();
}

void Store::remove(std::int64_t number) {
  Statement(database_, "DELETE FROM words WHERE rowid = ?").bind(number).done();
  Statement(database_, "DELETE FROM run WHERE number = ?").bind(number).done();
}

PastRun Store::read(std::int64_t number, Curves curves) const {
  PastRun run;
  Statement row(
      database_,
      "SELECT id, origin, program, name, host, began, ended, status, verdict, headline, "
      "answered, steps, previous, helped, lead_path, lead_first, lead_last, kinds FROM run "
      "WHERE number = ?");
  if (!row.bind(number).next()) return run;
  run.id = row.text(0);
  run.origin = row.text(1);
  run.program = row.text(2);
  run.name = row.text(3);
  run.host = row.text(4);
  run.began = row.real(5);
  run.ended = row.real(6);
  if (!row.is_null(7)) run.status = static_cast<int>(row.integer(7));
  run.verdict = row.text(8);
  run.headline = row.text(9);
  run.is_answered = row.integer(10) != 0;
  run.steps = static_cast<std::uint64_t>(row.integer(11));
  run.previous = row.text(12);
  run.helped = helped_of(row.text(13));
  run.lead_path = row.text(14);
  run.lead_first = row.text(15);
  run.lead_last = row.text(16);
  run.kinds = row.text(17);
  Statement path(database_, "SELECT path FROM path WHERE run = ? ORDER BY rowid");
  for (path.bind(number); path.next();) run.paths.push_back(path.text(0));
  Statement cause(database_,
                  "SELECT id, title, probability FROM cause WHERE run = ? ORDER BY rowid");
  for (cause.bind(number); cause.next();)
    run.causes.push_back({cause.text(0), cause.text(1), cause.real(2)});
  Statement symptom(
      database_,
      "SELECT id, severity, first_step, last_step, summary FROM symptom WHERE run = ? "
      "ORDER BY rowid");
  for (symptom.bind(number); symptom.next();) {
    run.symptoms.push_back({symptom.text(0), symptom.text(1), symptom.integer(2),
                            symptom.integer(3), symptom.text(4)});
  }
  Statement setting(database_, "SELECT name, value, environment FROM setting WHERE run = ?");
  for (setting.bind(number); setting.next();)
    (setting.integer(2) != 0 ? run.environment : run.settings)[setting.text(0)] = setting.text(1);
  Statement change(database_,
                   "SELECT name, before, after FROM change WHERE run = ? ORDER BY rowid");
  for (change.bind(number); change.next();)
    run.changed.push_back({change.text(0), change.text(1), change.text(2)});
  if (curves == Curves::without) return run;
  Statement series(database_,
                   "SELECT name, role, points, chart FROM series WHERE run = ? ORDER BY rowid");
  for (series.bind(number); series.next();) {
    run.series.push_back({series.text(0), series.text(1),
                          static_cast<std::uint64_t>(series.integer(2)),
                          unpacked(series.bytes(3))});
  }
  return run;
}

core::Result<std::vector<PastLine>> Store::list(const std::vector<std::string>& words,
                                                std::size_t most) {
  return guarded([&] {
    std::vector<PastLine> out;
    // Which runs first, then their columns: the columns of all that hold a word are not asked for.
    const std::string query =
        std::string(k_line_columns) + "WHERE number IN (SELECT number FROM run " +
        (words.empty() ? "" : "WHERE number IN (SELECT rowid FROM words WHERE words MATCH ?) ") +
        "ORDER BY began DESC, number DESC LIMIT ?) ORDER BY began DESC, number DESC";
    Statement row(database_, query.c_str());
    if (!words.empty()) row.bind(query_of(words));
    row.bind(static_cast<std::int64_t>(most));
    while (row.next()) out.push_back(line_of(row));
    return out;
  });
}

core::Result<std::uint64_t> Store::count() {
  return guarded(
      [&] { return static_cast<std::uint64_t>(database_.number("SELECT count(*) FROM run")); });
}

std::int64_t Store::number_of(const std::string& id) const {
  Statement row(
      database_,
      "SELECT number FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC, "
      "number LIMIT 2");
  row.bind(id);
  if (id.empty() || !row.next()) return 0;
  const std::int64_t number = row.integer(0);
  return row.next() && id.size() < 8 ? -1 : number;
}

core::Result<PastRun> Store::find(const std::string& id) {
  const core::Result<std::int64_t> number = guarded([&] { return number_of(core::lower(id)); });
  if (!number) return tl::unexpected(number.error());
  if (*number == 0)
    return core::fail(ErrorCode::not_found, "[store] no run is remembered under " + id);
  if (*number < 0)
    return core::fail(ErrorCode::bad_usage, "[store] the ids of several runs begin with " + id);
  return guarded([&] { return read(*number); });
}

core::Result<void> Store::each(const std::function<bool(const PastRun&)>& take) {
  const auto done = guarded([&] {
    std::vector<std::int64_t> numbers;
    Statement row(database_, "SELECT number FROM run ORDER BY began, number");
    while (row.next()) numbers.push_back(row.integer(0));
    for (const std::int64_t number : numbers) {
      const PastRun run = read(number);
      if (!run.id.empty() && !take(run)) break;
    }
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  return {};
}

core::Result<void> Store::forget(const std::string& id) {
  const core::Result<PastRun> found = find(id);
  if (!found) return tl::unexpected(found.error());
  const auto done = guarded([&] {
    {
      Transaction change(database_);
      remove(number_of(found->id));
      database_.run(k_drop_words);
      change.commit();
    }
    database_.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  return {};
}

core::Result<void> Store::forget_all() {
  const auto done = guarded([&] {
    {
      Transaction change(database_);
      database_.run("DELETE FROM words; DELETE FROM run");
      database_.run(k_drop_words);
      change.commit();
    }
    database_.run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  return {};
}

core::Result<std::optional<ReportSeenBefore>> Store::seen_before(const PastRun& run) {
  return guarded([&]() -> std::optional<ReportSeenBefore> {
    if (!run.is_answered || run.causes.empty()) return std::nullopt;
    PastRun asked = run;
    asked.host = host();
    const std::int64_t own = same_run(asked);
    const std::set<std::string> wrong = troubles(run);
    Statement row(database_,
                  "SELECT number FROM run WHERE cause = ? AND answered = 1 AND number != ? AND "
                  "began <= ? ORDER BY began DESC, number DESC LIMIT ?");
    row.bind(run.causes.front().id).bind(own).bind(run.began).bind(k_candidates);
    std::optional<ReportSeenBefore> out;
    std::uint64_t times = 0;
    while (row.next()) {
      const PastRun past = read(row.integer(0), Curves::without);
      const std::set<std::string> then = troubles(past);
      if (!are_alike(wrong, then)) continue;
      ++times;
      if (out && !out->ended_by.empty()) continue;
      ReportSeenBefore seen;
      seen.run = past.id;
      seen.name = past.name;
      seen.date = date_of(past.began);
      seen.cause = run.causes.front().id;
      seen.symptoms = shared(wrong, then);
      Statement later(database_,
                      "SELECT number FROM run WHERE program = ? AND began > ? AND began <= ? AND "
                      "verdict = 'healthy' ORDER BY began, number LIMIT 1");
      later.bind(past.program).bind(past.began).bind(run.began);
      if (!past.program.empty() && later.next()) {
        const PastRun sound = read(later.integer(0), Curves::without);
        seen.ended_by = sound.id;
        seen.ended_date = date_of(sound.began);
        seen.changed = changes_between(past, sound);
      }
      if (!out || !seen.ended_by.empty()) out = std::move(seen);
    }
    if (out) out->times = times;
    return out;
  });
}

}  // namespace aplomb::store
