#pragma once
/// Rows of a data set, one after the other.

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/result.h"
#include "preflight/data_row.h"
#include "sources/byte_stream.h"

namespace aplomb {

/// Takes a row, its line (from 1) and its text.
using RowSink = std::function<void(const Row&, std::uint64_t line, std::string_view text)>;

enum class DataSyntax : std::uint8_t { json_lines, json_array, csv, tsv };

/// Feeds every row to `sink` until it has given `most` rows. Errors: too_large (an array), or why
/// the stream broke; the rows before that were fed.
Result<void> read_rows(ByteStream& bytes, DataSyntax syntax, const DataLimits& limits,
                       std::uint64_t most, const RowSink& sink);

/// The next object of a JSON text from `from` on, told by its braces; empty where none closes.
std::string_view object_at(std::string_view text, std::size_t from);

/// By the name's ending, without `.gz` and `.zst`; nothing for other names.
std::optional<DataSyntax> data_syntax(std::string_view path);

}  // namespace aplomb
