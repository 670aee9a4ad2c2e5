#include "preflight/data_check.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "core/text.h"
#include "preflight/data_findings.h"
#include "preflight/data_stream.h"
#include "preflight/data_tally.h"

namespace aplomb {
namespace {

constexpr std::uint64_t k_sniffed_rows = 3;
constexpr std::uint64_t k_sniffed_bytes = 1U << 20U;

std::string_view file_part(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

/// Held out, by its name.
bool is_held_out(std::string_view path) {
  const std::string name = lower(file_part(path));
  static constexpr std::array<std::string_view, 5> k_words = {"eval", "valid", "val.", "test",
                                                              "dev."};
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// A table of text and labels is data; one of metrics has neither.
bool is_table(const std::array<std::uint64_t, 6>& forms) { return forms[0] == 0; }

}  // namespace

bool is_data(const std::string& path) {
  const std::optional<DataSyntax> syntax = data_syntax(path);
  if (!syntax) return false;
  auto bytes = open_bytes(path);
  if (!bytes) return false;
  bool cut = false;
  const std::string head = read_at_most(**bytes, k_sniffed_bytes, cut);
  if (syntax == DataSyntax::json_array) {
    if (!trim(std::string_view(head).substr(0, 4096)).starts_with('[')) return false;
    JsonRowReader reader({});
    const std::string_view row = object_at(head, 0);
    return !row.empty() && reader.read(row, 0).form != RowForm::unknown;
  }
  std::array<std::uint64_t, 6> forms{};
  std::uint64_t rows = 0;
  const auto stream = bytes_of(head);
  (void)read_rows(*stream, *syntax, {}, k_sniffed_rows,
                  [&](const Row& row, std::uint64_t, std::string_view) {
                    ++rows;
                    ++forms[static_cast<std::size_t>(row.form)];
                  });
  return rows > 0 && is_table(forms);
}

DataCheck check_data(std::vector<std::string> paths, const DataLimits& limits, std::uint64_t micro,
                     const std::function<void(std::uint64_t bytes)>& progress) {
  // What trains comes first, so that what is held out can be looked up in it.
  std::stable_partition(paths.begin(), paths.end(),
                        [](const std::string& path) { return !is_held_out(path); });
  DataCheck out;
  std::unique_ptr<DataTally> first;  // the training rows that others are compared with
  std::uint64_t before = 0;
  for (const std::string& path : paths) {
    ReportInput input{path, "data-set", 0, {}};
    auto bytes = open_bytes(path);
    if (!bytes) {
      input.warnings.push_back(bytes.error().text);
      out.inputs.push_back(std::move(input));
      continue;
    }
    const bool compared = first != nullptr && is_held_out(path);
    auto tally = std::make_unique<DataTally>(limits, micro, compared ? &first->seen : nullptr);
    std::uint64_t told = 0;
    constexpr std::uint64_t k_rows_a_tell = 4096;
    const auto done = read_rows(**bytes, *data_syntax(path), limits, ~std::uint64_t{0},
                                [&](const Row& row, std::uint64_t line, std::string_view text) {
                                  tally->add(row, line, text);
                                  if (progress && ++told % k_rows_a_tell == 0)
                                    progress(before + (*bytes)->consumed());
                                });
    before += (*bytes)->consumed();
    tally->finish();
    if (!done) input.warnings.push_back(done.error().text);
    input.steps = tally->rows;
    if (!is_held_out(path)) out.training_rows += tally->rows;
    for (ReportFinding& each : data_findings(*tally, path, limits, micro))
      out.findings.push_back(std::move(each));
    out.inputs.push_back(std::move(input));
    if (first == nullptr && !is_held_out(path)) first = std::move(tally);
  }
  return out;
}

}  // namespace aplomb
