#include "store/team_store.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "core/json_text.h"
#include "core/text.h"
#include "store/likeness.h"
#include "store/place.h"

namespace aplomb::store {
namespace {

using core::ErrorCode;
using Json = nlohmann::ordered_json;

constexpr int k_candidates = 200;  // runs of one cause that are looked through
/// "APLM": the lock under which tables are made and runs are added.
constexpr const char* k_lock = "SELECT pg_advisory_xact_lock(1095781453)";

/// The steps from version to version, in order. What stands here was released, and is never changed.
constexpr std::array k_steps{R"(
CREATE TABLE aplomb_run(
  number BIGSERIAL PRIMARY KEY, id TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, program TEXT NOT NULL,
  name TEXT NOT NULL, host TEXT NOT NULL, began DOUBLE PRECISION NOT NULL, verdict TEXT NOT NULL,
  headline TEXT NOT NULL, answered BOOLEAN NOT NULL, cause TEXT NOT NULL, steps BIGINT NOT NULL,
  helped TEXT NOT NULL, changed BIGINT NOT NULL, lead_path TEXT NOT NULL, lead_first TEXT NOT NULL,
  lead_last TEXT NOT NULL, words TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX aplomb_run_by_time ON aplomb_run(began);
CREATE INDEX aplomb_run_by_program ON aplomb_run(program, began);
CREATE INDEX aplomb_run_by_cause ON aplomb_run(cause, began);
CREATE INDEX aplomb_run_by_lead ON aplomb_run(lead_path);
)"};

class Fault : public std::runtime_error {
 public:
  Fault(ErrorCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// One line of what libpq says.
std::string said(const char* text) {
  std::string line = text == nullptr ? "" : text;
  while (line.ends_with('\n')) line.pop_back();
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::erase(line, '\t');
  return core::sanitize(line);
}

class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}
  int size() const { return PQntuples(result_.get()); }
  std::string text(int row, int column) const {
    const int size = PQgetlength(result_.get(), row, column);
    return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(size)};
  }
  std::int64_t integer(int row, int column) const {
    const std::string digits = text(row, column);
    std::int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }
  double real(int row, int column) const {
    const std::string digits = text(row, column);
    double number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

using Words = std::vector<std::string>;

class Connection {
 public:
  explicit Connection(const std::string& url) {
    // What stands in the address wins: it comes last.
    const std::array<const char*, 6> keys = {
        "connect_timeout", "application_name", "client_encoding", "options", "dbname", nullptr};
    const std::array<const char*, 6> values = {
        "5",         "aplomb", "UTF8", "-c statement_timeout=15000 -c lock_timeout=10000",
        url.c_str(), nullptr};
    handle_.reset(PQconnectdbParams(keys.data(), values.data(), 1));
    if (PQstatus(handle_.get()) != CONNECTION_OK) {
      const std::string why = said(PQerrorMessage(handle_.get()));
      // Of an address that it cannot read libpq repeats the whole, with its password.
      if (why.find("://") != std::string::npos)
        throw Fault(ErrorCode::bad_usage, "this is no address that libpq understands");
      throw Fault(ErrorCode::not_readable, why);
    }
    PQsetNoticeProcessor(handle_.get(), [](void*, const char*) {}, nullptr);
  }

  /// With $1, $2, ... for the words; each is sent as text.
  Rows ask(const char* query, const Words& words = {}) {
    std::vector<const char*> pointers;
    pointers.reserve(words.size());
    for (const std::string& each : words) pointers.push_back(each.c_str());
    return checked(PQexecParams(handle_.get(), query, static_cast<int>(pointers.size()), nullptr,
                                pointers.data(), nullptr, nullptr, 0));
  }
  /// Several statements.
  void run(const char* statements) { (void)checked(PQexec(handle_.get(), statements)); }
  /// Whatever becomes of it.
  void try_run(const char* statements) { PQclear(PQexec(handle_.get(), statements)); }

 private:
  Rows checked(PGresult* result) {
    Rows rows(result);
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return rows;
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const std::string code = state == nullptr ? "" : state;
    // 42P01: no such table; 42501: no right to do so
    throw Fault(code == "42P01"   ? ErrorCode::not_found
                : code == "42501" ? ErrorCode::not_writable
                                  : ErrorCode::not_readable,
                said(PQresultErrorMessage(result)));
  }
  struct Close {
    void operator()(PGconn* handle) const { PQfinish(handle); }
  };
  std::unique_ptr<PGconn, Close> handle_;
};

/// Ends in a rollback unless commit() was called.
class Change {
 public:
  explicit Change(Connection& connection) : connection_(connection) {
    connection_.run("BEGIN");
    (void)connection_.ask(k_lock);
  }
  ~Change() {
    if (open_) connection_.try_run("ROLLBACK");
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  void commit() {
    connection_.run("COMMIT");
    open_ = false;
  }

 private:
  Connection& connection_;
  bool open_ = true;
};

/// Read as rows: to_regclass() answers from a cache that does not see what others made meanwhile.
constexpr const char* k_is_there =
    "SELECT EXISTS(SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'aplomb_about' AND "
    "pg_catalog.pg_table_is_visible(oid))";

std::size_t version_of(Connection& connection) {
  if (connection.ask(k_is_there).text(0, 0) != "t") return 0;
  const Rows row = connection.ask("SELECT value FROM aplomb_about WHERE name = 'version'");
  return row.size() == 0 ? 0 : static_cast<std::size_t>(row.integer(0, 0));
}

void raise(Connection& connection) {
  Change change(connection);
  const std::size_t version = version_of(connection);  // anew: others may have been here
  if (version == 0) {
    connection.run(
        "CREATE TABLE aplomb_about(name TEXT PRIMARY KEY, value TEXT NOT NULL);"
        "INSERT INTO aplomb_about VALUES('version', '0'),"
        "('salt', md5(random()::text || clock_timestamp()::text))");
  }
  for (std::size_t i = version; i < k_steps.size(); ++i) connection.run(k_steps[i]);
  (void)connection.ask("UPDATE aplomb_about SET value = $1 WHERE name = 'version'",
                       {std::to_string(k_steps.size())});
  change.commit();
}

PastRun run_of(const std::string& body) {
  core::Result<PastRun> run = past_run_from(core::ordered_json_from(body));
  if (!run) throw Fault(ErrorCode::bad_format, run.error().text);
  return *std::move(run);
}

std::string body_of(const PastRun& run) { return core::json_text(json_of(run)); }

std::string shown(double value) { return fmt::format("{}", value); }

class TeamStore final : public RunStore {
 public:
  TeamStore(const std::string& url, Access access) : place_(shown_place(url)), database_(url) {
    const std::size_t version = version_of(database_);
    if (version > k_steps.size()) {
      throw Fault(ErrorCode::unsupported,
                  fmt::format("its tables are of version {}, this aplomb knows {}: update aplomb",
                              version, k_steps.size()));
    }
    if (version == k_steps.size()) return;
    if (access == Access::read && version == 0)
      throw Fault(ErrorCode::not_found, "no run is remembered yet");
    if (access == Access::write) raise(database_);
  }

  core::Result<std::string> add(PastRun run) override {
    return guarded([&] {
      Change change(database_);
      // As it will be read again: no text that the database refuses.
      const Rows salt = database_.ask("SELECT value FROM aplomb_about WHERE name = 'salt'");
      run.host = host_pseudonym(salt.size() == 0 ? std::string() : salt.text(0, 0));
      run = run_of(body_of(run));
      const std::int64_t own = same_run(run);
      take_what_is_kept(run, own);
      compare_with_previous(run, own);
      if (own != 0)
        (void)database_.ask("DELETE FROM aplomb_run WHERE number = $1", {std::to_string(own)});
      insert(run);
      change.commit();
      return run.id;
    });
  }

  core::Result<std::vector<PastLine>> list(const Words& words, std::size_t most) override {
    return guarded([&] {
      std::string query =
          "SELECT id, began, verdict, name, program, CASE WHEN answered THEN cause ELSE '' END, "
          "headline, steps, helped, changed FROM aplomb_run ";
      Words given = {std::to_string(most)};
      for (const std::string& each : words) {
        given.push_back(core::lower(core::sanitize(each)));
        query += fmt::format("{} strpos(words, ${}) > 0 ", given.size() == 2 ? "WHERE" : "AND",
                             given.size());
      }
      const Rows rows =
          database_.ask((query + "ORDER BY began DESC, number DESC LIMIT $1").c_str(), given);
      std::vector<PastLine> out;
      out.reserve(static_cast<std::size_t>(rows.size()));
      for (int i = 0; i < rows.size(); ++i) {
        out.push_back({rows.text(i, 0), rows.real(i, 1), rows.text(i, 2), rows.text(i, 3),
                       rows.text(i, 4), rows.text(i, 5), rows.text(i, 6),
                       static_cast<std::uint64_t>(rows.integer(i, 7)), helped_of(rows.text(i, 8)),
                       static_cast<std::size_t>(rows.integer(i, 9))});
      }
      return out;
    });
  }

  core::Result<std::uint64_t> count() override {
    return guarded([&] {
      return static_cast<std::uint64_t>(
          database_.ask("SELECT count(*) FROM aplomb_run").integer(0, 0));
    });
  }

  core::Result<PastRun> find(const std::string& id) override {
    return guarded([&] {
      const Rows rows = database_.ask(
          "SELECT id, body FROM aplomb_run WHERE left(id, length($1::text)) = $1 ORDER BY id LIMIT "
          "2",
          {core::lower(id)});
      if (id.empty() || rows.size() == 0)
        throw Fault(ErrorCode::not_found, "no run is remembered under " + id);
      if (rows.size() > 1 && rows.text(0, 0) != id)
        throw Fault(ErrorCode::bad_usage, "the ids of several runs begin with " + id);
      return run_of(rows.text(0, 1));
    });
  }

  core::Result<void> each(const std::function<bool(const PastRun&)>& take) override {
    return nothing(guarded([&] {
      const Rows numbers = database_.ask("SELECT number FROM aplomb_run ORDER BY began, number");
      for (int i = 0; i < numbers.size(); ++i) {
        const Rows row =
            database_.ask("SELECT body FROM aplomb_run WHERE number = $1", {numbers.text(i, 0)});
        if (row.size() > 0 && !take(run_of(row.text(0, 0)))) break;
      }
      return true;
    }));
  }

  core::Result<void> forget(const std::string& id) override {
    const core::Result<PastRun> found = find(id);
    if (!found) return tl::unexpected(found.error());
    return nothing(guarded([&] {
      (void)database_.ask("DELETE FROM aplomb_run WHERE id = $1", {found->id});
      return true;
    }));
  }

  core::Result<void> forget_all() override {
    return nothing(guarded([&] {
      database_.run("DELETE FROM aplomb_run");
      return true;
    }));
  }

  core::Result<std::optional<ReportSeenBefore>> seen_before(const PastRun& run) override {
    return guarded([&]() -> std::optional<ReportSeenBefore> {
      if (!run.is_answered || run.causes.empty()) return std::nullopt;
      const Rows rows = database_.ask(
          "SELECT body FROM aplomb_run WHERE cause = $1 AND answered AND began <= $2 AND NOT "
          "(lead_path = $3 AND lead_first = $4) ORDER BY began DESC, number DESC LIMIT $5",
          {run.causes.front().id, shown(run.began), run.lead_path, run.lead_first,
           std::to_string(k_candidates)});
      const std::set<std::string> wrong = troubles(run);
      std::optional<ReportSeenBefore> out;
      std::uint64_t times = 0;
      for (int i = 0; i < rows.size(); ++i) {
        const PastRun past = run_of(rows.text(i, 0));
        if (!are_alike(wrong, troubles(past))) continue;
        ++times;
        if (out && !out->ended_by.empty()) continue;
        ReportSeenBefore seen = seen_of(past, run);
        if (!out || !seen.ended_by.empty()) out = std::move(seen);
      }
      if (out) out->times = times;
      return out;
    });
  }

 private:
  /// No exception leaves the store.
  template <class Work>
  auto guarded(Work work) -> core::Result<decltype(work())> {
    try {
      return work();
    } catch (const Fault& fault) {
      return core::fail(fault.code(), "[store] " + place_ + ": " + fault.what());
    }
  }
  static core::Result<void> nothing(const core::Result<bool>& done) {
    if (!done) return tl::unexpected(done.error());
    return {};
  }

  ReportSeenBefore seen_of(const PastRun& past, const PastRun& run) {
    ReportSeenBefore seen;
    seen.run = past.id;
    seen.name = past.name;
    seen.date = date_of(past.began);
    seen.cause = run.causes.front().id;
    seen.symptoms = shared(troubles(run), troubles(past));
    if (past.program.empty()) return seen;
    const Rows later = database_.ask(
        "SELECT body FROM aplomb_run WHERE program = $1 AND began > $2 AND began <= $3 AND verdict "
        "= "
        "'healthy' ORDER BY began, number LIMIT 1",
        {past.program, shown(past.began), shown(run.began)});
    if (later.size() == 0) return seen;
    const PastRun sound = run_of(later.text(0, 0));
    seen.ended_by = sound.id;
    seen.ended_date = date_of(sound.began);
    seen.changed = changes_between(past, sound);
    return seen;
  }

  /// The number of the run that this one is told of again; 0 where it is new (as Store::same_run).
  std::int64_t same_run(const PastRun& run) {
    const Rows rows = database_.ask(
        "SELECT number, origin, began, lead_last, body FROM aplomb_run WHERE lead_path = $1 AND "
        "lead_first = $2 AND host = $3 ORDER BY number DESC",
        {run.lead_path, run.lead_first, run.host});
    for (int i = 0; i < rows.size(); ++i) {
      if (run.origin == "run" && rows.text(i, 1) == "run") {
        if (rows.real(i, 2) == run.began) return rows.integer(i, 0);
        continue;
      }
      if (rows.text(i, 3) == run.lead_last && !run.lead_last.empty()) return rows.integer(i, 0);
      if (run_of(rows.text(i, 4)).settings == run.settings) return rows.integer(i, 0);
    }
    return 0;
  }

  void take_what_is_kept(PastRun& run, std::int64_t own) {
    if (own == 0) {
      run.id = new_id();
      return;
    }
    const PastRun kept =
        run_of(database_.ask("SELECT body FROM aplomb_run WHERE number = $1", {std::to_string(own)})
                   .text(0, 0));
    run.id = kept.id;
    if (kept.origin != "run" || run.origin == "run") return;
    run.origin = kept.origin;  // who started it knows more of it
    run.program = kept.program;
    run.began = kept.began;
    run.ended = kept.ended;
    run.status = kept.status;
  }

  void compare_with_previous(PastRun& run, std::int64_t own) {
    run.previous.clear();
    run.changed.clear();
    run.helped = Helped::unknown;
    if (run.program.empty()) return;
    const Rows before = database_.ask(
        "SELECT body FROM aplomb_run WHERE program = $1 AND began <= $2 AND number != $3 ORDER BY "
        "began DESC, number DESC LIMIT 1",
        {run.program, shown(run.began), std::to_string(own)});
    if (before.size() == 0) return;
    const PastRun previous = run_of(before.text(0, 0));
    run.previous = previous.id;
    run.changed = changes_between(previous, run);
    run.helped = helped(previous.verdict, run.verdict);
  }

  void insert(const PastRun& run) {
    (void)database_.ask(
        "INSERT INTO aplomb_run(id, origin, program, name, host, began, verdict, headline, "
        "answered, "
        "cause, steps, helped, changed, lead_path, lead_first, lead_last, words, body) "
        "VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18)",
        {run.id, run.origin, run.program, run.name, run.host, shown(run.began), run.verdict,
         run.headline, run.is_answered ? "t" : "f",
         run.causes.empty() ? std::string() : run.causes.front().id, std::to_string(run.steps),
         std::string(name(run.helped)), std::to_string(run.changed.size()), run.lead_path,
         run.lead_first, run.lead_last, core::lower(words_of(run)), body_of(run)});
  }

  std::string place_;
  Connection database_;
};

}  // namespace

core::Result<std::unique_ptr<RunStore>> open_team_store(const std::string& url, Access access) {
  try {
    return std::make_unique<TeamStore>(url, access);
  } catch (const Fault& fault) {
    return core::fail(fault.code(), "[store] " + shown_place(url) + ": " + fault.what());
  }
}

}  // namespace aplomb::store
