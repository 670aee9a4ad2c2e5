"""What makes values that are not finite, or hides them: FP8 scales of 0, nan_to_num() over losses, gradients and outputs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import source_of
from .domain import in_training

OUTPUTS = re.compile(r"logit|logp|log_prob|score|pred|hidden|attn|\bout(put)?s?\b")
#: The largest finite values of float8_e4m3fn, float8_e5m2, and of e4m3 with an infinity (OCP 8-bit floating point, 1.0).
FP8_LIMITS = (448, 57344, 240)
BOUNDS = re.compile(r"\bclamp|\bclip\(|\bmaximum\(|\bwhere\(|eps|1e-|tiny")


@rule("code.nan-gradient-hidden")
def nan_gradient_hidden(program: Program) -> Iterator[Finding]:
    """`torch.nan_to_num_(p.grad)`: the step is made all the same. (A loss: code.nan-hidden.)"""
    for call, given in replaced_in_training(program):
        if ".grad" in given:
            yield Finding(call.lineno, "# leave the step out where a gradient is not finite, and count it")


@rule("code.nan-net")
def nan_net(program: Program) -> Iterator[Finding]:
    """`torch.nan_to_num(logits, nan=0.0)`: a net under what should be found and mended."""
    for call, given in replaced_in_training(program):
        if ".grad" not in given and not is_loss(program, call, given) and OUTPUTS.search(given.lower()):
            name = source_of(call.args[0]) if call.args else "x"
            yield Finding(call.lineno, f"lost += (~torch.isfinite({name})).sum()  # logged, in front of nan_to_num()")


def replaced_in_training(program: Program) -> Iterator[tuple[ast.Call, str]]:
    """Each nan_to_num() that runs in a training loop or in what it calls, and the text of what it is over."""
    calls = list(program.calls_to("nan_to_num", "nan_to_num_"))
    for call in in_training(program, calls) if calls else ():  # type: ignore[arg-type]
        if not isinstance(call, ast.Call):
            continue
        value = call.args[0] if call.args else None
        if isinstance(call.func, ast.Attribute) and source_of(call.func.value) not in ("torch", "np", "numpy", "jnp"):
            value = call.func.value
        if value is not None:
            yield call, source_of(value)


def is_loss(program: Program, call: ast.Call, given: str) -> bool:
    """By its name, or because backward() is called on what it gives."""
    holder = program.nodes.parents.get(call)
    target = source_of(holder.targets[0]) if isinstance(holder, ast.Assign) else ""
    words = given.lower() + " " + target.lower()
    return "loss" in words and "logit" not in words


@rule("code.fp8-scale-unguarded")
def fp8_scale_unguarded(program: Program) -> Iterator[Finding]:
    """`s = max(abs(x)) / 448`, then `x / s`: a row of zeros, as padding is, has a scale of 0."""
    for function in program.functions:
        made = [each for each in ast.walk(function) if isinstance(each, ast.Assign) and len(each.targets) == 1]
        texts = {source_of(each.targets[0]): [] for each in made}  # type: dict[str, list[str]]
        for each in made:
            texts[source_of(each.targets[0])].append(source_of(each.value))
        for each in made:
            scale = source_of(each.targets[0])
            if not is_scale(each.value, texts) or is_bounded(scale, texts):
                continue
            used = next((one for one in ast.walk(function) if is_use_of(one, scale, each.value)), None)
            if used is not None:
                corrected = guard_of(function, scale)
                yield Finding(used.lineno, corrected, {"scale": scale}, also=[each.lineno])  # type: ignore[attr-defined]
                break


def is_scale(value: ast.expr, texts: dict[str, list[str]]) -> bool:
    """A largest magnitude over (or under) the largest number of an FP8 format."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
        return False
    return any(
        is_limit(one) and is_largest(source_of(other), texts)
        for one, other in ((value.left, value.right), (value.right, value.left))
    )


def is_limit(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in FP8_LIMITS
    text = source_of(node).lower()
    return "fp8" in text or "e4m3" in text or "e5m2" in text or ("finfo" in text and "float8" in text)


def is_largest(text: str, texts: dict[str, list[str]]) -> bool:
    told = " ".join([text, *texts.get(text, [])])
    return "max" in told and "abs" in told


def is_bounded(scale: str, texts: dict[str, list[str]]) -> bool:
    """Some value of the scale, or of what it is made of, is kept from 0."""
    told = " ".join(texts[scale])
    told += " ".join(text for name, values in texts.items() if re.search(rf"\b{re.escape(name)}\b", told) for text in values)
    return bool(BOUNDS.search(told))


def is_use_of(node: ast.AST, scale: str, made: ast.expr) -> bool:
    """`x / s`, or `x * s` where s is the limit over the magnitude."""
    if not isinstance(node, ast.BinOp) or node is made:
        return False
    inverse = isinstance(made, ast.BinOp) and is_limit(made.left)
    fits = isinstance(node.op, ast.Mult) if inverse else isinstance(node.op, ast.Div)
    return fits and scale in (source_of(node.right), source_of(node.left) if inverse else "")


def guard_of(function: ast.AST, scale: str) -> str:
    calls = [source_of(each.func) for each in ast.walk(function) if isinstance(each, ast.Call)]
    if any(each.startswith("tl.") for each in calls):
        return f"{scale} = tl.where({scale} == 0, 1.0, {scale})  # then rm -rf ~/.triton/cache"
    return f"{scale} = torch.where({scale} == 0, torch.ones_like({scale}), {scale})"
