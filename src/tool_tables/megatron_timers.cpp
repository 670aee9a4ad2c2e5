/// Megatron-LM's timers, printed at each logging step:
///
///     (min, max) time across ranks (ms):
///         forward-backward ...............................: (5030.51, 5031.10)
///         forward-compute ................................: (1710.11, 2804.02)
///         batch-generator ................................: (12.01, 18.44)
///         grads-reduce-scatter ...........................: (210.33, 611.20)
///         optimizer ......................................: (96.10, 97.02)
///
/// Shares are of forward-backward with what follows it. The longest rank counts, as the others
/// wait.

#include <algorithm>

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"
#include "tool_tables/time_shares.h"

namespace aplomb::tool_tables {
const TableSpec& megatron_timers_table_spec() {
  static const TableSpec spec = {
      "megatron-timers", "Megatron-LM's timers across ranks", {"across ranks (ms)"}};
  return spec;
}

namespace {

class MegatronTimers : public TextTable {
 public:
  bool open(std::string_view line) override {
    return columns::has_any(line, {"across ranks (ms)"});
  }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    const std::size_t dots = body.find(" ...");
    const std::size_t colon = body.rfind("..:");
    if (dots == std::string_view::npos || colon == std::string_view::npos) return false;
    std::string_view value = core::trim(body.substr(colon + 3));
    // `(min, max)` or one number.
    if (const std::size_t comma = value.find(','); comma != std::string_view::npos)
      value = core::trim(value.substr(comma + 1));
    const double ms = core::parse_number_prefix(value).value;
    if (ms > 0) take(body.substr(0, dots), ms);
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    const double whole = passes_ + communication_ + optimizer_;
    if (!(passes_ > 0)) return;
    TimeShares shares;
    shares.reach(Work::loader, loader_ / whole);
    shares.reach(Work::optimizer, optimizer_ / whole);
    shares.reach(Work::collective, communication_ / whole);
    shares.say(build, head);
  }

 private:
  void take(std::string_view name, double ms) {
    if (name == "forward-backward") {
      passes_ = ms;
    } else if (name == "batch-generator") {
      loader_ = ms;
    } else if (name == "optimizer") {
      optimizer_ = ms;
    } else if (columns::has_any(name,
                                {"all-reduce", "reduce-scatter", "all-gather", "grads-sync"})) {
      communication_ += ms;
    }
  }

  double passes_ = 0;
  double loader_ = 0;
  double optimizer_ = 0;
  double communication_ = 0;
};

}  // namespace

std::unique_ptr<TextTable> make_megatron_timers_table() {
  return std::make_unique<MegatronTimers>();
}

}  // namespace aplomb::tool_tables
