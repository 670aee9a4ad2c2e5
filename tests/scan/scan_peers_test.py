#!/usr/bin/env python3
"""Every statistic of the scan equals what torch and numpy say of the same tensors.

usage: scan_peers_test.py LIBAPLOMB_SCAN

Counts and extremes must be equal to the bit, sums and norms within 1e-12 of float64. Exits with 77
(skipped) where torch or numpy is not installed.
"""

import ctypes
import math
import sys

try:
    import numpy as np
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_uint64), ("dtype", ctypes.c_int32)]


class Stats(ctypes.Structure):
    _fields_ = [
        ("count", ctypes.c_uint64),
        ("nan", ctypes.c_uint64),
        ("inf", ctypes.c_uint64),
        ("zeros", ctypes.c_uint64),
        ("first_nonfinite", ctypes.c_int64),
        ("sum", ctypes.c_double),
        ("sum_squares", ctypes.c_double),
        ("norm", ctypes.c_double),
        ("mean", ctypes.c_double),
        ("max_abs", ctypes.c_double),
        ("min_abs", ctypes.c_double),
        ("exponents", ctypes.c_uint64 * 256),
    ]


TYPES = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
]
SPECIALS = [0.0, -0.0, 1e-45, 1e-40, 6e-8, 65504.0, 3e38, math.inf, -math.inf, math.nan]


def made(dtype, count, kind, generator):
    """A tensor as it occurs: normal, spread over many binades, with zeros, with non-finite values."""
    values = torch.randn(count, generator=generator, dtype=torch.float64)
    if kind == "spread":
        values *= torch.exp2(torch.randint(-40, 20, (count,), generator=generator).double())
    if kind in ("zeros", "special"):
        places = torch.randint(0, max(count, 1), (count // 3,), generator=generator)
        values[places] = 0
    if kind == "special" and dtype.is_floating_point:
        for place, special in enumerate(SPECIALS * 3):
            if count:
                values[(place * 7919) % count] = special
    if not dtype.is_floating_point:
        values = torch.nan_to_num(values * 50).clamp(-120, 120) if dtype.is_signed else values.abs() * 40
    return values.to(dtype)


def scan(library, tensors, threads):
    views = (Tensor * len(tensors))(*[Tensor(t.data_ptr(), t.numel(), TYPES.index(t.dtype)) for t in tensors])
    stats = (Stats * len(tensors))()
    status = library.aplomb_scan(views, len(tensors), threads, stats, ctypes.sizeof(Stats))
    assert status == 0, status
    return stats


def expected_exponents(magnitudes):
    """Bins of finite magnitudes by numpy's frexp."""
    bins = np.zeros(256, dtype=np.uint64)
    low = magnitudes < 2.0**-126
    bins[0] = np.count_nonzero(low)
    exponents = np.frexp(magnitudes[~low])[1] - 1 + 127
    values, counts = np.unique(np.minimum(exponents, 255), return_counts=True)
    for value, times in zip(values, counts):
        bins[value] += np.uint64(times)
    return bins


def check(tensor, stats, below, what):
    wide = tensor.double()
    finite = torch.isfinite(wide)
    kept = wide[finite]
    magnitudes = kept.abs()
    assert stats.count == tensor.numel(), what
    assert stats.nan == int(torch.isnan(wide).sum()), what
    assert stats.inf == int(torch.isinf(wide).sum()), what
    assert stats.zeros == int((wide == 0).sum()), what
    bad = torch.nonzero(~finite)
    assert stats.first_nonfinite == (int(bad[0]) if len(bad) else -1), what
    assert stats.max_abs == (float(magnitudes.max()) if len(kept) else 0.0), what
    nonzero = magnitudes[magnitudes > 0]
    assert stats.min_abs == (float(nonzero.min()) if len(nonzero) else math.inf), what
    assert np.array_equal(np.array(stats.exponents), expected_exponents(magnitudes.numpy())), what
    norm = math.sqrt(math.fsum((kept * kept).tolist()))
    assert abs(math.sqrt(stats.sum_squares) - norm) <= 1e-12 * norm, (what, stats.sum_squares, norm)
    total = math.fsum(kept.tolist())
    assert abs(stats.sum - total) <= 1e-12 * max(math.fsum(magnitudes.tolist()), 1e-300), what
    torch_norm = float(torch.linalg.vector_norm(wide))
    assert math.isnan(stats.norm) == math.isnan(torch_norm), what
    assert math.isinf(stats.norm) == math.isinf(torch_norm), what
    if math.isfinite(torch_norm):
        assert abs(stats.norm - torch_norm) <= 1e-12 * torch_norm, what
        assert math.isclose(stats.mean, total / max(tensor.numel(), 1), rel_tol=1e-9, abs_tol=1e-12) or (
            tensor.numel() == 0 and math.isnan(stats.mean)
        ), what
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        tiny = torch.finfo(dtype).smallest_normal
        want = int(((magnitudes > 0) & (magnitudes < tiny)).sum())
        assert below(ctypes.byref(stats), TYPES.index(dtype)) == want, (what, dtype)


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.aplomb_scan_target.restype = ctypes.c_char_p
    library.aplomb_scan_below_normal.restype = ctypes.c_uint64
    library.aplomb_scan.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_size_t,
    ]
    generator = torch.Generator().manual_seed(7)
    checked = 0
    for dtype in TYPES:
        for kind in ("normal", "spread", "zeros", "special"):
            tensors = [made(dtype, count, kind, generator) for count in (0, 1, 17, 512, 5000, 70001)]
            tensors.append(tensors[-1][3:])  # not aligned to a vector
            for tensor, stats in zip(tensors, scan(library, tensors, 2)):
                what = f"{dtype} {kind} of {tensor.numel()}"
                check(tensor, stats, library.aplomb_scan_below_normal, what)
                checked += 1
    print(f"{checked} tensors equal on {library.aplomb_scan_target().decode()}, torch {torch.__version__}")


main()
