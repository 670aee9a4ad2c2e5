/// Lightning's SimpleProfiler, of all its years (with and without bars at the ends, calls, shares):
///
///     Action                 |  Mean duration (s)    |Num calls   |  Total time (s)  |  Percentage
///     % Total                  |  -                    |_           |  65.955          |  100 %
///     run_training_epoch     |  5.9453               |10          |  59.453          |  90.142
///
/// Actions contain each other. The loader's share is that of the epoch's loop, or, where no row
/// contains the others (before 1.0), of the sum of a step's four parts.

#include <algorithm>

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"
#include "tool_tables/time_shares.h"

namespace aplomb::tool_tables {
namespace {

using columns::has_any;

class LightningProfile : public TextTable {
 public:
  bool open(std::string_view line) override {
    const columns::Cells names = columns::by_bars(line);
    total_ = columns::find(names, "Total time (s)");
    return total_ && core::iequals(names[0], "Action");
  }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (body.empty() || body.starts_with("---")) return true;
    const columns::Cells cells = columns::by_bars(body);
    if (cells.size() < 3) return false;
    if (const auto seconds = columns::number(cells, total_)) take(cells[0], *seconds);
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    const double whole = epoch_ > 0 ? epoch_ : loader_ + step_parts_;
    if (!(whole > 0)) return;
    TimeShares shares;
    shares.watch({Work::loader});
    shares.reach(Work::loader, loader_ / whole);
    if (compute_ > 0) shares.reach(Work::copy, to_device_ / whole);
    shares.say(build, head);
  }

 private:
  void take(std::string_view action, double seconds) {
    if (has_any(action, {"run_training_epoch"})) {
      epoch_ = std::max(epoch_, seconds);
    } else if (has_any(action,
                       {"train_dataloader_next", "get_train_batch", "fetch_next_train_batch"})) {
      loader_ = std::max(loader_, seconds);
    } else if (has_any(action, {"batch_to_device"})) {
      to_device_ = std::max(to_device_, seconds);
    } else if (action == "model_forward" || action == "model_backward" ||
               action == "optimizer_step") {
      step_parts_ += seconds;
    }
    if (has_any(action, {"run_training_batch"})) compute_ = std::max(compute_, seconds);
  }

  std::optional<std::size_t> total_;
  double epoch_ = 0;
  double loader_ = 0;
  double to_device_ = 0;
  double compute_ = 0;
  double step_parts_ = 0;
};

}  // namespace

const TableSpec& lightning_profile_table_spec() {
  static const TableSpec spec = {
      "lightning-profile", "Lightning's SimpleProfiler report", {"Mean duration (s)"}};
  return spec;
}

std::unique_ptr<TextTable> make_lightning_profile_table() {
  return std::make_unique<LightningProfile>();
}

}  // namespace aplomb::tool_tables
