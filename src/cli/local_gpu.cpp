#include "cli/local_gpu.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/text.h"

namespace aplomb {

std::string local_gpu() {
  namespace fs = std::filesystem;
  std::error_code none;
  std::vector<fs::path> cards;
  for (const auto& card : fs::directory_iterator("/proc/driver/nvidia/gpus", none))
    cards.push_back(card.path() / "information");
  std::sort(cards.begin(), cards.end());
  for (const fs::path& path : cards) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("Model:")) return std::string(trim(std::string_view(line).substr(6)));
    }
  }
  return {};
}

}  // namespace aplomb
