#include "preflight/data_stream.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "core/text.h"
#include "preflight/data_check.h"

namespace aplomb::preflight {
namespace {

/// A line that is longer is no row: a file without line ends, or not text.
constexpr std::size_t k_most_line = 16U << 20U;

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Lines of a stream, out of its own buffer where they lie in one part.
class Lines {
 public:
  explicit Lines(input::ByteStream& bytes) : bytes_(bytes) {}

  /// False at the end. `line` is valid until the next call; `capacity()` bytes from its beginning
  /// may be read.
  bool next(std::string_view& line) {
    joined_.clear();
    for (;;) {
      if (at_ == part_.size()) {
        part_ = bytes_.next();
        at_ = 0;
        if (part_.empty()) {
          line = joined_;
          return !joined_.empty();
        }
      }
      const char* begin = part_.data() + at_;
      const std::size_t left = part_.size() - at_;
      const auto* end = static_cast<const char*>(std::memchr(begin, '\n', left));
      const std::size_t size = end == nullptr ? left : static_cast<std::size_t>(end - begin);
      at_ += end == nullptr ? size : size + 1;
      if (end != nullptr && joined_.empty()) {
        line = {begin, size};
        capacity_ = left;
        return true;
      }
      if (joined_.size() < k_most_line)
        joined_.append(begin, std::min(size, k_most_line - joined_.size()));
      if (end == nullptr) continue;
      line = joined_;
      capacity_ = joined_.size();
      return true;
    }
  }
  std::size_t capacity() const { return capacity_; }

 private:
  input::ByteStream& bytes_;
  std::string_view part_;
  std::size_t at_ = 0;
  std::string joined_;
  std::size_t capacity_ = 0;
};

void read_json_lines(input::ByteStream& bytes, const DataLimits& limits, std::uint64_t most,
                     const RowSink& sink) {
  Lines lines(bytes);
  JsonRowReader reader(limits);
  std::uint64_t number = 0;
  std::uint64_t rows = 0;
  for (std::string_view line; rows < most && lines.next(line);) {
    ++number;
    line = without_return(line);
    if (core::trim(line).empty()) continue;
    ++rows;
    sink(reader.read(line, lines.capacity()), number, PlainQuote(line));
  }
}

core::Result<void> read_json_array(input::ByteStream& bytes, const DataLimits& limits,
                                   std::uint64_t most, const RowSink& sink) {
  bool cut = false;
  const std::string text = input::read_at_most(bytes, k_most_array_bytes, cut);
  if (cut)
    return core::fail(core::ErrorCode::too_large,
                      "[data] the array is larger than " + core::show_bytes(k_most_array_bytes) +
                          "; write one object a line (.jsonl), which is read in parts");
  const std::string_view all = text;
  if (!core::trim(all.substr(0, 4096)).starts_with('['))
    return core::fail(core::ErrorCode::bad_format, "[data] no array of JSON objects");
  JsonRowReader reader(limits);
  std::uint64_t line = 1;
  std::size_t counted = 0;
  std::uint64_t rows = 0;
  for (std::size_t at = 0; rows < most; ++rows) {
    const std::string_view row = object_at(all, at);
    if (row.empty()) break;
    const auto begin = static_cast<std::size_t>(row.data() - all.data());
    for (; counted < begin; ++counted) line += all[counted] == '\n' ? 1U : 0U;
    sink(reader.read(row, all.size() - begin), line, PlainQuote(row));
    at = begin + row.size();
  }
  if (rows < most && !core::trim(all).ends_with(']'))
    return core::fail(
        core::ErrorCode::bad_format,
        "[data] the array does not end: the file is torn behind row " + std::to_string(rows));
  return {};
}

/// Fields of a record of CSV (RFC 4180: quotes, doubled inside them).
class Record {
 public:
  explicit Record(char separator) : separator_(separator) {}

  /// False where a quoted field goes on in the next line.
  bool split(std::string_view text) {
    fields_.clear();
    std::size_t at = 0;
    for (;;) {
      if (at < text.size() && text[at] == '"') {
        const std::size_t end = closing(text, at + 1);
        if (end == std::string_view::npos) return false;
        fields_.push_back(text.substr(at + 1, end - at - 1));
        at = std::min(text.find(separator_, end), text.size());
      } else {
        const std::size_t end = std::min(text.find(separator_, at), text.size());
        fields_.push_back(text.substr(at, end - at));
        at = end;
      }
      if (at >= text.size()) return true;
      ++at;
    }
  }
  const std::vector<std::string_view>& fields() const { return fields_; }

