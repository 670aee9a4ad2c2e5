"""Data: what a program trains on and what it holds out: loaders, loops over them, and samples that it writes out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .program import Program
from .syntax import keyword_of, last_name, name_called

HELD_OUT = ("val", "valid", "validation", "test", "eval", "evaluate", "evaluation", "dev", "holdout", "heldout", "held",
            "validate", "va", "vl")  # fmt: skip


def is_of_held_out(text: str) -> bool:
    """`val_loader`, `testloader`, `evaluate`: of data that are not trained on, by its name."""
    words = text.lower().replace(".", "_").split("_")
    return any(word in HELD_OUT for word in words) or any(
        text.lower().startswith(each)
        and text.lower()[len(each) :] in ("loader", "set", "data", "dl", "ds", "iter", "gen", "x")
        for each in ("val", "valid", "test", "eval", "dev")
    )


def data_of(call: ast.Call) -> ast.expr | None:
    return call.args[0] if call.args else keyword_of(call, "dataset")


def training_loaders(program: Program) -> Iterator[tuple[ast.Call, ast.AST]]:
    """DataLoaders that a loop with a backward pass goes over, with that loop."""
    seen = set()
    for loop in program.training_loops:
        if not isinstance(loop, ast.For):
            continue
        over: ast.AST = loop.iter
        while (
            name_called(over) in ("enumerate", "tqdm", "track", "islice", "iter")
            and isinstance(over, ast.Call)
            and over.args
        ):
            over = over.args[0]
        call = program.makers.call_of(over)
        if call is not None and program.makers.class_name(call) == "DataLoader" and call not in seen:
            seen.add(call)
            yield call, loop


def goes_over_data(program: Program, loop: ast.AST) -> bool:
    """The inner loop goes over batches, not over a number of rounds."""
    return isinstance(loop, ast.For) and not (name_called(loop.iter) == "range" and len(getattr(loop.iter, "args", ())) < 3)


def sample_parts(program: Program) -> Iterator[tuple[ast.Dict, ast.expr, ast.expr]]:
    """Samples and batches written as dictionaries: (dictionary, inputs, labels)."""
    for node in program.nodes.of_kind(ast.Dict):
        held = {key.value: value for key, value in zip(node.keys, node.values) if isinstance(key, ast.Constant)}
        if "input_ids" in held and "labels" in held:
            yield node, held["input_ids"], held["labels"]


def entries(program: Program) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """What is made a chosen and a rejected answer: `{"chosen": ...}`, `dict(chosen=...)`, `row["chosen"] = ...`,
    `rows["chosen"].append(...)`, `chosen.append(...)`; the place, and the two."""
    yield from displayed(program)
    yield from put_by_parts(program)


def put_by_parts(program: Program) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    """Two statements of one block, each of which puts one answer."""
    blocks: dict[ast.AST, dict[str, tuple[ast.expr, ast.expr]]] = {}
    for call in program.calls_to("append"):
        side = part_named(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if side and len(call.args) == 1:
            block = program.nodes.parents[program.statement_of(call)]
            blocks.setdefault(block, {}).setdefault(side, (call, call.args[0]))
    for node in program.nodes.of_kind(ast.Assign):
        side = part_named(node.targets[0]) if isinstance(node.targets[0], ast.Subscript) else ""
        if side:
            blocks.setdefault(program.nodes.parents[node], {}).setdefault(side, (node.targets[0], node.value))
    for held in blocks.values():
        if len(held) == 2:
            yield held["chosen"][0], held["chosen"][1], held["rejected"][1]


def part_named(node: ast.AST) -> str:
    """`chosen` of `rows["chosen"]`, of a list of that name; empty for anything else."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        name = node.slice.value
    else:
        name = last_name(node).lower()
    return name if name in ("chosen", "rejected") else ""


def displayed(program: Program) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    for node in program.nodes.of_kind(ast.Dict):
        held = {key.value: value for key, value in zip(node.keys, node.values) if isinstance(key, ast.Constant)}
        if "chosen" in held and "rejected" in held:
            yield node, held["chosen"], held["rejected"]
    for call in program.calls_to("dict"):
        chosen, rejected = keyword_of(call, "chosen"), keyword_of(call, "rejected")
        if chosen is not None and rejected is not None:
            yield call, chosen, rejected
