#pragma once
/// The SIMD kernels behind scan(): fp32, bf16 and fp16 (kernels.cpp, compiled once for each target
/// of Highway).

#include <string_view>

#include "scan/scan.h"

namespace aplomb::scan_detail {

TensorStats scan_simd(TensorView tensor);
std::string_view simd_target();

}  // namespace aplomb::scan_detail
