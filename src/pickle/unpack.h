#pragma once
/// Bytes that are packed in one of the ways in which pickles are kept (gzip, zlib, bzip2, xz, lzma,
/// zstandard, lz4; pandas, joblib, users), in memory.

#include <cstdint>
#include <string>
#include <string_view>

namespace aplomb::pickle {

/// What they are packed with, by their first bytes; null where they are not, or in no such way.
const char* packed_with(std::string_view bytes);

/// Unpacks up to `most` bytes and adds them to `out`. False where there is more, where they are
/// damaged (what stood before is there), or where this program was built without that way.
bool unpack(std::string_view bytes, std::uint64_t most, std::string& out);

}  // namespace aplomb::pickle
