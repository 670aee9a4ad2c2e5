#include "cli/ckpt_heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/text.h"

namespace aplomb::cli {
namespace {

constexpr std::size_t k_most_layers = 400;

/// Sums of the tensors that share a cell.
struct Cell {
  double part = 0;   ///< elements unchanged or lost; squares of weights
  double whole = 0;  ///< elements they are of
  std::uint64_t bad = 0;
};

struct HeatMap {
  std::string title;
  bool is_share = true;  ///< part / whole; else the root of it
  std::map<int, std::map<checkpoint::TensorKind, Cell>> layers;  ///< -1: outside the layers
  std::set<checkpoint::TensorKind> kinds;

  Cell& at(const std::string& tensor_name, checkpoint::TensorKind kind) {
    kinds.insert(kind);
    return layers[checkpoint::layer_of(tensor_name)][kind];
  }
};

HeatMap map_of(const api::CheckpointFindings& findings) {
  HeatMap map;
  if (findings.diff != nullptr) {
    map.title = "Share of elements that did not change";
    for (const checkpoint::TensorDiff& each : findings.diff->tensors) {
      if (!each.compared || each.kind == checkpoint::TensorKind::buffer) continue;
      Cell& cell = map.at(each.name, each.kind);
      cell.part += static_cast<double>(each.count - each.changed);
      cell.whole += static_cast<double>(each.count);
    }
  } else if (findings.precision != nullptr) {
    map.title = "Share of the next updates that round away";
    for (const checkpoint::TensorPrecision& each : findings.precision->tensors) {
      Cell& cell = map.at(each.name, each.kind);
      cell.part += static_cast<double>(each.lost.lost);
      cell.whole += static_cast<double>(each.lost.asked);
    }
  } else if (findings.survey != nullptr) {
    map.title = "RMS of the weights";
    map.is_share = false;
    for (const checkpoint::SurveyedTensor& each : findings.survey->tensors) {
      if (!each.stats || each.kind == checkpoint::TensorKind::buffer) continue;
      Cell& cell = map.at(findings.checkpoint->tensors[each.tensor].name, each.kind);
      cell.part += each.stats->sum_squares;
      cell.whole += static_cast<double>(each.stats->finite());
      cell.bad += each.stats->nan + each.stats->inf;
    }
  }
  return map;
}

/// From 0 (cool) to 1 (hot): shares as they are, magnitudes over the decades 10^-4 to 10^2.
std::string paint(const HeatMap& map, const Cell& cell) {
  if (cell.bad > 0)
    return fmt::format("<td style=\"background:#c00;color:#fff\">{} NaN/Inf</td>", cell.bad);
  if (cell.whole <= 0) return "<td>-</td>";
  const double share = cell.part / cell.whole;
  const double value = map.is_share ? share : std::sqrt(share);
  const double heat = map.is_share ? share
                      : value > 0  ? std::clamp((std::log10(value) + 4) / 6, 0.0, 1.0)
                                   : 0;
  const std::string shown =
      map.is_share ? core::show_number(100 * value, 3) + " %" : core::show_number(value, 3);
  return fmt::format("<td style=\"background:hsl({:.0f} 70% 80%);color:#111\">{}</td>",
                     210 * (1 - heat), shown);
}

}  // namespace

std::string with_heat_map(const std::string& page, const api::CheckpointFindings& findings) {
  const HeatMap map = map_of(findings);
  const std::size_t end = page.rfind("</main>");
  if (map.layers.empty() || end == std::string::npos) return page;
  std::string out = fmt::format(
      "<section><h2>By layer and kind</h2><p>{}</p><div style=\"overflow-x:auto\"><table><tr>"
      "<th>layer</th>",
      map.title);
  for (const checkpoint::TensorKind kind : map.kinds) out += fmt::format("<th>{}</th>", name(kind));
  out += "</tr>";
  std::size_t rows = 0;
  for (const auto& [layer, cells] : map.layers) {
    if (++rows > k_most_layers) break;
    out += fmt::format("<tr><th>{}</th>", layer < 0 ? std::string("-") : std::to_string(layer));
    for (const checkpoint::TensorKind kind : map.kinds) {
      const auto found = cells.find(kind);
      out += found == cells.end() ? "<td></td>" : paint(map, found->second);
    }
    out += "</tr>";
  }
  out += "</table></div></section>\n";
  return page.substr(0, end) + out + page.substr(end);
}

}  // namespace aplomb::cli
