/// Reader of metrics as CSV or TSV: Lightning's metrics.csv, Keras' CSVLogger, YOLO's results.csv.
///
///     epoch,step,train_loss_step,val_loss
///     0,49,7.6285,
///     0,99,,6.9012
///
/// Oddities: empty cells, for a row of training has no val_loss; padded headers and cells; no
/// header at all, or the header again where a second run was appended; quoted cells that hold the
/// delimiter; cells like `tensor(2.31, device='cuda:0')`; semicolons with decimal commas; rows
/// shorter than the header; `\r\n`; merge-conflict markers of git; a last row cut in the middle.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "input/json_cursor.h"
#include "input/line_reader.h"
#include "sources/metric_names.h"
#include "sources/reader.h"
#include "sources/record_sink.h"

namespace aplomb::sources {
namespace {

constexpr std::size_t k_most_cells = 8192;  // of one row

const ReaderSpec& csv_metrics_spec() {
  static const ReaderSpec spec = {
      "csv-metrics",
      "metrics as CSV or TSV: Lightning's metrics.csv, Keras' CSVLogger, YOLO's results.csv, "
      "nanoGPT's log.csv",
      "epoch,step,train_loss_step,val_loss\n0,49,7.6285,\n",
      {"empty cells (a row of training has no val_loss)", "padded headers and cells",
       "no header at all", "the header again in the middle (a second run appended)", "\\r\\n",
       "quoted cells", "cells like tensor(2.31, device='cuda:0')", "merge-conflict markers of git",
       "rows shorter than the header", "semicolons with decimal commas",
       "a last row cut in the middle"}};
  return spec;
}

/// Cells of a row. A delimiter inside quotes or brackets is no delimiter.
void split(std::string_view row, char delimiter, std::vector<std::string_view>& cells) {
  cells.clear();
  std::size_t start = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const char c = row[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '(' || c == '[')) {
      ++depth;
    } else if (!quoted && (c == ')' || c == ']')) {
      depth = std::max(0, depth - 1);
    } else if (c == delimiter && !quoted && depth == 0) {
      if (cells.size() + 1 >= k_most_cells) return;
      cells.push_back(row.substr(start, i - start));
      start = i + 1;
    }
  }
  cells.push_back(row.substr(start));
}

std::string_view bare(std::string_view cell) {
  cell = core::trim(cell);
  if (cell.size() >= 2 && (cell.front() == '"' || cell.front() == '\'') &&
      cell.back() == cell.front()) {
    cell = core::trim(cell.substr(1, cell.size() - 2));
  }
  return cell;
}

std::optional<double> cell_number(std::string_view cell, char delimiter) {
  double value = 0;
  if (!cell.empty() && core::read_decimal(cell, value) == cell.size()) return value;
  cell = bare(cell);
  if (cell.empty()) return std::nullopt;
  if (core::read_decimal(cell, value) == cell.size()) return value;
  if (delimiter == ';') {
    if (const std::size_t comma = cell.find(','); comma != std::string_view::npos) {
      std::string point(cell);
      point[comma] = '.';
      return core::parse_number(point);
    }
  }
  if (const auto number = core::parse_number(cell)) return number;
  for (const std::string_view wrap : {"tensor(", "array(", "np.float64(", "np.float32(", "["}) {
    if (cell.substr(0, wrap.size()) != wrap) continue;
    cell.remove_prefix(wrap.size());
    const core::NumberPrefix number = core::parse_number_prefix(core::trim(cell));
    if (number.size > 0) return number.value;
  }
  return std::nullopt;
}

enum class Marker { none, begin, middle, end };

/// The lines that git leaves in a file with a merge conflict.
Marker conflict_marker(std::string_view line) {
  if (line.substr(0, 8) == "<<<<<<< ") return Marker::begin;
  if (line == "=======") return Marker::middle;
  if (line.substr(0, 8) == ">>>>>>> ") return Marker::end;
  return Marker::none;
}

