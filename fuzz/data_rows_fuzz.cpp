/// Fuzzes the data check: any bytes as JSON lines, as an array, as CSV, in parts of any size.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "preflight/data_findings.h"
#include "preflight/data_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto syntax = static_cast<aplomb::preflight::DataSyntax>(data[0] % 4U);
  const aplomb::preflight::DataLimits limits{1000, 16, 4};
  const auto stream = aplomb::input::bytes_of(input, std::size_t{1} << (data[0] / 4U % 13U));
  aplomb::preflight::SeenRows seen;
  aplomb::preflight::DataTally tally(limits, 4, seen, nullptr);
  (void)aplomb::preflight::read_rows(
      *stream, syntax, limits, 10000,
      [&tally](const aplomb::preflight::Row& row, std::uint64_t line,
               const aplomb::preflight::RowQuote& quote) { tally.add(row, line, quote); });
  tally.finish();
  (void)aplomb::preflight::data_findings(tally, "fuzz", limits, 4);
  return 0;
}
