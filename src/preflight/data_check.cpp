#include "preflight/data_check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/text.h"
#include "preflight/column_stream.h"
#include "preflight/data_findings.h"
#include "preflight/data_sets.h"
#include "preflight/data_stream.h"
#include "preflight/data_tally.h"
#include "preflight/token_files.h"

namespace aplomb::preflight {
namespace {

constexpr std::uint64_t k_sniffed_rows = 3;
constexpr std::uint64_t k_sniffed_bytes = 1U << 20U;

/// A table of text and labels is data; one of metrics has neither.
bool is_table(const std::array<std::uint64_t, 6>& forms) { return forms[0] == 0; }

bool is_column_file(std::string_view head) {
  static constexpr std::string_view k_stream("\xFF\xFF\xFF\xFF", 4);  // Arrow's, before its schema
  return head.starts_with("PAR1") || head.starts_with("ARROW1") || head.starts_with(k_stream);
}

/// One set after the other, with what those before it held.
class Checker {
 public:
  explicit Checker(const DataOptions& options) : options_(options) {}

  void add(const DataSet& set) {
    ReportInput input{set.path, "data-set", 0, {}};
    // A stream of tokens is cut into blocks: nothing is padded.
    const std::uint64_t micro = set.syntax == DataSyntax::tokens ? 1 : options_.micro;
    SeenRows own;
    DataTally tally(options_.limits, micro, set.held_out ? own : trained_,
                    set.held_out && some_trained_ ? &trained_ : nullptr);
    const core::Result<void> done = read(set, tally);
    tally.finish();
    if (!done) input.warnings.push_back(done.error().text);
    if (!done && tally.rows == 0) input.kind = "unknown";
    input.steps = tally.rows;
    if (!set.held_out) {
      out_.training_rows += tally.rows;
      some_trained_ = true;
    }
    if (done || tally.rows > 0) {
      for (ReportFinding& each : data_findings(tally, set.path, options_.limits, micro))
        out_.findings.push_back(std::move(each));
    }
    out_.inputs.push_back(std::move(input));
  }

  DataCheck take() { return std::move(out_); }

 private:
  core::Result<void> read(const DataSet& set, DataTally& tally) {
    constexpr std::uint64_t k_rows_a_tell = 4096;
    std::uint64_t told = 0;
    input::ByteStream* stream = nullptr;
    const RowSink sink = [&](const Row& row, std::uint64_t line, const RowQuote& quote) {
      tally.add(row, line, quote);
      if (options_.progress && ++told % k_rows_a_tell == 0)
        options_.progress(before_ + (stream == nullptr ? 0 : stream->consumed()));
    };
    constexpr auto k_all = ~std::uint64_t{0};
    core::Result<void> done;
    if (set.syntax == DataSyntax::columns) {
      done = read_columns(set.files, options_.python, options_.limits, k_all, sink);
    } else if (set.syntax == DataSyntax::tokens) {
      done = read_tokens(set.files.front(), options_.limits, k_all, sink);
    } else if (auto bytes = input::open_bytes(set.files.front())) {
      stream = bytes->get();
      done = read_rows(**bytes, set.syntax, options_.limits, k_all, sink);
    } else {
      done = tl::unexpected(bytes.error());
    }
    before_ += set.bytes();
    return done;
  }

  const DataOptions& options_;
  DataCheck out_;
  SeenRows trained_;  // rows of all sets that train
  bool some_trained_ = false;
  std::uint64_t before_ = 0;
};

}  // namespace

bool is_data(const std::string& path) {
  const std::optional<DataSyntax> syntax = data_syntax(path);
  if (!syntax) return false;
  if (syntax == DataSyntax::tokens) return is_token_file(path);
  auto bytes = input::open_bytes(path);
  if (!bytes) return false;
  bool cut = false;
  const std::string head = input::read_at_most(**bytes, k_sniffed_bytes, cut);
  if (syntax == DataSyntax::columns) return is_column_file(head);
  if (syntax == DataSyntax::json_array) {
    if (!core::trim(std::string_view(head).substr(0, 4096)).starts_with('[')) return false;
    JsonRowReader reader({});
    const std::string_view row = object_at(head, 0);
    return !row.empty() && reader.read(row, 0).form != RowForm::unknown;
  }
  std::array<std::uint64_t, 6> forms{};
  std::uint64_t rows = 0;
  const auto stream = input::bytes_of(head);
  (void)read_rows(*stream, *syntax, {}, k_sniffed_rows,
                  [&](const Row& row, std::uint64_t, const RowQuote&) {
                    ++rows;
                    ++forms[static_cast<std::size_t>(row.form)];
                  });
  return rows > 0 && is_table(forms);
}

DataCheck check_data(const std::vector<std::string>& paths, const DataOptions& options) {
  Checker checker(options);
  for (const DataSet& set : data_sets(paths)) checker.add(set);
  return checker.take();
}

}  // namespace aplomb::preflight
