#pragma once
/// Optimizer states that are kept in 8 or 4 bits: an element is table[code] times the scale of its
/// block (arXiv:2110.02861). Read as fp32, decoded when somebody asks.
///
///     bitsandbytes   state1 / state2 (uint8), qmap1, absmax1; flat or below
///                    `__bnb_optimizer_quant_state__`; small tensors stay fp32
///     torchao        OptimState8bit, OptimState4bit: codes, scale, qmap; OptimStateFp8: codes,
///     scale

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensors/tensor.h"

namespace aplomb::checkpoint {

struct TensorCode {
  tensors::Tensor codes;  ///< uint8 (two codes a byte, the high one first, for 16 values) or fp8
  std::vector<float> values;  ///< 256 or 16, by code; empty: the codes are fp8
  tensors::Tensor scales;     ///< one a block of equal size, the last one shorter
};

/// `shape`: of the decoded tensor. Nothing where the parts do not fit each other.
std::optional<tensors::Tensor> decode_tensor(TensorCode code, std::vector<std::int64_t> shape);

/// bitsandbytes' names in one parameter's state -> the decoded moments, `exp_avg` and `exp_avg_sq`
/// where there are two (its Adam family); `state1` where there is one (Lion, SGD, RMSprop: the file
/// does not tell which). What they are made of is taken out of `tensors`.
void decode_states(std::map<std::string, tensors::Tensor>& tensors);

}  // namespace aplomb::checkpoint
