#pragma once
/// TextTable: a table that a tool prints into a log (a profiler's, nvidia-smi's, iostat's), read
/// line by line. A table is one file with its struct and `make_<slug>_table()`, a line in
/// tables/roster.def and tests/sources/<slug>_test.cpp; nothing else knows of it.
///
/// The literals of `TableSpec::heads` go into the one literal filter of all signatures, so a table
/// costs nothing on lines that are not its own. A line with one of them is offered to a fresh
/// table; one that takes it as its head gets the lines that follow until it refuses one. Of several
/// tables of a kind in one artifact the last one speaks: profilers print one a window.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::tool_tables {

struct TableSpec {
  std::string_view slug;                ///< `torch-profile`
  std::string_view summary;             ///< what prints it and what is learned from it
  std::vector<std::string_view> heads;  ///< pieces of a head line, of at least 5 bytes each
};

class TextTable {
 public:
  virtual ~TextTable() = default;
  /// Whether the line is a head of this kind. Called once, before anything else.
  virtual bool open(std::string_view line) = 0;
  /// Takes a line below the head; false where the table has ended before it.
  virtual bool row(std::string_view line) = 0;
  /// Says what was learned. `head` is where the table begins. Nothing where no row was read.
  virtual void say(record::RunBuilder& build, const record::Origin& head) const = 0;
};

struct TableKind {
  const TableSpec& (*spec)();
  std::unique_ptr<TextTable> (*make)();
};

/// All kinds, in the roster's order.
const std::vector<TableKind>& table_kinds();

/// The tables of one artifact.
class TextTables {
 public:
  /// A line that holds a head of the kind (an index into table_kinds()) and that no open table of
  /// the kind took.
  void offer(std::size_t kind, std::string_view line, std::uint64_t number, std::uint64_t offset);
  /// Every line, before it is offered. Cheap where no table is open.
  void line(std::string_view line);
  void finish(record::RunBuilder& build, record::SourceId source);

 private:
  struct Held {
    std::size_t kind = 0;
    std::unique_ptr<TextTable> table;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    bool open = false;
    bool took = false;  ///< the last line, as a row or as one more head of its own
  };
  std::vector<Held> held_;
  std::size_t open_ = 0;
};

}  // namespace aplomb::tool_tables