char delimiter_of(std::string_view line) {
  constexpr std::array<char, 4> k_delimiters = {',', '\t', ';', '|'};
  char best = '\0';
  std::ptrdiff_t most = 0;
  for (const char c : k_delimiters) {
    const auto count = std::count(line.begin(), line.end(), c);
    if (count > most) {
      most = count;
      best = c;
    }
  }
  return best;
}

/// How many of the cells are numbers, words, or empty.
struct Tally {
  std::size_t numbers = 0;
  std::size_t words = 0;
  std::size_t cells = 0;
};

Tally tally(const std::vector<std::string_view>& cells, char delimiter) {
  Tally count;
  count.cells = cells.size();
  for (const std::string_view cell : cells) {
    if (bare(cell).empty()) continue;
    if (cell_number(cell, delimiter)) {
      ++count.numbers;
    } else {
      ++count.words;
    }
  }
  return count;
}

bool is_header(const Tally& count) { return count.words > 0 && count.numbers == 0; }

class Table {
 public:
  Table(record::RunBuilder& build, record::SourceId source)
      : build_(build), source_(source), sink_(build, source) {}

  void line(const input::LineReader::Line& line) {
    const std::string_view text = line.text;
    if (core::trim(text).empty() || text.front() == '#') return;
    if (const Marker marker = conflict_marker(text); marker != Marker::none) {
      conflict(marker, line);
      return;
    }
    if (delimiter_ == '\0') delimiter_ = delimiter_of(text);
    if (!columns_.empty() && line.ended && plain_row(line)) return;
    split(text, delimiter_, cells_);
    if (columns_.empty() || could_be_header()) {
      const Tally count = tally(cells_, delimiter_);
      if (is_header(count)) return header();
      if (columns_.empty()) unnamed();
    }
    row(line);
  }

  void finish() { sink_.finish(); }
  std::uint64_t records() const { return sink_.records(); }

 private:
  /// Cheap: a row whose first cell is no number may be the header of a run that was appended.
  bool could_be_header() const {
    const std::string_view first = bare(cells_.front());
    return !first.empty() && cells_.size() > 1 && !cell_number(first, delimiter_);
  }

  void header() {
    if (!columns_.empty()) sink_.restart();
    columns_.clear();
    for (const std::string_view cell : cells_) columns_.push_back(sink_.column(bare(cell)));
  }

  void unnamed() {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      // Without a header the first column counts, if it holds whole numbers: any logger's habit.
      const auto number = cell_number(cells_[i], delimiter_);
      const bool counts = i == 0 && cells_.size() > 1 && number && std::floor(*number) == *number;
      columns_.push_back(sink_.column(counts ? "step" : fmt::format("column {}", i + 1)));
    }
  }

  /// A row of nothing but bare numbers and empty cells, read as it is split; false, and nothing
  /// kept, where it is another.
  bool plain_row(const input::LineReader::Line& line) {
    const char* const first = line.text.data();
    const char* const end = first + line.text.size();
    const auto skip_blanks = [end](const char* p) {
      while (p < end && *p == ' ') ++p;
      return p;
    };
    sink_.begin(line.number, line.offset);
    const char* p = first;
    for (std::size_t i = 0;; ++i) {
      p = skip_blanks(p);
      const bool negative = p < end && *p == '-';
      const char* const digits = p + (negative ? 1 : 0);
      double value = 0;
      const char* const after = core::read_unsigned(first, digits, end, value);
      const bool number = after != digits;
      if (i == 0 && !number) return false;
      if (number && i < columns_.size()) sink_.put(columns_[i], negative ? -value : value);
      p = skip_blanks(number ? after : p);
      if (p == end) break;
      if (*p++ != delimiter_) return false;
    }
    sink_.end();
    return true;
  }

  void row(const input::LineReader::Line& line) {
    sink_.begin(line.number, line.offset);
    const std::size_t count = std::min(cells_.size(), columns_.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (!line.ended && i + 1 == cells_.size())
        break;  // the last cell of a torn row may have lost digits
      if (const auto number = cell_number(cells_[i], delimiter_)) sink_.put(columns_[i], *number);
    }
    sink_.end();
  }

  void conflict(Marker marker, const input::LineReader::Line& line) {
    if (marker == Marker::middle) sink_.restart();
    if (marker == Marker::begin) {
      build_.defect({source_, line.offset, "merge-conflict", core::Severity::note,
                     fmt::format("[csv-metrics] line {}: an unresolved merge conflict of git; both "
                                 "sides were read, one "
                                 "after the other",
                                 line.number)});
    }
  }

  record::RunBuilder& build_;
  record::SourceId source_;
  RecordSink sink_;
  char delimiter_ = '\0';
  std::vector<RecordSink::Column> columns_;
  std::vector<std::string_view> cells_;
};

