#pragma once
/// Database, Statement: the few calls of SQLite that the store makes, as values that close themselves.
/// Every failure is a DatabaseFault; Store turns it into a Result at its door.

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace aplomb::store {

class DatabaseFault : public std::runtime_error {
 public:
  DatabaseFault(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  int code() const { return code_; }  ///< SQLITE_BUSY, SQLITE_NOTADB, ...

 private:
  int code_;
};

class Database {
 public:
  /// The file must be there, empty or not: SQLite gives its side files the rights of it.
  explicit Database(const std::string& path);

  void run(const char* statements);
  std::int64_t number(const char* query);
  std::int64_t last_row() const;
  sqlite3* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

/// One prepared statement: bind() in the order of its question marks, then next() row by row.
class Statement {
 public:
  Statement(const Database& database, const char* text);

  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind_bytes(std::span<const char> value);
  Statement& bind_null();
  /// False behind the last row.
  bool next();
  /// Of one that gives no rows; it may be bound anew afterwards.
  void done();

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::span<const char> bytes(int column) const;

 private:
  void check(int code) const;
  struct Finish {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finish> statement_;
  int bound_ = 0;
};

/// Ends in a rollback unless commit() was called.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace aplomb::store
