#pragma once
/// Rows of a data set, one after the other.

#include <cstdint>
#include <functional>
#include <string_view>

#include "core/result.h"
#include "input/byte_stream.h"
#include "preflight/data_row.h"
#include "preflight/data_sets.h"

namespace aplomb::preflight {

/// Takes a row, its line (from 1; 0 in files that have none) and how it reads.
using RowSink = std::function<void(const Row&, std::uint64_t line, const RowQuote& quote)>;

/// Feeds every row of a text format to `sink` until it has given `most` rows. Errors: too_large (an
/// array), or why the stream broke; the rows before that were fed.
core::Result<void> read_rows(input::ByteStream& bytes, DataSyntax syntax, const DataLimits& limits,
                             std::uint64_t most, const RowSink& sink);

/// The next object of a JSON text from `from` on, told by its braces; empty where none closes.
std::string_view object_at(std::string_view text, std::size_t from);

}  // namespace aplomb::preflight
