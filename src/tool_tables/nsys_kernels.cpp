/// The kernels of `nsys stats` (cuda_gpu_kern_sum; gpukernsum of older ones):
///
///      Time (%)  Total Time (ns)  Instances  Avg (ns) ...  StdDev (ns)      Name
///          33.2        277809887       4048   68628.9 ...     545729.8  ncclDevKernel_AllReduce...
///
/// Its other tables (API calls, NVTX ranges) begin alike, but have no column `Instances` beside
/// kernels' names; shares of API time are no shares of the run's, and stay unread.

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"
#include "tool_tables/time_shares.h"

namespace aplomb::tool_tables {
namespace {

class NsysKernels : public TextTable {
 public:
  bool open(std::string_view line) override {
    const columns::Cells names = columns::by_gaps(line);
    name_ = columns::find(names, "Name");
    const bool share =
        columns::find(names, "Time (%)") == 0U || columns::find(names, "Time(%)") == 0U;
    return share && name_ && columns::find(names, "Instances");
  }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (body.starts_with("---")) return true;
    const columns::Cells cells = columns::by_gaps(body);
    const auto percent = columns::number(cells, 0);
    if (cells.size() <= *name_ || !percent || *percent > 100) return false;
    any_ = true;
    // NVTX ranges are printed with the same columns; their names begin with a colon or hold none of
    // the kernels' words.
    const Work work = device_work(cells[*name_]);
    if (work != Work::other) shares_.add(work, *percent / 100);
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    if (!any_) return;
    TimeShares shares = shares_;
    shares.watch({Work::collective, Work::fp32_matmul});
    shares.say(build, head);
  }

 private:
  std::optional<std::size_t> name_;
  bool any_ = false;
  TimeShares shares_;
};

}  // namespace

const TableSpec& nsys_kernels_table_spec() {
  static const TableSpec spec = {"nsys-kernels",
                                 "nsys stats: the card's time by kernel",
                                 {"Time (%)  Total Time (ns)", "Time(%)  Total Time (ns)"}};
  return spec;
}

std::unique_ptr<TextTable> make_nsys_kernels_table() { return std::make_unique<NsysKernels>(); }

}  // namespace aplomb::tool_tables
