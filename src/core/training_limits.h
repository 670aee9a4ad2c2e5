#pragma once
/// Limits that the detectors, which look back, and the guard, which acts at once, share: what one
/// of them calls a spike or a collapse, the other does.

#include <cstdint>

namespace aplomb::core {

/// x the level. axolotl's training stability guide tells spikes as 2x to 10x, and steps to another
/// mixture of data stay below this.
inline constexpr double k_spike_ratio = 1.5;
/// Samples in a row: longer than one bad batch, and than the skips that it may cost.
inline constexpr std::uint32_t k_sustained_run = 3;
/// Of an fp16 loss scale: the least one of DeepSpeed and apex; one that once was a scale.
inline constexpr double k_least_loss_scale = 1.0;
inline constexpr double k_had_loss_scale = 128.0;

}  // namespace aplomb::core
