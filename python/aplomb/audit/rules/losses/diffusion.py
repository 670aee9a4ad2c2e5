"""Rules about denoisers: which step of the noise schedule a sample is at, and what the network is compared with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from ...findings import Finding, rule
from ...program.algebra import Form, product, terms
from ...program.gradients import is_forward, losses_of, name_of_call
from ...program.program import Program
from ...program.syntax import last_name, source_of
from .generative import is_complement, is_noise

NOISE_NAMED = re.compile(r"(^|_)(noise|eps|epsilon)(_|$)")
SAMPLE_NAMED = re.compile(r"(^|_)(x0|x_0|x_start|xstart|x0hat|denoised|clean)(_|$)")


def noised(program: Program) -> Iterator[tuple[ast.BinOp, Form, Form, Form]]:
    """`sqrt(a[t]) * x + sqrt(1 - a[t]) * eps`: the sum, the share that is kept, the sample and the noise."""
    if not program.names_called & {"randn_like", "randn", "normal"}:
        return
    for node in program.nodes.of_kind(ast.BinOp):
        form = program.algebra.of(node) if isinstance(node.op, ast.Add) else None
        if form is None or form.op != "add" or form.node is not node:
            continue
        held = [product(each) for _, each in terms(form)]
        if len(held) != 2 or any(len(each.factors) != 2 or each.divisors for each in held):
            continue
        for one, other in (held, held[::-1]):
            kept = next((each for each in one.factors if under_root(each) is not None), None)
            spread = next((each for each in other.factors if under_root(each) is not None), None)
            inner, outer = (under_root(each) if each is not None else None for each in (kept, spread))
            if inner is None or outer is None or not is_rest(outer, inner):
                continue
            sample = next(each for each in one.factors if each is not kept)
            noise = next(each for each in other.factors if each is not spread)
            if is_noise(noise):
                yield node, inner, sample, noise


def under_root(form: Form) -> Form | None:
    """`a[t]` of `a[t].sqrt()`, and of an entry of `a.sqrt()`."""
    if form.op == "index" and form.parts[0].op == "sqrt":
        return replace(form, parts=(form.parts[0].parts[0], *form.parts[1:]))
    return form.parts[0] if form.op == "sqrt" else None


def is_rest(one: Form, other: Form) -> bool:
    """`1 - a[t]` beside `a[t]`, and an entry of `1 - a` beside that of `a`."""
    if is_complement(one, other):
        return True
    alike = one.op == other.op == "index" and [each.key for each in one.parts[1:]] == [each.key for each in other.parts[1:]]
    return alike and is_complement(one.parts[0], other.parts[0])


def added_to(program: Program) -> Iterator[tuple[ast.BinOp, tuple[Form, ...], Form]]:
    """`k * x + s * eps`, whatever the shares are: the sum, the factors beside the noise's product, and the noise."""
    for node in program.nodes.of_kind(ast.BinOp):
        form = program.algebra.of(node) if isinstance(node.op, ast.Add) else None
        if form is None or form.op != "add" or form.node is not node:
            continue
        held = [product(each) for sign, each in terms(form) if sign > 0]
        if len(held) != 2 or any(len(each.factors) != 2 or each.divisors for each in held):
            continue
        for one, other in (held, held[::-1]):
            noise = next((each for each in other.factors if is_noise(each) and name_of_call(each)), None)
            if noise is not None and not any(is_noise(each) for each in one.factors):
                yield node, one.factors, noise


@rule("code.step-outside-schedule")
def step_outside_schedule(program: Program) -> Iterator[Finding]:
    """The step is drawn from 1 to T and looks up a table of T entries that begins at 0; or from 0, and one is taken off."""
    if "randint" not in program.names_called:
        return
    for node, kept, _, _ in noised(program):
        for each in kept.below():
            if each.op != "index" or len(each.parts) != 2 or not is_table(each.parts[0]):
                continue
            step, shift = shifted(each.parts[1])
            drawn = range_drawn(program, step)
            if drawn is None:
                continue
            low, high = drawn
            length = length_of(program, each.parts[0])
            beyond = length is not None and source_of(high).replace(" ", "") in ends_behind(program, length, shift)
            numbers = program.values.number(high), program.values.number(length) if length is not None else None
            if numbers[0] is not None and numbers[1] is not None:
                beyond = numbers[0] + shift > numbers[1]
            if beyond or low + shift < 0:
                what = "the last step lies behind the table" if beyond else "step 0 looks up the last entry"
                text = source_of(each.node)
                yield Finding(node.lineno, "", {"looked_up": text[:60], "what": what},
                              also=sorted({each.line, step.line} - {node.lineno, 0}))  # fmt: skip
                return


