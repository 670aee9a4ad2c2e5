#pragma once
/// The SIMD kernels behind scan() (all floating types) and difference() (fp32, bf16, fp16;
/// kernels.cpp, difference_kernels.cpp, compiled once for each target of Highway).

#include <string_view>

#include "scan/difference.h"
#include "scan/scan.h"

namespace aplomb::scan {

TensorStats scan_simd(TensorView tensor);
Difference difference_simd(TensorView before, TensorView after);

/// Leaves out the SIMD targets whose kernels this processor cannot run although Highway thinks so.
/// To be called before every dispatch.
void settle_targets();
std::string_view simd_target();

}  // namespace aplomb::scan
