#pragma once
/// Accelerators by name (knowledge/hardware.yaml): what a card can do, from whatever text names it.
///
///     auto seen = find_gpu("8xH100 80GB");
///     // seen->card->compute_capability == 9.0, seen->count == 8

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
  double link_bytes_per_s = 0;  ///< NVLink or its kin to the next GPU, one direction; 0: PCIe only
  std::vector<std::pair<std::string, double>>
      peak_flops;  ///< dense, by format: `bf16`, `fp16`, `tf32`, `fp32`, `fp8`
  std::string source;
  std::vector<std::string> unverified;  ///< of `memory`, `peak`, `bandwidth`: what could not be
                                        ///< compared with the source

  bool is_verified(std::string_view figure) const;
};

const std::vector<Gpu>& gpus();

struct GpuSeen {
  const Gpu* card = nullptr;
  std::size_t position = 0;  ///< of the name in the text
  double count = 0;          ///< as `8x`, `4 *`, `2 NVIDIA` in front says; 0 where it does not say
  double memory_bytes = 0;   ///< as a size behind says (`A100-80G`, `V100 16G`); else the card's
                             ///< own; 0 where the text names a lesser form and no size
  /// A laptop's version or a MIG slice: it can do what the card can, but has less of everything.
  bool is_lesser = false;
};

/// The first card that the text names; names stand as words of their own (`T4` is not found in
/// `BERT4`). Names as drivers give them: `NVIDIA A100-SXM4-80GB MIG 1g.10gb`, `GH200 480GB` (the
/// processor's memory, not the card's), `Ascend910B3`.
std::optional<GpuSeen> find_gpu(std::string_view text);
/// The same of a text that is known to name a card: there a bare number counts (`4090`, `2080Ti`).
std::optional<GpuSeen> find_named_gpu(std::string_view name);

}  // namespace aplomb::knowledge