/// The name without what a compressor appended.
std::string_view plain_name(std::string_view path) {
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending) {
      path.remove_suffix(ending.size());
    }
  }
  return path;
}

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

class CsvMetricsReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return csv_metrics_spec(); }

  double sniff(const Sniff& artifact) const override {
    const std::string_view name = plain_name(artifact.path);
    const bool named = ends_with(name, ".csv") || ends_with(name, ".tsv");
    if (artifact.head.find('\0') != std::string_view::npos) return 0;
    std::string_view rest = artifact.head;
    if (rest.substr(0, 3) == "\xef\xbb\xbf") rest.remove_prefix(3);
    const std::string_view first = next_row(rest);
    const std::string_view second = next_row(rest);
    const char delimiter = delimiter_of(first);
    if (delimiter == '\0') return named && is_table_of_one(first, second) ? 0.5 : 0;
    std::vector<std::string_view> cells;
    split(first, delimiter, cells);
    const Tally head = tally(cells, delimiter);
    bool known = false;
    for (const std::string_view cell : cells) {
      const std::string_view column = bare(cell);
      known = known || step_rank(column) > 0 || name_metric(column).role != record::Role::other;
    }
    split(second, delimiter, cells);
    const Tally row = tally(cells, delimiter);
    if (is_header(head)) {
      const bool rows = row.numbers > 0 && row.numbers >= row.words && row.cells <= head.cells + 1;
      if (known && (rows || (named && second.empty())))
        return named ? 0.85 : rows && head.cells >= 3 ? 0.6 : 0;
      return named && rows ? 0.4 : 0;
    }
    return named && head.numbers > 1 && head.words == 0 ? 0.5 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    Table table(build, source);
    input::LineReader lines(bytes);
    input::LineReader::Line line;
    while (lines.next(line)) {
      if (line.cut) {
        build.defect({source, line.offset, "too-long-line", core::Severity::warning,
                      fmt::format("[csv-metrics] line {} is longer than {} bytes and was left out",
                                  line.number, input::LineReader::k_most_bytes)});
        continue;
      }
      table.line(line);
    }
    table.finish();
    if (!bytes.broken().empty()) {
      build.defect(
          {source, bytes.consumed(), "truncated", core::Severity::warning, bytes.broken()});
    } else if (table.records() == 0) {
      build.defect({source, 0, "no-records", core::Severity::note,
                    "[csv-metrics] a header without rows, or rows without numbers"});
    }
  }

 private:
  /// The next line that holds cells.
  static std::string_view next_row(std::string_view& rest) {
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = core::trim(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (!line.empty() && line.front() != '#' && conflict_marker(line) == Marker::none)
        return line;
    }
    return {};
  }

  static bool is_table_of_one(std::string_view first, std::string_view second) {
    return name_metric(bare(first)).role != record::Role::other &&
           cell_number(second, ',').has_value();
  }
};

}  // namespace

std::unique_ptr<Reader> make_csv_metrics_reader() { return std::make_unique<CsvMetricsReader>(); }

}  // namespace aplomb::sources
