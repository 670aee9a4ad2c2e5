"""Guide 002: what comes again at the same step and what moves; what rises before it; what a scaler does at its start."""

import math

import pytest
from conftest import write_files


def log(step_of_nan=None, steps=450, seed=1):
    state, lines = seed, []
    for step in range(1, steps + 1):
        state = (state * 1103515245 + 12345) % 2**31
        noise = (state / 2**31 - 0.5) * 0.08
        loss = 0.9 + math.exp(-step / 90) + noise
        lost = step_of_nan is not None and step >= step_of_nan
        if lost and step > step_of_nan + 3:
            break
        rate = 1e-4 * min(step / 20, 1) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
        shown = ("nan", "nan") if lost else (f"{loss:.4f}", f"{0.7 + 4 * noise:.3f}")
        lines.append(f"step {step:5d} | loss {shown[0]} | grad_norm {shown[1]} | lr {rate:.3e}")
    return lines


@pytest.mark.row("P11")
@pytest.mark.parametrize(("second", "words"), [(131, "no bad sample"), (300, "batch of that step")])
def test_two_runs_that_break(program, tmp_path, second, words):
    "two equal runs that end in NaN: at the same step it is that batch, at another one numerics; compare says which"
    for name, step, seed in (("a", 300, 1), ("b", second, 2)):
        write_files(tmp_path / name, {"train.log": log(step, seed=seed)})
    said = " ".join(program("compare", tmp_path / "a", tmp_path / "b").stdout.split())
    assert words in said and "300" in said and str(second) in said, said
    assert ("DIFFERS" in said) == (second != 300), said


@pytest.mark.row("P12")
def test_norms_that_lead(diagnose):
    "norms that rise many steps before the loss jumps: the optimisation, no batch; warm-up first, and where to go back to"
    lines = log()
    for step in range(200, 230):
        parts = lines[step - 1].split(" | ")
        parts[2] = f"grad_norm {0.7 * 1.15 ** (step - 200):.3f}"
        lines[step - 1] = " | ".join(parts)
    for step, loss in zip(range(230, 240), (6.0, 5.1, 4.2, 3.6, 3.0, 2.5, 2.1, 1.8, 1.6, 1.5), strict=True):
        lines[step - 1] = f"step {step:5d} | loss {loss} | grad_norm 20.0 | lr 1.000e-03"
    lines = [each.replace("lr 1.000e-03", "lr 9.0e-04") for each in lines]
    answer = diagnose({"train.log": lines})
    assert answer.first in ("diverge.lr-too-high", "diverge.short-warmup"), answer
    assert "warm-up" in answer.fixes[0], answer.fixes
    assert any("checkpoint before step" in each for each in answer.fixes), answer.fixes


@pytest.mark.row("P5+P7", "P10")
@pytest.mark.parametrize("halvings", [4, 7, 12])
def test_a_scale_that_is_looked_for(diagnose, halvings):
    "a loss scale that is halved step by step from the first one on and then stays is calibration: healthy"
    records = []
    for step in range(1, 161):
        searching = step <= halvings
        loss = 1.2 + 1.1 * math.exp(-step / 40) + 0.02 * math.sin(7.3 * step)
        records.append(
            {
                "step": step,
                "loss": round(loss, 4),
                "grad_norm": math.inf if searching else round(0.8 + 0.2 * math.sin(3.1 * step), 4),
                "learning_rate": 1e-4 * min(1, step / 16) * (1 - step / 200),
                "loss_scale": 65536 / 2 ** min(step, halvings),
            }
        )
    answer = diagnose({"metrics.jsonl": records})
    assert answer.verdict == "healthy", answer


@pytest.mark.row("P14")
@pytest.mark.parametrize("rising", [True, False])
def test_steps_that_are_left_out(diagnose, rising):
    "a share of skipped steps that rises is systematic, without a loss scale no scaler is blamed; stray ones are no trend"
    records, skipped = [], 0
    for step in range(1, 301):
        skipped += step > 180 and step % 3 == 0 if rising else step % 60 == 0
        loss = 1.2 + 1.1 * math.exp(-step / 60) + 0.02 * math.sin(7.3 * step)
        records.append({"step": step, "loss": round(loss, 4), "grad_norm": 0.9, "lr": 1e-4, "skipped_steps": skipped})
    answer = diagnose({"metrics.jsonl": records, "config.yaml": "bf16: true\nlearning_rate: 1.0e-4\n"})
    if rising:
        assert answer.verdict == "unstable" and "steps.skipped" in answer.symptoms, answer
        assert answer.first != "stall.scaler-skips-every-step", answer
    else:
        assert answer.verdict == "healthy", answer


@pytest.mark.row("C2", "A4")
def test_a_warm_up_that_goes_on(diagnose):
    "ten records of a warm-up that still goes on, the loss falling: healthy so far"
    lines = [
        f"{{'loss': {2.41 - 0.05 * i:.3f}, 'grad_norm': {1.1 - 0.03 * i:.2f}, "
        f"'learning_rate': {1e-5 * (i + 1):.1e}, 'epoch': {i / 100}}}"
        for i in range(10)
    ]
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "healthy", answer


@pytest.mark.row("C8")
def test_a_third_of_a_run(diagnose):
    "the first third of a run whose schedule has not come down is not called too slow for falling evenly"
    lines = []
    for i in range(1, 71):
        rate = 1e-4 * i / 15 if i <= 15 else 5e-5 * (1 + math.cos(math.pi * (i - 15) / 185))
        loss = 1.2 + 0.6 * math.exp(-i / 45) + 0.03 * math.sin(5.1 * i)
        lines.append(f"{{'loss': {loss:.4f}, 'grad_norm': 0.71, 'learning_rate': {rate:.6e}, 'epoch': {i / 200}}}")
    answer = diagnose({"train.log": lines})
    assert answer.verdict == "healthy", answer
