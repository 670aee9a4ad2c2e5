#pragma once
/// Data sets before they train: JSON lines, JSON arrays, CSV and TSV, compressed or not; Parquet
/// and Arrow; token files. Files are streamed; memory does not grow with them (a JSON array is the
/// exception: it is read whole, up to k_most_array_bytes).
///
///     if (is_data("train.jsonl")) ...
///     DataCheck data = check_data({"train.jsonl", "eval.jsonl"}, {limits, 8});

#include <aplomb/report.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "preflight/data_row.h"

namespace aplomb::preflight {

constexpr std::uint64_t k_most_array_bytes = 2ULL << 30U;

/// Whether the file holds samples, by its ending and its first row: a row in a form that is known,
/// or a table with a column of text and one of labels. Records of metrics are none. Of Parquet,
/// Arrow and token files the first bytes decide.
bool is_data(const std::string& path);

struct DataCheck {
  std::vector<ReportFinding> findings;
  std::vector<ReportInput> inputs;  ///< one a data set
  std::uint64_t training_rows = 0;  ///< of the sets that are not held out
};

struct DataOptions {
  DataLimits limits;
  std::uint64_t micro = 8;         ///< samples that are padded together (8: the Trainer's default)
  std::string python = "python3";  ///< whose pyarrow decodes Parquet and Arrow
  std::function<void(std::uint64_t bytes)> progress = {};
};

/// Files whose names say that they are held out are compared with the others.
DataCheck check_data(const std::vector<std::string>& paths, const DataOptions& options);

}  // namespace aplomb::preflight
