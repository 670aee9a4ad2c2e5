#pragma once
/// TopologyTable: reads what `nvidia-smi topo -m` prints, line by line as it stands in a log, and
/// counts how the cards reach each other: topology.nvlink_pairs (NV#), .pcie_switch_pairs (PIX,
/// PXB: behind one or several PCIe switches), .system_pairs (SYS, NODE, PHB: through the host).
///
///             GPU0    GPU1    CPU Affinity
///     GPU0     X      PIX     0-23
///     GPU1    PIX      X      0-23

#include <cstdint>
#include <string_view>

#include "record/run_builder.h"

namespace aplomb {

class TopologyTable {
 public:
  bool open(std::string_view line, std::uint64_t number, std::uint64_t offset);
  void line(std::string_view line);
  bool is_open() const { return open_; }
  void finish(RunBuilder& build, SourceId source);

 private:
  bool open_ = false;
  bool any_ = false;
  std::size_t cards_ = 0;  ///< columns that are cards
  double nvlink_ = 0;      ///< cells: each pair stands twice
  double switch_ = 0;
  double system_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace aplomb
