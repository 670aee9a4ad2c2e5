#pragma once
/// Rows of Parquet and Arrow files, decoded by the pyarrow of the user's own Python (Debian has no
/// Arrow library) and handed over as columns: python/aplomb/audit/columns.py says how.

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "preflight/data_row.h"
#include "preflight/data_stream.h"

namespace aplomb::preflight {

/// Feeds every row of the files, in their order, to `sink` until it has given `most`. Lines are 0;
/// the quote numbers the rows from 0 over all files, as `dataset[i]` does. Memory: one batch, 8 MiB
/// or one row. Errors: not_found (no interpreter, or none with pyarrow: the text says what to
/// install), bad_format (why pyarrow does not read the file), internal (it ended before its end).
core::Result<void> read_columns(const std::vector<std::string>& paths, const std::string& python,
                                const DataLimits& limits, std::uint64_t most, const RowSink& sink);

}  // namespace aplomb::preflight
