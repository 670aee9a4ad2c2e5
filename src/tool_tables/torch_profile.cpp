/// torch.profiler's `key_averages().table()`:
///
///     Name            Self CPU %   Self CPU   CPU total %  ...  Self CUDA   Self CUDA %  # of
///     Calls aten::addmm          1.01%   93.315ms        18.35%  ...     4.336s        47.79% 3000
///
/// Which columns there are differs between versions (`CUDA`, `XPU`, none). A torn last row has
/// fewer cells: what it has stands in the same places.

#include <algorithm>

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"
#include "tool_tables/time_shares.h"

namespace aplomb::tool_tables {
namespace {

class TorchProfile : public TextTable {
 public:
  bool open(std::string_view line) override {
    const columns::Cells names = columns::by_gaps(line);
    if (names.size() < 4 || !core::iequals(names[0], "Name")) return false;
    host_self_ = columns::find(names, "Self CPU %");
    host_total_ = columns::find(names, "CPU total %");
    for (std::size_t i = 1; i < names.size(); ++i) {
      const bool device = names[i].starts_with("Self ") && names[i].ends_with(" %");
      if (device && i != host_self_) device_self_ = i;
    }
    shares_.watch({Work::loader, Work::sync, Work::launch, Work::optimizer});
    if (device_self_) shares_.watch({Work::collective, Work::fp32_matmul, Work::copy});
    return host_self_ || host_total_;
  }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (body.starts_with("---")) return true;  // the rules around the head, and the table's end
    const columns::Cells cells = columns::by_gaps(body);
    if (cells.size() < 4 || cells[0] == "Name" || body.find('%') == std::string_view::npos)
      return rows_ == 0 && body.empty();
    ++rows_;
    const double self = share(cells, host_self_);
    const Work host = host_work(cells[0]);
    const bool nests = host == Work::loader || host == Work::optimizer;
    if (host != Work::other)
      shares_.add(host, nests ? std::max(self, share(cells, host_total_)) : self);
    const Work device = device_work(cells[0]);
    if (device_self_ && device != Work::other) shares_.add(device, share(cells, device_self_));
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    if (rows_ > 0) shares_.say(build, head);
  }

 private:
  static double share(const columns::Cells& cells, std::optional<std::size_t> column) {
    const double percent = columns::number(cells, column).value_or(0);
    return percent >= 0 && percent <= 100 ? percent / 100 : 0;
  }

  std::optional<std::size_t> host_self_, host_total_, device_self_;
  std::size_t rows_ = 0;
  TimeShares shares_;
};

}  // namespace

const TableSpec& torch_profile_table_spec() {
  static const TableSpec spec = {
      "torch-profile", "torch.profiler's table of operators and kernels", {"Self CPU %"}};
  return spec;
}

std::unique_ptr<TextTable> make_torch_profile_table() { return std::make_unique<TorchProfile>(); }

}  // namespace aplomb::tool_tables
