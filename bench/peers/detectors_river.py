#!/usr/bin/env python3
"""River's drift detectors on the curves of detectors_bench: ns per update, alarms on healthy curves, delay on sick ones.

usage: detectors_bench --dump DIR; detectors_river.py DIR

River's detectors keep NaN for ever, so NaN is left out for them (ours is given it). An alarm before the onset of a fault
counts as false; the delay is that of the first alarm after it.
"""
import collections
import pathlib
import struct
import sys
import time

from river import drift, stats


def ewma_rule():
    """The usual exponentially weighted z-score rule, built of River's parts: alarm above 6 sigma."""
    mean, var = stats.EWMean(fading_factor=0.05), stats.EWVar(fading_factor=0.05)

    class Rule:
        drift_detected = False
        seen = 0

        def update(self, x):
            self.seen += 1
            sigma = max(var.get() or 0.0, 1e-12) ** 0.5
            self.drift_detected = self.seen > 30 and (x - mean.get()) > 6 * sigma
            mean.update(x)
            var.update(x)

    return Rule()


RULES = {
    "ADWIN": drift.ADWIN,
    "Page-Hinkley": lambda: drift.PageHinkley(mode="up"),
    "EWMA 6 sigma": ewma_rule,
}


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.f64"))
    curves = collections.defaultdict(list)
    for path in files:
        kind, onset, _seed = path.name.rsplit(".", 3)[0], path.name.split(".")[-3], path.name.split(".")[-2]
        data = path.read_bytes()
        values = [x for x in struct.unpack(f"<{len(data) // 8}d", data) if x == x]
        curves[(kind, int(onset))].append(values)
    for name, make in RULES.items():
        updates, seconds = 0, 0.0
        print(f"\n{name}\n{'curve':18} {'alarmed':>8} {'median delay':>13}")
        for (kind, onset), draws in curves.items():
            delays = []
            for values in draws:
                rule, first = make(), None
                begin = time.perf_counter()
                for i, x in enumerate(values):
                    rule.update(x)
                    if rule.drift_detected and first is None and i >= max(onset, 0):
                        first = i
                seconds += time.perf_counter() - begin
                updates += len(values)
                if first is not None:
                    delays.append(first - max(onset, 0))
            delays.sort()
            delay = delays[len(delays) // 2] if delays and onset >= 0 else "-"
            print(f"{kind:18} {100 * len(delays) / len(draws):7.0f}% {delay:>13}")
        print(f"{1e9 * seconds / updates:.0f} ns an update")


if __name__ == "__main__":
    main()
