#include "preflight/column_stream.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/text.h"
#include "knowledge/document.h"
#include "preflight/embedded_python.h"
#include "preflight/python_process.h"
#include "preflight/row_walk.h"

namespace aplomb {
namespace {

using simdjson::dom::element;

constexpr std::chrono::seconds k_patience{120};  // between two parts
constexpr std::uint64_t k_most_part_bytes = 4ULL << 30U;
constexpr std::size_t k_most_header_bytes = 1U << 20U;

/// The bytes of one part of a column, aligned for numbers.
class Part {
 public:
  char* room_for(std::size_t bytes) {
    bytes_ = bytes;
    words_.resize(bytes / sizeof(std::uint64_t) + 1);
    return reinterpret_cast<char*>(words_.data());
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(words_.data()), bytes_ / sizeof(T)};
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(words_.data()), bytes_}; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t bytes_ = 0;
};

enum class ColumnKind : std::uint8_t {
  text,
  json,
  int8,
  uint16,
  int32,
  int64,
  label,
  turns,
  nonfinite
};

struct KindSpec {
  std::string_view name;
  ColumnKind kind;
  std::size_t parts;
  std::size_t width;  ///< bytes of what the offsets count; 0 where there are no offsets
};

constexpr std::array<KindSpec, 9> k_kinds = {{{"text", ColumnKind::text, 2, 1},
                                              {"json", ColumnKind::json, 2, 1},
                                              {"int8", ColumnKind::int8, 2, 1},
                                              {"uint16", ColumnKind::uint16, 2, 2},
                                              {"int32", ColumnKind::int32, 2, 4},
                                              {"int64", ColumnKind::int64, 2, 8},
                                              {"label", ColumnKind::label, 1, 0},
                                              {"turns", ColumnKind::turns, 5, 0},
                                              {"nonfinite", ColumnKind::nonfinite, 1, 0}}};

/// Offsets must rise from 0 or more and stay within what they count.
bool fits(const Part& offsets, std::uint64_t rows, std::uint64_t counted) {
  const auto places = offsets.as<std::int64_t>();
  return places.size() == rows + 1 && places.front() >= 0 &&
         std::is_sorted(places.begin(), places.end()) &&
         static_cast<std::uint64_t>(places.back()) <= counted;
}

struct Column {
  std::string name;
  ColumnUse use = ColumnUse::other;
  const KindSpec* spec = nullptr;
  std::vector<Part> parts;

  bool is_sound(std::uint64_t rows) const {
    if (spec->kind == ColumnKind::label) return parts[0].as<std::int64_t>().size() == rows;
    if (spec->kind == ColumnKind::nonfinite) return parts[0].text().size() == rows;
    if (spec->kind != ColumnKind::turns)
      return fits(parts[0], rows, parts[1].text().size() / spec->width);
    const std::uint64_t turns = parts[1].as<std::int64_t>().size() - 1;
    return !parts[1].as<std::int64_t>().empty() && fits(parts[0], rows, turns) &&
           fits(parts[1], turns, parts[2].text().size()) &&
           fits(parts[3], turns, parts[4].text().size());
  }
};

std::string_view text_at(const Part& offsets, const Part& bytes, std::uint64_t row) {
  const auto places = offsets.as<std::int64_t>();
  const auto begin = static_cast<std::size_t>(places[row]);
  return bytes.text().substr(begin, static_cast<std::size_t>(places[row + 1]) - begin);
}

template <class T>
std::span<const T> numbers_at(const Column& column, std::uint64_t row) {
  const auto places = column.parts[0].as<std::int64_t>();
  const auto begin = static_cast<std::size_t>(places[row]);
  return column.parts[1].as<T>().subspan(begin, static_cast<std::size_t>(places[row + 1]) - begin);
}

struct Batch {
  std::uint64_t rows = 0;
  std::vector<Column> columns;
};

/// `row 17: input_ids 1 2 3`, `row 17: the text of it`.
class ColumnQuote final : public RowQuote {
 public:
  ColumnQuote(const Batch& batch, std::uint64_t row, std::uint64_t index)
      : batch_(batch), row_(row), index_(index) {}

  std::string text() const override {
    constexpr std::size_t k_most = 400;
    std::string told = fmt::format("row {}:", index_);
    for (const Column& column : batch_.columns) {
      if (told.size() > k_most) break;
      switch (column.spec->kind) {
        case ColumnKind::text:
        case ColumnKind::json:
          told += fmt::format(" {} {}", column.name,
                              text_at(column.parts[0], column.parts[1], row_).substr(0, k_most));
          break;
        case ColumnKind::int8:
          told += listed(column.name, numbers_at<std::int8_t>(column, row_));
          break;
        case ColumnKind::uint16:
          told += listed(column.name, numbers_at<std::uint16_t>(column, row_));
          break;
        case ColumnKind::int32:
          told += listed(column.name, numbers_at<std::int32_t>(column, row_));
          break;
        case ColumnKind::int64:
          told += listed(column.name, numbers_at<std::int64_t>(column, row_));
          break;
        case ColumnKind::label:
          told += fmt::format(" {} {}", column.name, column.parts[0].as<std::int64_t>()[row_]);
          break;
        case ColumnKind::turns:
          told += said(column);
          break;
        case ColumnKind::nonfinite:
          if (column.parts[0].text()[row_] != 0) told += " not finite: " + column.name;
          break;
      }
    }
    return told;
  }

