#include "preflight/column_batch.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "core/text.h"

namespace aplomb::preflight {
namespace {

using knowledge::Node;

constexpr std::chrono::seconds k_patience{120};  // between two parts
constexpr double k_most_part_bytes = 4.0 * (1ULL << 30U);
constexpr std::size_t k_most_header_bytes = 1U << 20U;

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

bool is_sound(const Column& column, std::uint64_t rows) {
  if (column.spec->kind == ColumnKind::label)
    return column.parts[0].as<std::int64_t>().size() == rows;
  if (column.spec->kind == ColumnKind::nonfinite) return column.parts[0].text().size() == rows;
  if (column.spec->kind != ColumnKind::turns)
    return fits(column.parts[0], rows, column.parts[1].text().size() / column.spec->width);
  const std::uint64_t turns = column.parts[1].as<std::int64_t>().size() - 1;
  return !column.parts[1].as<std::int64_t>().empty() && fits(column.parts[0], rows, turns) &&
         fits(column.parts[1], turns, column.parts[2].text().size()) &&
         fits(column.parts[3], turns, column.parts[4].text().size());
}

tl::unexpected<core::Error> torn(const std::string& what) {
  return core::fail(core::ErrorCode::internal, "[data] pyarrow's process ended or sent " + what);
}

}  // namespace

std::string_view text_at(const Part& offsets, const Part& bytes, std::uint64_t row) {
  const auto places = offsets.as<std::int64_t>();
  const auto begin = static_cast<std::size_t>(places[row]);
  return bytes.text().substr(begin, static_cast<std::size_t>(places[row + 1]) - begin);
}

core::Result<bool> BatchReader::next(Batch& batch) {
  auto header = line();
  if (!header) return tl::unexpected(header.error());
  simdjson::dom::parser json;
  simdjson::dom::element parsed;
  if (json.parse(*header).get(parsed) != simdjson::SUCCESS) return torn("no header");
  const Node root(parsed);
  if (const std::string error = knowledge::text_of(root, "error"); !error.empty())
    return error == "no pyarrow"
               ? core::fail(core::ErrorCode::not_found, "no pyarrow")
               : core::fail(core::ErrorCode::bad_format, "[data] " + core::sanitize(error));
  batch.rows = static_cast<std::uint64_t>(knowledge::number_of(root, "rows"));
  if (batch.rows == 0) return false;
  const auto listed = knowledge::list_of(root, "columns");
  batch.columns.resize(listed.size());
  std::size_t at = 0;
  for (const Node& entry : listed) {
    if (auto done = column(entry, batch.columns[at++], batch.rows); !done)
      return tl::unexpected(done.error());
  }
  return true;
}

core::Result<void> BatchReader::column(const Node& entry, Column& into, std::uint64_t rows) {
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
  for (const Node& each : sizes) {
    const double said = each.number().value_or(-1);
    if (!(said >= 0 && said <= k_most_part_bytes)) return torn("a part of no size");
    const auto bytes = static_cast<std::uint64_t>(said);
    if (!exactly(into.parts[at++].room_for(bytes), bytes)) return torn("half a batch");
  }
  if (!is_sound(into, rows)) return torn("a column that does not fit its rows");
  return {};
}

core::Result<std::string> BatchReader::line() {
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

bool BatchReader::refill() {
  at_ = 0;
  size_ = process_.receive(buffer_.data(), buffer_.size(), k_patience);
  return size_ > 0;
}

bool BatchReader::exactly(char* into, std::size_t bytes) {
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

}  // namespace aplomb::preflight
