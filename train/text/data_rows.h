#pragma once
/// DataRows: a data file cut into the JSON texts of its rows, not yet parsed.
///
/// JSON Lines: one row a line, blank lines skipped. JSON: an array, or an object with one of the
/// members data, train, examples, instances, rows that is an array; its elements are the rows. The
/// cut goes by quotes and brackets alone (about 1 GB/s), so that rows can be parsed by many threads
/// and one broken row does not hide the others.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "tensors/mapped_file.h"

namespace aplomb::train::text {

struct DataRow {
  std::string_view text;
  std::uint64_t line = 0;  ///< on which it begins, from 1
};

struct DataRows {
  std::shared_ptr<const tensors::MappedFile> file;  ///< keeps the texts
  std::vector<DataRow> rows;
};

/// Errors: the file cannot be read, is empty, is compressed, of another format (Parquet, Arrow,
/// UTF-16, CSV), or an array that does not end.
core::Result<DataRows> open_data_rows(const std::filesystem::path& path);

/// The rows of a text (for tests; `name` stands in errors).
core::Result<std::vector<DataRow>> cut_rows(std::string_view text, std::string_view name);

}  // namespace aplomb::train::text
