#include "store/schema.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/statfs.h>

#include <array>

namespace aplomb::store {
namespace {

/// "APLM", in the file's head: whose it is.
constexpr std::int64_t k_application = 0x41504C4D;

/// The steps from version to version, in order: the first makes version 1 of an empty file. What stands
/// here was released, and is never changed.
constexpr std::array k_steps{R"(
CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO about VALUES('salt', hex(randomblob(16)));
CREATE TABLE run(
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, origin TEXT NOT NULL,
  program TEXT NOT NULL, name TEXT NOT NULL, host TEXT NOT NULL, began REAL NOT NULL,
  ended REAL NOT NULL, status INTEGER, verdict TEXT NOT NULL, headline TEXT NOT NULL,
  answered INTEGER NOT NULL, cause TEXT NOT NULL, steps INTEGER NOT NULL, previous TEXT NOT NULL,
  helped TEXT NOT NULL, lead_path TEXT NOT NULL, lead_first TEXT NOT NULL, lead_last TEXT NOT NULL,
  kinds TEXT NOT NULL);
CREATE INDEX run_by_time ON run(began);
CREATE INDEX run_by_program ON run(program, began);
CREATE INDEX run_by_cause ON run(cause, began);
CREATE INDEX run_by_lead ON run(lead_path);
CREATE TABLE path(run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, path TEXT NOT NULL);
CREATE INDEX path_of_run ON path(run);
CREATE TABLE cause(run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, id TEXT NOT NULL,
  title TEXT NOT NULL, probability REAL NOT NULL);
CREATE INDEX cause_of_run ON cause(run);
CREATE TABLE symptom(run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, id TEXT NOT NULL,
  severity TEXT NOT NULL, first_step INTEGER NOT NULL, last_step INTEGER NOT NULL, summary TEXT NOT NULL);
CREATE INDEX symptom_of_run ON symptom(run);
CREATE TABLE setting(run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, name TEXT NOT NULL,
  value TEXT NOT NULL, environment INTEGER NOT NULL);
CREATE INDEX setting_of_run ON setting(run);
CREATE TABLE change(run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, name TEXT NOT NULL,
  before TEXT NOT NULL, after TEXT NOT NULL);
CREATE INDEX change_of_run ON change(run);
CREATE TABLE series(run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, name TEXT NOT NULL,
  role TEXT NOT NULL, points INTEGER NOT NULL, chart BLOB NOT NULL);
CREATE INDEX series_of_run ON series(run);
CREATE VIRTUAL TABLE words USING fts5(text);
)"};

/// File systems of several machines: there the shared memory of WAL does not work
/// (https://sqlite.org/wal.html), and an ordinary journal with locks is used.
bool is_of_a_network(const std::string& path) {
  struct statfs about{};
  if (::statfs(path.c_str(), &about) != 0) return false;
  // linux/magic.h, and of those that are not in the kernel their own sources
  constexpr std::array<std::uint32_t, 7> k_shared = {
      0x6969,      // NFS
      0x517B,      // SMB
      0xFF534D42,  // CIFS
      0xFE534D42,  // SMB2
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
  };
  const auto type = static_cast<std::uint32_t>(about.f_type);
  for (const std::uint32_t each : k_shared) {
    if (type == each) return true;
  }
  return false;
}

void raise(Database& database, const std::string& path) {
  Transaction change(database);
  const std::int64_t version = database.number("PRAGMA user_version");  // anew: others may be here
  if (version == 0 && database.number("SELECT count(*) FROM sqlite_schema") > 0)
    throw DatabaseFault(SQLITE_NOTADB, path + " is a database of another program");
  for (std::size_t i = static_cast<std::size_t>(version); i < k_steps.size(); ++i)
    database.run(k_steps[i]);
  database.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", k_application,
                           k_steps.size())
                   .c_str());
  change.commit();
}

}  // namespace

int newest_version() { return static_cast<int>(k_steps.size()); }

void prepare(Database& database, const std::string& path) {
  const std::int64_t version = database.number("PRAGMA user_version");
  const std::int64_t owner = database.number("PRAGMA application_id");
  if (version != 0 && owner != k_application)
    throw DatabaseFault(SQLITE_NOTADB, path + " is a database of another program");
  if (version > newest_version()) {
    throw DatabaseFault(
        SQLITE_SCHEMA,
        fmt::format("{} was written by a newer aplomb (its tables are of version {}, this one "
                    "knows {})",
                    path, version, newest_version()));
  }
  if (version < newest_version()) {
    database.run(is_of_a_network(path) ? "PRAGMA journal_mode = DELETE"
                                       : "PRAGMA journal_mode = WAL");
    raise(database, path);
  }
  // With WAL a killed process loses nothing that was committed, a machine without power its last
  // transactions at most. What is forgotten is overwritten.
  database.run("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON");
}

}  // namespace aplomb::store
