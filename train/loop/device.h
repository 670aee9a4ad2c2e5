#pragma once
/// What the device of a run can do: which card it is, in which format it multiplies best, how fast
/// it is at most, and how much of its memory is taken.

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "train/loop/options.h"

namespace aplomb::train::loop {

/// A CUDA device by the driver's own words.
struct Card {
  std::string name;       ///< `NVIDIA H100 80GB HBM3`
  double capability = 0;  ///< 9.0; 0: not known
};
/// Asks the driver (libcuda.so.1), so that it works with any build of LibTorch. Nothing where there
/// is no driver, or `device` is no CUDA device.
std::optional<Card> card_of(const torch::Device& device);

/// The format of the matrix products, and why.
struct ComputeFormat {
  torch::Dtype type = torch::kFloat32;
  std::string name = "fp32";  ///< fp32 | bf16 | fp16
  std::string why;            ///< one phrase for people
};
/// By the flags; else bf16 where the card has it in its matrix units (compute capability 8.0 and
/// above; a card that nobody knows is taken for a new one), fp16 with a loss scale on older cards,
/// fp32 on CPUs.
ComputeFormat choose_format(const PrecisionFlags& flags, bool on_gpu,
                            const std::optional<Card>& card);

/// Whether products of fp32 run in TF32: asked for, and the card has it (8.0 and above).
bool uses_tf32(const PrecisionFlags& flags, const std::optional<Card>& card);

/// Which kernels torch may choose from: TF32, and those inside scaled dot-product attention.
void allow_kernels(const PrecisionFlags& flags);

/// Operations a second in products of this format, dense, by the maker's datasheet; 0 where the
/// card or its figure is not known. A slice of a card (MIG) counts as unknown.
double peak_flops(const Card& card, const std::string& format, bool tf32);

/// Bytes that torch's allocator holds of an accelerator's memory; nothing on CPUs.
std::optional<std::uint64_t> held_memory_bytes(const torch::Device& device);
/// Bytes of an accelerator's memory that nobody holds; nothing on CPUs, or where it is not told.
std::optional<std::uint64_t> free_memory_bytes(const torch::Device& device);

}  // namespace aplomb::train::loop
