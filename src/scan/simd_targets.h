#pragma once
/// What the kernels are compiled for on x86-64: AVX2, AVX-512 and AVX-512 with VBMI2. SSSE3 and SSE4
/// are left out, and have the plain loop: processors that end there are older than 2013 or made for
/// other things than training, and each target takes as long to compile as a small layer. Read
/// before Highway's headers.

#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
