#pragma once
/// Accelerators by name (knowledge/hardware.yaml): what a card can do, from whatever text names it.
///
///     if (auto seen = find_gpu("8xH100 80GB"))   // seen->card->compute_capability == 9.0,
///     seen->count == 8

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aplomb::knowledge {

struct Gpu {
  std::string name;  ///< `NVIDIA A100 80GB`
  std::vector<std::string>
      match;  ///< words that must all stand in the text, in lower case: `a100`, `80`
  double compute_capability = 0;  ///< CUDA's; 0 for other makers
  double memory_bytes = 0;
  bool bf16 = false;  ///< in the matrix units
  bool fp8 = false;
  double bandwidth_bytes_per_s = 0;
  std::vector<std::pair<std::string, double>>
      peak_flops;  ///< dense, by format: `bf16`, `fp16`, `tf32`, `fp32`, `fp8`
  std::string source;
};

const std::vector<Gpu>& gpus();

struct GpuSeen {
  const Gpu* card = nullptr;
  std::size_t position = 0;  ///< of the name in the text
  double count = 0;          ///< as `8x`, `4 *`, `2 NVIDIA` in front says; 0 where it does not say
  double memory_bytes = 0;  ///< as a size behind says (`A100-80G`, `V100 16G`); else the card's own
};

/// The first card that the text names; names stand as words of their own (`T4` is not found in
/// `BERT4`).
std::optional<GpuSeen> find_gpu(std::string_view text);

}  // namespace aplomb::knowledge
