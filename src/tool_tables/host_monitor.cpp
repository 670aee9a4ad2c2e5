/// What watches the host: iostat, vmstat, sar and top.
///
///     avg-cpu:  %user   %nice %system %iowait  %steal   %idle
///                6.02    0.00    2.11   61.33    0.00   30.54
///     Device            r/s     rkB/s ...  aqu-sz  %util
///     sda            198.00  12480.00 ...   11.52  99.60
///
///     procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
///      r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
///      1 14      0 812344  10112 9911240    0    0 51200    12 3100 5200  5  3 31 61  0
///
///     %Cpu(s): 98.2 us,  1.1 sy,  0.0 ni,  0.4 id,  0.3 wa,  0.0 hi,  0.0 si,  0.0 st
///
/// Facts, of the last sample: monitor.disk_percent (busiest device), monitor.iowait_percent,
/// monitor.cpu_percent (what is not idle and not waiting), monitor.swapping.

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"

namespace aplomb::tool_tables {
namespace {

class HostMonitor : public TextTable {
 public:
  bool open(std::string_view line) override { return take_head(line); }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (body.empty() || take_head(body)) return true;  // iostat parts its tables by empty lines
    const columns::Cells cells = columns::by_blanks(body);
    if (cells.size() != width_) return false;
    if (const auto percent = columns::number(cells, disk_)) {
      disk_percent_ = std::max(disk_percent_.value_or(0), *percent);
      return true;
    }
    const auto idle = columns::number(cells, idle_);
    if (!idle) return false;
    waits_ = columns::number(cells, wait_);
    busy_ = 100 - *idle - waits_.value_or(0);
    if (swap_in_) {
      swapping_ = columns::number(cells, swap_in_).value_or(0) +
                      columns::number(cells, swap_out_).value_or(0) >
                  0;
    }
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    const auto percent = [&](const char* name, std::optional<double> value, const char* words) {
      if (value) build.fact({name, *value, fmt::format("{} {:.0f} %", words, *value), {head}});
    };
    percent("monitor.disk_percent", disk_percent_, "the busiest disk is used at");
    percent("monitor.iowait_percent", waits_, "the processors wait for input for");
    percent("monitor.cpu_percent", busy_, "the processors are busy for");
    if (swapping_)
      build.fact({"monitor.swapping", *swapping_, "pages go to and from swap", {head}});
  }

 private:
  bool take_head(std::string_view line) {
    const std::string_view body = core::trim(line);
    if (const std::size_t at = body.find("%Cpu(s):"); at != std::string_view::npos)
      return take_top(body.substr(at + 8));
    if (body.starts_with("procs ---")) return true;
    columns::Cells names = columns::by_blanks(body);
    if (!names.empty() && names[0] == "avg-cpu:") names.erase(names.begin());
    const auto either = [&](std::string_view one, std::string_view other) {
      const auto found = columns::find(names, one);
      return found ? found : columns::find(names, other);
    };
    const auto disk = columns::find(names, "%util");
    const bool vmstat = columns::find(names, "swpd").has_value();
    const auto idle = vmstat ? columns::find(names, "id") : columns::find(names, "%idle");
    if (!disk && !idle) return false;
    disk_ = disk;
    idle_ = idle;
    wait_ = either("%iowait", "wa");
    swap_in_ = vmstat ? columns::find(names, "si") : std::nullopt;
    swap_out_ = vmstat ? columns::find(names, "so") : std::nullopt;
    width_ = names.size();
    return true;
  }

  /// `98.2 us,  1.1 sy, ...`: one line says all.
  bool take_top(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      const std::string_view part = core::trim(text.substr(at, comma - at));
      const double value = core::parse_number_prefix(part).value;
      if (part.ends_with(" id")) busy_ = 100 - value;
      if (part.ends_with(" wa")) waits_ = value;
      at = comma + 1;
    }
    if (busy_ && waits_) busy_ = *busy_ - *waits_;
    return busy_.has_value();
  }

  // Columns of the head above the rows.
  std::optional<std::size_t> disk_, idle_, wait_, swap_in_, swap_out_;
  std::size_t width_ = 0;
  std::optional<double> disk_percent_, waits_, busy_;
  std::optional<bool> swapping_;
};

}  // namespace

const TableSpec& host_monitor_table_spec() {
  static const TableSpec spec = {"host-monitor",
                                 "iostat, vmstat, sar, top: how busy disks and processors are",
                                 {"%iowait", "procs ---", "%Cpu(s):", "%util"}};
  return spec;
}

std::unique_ptr<TextTable> make_host_monitor_table() { return std::make_unique<HostMonitor>(); }

}  // namespace aplomb::tool_tables
