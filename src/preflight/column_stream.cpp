#include "preflight/column_stream.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "preflight/column_batch.h"
#include "preflight/embedded_python.h"
#include "preflight/row_walk.h"

namespace aplomb::preflight {
namespace {

using simdjson::dom::element;

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

core::Result<void> read_columns(const std::vector<std::string>& paths, const std::string& python,
                                const DataLimits& limits, std::uint64_t most, const RowSink& sink) {
  PythonProcess process;
  const auto absent = [&](const std::string& what) {
    return core::fail(
        core::ErrorCode::not_found,
        what +
            ", which reads Parquet and Arrow: `pip install pyarrow`, or run aplomb inside "
            "the environment that trains");
  };
  auto started = process.start(python, embedded_program(), Packages::installed);
  if (!started || !process.send(embedded_request("columns", request_of(paths))))
    return absent("there is no " + python + " here with pyarrow");
  BatchReader batches(process);
  RowMaker maker(limits);
  Batch batch;
  std::uint64_t index = 0;
  for (std::size_t file = 0; file < paths.size() && index < most;) {
    const core::Result<bool> more = batches.next(batch);
    if (!more && more.error().code == core::ErrorCode::not_found)
      return absent(python + " has no pyarrow");
    if (!more) return tl::unexpected(more.error());
    if (!*more) ++file;
    for (std::uint64_t row = 0; *more && row < batch.rows && index < most; ++row, ++index)
      sink(maker.row(batch, row), 0, ColumnQuote(batch, row, index));
  }
  return {};
}

}  // namespace aplomb::preflight
