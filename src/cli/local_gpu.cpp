#include "cli/local_gpu.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "core/text.h"

namespace aplomb::cli {
namespace {

namespace fs = std::filesystem;

std::string by_driver() {
  std::error_code none;
  std::vector<fs::path> cards;
  for (const auto& card : fs::directory_iterator("/proc/driver/nvidia/gpus", none))
    cards.push_back(card.path() / "information");
  std::sort(cards.begin(), cards.end());
  for (const fs::path& path : cards) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("Model:"))
        return std::string(core::trim(std::string_view(line).substr(6)));
    }
  }
  return {};
}

/// Under WSL and in some containers the driver's files are missing and only the tool answers.
std::string by_tool() {
  struct Close {
    void operator()(std::FILE* pipe) const { ::pclose(pipe); }
  };
  const std::unique_ptr<std::FILE, Close> pipe(
      ::popen("nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null", "r"));
  std::array<char, 256> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return {};
  return std::string(core::trim(line.data()));
}

}  // namespace

std::string local_gpu() {
  if (std::string name = by_driver(); !name.empty()) return name;
  std::error_code none;
  const bool there = fs::exists("/dev/nvidia0", none) || fs::exists("/dev/dxg", none);
  return there ? by_tool() : std::string();
}

}  // namespace aplomb::cli