def is_table(form: Form) -> bool:
    """A product over the steps of what was laid out evenly, and nothing put before it."""
    ops = {each.op for each in form.below()} | {name_of_call(each) for each in form.below()}
    return "cumprod" in ops and "linspace" in ops and not ops & {"cat", "pad", "concatenate", "slice", "list"}


def shifted(form: Form) -> tuple[Form, int]:
    """`t - 1` as t and -1."""
    if form.op in ("sub", "add") and form.parts[1].op == "number" and form.parts[1].value is not None:
        return form.parts[0], int(form.parts[1].value) * (-1 if form.op == "sub" else 1)
    return form, 0


def range_drawn(program: Program, form: Form) -> tuple[int, ast.expr] | None:
    """The least that randint() gives, and the node of what lies one above the largest."""
    call = form.node
    if name_of_call(form) != "randint" or not isinstance(call, ast.Call) or not program.is_from_torch(call, "randint"):
        return None
    given = [each for each in call.args if not isinstance(each, (ast.Tuple, ast.List))]
    sized = any(isinstance(each, (ast.Tuple, ast.List)) for each in call.args) or any(
        each.arg == "size" for each in call.keywords
    )
    if not sized or not 1 <= len(given) <= 2:
        return None
    low = program.values.number(given[0]) if len(given) == 2 else 0
    return (int(low), given[-1]) if low is not None else None


def length_of(program: Program, table: Form) -> ast.expr | None:
    """T of `linspace(a, b, T)`."""
    made = next((each.node for each in table.below() if name_of_call(each) == "linspace"), None)
    if not isinstance(made, ast.Call):
        return None
    steps = next((each.value for each in made.keywords if each.arg == "steps"), None)
    return steps if steps is not None else made.args[2] if len(made.args) > 2 else None


def ends_behind(program: Program, length: ast.expr, shift: int) -> set[str]:
    """`T + 1`, where the table has T entries and nothing is taken off."""
    text = source_of(length).replace(" ", "")
    return {f"{text}+1", f"1+{text}"} if shift == 0 else set()


@rule("code.denoiser-target-mixed")
def denoiser_target_mixed(program: Program) -> Iterator[Finding]:
    """What is called predicted noise is compared with the sample, or what is called the sample with the noise."""
    found = list(added_to(program)) if program.names_called & {"randn_like", "randn", "normal"} else []
    if not found:
        return
    for loss in losses_of(program):
        for each in loss.form.below():
            pair = sides(each)
            for given, target in (pair, pair[::-1]) if pair else ():
                asked = next((one for one in (given, *given.parts[:1]) if is_forward(program, one)), None)
                if asked is None:
                    continue
                named_noise, named_sample = says(program, given, NOISE_NAMED), says(program, given, SAMPLE_NAMED)
                is_sample = any(target.key == each.key for _, factors, _ in found for each in factors)
                is_drawn = any(target.key == noise.key for _, _, noise in found)
                if named_noise != named_sample and (is_sample if named_noise else is_drawn) and is_sample != is_drawn:
                    what = "noise" if named_noise else "the sample"
                    other = "the sample" if named_noise else "noise"
                    line = each.line or loss.line
                    yield Finding(line, "", {"what": what, "other": other}, also=sorted({found[0][0].lineno} - {line}))
                    return


def sides(form: Form) -> tuple[Form, Form] | None:
    """Of a squared or absolute difference."""
    if form.op in ("square", "abs") and form.parts[0].op == "sub":
        return form.parts[0].parts[0], form.parts[0].parts[1]
    if name_of_call(form) in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss") and len(form.parts) > 1:
        return form.parts[0], form.parts[1]
    return None


def says(program: Program, form: Form, pattern: re.Pattern[str]) -> bool:
    """By the names that the prediction has on its way, those of the network left out."""
    call = form.node
    model = last_name(call.func).lower() if isinstance(call, ast.Call) else ""
    return any(pattern.search(word) for word in form.words - {model})
