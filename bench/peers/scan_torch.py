#!/usr/bin/env python3
"""The scan beside PyTorch on the CPU, in one process, in alternating rounds.

usage: scan_torch.py LIBAPLOMB_SCAN [--rounds N] [--threads N] [--bf16]

Contestants, on 100 x 1,000,448 and on 2,000 x 512 elements:
  scan    aplomb_scan: count, NaN, Inf, zeros, sum, L2 norm, extremes, exponent histogram
  norm    torch.nn.utils.get_total_norm (foreach): the L2 norm alone
  clip    torch.nn.utils.clip_grad_norm_(parameters, 1e9): the norm and a scaling by 1
  four    isfinite().all(), norm, abs().max() and count of zeros, tensor by tensor
Prints, for each peer, the median over rounds of its time over the scan's, with the 10th and 90th
percentile: by the clock, and of the processor (all threads), which other programs disturb less.
The norms are compared before anything is timed. ATEN_CPU_CAPABILITY=avx2 or avx512 in the
environment chooses torch's instructions.
"""

import argparse
import ctypes
import statistics
import time

import torch


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_uint64), ("dtype", ctypes.c_int32)]


class Stats(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_uint64) for name in ("count", "nan", "inf", "zeros")],
        ("first_nonfinite", ctypes.c_int64),
        *[(name, ctypes.c_double) for name in ("sum", "sum_squares", "norm", "mean", "max_abs", "min_abs")],
        ("exponents", ctypes.c_uint64 * 256),
    ]


def contestants(library, tensors, threads):
    kind = {torch.float32: 1, torch.bfloat16: 3}[tensors[0].dtype]
    views = (Tensor * len(tensors))(*[Tensor(t.data_ptr(), t.numel(), kind) for t in tensors])
    stats = (Stats * len(tensors))()
    parameters = []
    for tensor in tensors:
        parameter = torch.nn.Parameter(torch.empty_like(tensor), requires_grad=True)
        parameter.grad = tensor
        parameters.append(parameter)

    def scan():
        assert library.aplomb_scan(views, len(tensors), threads, stats, ctypes.sizeof(Stats)) == 0

    def norm():
        return float(torch.nn.utils.get_total_norm(tensors, foreach=True))

    def clip():
        return float(torch.nn.utils.clip_grad_norm_(parameters, 1e9))

    def four():
        for each in tensors:
            bool(torch.isfinite(each).all())
            float(torch.linalg.vector_norm(each))
            float(each.abs().max())
            int(torch.count_nonzero(each))

    scan()
    expected, found = norm(), sum(each.sum_squares for each in stats) ** 0.5
    assert abs(expected - found) < 1e-2 * expected, (expected, found)
    return {"scan": scan, "norm": norm, "clip": clip, "four": four}


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(label, work, rounds):
    taken = {name: [] for name in work}
    for round_number in range(rounds + 1):
        for name, each in work.items():
            taken[name].append(timed(each))
        if round_number == 0:  # warm-up
            for each in taken.values():
                each.clear()
    best = {name: min(wall for wall, _ in each) * 1e3 for name, each in taken.items()}
    print(f"{label}: " + ", ".join(f"{name} {value:.2f} ms" for name, value in best.items()) + " (least)")
    for name in work:
        if name == "scan":
            continue
        for what, place in (("wall", 0), ("processor", 1)):
            ratios = sorted(peer[place] / ours[place] for peer, ours in zip(taken[name], taken["scan"]))
            low, high = ratios[len(ratios) // 10], ratios[len(ratios) * 9 // 10]
            print(f"  {name} / scan, {what} time: {statistics.median(ratios):.2f} (p10 {low:.2f}, p90 {high:.2f})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bf16", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    library = ctypes.CDLL(options.library)
    library.aplomb_scan.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_size_t,
    ]
    library.aplomb_scan_target.restype = ctypes.c_char_p
    dtype = torch.bfloat16 if options.bf16 else torch.float32
    print(
        f"torch {torch.__version__} ({torch.backends.cpu.get_cpu_capability()}), scan "
        f"{library.aplomb_scan_target().decode()}, {options.threads} thread(s), {dtype}"
    )
    torch.manual_seed(1)
    for count, size in ((100, 1_000_448), (2000, 512)):
        tensors = [torch.randn(size).mul_(1e-3).to(dtype) for _ in range(count)]
        compare(f"{count} x {size}", contestants(library, tensors, options.threads), options.rounds)
        del tensors


main()