 private:
  template <class T>
  static std::string listed(const std::string& name, std::span<const T> numbers) {
    constexpr std::size_t k_shown = 8;
    std::string told = " " + name;
    for (const T number : numbers.first(std::min(numbers.size(), k_shown)))
      told += fmt::format(" {}", static_cast<std::int64_t>(number));
    if (numbers.size() > k_shown) told += fmt::format(" ... ({})", numbers.size());
    return told;
  }

  std::string said(const Column& column) const {
    const auto turns = column.parts[0].as<std::int64_t>();
    std::string told;
    for (auto turn = static_cast<std::uint64_t>(turns[row_]);
         turn < static_cast<std::uint64_t>(turns[row_ + 1]) && told.size() < 200; ++turn)
      told += fmt::format(" {}: {}", text_at(column.parts[1], column.parts[2], turn),
                          text_at(column.parts[3], column.parts[4], turn).substr(0, 100));
    return told;
  }

  const Batch& batch_;
  std::uint64_t row_;
  std::uint64_t index_;
};

/// The stream of batches that columns.py writes.
class BatchReader {
 public:
  explicit BatchReader(PythonProcess& process) : process_(process) {}

  /// False at the end of a file. Errors as of read_columns().
  Result<bool> next(Batch& batch) {
    auto header = line();
    if (!header) return tl::unexpected(header.error());
    element root;
    if (json_.parse(*header).get(root) != simdjson::SUCCESS) return torn("no header");
    if (const std::string error = knowledge::text_of(root, "error"); !error.empty())
      return error == "no pyarrow" ? fail(ErrorCode::not_found, "no pyarrow")
                                   : fail(ErrorCode::bad_format, "[data] " + sanitize(error));
    batch.rows = static_cast<std::uint64_t>(knowledge::number_of(root, "rows"));
    if (batch.rows == 0) return false;
    const auto listed = knowledge::list_of(root, "columns");
    batch.columns.resize(listed.size());
    std::size_t at = 0;
    for (const element entry : listed) {
      if (auto done = column(entry, batch.columns[at++], batch.rows); !done)
        return tl::unexpected(done.error());
    }
    return true;
  }

 private:
  static tl::unexpected<Error> torn(const std::string& what) {
    return fail(ErrorCode::internal, "[data] pyarrow's process ended or sent " + what);
  }

  Result<void> column(element entry, Column& into, std::uint64_t rows) {
    into.name = knowledge::text_of(entry, "name");
    into.use = column_use(into.name);
    const std::string kind = knowledge::text_of(entry, "kind");
    const auto* const spec = std::find_if(k_kinds.begin(), k_kinds.end(),
                                          [&](const KindSpec& each) { return each.name == kind; });
    const auto sizes = knowledge::list_of(entry, "sizes");
    if (spec == k_kinds.end() || sizes.size() != spec->parts) return torn("a column of no kind");
    into.spec = spec;
    into.parts.resize(spec->parts);
    std::size_t at = 0;
    for (const element each : sizes) {
      std::uint64_t bytes = 0;
      if (each.get(bytes) != simdjson::SUCCESS || bytes > k_most_part_bytes)
        return torn("a part of no size");
      if (!exactly(into.parts[at++].room_for(bytes), bytes)) return torn("half a batch");
    }
    if (!into.is_sound(rows)) return torn("a column that does not fit its rows");
    return {};
  }

  Result<std::string> line() {
    std::string text;
    for (;;) {
      const char* begin = buffer_.data() + at_;
      const auto* end = static_cast<const char*>(std::memchr(begin, '\n', size_ - at_));
      if (end != nullptr) {
        text.append(begin, end);
        at_ += static_cast<std::size_t>(end - begin) + 1;
        return text;
      }
      text.append(begin, size_ - at_);
      if (text.size() > k_most_header_bytes) return torn("no header");
      if (!refill()) return torn("no header");
    }
  }

  bool refill() {
    at_ = 0;
    size_ = process_.receive(buffer_.data(), buffer_.size(), k_patience);
    return size_ > 0;
  }

  bool exactly(char* into, std::size_t bytes) {
    const std::size_t held = std::min(bytes, size_ - at_);
    std::memcpy(into, buffer_.data() + at_, held);
    at_ += held;
    for (std::size_t got = held; got < bytes;) {
      const std::size_t part = process_.receive(into + got, bytes - got, k_patience);
      if (part == 0) return false;
      got += part;
    }
    return true;
  }

