/// The processes at the foot of nvidia-smi's table:
///
///     | Processes:                                                       GPU Memory |
///     |  GPU       PID   Type   Process name                             Usage      |
///     |    0     62250      C   python                                    4903MiB   |
///     |    0   N/A  N/A   1234      C   python                            4903MiB   |
///
/// Fact: monitor.gpu_guests, the most processes that hold memory on one card beside the process
/// whose own card it is, while their own card (where they hold most, or the paste ends) is another
/// one. A process that spreads a model over cards by itself is nobody's guest.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/text.h"
#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"

namespace aplomb::tool_tables {
namespace {

class GpuProcesses : public TextTable {
 public:
  bool open(std::string_view line) override { return core::trim(line).starts_with("| Processes:"); }

  bool row(std::string_view line) override {
    const std::string_view body = core::trim(line);
    if (body.empty() || (body[0] != '|' && body[0] != '+')) return false;
    if (body[0] == '|') process(body);
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    if (held_.empty()) return;
    std::map<std::string, std::string> homes;  // by process
    for (const auto& [process, cards] : held_) {
      homes[process] =
          std::max_element(cards.begin(), cards.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
          })->first;
    }
    std::map<std::string, double> guests;  // by card that is some process's own
    for (const auto& [process, card] : homes) guests.try_emplace(card, 0);
    for (const auto& [process, cards] : held_) {
      for (const auto& [card, bytes] : cards) {
        const auto own = guests.find(card);
        if (own != guests.end() && homes[process] != card) ++own->second;
      }
    }
    const auto fullest =
        std::max_element(guests.begin(), guests.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    build.fact({"monitor.gpu_guests",
                fullest->second,
                fmt::format("nvidia-smi: {:.0f} processes of other cards hold memory on card {}",
                            fullest->second, fullest->first),
                {head}});
  }

 private:
  /// The type (C: compute; graphics hold memory everywhere) tells where the process's id stands.
  void process(std::string_view body) {
    const columns::Cells cells = columns::by_blanks(body);
    constexpr std::size_t k_least = 5;  // bar, card, id, type, memory
    if (cells.size() < k_least || !core::parse_number(cells[1])) return;
    const auto type = std::find_if(cells.begin() + 2, cells.end(), [](std::string_view cell) {
      return cell == "C" || cell == "C+G";
    });
    if (type == cells.end() || !core::parse_number(*(type - 1))) return;
    // A row that was cut off, or N/A (WSL, containers): nobody pastes half of what is small.
    constexpr double k_unknown = 1e9;
    const auto memory = std::find_if(type, cells.end(),
                                     [](std::string_view cell) { return cell.ends_with("MiB"); });
    held_[std::string(*(type - 1))][std::string(cells[1])] +=
        memory == cells.end() ? k_unknown : core::parse_number_prefix(*memory).value;
  }

  std::map<std::string, std::map<std::string, double>> held_;  // MiB by process and card
};

}  // namespace

const TableSpec& gpu_processes_table_spec() {
  static const TableSpec spec = {
      "gpu-processes", "nvidia-smi: which processes hold memory on which cards", {"| Processes:"}};
  return spec;
}

std::unique_ptr<TextTable> make_gpu_processes_table() { return std::make_unique<GpuProcesses>(); }

}  // namespace aplomb::tool_tables
