/// What `nvidia-smi topo -m` prints; counts how the cards reach each other:
/// topology.nvlink_pairs (NV#), .pcie_switch_pairs (PIX, PXB: behind one or several PCIe switches),
/// .system_pairs (SYS, NODE, PHB: through the host).
///
///             GPU0    GPU1    CPU Affinity
///     GPU0     X      PIX     0-23
///     GPU1    PIX      X      0-23

#include <fmt/format.h>

#include "tool_tables/columns.h"
#include "tool_tables/text_table.h"

namespace aplomb::tool_tables {
namespace {

bool is_card(std::string_view word) {
  return word.size() >= 4 && word.starts_with("GPU") && word[3] >= '0' && word[3] <= '9';
}

class Topology : public TextTable {
 public:
  bool open(std::string_view line) override {
    const columns::Cells words = columns::by_blanks(line);
    while (cards_ < words.size() && is_card(words[cards_])) ++cards_;
    // A row begins with a card too, but goes on with how it reaches the others.
    return cards_ >= 2 || (cards_ == 1 && words.size() > 1 && words[1] == "CPU");
  }

  bool row(std::string_view line) override {
    const columns::Cells words = columns::by_blanks(line);
    if (words.empty() || !is_card(words[0])) return false;
    any_ = true;
    for (std::size_t i = 1; i < words.size() && i <= cards_; ++i) {
      if (words[i].starts_with("NV")) ++nvlink_;
      if (words[i] == "PIX" || words[i] == "PXB") ++switch_;
      if (words[i] == "SYS" || words[i] == "NODE" || words[i] == "PHB") ++system_;
    }
    return true;
  }

  void say(record::RunBuilder& build, const record::Origin& head) const override {
    if (!any_) return;
    build.fact({"topology.any", true, "the cards' connections were read", {head}});
    const auto pairs = [&](const char* name, double cells, const char* words) {
      build.fact({name, cells / 2, fmt::format("{:.0f} {}", cells / 2, words), {head}});
    };
    pairs("topology.nvlink_pairs", nvlink_, "pairs of cards over NVLink");
    pairs("topology.pcie_switch_pairs", switch_, "pairs of cards behind PCIe switches");
    pairs("topology.system_pairs", system_, "pairs of cards through the host");
  }

 private:
  bool any_ = false;
  std::size_t cards_ = 0;  // columns that are cards
  double nvlink_ = 0;      // cells: each pair stands twice
  double switch_ = 0;
  double system_ = 0;
};

}  // namespace

const TableSpec& topology_table_spec() {
  static const TableSpec spec = {"topology",
                                 "nvidia-smi topo -m: how the cards reach each other",
                                 {"CPU Affinity", "GPU0\tGPU1", "GPU0    GPU1"}};
  return spec;
}

std::unique_ptr<TextTable> make_topology_table() { return std::make_unique<Topology>(); }

}  // namespace aplomb::tool_tables
