/// nvidia-smi as people paste it, and `nvidia-smi dmon`:
///
///     | NVIDIA-SMI 410.48                 Driver Version: 410.48                    |
///     |  0%   31C    P2   159W / 250W |   5644MiB / 11178MiB |      0%      Default |
///
///     # gpu   pwr gtemp mtemp    sm   mem   enc   dec
///         0    85    51     -    37    12     0     0
///
/// Facts: monitor.gpu_percent (mean over the cards that hold memory, and over samples),
/// monitor.gpu_memory_share (fullest card), monitor.gpu_memory_uneven (fullest over emptiest of the
/// cards in use), monitor.gpus. Cards with next to no memory in use are not part of the run.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"

namespace aplomb::tool_tables {
namespace {

/// A CUDA context alone takes some hundred MiB: below a twentieth of any card used for training.
constexpr double k_in_use = 0.05;

class GpuMonitor : public TextTable {
 public:
  bool open(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (body.starts_with("# gpu")) {
      columns::Cells names = columns::by_blanks(body.substr(1));
      busy_ = columns::find(names, "sm");
      return busy_.has_value();
    }
    return body.starts_with("| NVIDIA-SMI");
  }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (busy_) return sample(body);
    if (body.find("Processes:") != std::string_view::npos) return false;
    if (body.empty() || (body[0] != '|' && body[0] != '+')) return false;
    card(body);
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    if (percents_.empty()) return;
    double sum = 0;
    for (const double percent : percents_) sum += percent;
    const double mean = sum / static_cast<double>(percents_.size());
    build.fact({"monitor.gpu_percent",
                mean,
                fmt::format("nvidia-smi shows the cards {:.0f} % busy", mean),
                {head}});
    if (filled_.empty()) return;
    const auto [least, most] = std::minmax_element(filled_.begin(), filled_.end());
    build.fact({"monitor.gpus",
                static_cast<double>(filled_.size()),
                fmt::format("{} cards in use", filled_.size()),
                {head}});
    build.fact({"monitor.gpu_memory_share",
                *most,
                fmt::format("the fullest card is {:.0f} % full", 100 * *most),
                {head}});
    build.fact({"monitor.gpu_memory_uneven",
                *most / *least,
                fmt::format("the fullest card holds {:.1f} times the emptiest", *most / *least),
                {head}});
  }

 private:
  bool sample(std::string_view body) {
    if (body.starts_with("#")) return true;  // heads are repeated, and a line of units follows
    const columns::Cells cells = columns::by_blanks(body);
    if (cells.empty() || !core::parse_number(cells[0])) return false;
    const auto percent = columns::number(cells, busy_);
    if (percent && *percent <= 100) percents_.push_back(*percent);
    return true;
  }

  /// `| fan temperature | used / total | util |`
  void card(std::string_view body) {
    const std::size_t slash = body.find("MiB /");
    if (slash == std::string_view::npos) return;
    const std::size_t begin = body.find_last_of("| ", slash - 1);
    const double used = core::parse_number_prefix(body.substr(begin + 1)).value;
    const std::string_view rest = core::trim(body.substr(slash + 5));
    const double total = core::parse_number_prefix(rest).value;
    const std::size_t bar = rest.find('|');
    if (!(total > 0) || bar == std::string_view::npos || used / total < k_in_use) return;
    filled_.push_back(used / total);
    const core::NumberPrefix percent = core::parse_number_prefix(core::trim(rest.substr(bar + 1)));
    if (percent.size > 0 && percent.value <= 100) percents_.push_back(percent.value);
  }

  std::optional<std::size_t> busy_;  // dmon: the column `sm`
  std::vector<double> percents_;
  std::vector<double> filled_;
};

}  // namespace

const TableSpec& gpu_monitor_table_spec() {
  static const TableSpec spec = {"gpu-monitor",
                                 "nvidia-smi and nvidia-smi dmon: how busy and full the cards are",
                                 {"| NVIDIA-SMI", "# gpu   pwr", "# gpu    pwr", "# gpu     pwr"}};
  return spec;
}

std::unique_ptr<TextTable> make_gpu_monitor_table() { return std::make_unique<GpuMonitor>(); }

}  // namespace aplomb::tool_tables
