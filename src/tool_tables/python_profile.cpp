/// What Python's own profilers print: cProfile (pstats), py-spy top, line_profiler.
///
///        ncalls  tottime  percall  cumtime  percall filename:lineno(function)
///          1001    0.021    0.000  331.402    0.331 dataloader.py:625(__next__)
///
///       %Own   %Total  OwnTime  TotalTime  Function (filename)
///      85.00%  90.00%   12.30s    13.00s   _get_data (torch/utils/data/dataloader.py:1163)
///
///     Line #      Hits         Time  Per Hit   % Time  Line Contents
///         12      1000  412000000.0 412000.0     71.2          total += loss.item()
///
/// pstats gives seconds: the longest cumulative time of its rows stands for the whole. Functions
/// contain each other, so a kind of work has the share of its largest row; calls that block (a wait
/// for the card, a read) do not, and add up by their own time.

#include <algorithm>
#include <vector>

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"
#include "tool_tables/time_shares.h"

namespace aplomb::tool_tables {
namespace {

/// The rest of the line behind so many cells.
std::string_view behind(std::string_view line, std::size_t cells) {
  for (std::size_t i = 0; i < cells; ++i) {
    line = core::trim(line);
    const std::size_t blank = line.find_first_of(" \t");
    if (blank == std::string_view::npos) return {};
    line = line.substr(blank);
  }
  return core::trim(line);
}

class PythonProfile : public TextTable {
 public:
  bool open(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (body.starts_with("ncalls") && body.find("cumtime") != std::string_view::npos) {
      form_ = {1, 3, 5, 6};
      seconds_ = true;
    } else if (body.starts_with("%Own") && body.find("%Total") != std::string_view::npos) {
      form_ = {0, 1, 4, 5};
    } else if (body.starts_with("Line #") && body.find("% Time") != std::string_view::npos) {
      form_ = {4, 4, 5, 6};
      lines_ = true;
    } else {
      return false;
    }
    return true;
  }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (body.empty()) return rows_.empty();
    if (body.find_first_not_of("=-") == std::string_view::npos) return true;
    const columns::Cells cells = columns::by_blanks(body);
    const auto own = columns::number(cells, form_.own);
    const auto whole = columns::number(cells, form_.whole);
    // line_profiler prints lines that never ran without numbers.
    if (cells.size() < form_.least || !own || !whole) return lines_ && is_source_line(cells);
    rows_.push_back({python_work(behind(body, form_.name)), *own, *whole});
    most_ = std::max(most_, *whole);
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    const double all = seconds_ ? most_ : 100;
    if (rows_.empty() || !(all > 0)) return;
    TimeShares shares;
    shares.watch({Work::loader, Work::sync});
    for (const Row& each : rows_) {
      if (each.work == Work::other) continue;
      const bool blocks = each.work == Work::sync || each.work == Work::disk;
      if (blocks) {
        shares.add(each.work, each.own / all);
      } else {
        shares.reach(each.work, each.whole / all);
      }
    }
    shares.say(build, head);
  }

 private:
  struct Form {
    std::size_t own = 0;    // column of a function's own time
    std::size_t whole = 0;  // with what it calls
    std::size_t name = 0;   // cells before the name
    std::size_t least = 0;  // cells of a row
  };
  struct Row {
    Work work = Work::other;
    double own = 0;
    double whole = 0;
  };
  static bool is_source_line(const columns::Cells& cells) {
    return !cells.empty() && core::parse_number(cells[0]).has_value();
  }

  Form form_;
  bool seconds_ = false;
  bool lines_ = false;
  double most_ = 0;
  std::vector<Row> rows_;
};

}  // namespace

const TableSpec& python_profile_table_spec() {
  static const TableSpec spec = {"python-profile",
                                 "cProfile, py-spy top and line_profiler",
                                 {"tottime  percall", "%Total  OwnTime", "% Time  Line Contents"}};
  return spec;
}

std::unique_ptr<TextTable> make_python_profile_table() { return std::make_unique<PythonProfile>(); }

}  // namespace aplomb::tool_tables