 private:
  static std::size_t closing(std::string_view text, std::size_t from) {
    for (std::size_t at = text.find('"', from); at != std::string_view::npos;
         at = text.find('"', at + 2)) {
      if (at + 1 >= text.size() || text[at + 1] != '"') return at;
    }
    return std::string_view::npos;
  }
  char separator_;
  std::vector<std::string_view> fields_;
};

bool is_nonfinite(std::string_view cell) {
  cell = core::trim(cell);
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  return core::iequals(cell, "nan") || core::iequals(cell, "inf") ||
         core::iequals(cell, "infinity");
}

std::uint32_t label_faults(std::string_view cell, const DataLimits& limits) {
  if (cell.empty()) return k_row_empty;
  const auto label = core::parse_number(cell);
  const bool outside = label && limits.classes > 0 && (*label < 0 || *label >= limits.classes);
  return outside ? k_row_out_of_range : 0U;
}

Row row_of(const std::vector<std::string_view>& fields, const std::vector<ColumnUse>& columns,
           const DataLimits& limits) {
  Row row;
  bool target = false;
  bool target_blank = true;
  for (std::size_t i = 0; i < fields.size() && i < columns.size(); ++i) {
    const std::string_view cell = core::trim(fields[i]);
    if (is_nonfinite(cell)) row.faults |= k_row_nonfinite;
    if (columns[i] == ColumnUse::other) continue;
    if (columns[i] == ColumnUse::labels) {
      row.faults |= label_faults(cell, limits);
      continue;
    }
    row.length += cell.size();
    row.hash = hash_of(cell, row.hash + static_cast<std::uint64_t>(columns[i]));
    row.form = columns[i] == ColumnUse::text ? RowForm::text : RowForm::pair;
    if (columns[i] != ColumnUse::target && columns[i] != ColumnUse::text) continue;
    row.trained += cell.size();
    target = true;
    target_blank = target_blank && cell.empty();
  }
  if (row.form == RowForm::unknown) row.faults |= k_row_foreign;
  if (row.length == 0 || (target && target_blank)) row.faults |= k_row_empty;
  if (fields.size() != columns.size()) row.faults |= k_row_unreadable;
  return row;
}

void read_csv(input::ByteStream& bytes, char separator, const DataLimits& limits,
              std::uint64_t most, const RowSink& sink) {
  Lines lines(bytes);
  Record record(separator);
  std::vector<ColumnUse> columns;
  std::string joined;
  std::uint64_t number = 0;
  std::uint64_t begin = 0;
  std::uint64_t rows = 0;
  for (std::string_view line; rows < most && lines.next(line);) {
    ++number;
    if (joined.empty()) begin = number;
    std::string_view text = without_return(line);
    if (joined.empty() && core::trim(text).empty()) continue;
    if (!joined.empty()) text = joined += text;
    if (!record.split(text)) {
      const bool whole = joined.empty();
      if (text.size() > k_most_line) break;  // a quote that never closes
      if (whole) joined = text;
      joined += '\n';
      continue;
    }
    if (columns.empty()) {
      for (const std::string_view field : record.fields())
        columns.push_back(column_use(core::trim(field)));
    } else {
      ++rows;
      sink(row_of(record.fields(), columns, limits), begin, PlainQuote(text));
    }
    joined.clear();
  }
}

}  // namespace

std::string_view object_at(std::string_view text, std::size_t from) {
  const std::size_t begin = text.find('{', from);
  if (begin == std::string_view::npos) return {};
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == '{') {
      ++depth;
    } else if (!quoted && text[i] == '}' && --depth == 0) {
      return text.substr(begin, i - begin + 1);
    }
  }
  return {};
}

core::Result<void> read_rows(input::ByteStream& bytes, DataSyntax syntax, const DataLimits& limits,
                             std::uint64_t most, const RowSink& sink) {
  if (syntax == DataSyntax::json_array) return read_json_array(bytes, limits, most, sink);
  if (syntax == DataSyntax::json_lines) {
    read_json_lines(bytes, limits, most, sink);
  } else {
    read_csv(bytes, syntax == DataSyntax::csv ? ',' : '\t', limits, most, sink);
  }
  if (!bytes.broken().empty()) return core::fail(core::ErrorCode::not_readable, bytes.broken());
  return {};
}

}  // namespace aplomb::preflight
