/// What `torch.cuda.memory_summary()` prints:
///
///     |                  PyTorch CUDA memory summary, device ID 0                 |
///     |            CUDA OOMs: 1            |        cudaMalloc retries: 3         |
///     |        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
///     | Allocated memory      |   7862 MiB |   7864 MiB |  10461 MiB |   2598 MiB |
///     |       from large pool |   7800 MiB |   7802 MiB |  10300 MiB |   2500 MiB |
///     | GPU reserved memory   |  14000 MiB |  14000 MiB |  14000 MiB |      0 B   |
///
/// Facts: oom.slack_share, the part of what PyTorch holds that no tensor uses; oom.retries, how
/// often the allocator had to give its cache back before it got memory.

#include <fmt/format.h>

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/quantity.h"
#include "tool_tables/text_table.h"

namespace aplomb::tool_tables {
namespace {

class MemorySummary : public TextTable {
 public:
  bool open(std::string_view line) override { return core::trim(line).starts_with('|'); }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (!body.starts_with('|')) return false;
    constexpr std::string_view k_retries = "cudaMalloc retries:";
    if (const std::size_t at = body.find(k_retries); at != std::string_view::npos) {
      retries_ = core::parse_number_prefix(core::trim(body.substr(at + k_retries.size()))).value;
      return true;
    }
    const columns::Cells cells = columns::by_bars(body);
    if (cells.size() < 2) return true;
    if (cells[0] == "Allocated memory") allocated_ = parse_quantity(cells[1]);
    if (cells[0] == "GPU reserved memory") reserved_ = parse_quantity(cells[1]);
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    if (retries_) {
      build.fact({"oom.retries",
                  *retries_,
                  fmt::format("the allocator tried {:.0f} allocations again", *retries_),
                  {head}});
    }
    if (!allocated_ || !reserved_ || !(*reserved_ > 0) || *allocated_ > *reserved_) return;
    const double share = (*reserved_ - *allocated_) / *reserved_;
    build.fact({"oom.slack_share",
                share,
                fmt::format("{} held by PyTorch, {} of it in use", core::show_bytes(*reserved_),
                            core::show_bytes(*allocated_)),
                {head}});
  }

 private:
  std::optional<double> allocated_, reserved_, retries_;
};

}  // namespace

const TableSpec& memory_summary_table_spec() {
  static const TableSpec spec = {"memory-summary",
                                 "torch.cuda.memory_summary(): what PyTorch holds and uses",
                                 {"CUDA memory summary, device ID"}};
  return spec;
}

std::unique_ptr<TextTable> make_memory_summary_table() { return std::make_unique<MemorySummary>(); }

}  // namespace aplomb::tool_tables
