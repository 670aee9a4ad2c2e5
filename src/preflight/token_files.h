#pragma once
/// Token files without names of columns: Megatron's `x.bin` with `x.idx`, llm.c's shards, and the
/// plain 16-bit streams of nanoGPT (`train.bin`, `val.bin`). Their rows are sequences, documents
/// (between end-of-text tokens), or blocks where no end of a document is seen.

#include <cstdint>
#include <string>

#include "core/result.h"
#include "preflight/data_row.h"
#include "preflight/data_stream.h"

namespace aplomb::preflight {

/// By name and first bytes: weights end in `.bin` as well.
bool is_token_file(const std::string& path);

/// Feeds every row to `sink` until it has given `most`; lines are 0, the quote says where the row
/// begins. The file is mapped: memory does not grow with it. `limits.max_length` is the length of
/// blocks. Errors: not_found, not_readable, bad_format (an index that does not fit its file).
core::Result<void> read_tokens(const std::string& path, const DataLimits& limits,
                               std::uint64_t most, const RowSink& sink);

}  // namespace aplomb::preflight