  PythonProcess& process_;
  simdjson::dom::parser json_;
  std::vector<char> buffer_ = std::vector<char>(1U << 16U);
  std::size_t at_ = 0;
  std::size_t size_ = 0;
};

class RowMaker {
 public:
  explicit RowMaker(const DataLimits& limits) : limits_(limits) {}

  Row row(const Batch& batch, std::uint64_t at) {
    Row made;
    RowWalk walk(limits_, made);
    for (const Column& column : batch.columns) enter(column, at, walk);
    walk.finish();
    return made;
  }

 private:
  void enter(const Column& column, std::uint64_t at, RowWalk& walk) {
    switch (column.spec->kind) {
      case ColumnKind::text:
        walk.text(column.use, text_at(column.parts[0], column.parts[1], at));
        break;
      case ColumnKind::json:
        enter_json(column, at, walk);
        break;
      case ColumnKind::int8:
        enter_numbers<std::int8_t>(column, at, walk);
        break;
      case ColumnKind::uint16:
        enter_numbers<std::uint16_t>(column, at, walk);
        break;
      case ColumnKind::int32:
        enter_numbers<std::int32_t>(column, at, walk);
        break;
      case ColumnKind::int64:
        enter_numbers<std::int64_t>(column, at, walk);
        break;
      case ColumnKind::label:
        walk.label(column.parts[0].as<std::int64_t>()[at]);
        break;
      case ColumnKind::turns:
        enter_turns(column, at, walk);
        break;
      case ColumnKind::nonfinite:
        if (column.parts[0].text()[at] != 0) walk.nonfinite();
        break;
    }
  }

  template <class T>
  static void enter_numbers(const Column& column, std::uint64_t at, RowWalk& walk) {
    const auto numbers = numbers_at<T>(column, at);
    walk.numbers(column.use, numbers.data(), numbers.size());
  }

  void enter_json(const Column& column, std::uint64_t at, RowWalk& walk) {
    element value;
    const std::string_view text = text_at(column.parts[0], column.parts[1], at);
    if (json_.parse(text.data(), text.size(), true).get(value) == simdjson::SUCCESS)
      walk.value(column.use, value);
    else if (holds_nonfinite(text))
      walk.nonfinite();
  }

  static void enter_turns(const Column& column, std::uint64_t at, RowWalk& walk) {
    const auto turns = column.parts[0].as<std::int64_t>();
    walk.begin_turns();
    for (auto turn = static_cast<std::uint64_t>(turns[at]);
         turn < static_cast<std::uint64_t>(turns[at + 1]); ++turn)
      walk.turn(text_at(column.parts[1], column.parts[2], turn),
                text_at(column.parts[3], column.parts[4], turn));
    walk.end_turns(turns[at] != turns[at + 1]);
  }

  const DataLimits& limits_;
  simdjson::dom::parser json_;
};

nlohmann::json request_of(const std::vector<std::string>& paths) {
  nlohmann::json uses = nlohmann::json::object();
  for (const std::string_view name : used_columns()) {
    const ColumnUse use = column_use(name);
    uses[std::string(name)] = use == ColumnUse::ids      ? "ids"
                              : use == ColumnUse::labels ? "labels"
                              : use == ColumnUse::mask   ? "mask"
                              : use == ColumnUse::turns  ? "turns"
                                                         : "text";
  }
  return {{"paths", paths}, {"uses", std::move(uses)}};
}

}  // namespace

Result<void> read_columns(const std::vector<std::string>& paths, const std::string& python,
                          const DataLimits& limits, std::uint64_t most, const RowSink& sink) {
  PythonProcess process;
  const auto absent = [&](const std::string& what) {
    return fail(ErrorCode::not_found,
                what +
                    ", which reads Parquet and Arrow: `pip install pyarrow`, or run aplomb inside "
                    "the environment that trains");
  };
  auto started = process.start(python, embedded_program());
  if (!started || !process.send(embedded_request("columns", request_of(paths))))
    return absent("there is no " + python + " here with pyarrow");
  BatchReader batches(process);
  RowMaker maker(limits);
  Batch batch;
  std::uint64_t index = 0;
  for (std::size_t file = 0; file < paths.size() && index < most;) {
    const Result<bool> more = batches.next(batch);
    if (!more && more.error().code == ErrorCode::not_found)
      return absent(python + " has no pyarrow");
    if (!more) return tl::unexpected(more.error());
    if (!*more) ++file;
    for (std::uint64_t row = 0; *more && row < batch.rows && index < most; ++row, ++index)
      sink(maker.row(batch, row), 0, ColumnQuote(batch, row, index));
  }
  return {};
}

}  // namespace aplomb
