#include "sources/topology_table.h"

#include <fmt/format.h>

#include <vector>

#include "core/text.h"

namespace aplomb {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size() && words.size() < 64;) {
    const std::size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = line.find_first_of(" \t\r", begin);
    words.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) break;
    at = end;
  }
  return words;
}

bool is_card(std::string_view word) {
  return word.size() >= 4 && word.starts_with("GPU") && word[3] >= '0' && word[3] <= '9';
}

}  // namespace

bool TopologyTable::open(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  const std::vector<std::string_view> words = words_of(line);
  std::size_t cards = 0;
  while (cards < words.size() && is_card(words[cards])) ++cards;
  // A row begins with a card too, but goes on with how it reaches the others.
  const bool head = cards >= 2 || (cards == 1 && words.size() > 1 && words[1] == "CPU");
  if (!head) return false;
  *this = TopologyTable();
  open_ = true;
  cards_ = cards;
  number_ = number;
  offset_ = offset;
  return true;
}

void TopologyTable::line(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty() || !is_card(words[0])) {
    open_ = false;
    return;
  }
  any_ = true;
  for (std::size_t i = 1; i < words.size() && i <= cards_; ++i) {
    if (words[i].starts_with("NV")) ++nvlink_;
    if (words[i] == "PIX" || words[i] == "PXB") ++switch_;
    if (words[i] == "SYS" || words[i] == "NODE" || words[i] == "PHB") ++system_;
  }
}

void TopologyTable::finish(RunBuilder& build, SourceId source) {
  if (!any_) return;
  const Origin origin{source, number_, offset_};
  build.fact({"topology.any", true, "the cards' connections were read", {origin}});
  const auto say = [&](const char* name, double cells, const char* words) {
    build.fact({name, cells / 2, fmt::format("{:.0f} {}", cells / 2, words), {origin}});
  };
  say("topology.nvlink_pairs", nvlink_, "pairs of cards over NVLink");
  say("topology.pcie_switch_pairs", switch_, "pairs of cards behind PCIe switches");
  say("topology.system_pairs", system_, "pairs of cards through the host");
}

}  // namespace aplomb
