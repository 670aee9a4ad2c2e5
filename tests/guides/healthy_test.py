"""Guide 000's healthy pattern, and what is none."""

import math

import pytest


def steps(count, start, end, norm=0.9):
    return [{"step": step, "loss": round(end + (start - end) * math.exp(-4 * step / count) + 0.02 * math.sin(7 * step), 4),
             "grad_norm": round(norm * (1 + 0.2 * math.sin(3 * step)), 3), "learning_rate": 1e-4}
            for step in range(1, count + 1)]


@pytest.mark.row("C5")
def test_healthy_pattern(diagnose):
    "a loss that starts between 1.5 and 3 and falls, with norms from 0.1 to 2, is told as healthy, with its numbers"
    answer = diagnose({"metrics.jsonl": steps(200, 2.4, 1.1)})
    assert answer.verdict == "healthy", answer
    assert answer.status == 0
