"""Rules about scores: of which samples they are, and of which process's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.data import data_of, is_of_held_out
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, name_called, source_of

#: Words of names of calls that bring together what several processes have.
TOGETHER = ("reduce", "gather", "sync", "merge", "allreduce", "collect")
GOES_OVER = ("enumerate", "tqdm", "track", "iter", "trange")


def loops_over_held_out(program: Program) -> Iterator[tuple[ast.For, ast.expr]]:
    """Loops over a loader of held-out data, with the loader."""
    for loop in program.nodes.of_kind(ast.For):
        over: ast.expr = loop.iter
        while isinstance(over, ast.Call) and name_called(over) in GOES_OVER and over.args:
            over = over.args[0]
        if isinstance(over, (ast.Name, ast.Attribute)) and is_of_held_out(last_name(over)):
            yield loop, over


def loader_made(program: Program, node: ast.AST) -> ast.Call | None:
    made = program.makers.call_of(node)
    return made if made is not None and program.makers.class_name(made) == "DataLoader" else None


# --- whose


@rule("code.scores-of-one-rank")
def scores_of_one_rank(program: Program) -> Iterator[Finding]:
    """Each process evaluates its share of the held-out data, and nothing brings the counts together."""
    if any(word in name.lower() for name in program.names_called for word in TOGETHER):
        return
    if any("torchmetrics" in line or "ignite" in line or "num_process" in line for line in program.lines):
        return
    if any(program.values.is_true(keyword_of(call, "cpu")) for call in program.calls_to("Accelerator")):
        return  # made for one process: a script of a single CPU
    for loop, over in loops_over_held_out(program):
        if not is_shared_out(program, over):
            continue
        counted = next((each for each in program.nodes.below(loop) if counts(each)), None)
        if counted is not None:
            line = getattr(counted, "lineno", loop.lineno)
            yield Finding(line, "", {"loader": source_of(over)}, also=sorted({loop.lineno} - {line}))
            return


def is_shared_out(program: Program, over: ast.expr) -> bool:
    """Prepared by Accelerate, or made with a DistributedSampler."""
    for call in program.calls_to("prepare"):
        prepares = "Accelerator" in program.names_called and any(source_of(each) == source_of(over) for each in call.args)
        if prepares and isinstance(program.statement_of(call), ast.Assign):
            return True
    made = loader_made(program, over)
    sampler = keyword_of(made, "sampler") if made is not None else None
    origin = program.names.origin(sampler).node if sampler is not None else None
    return origin is not None and name_called(origin) == "DistributedSampler"


def counts(node: ast.AST) -> bool:
    """`correct += (...).sum().item()`, `metric.add_batch(...)`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return any(name_called(each) in ("sum", "item", "mean") for each in ast.walk(node.value))
    if name_called(node) in ("append", "extend") and isinstance(node, ast.Call) and len(node.args) == 1:
        return any(name_called(each) in ("item", "tolist") for each in ast.walk(node.args[0]))
    return name_called(node) == "add_batch"


# --- of which samples


@rule("code.last-batch-left-out")
def last_batch_left_out(program: Program) -> Iterator[Finding]:
    """drop_last=True for held-out data: the last samples are never asked, and count as wrong in a share of all."""
    for call in program.calls_to("DataLoader"):
        dropped, statement, data = keyword_of(call, "drop_last"), program.statement_of(call), data_of(call)
        if dropped is None or not program.values.is_true(dropped) or not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if statement.value is not call or not is_of_held_out(last_name(target)) or data is None:
            continue
        whole = next((each for each in program.calls_to("len") if counts_all(each, data, target)), None)
        divides = whole is not None and is_divisor(program, whole)
        also = [whole.lineno] if divides and whole is not None and whole.lineno != call.lineno else []
        corrected = source_of(call).replace("drop_last=True", "drop_last=False")
        yield Finding(call.lineno, corrected, {"loader": source_of(target)}, sure=divides, also=also)
        return


def counts_all(call: ast.Call, data: ast.expr, loader: ast.expr) -> bool:
    """`len(val_set)`, `len(loader.dataset)`."""
    if len(call.args) != 1:
        return False
    asked = call.args[0]
    whole = isinstance(asked, ast.Attribute) and asked.attr == "dataset"
    return source_of(asked) == source_of(data) or (whole and is_of_held_out(source_of(asked)))


def is_divisor(program: Program, node: ast.AST) -> bool:
    for parent in program.enclosing(node):
        if isinstance(parent, ast.BinOp):
            return isinstance(parent.op, ast.Div) and program.nodes.encloses(parent.right, node)
        if isinstance(parent, ast.AugAssign):
            return isinstance(parent.op, ast.Div)
        if isinstance(parent, ast.stmt):
            break
    return False


@rule("code.batch-means-averaged")
def batch_means_averaged(program: Program) -> Iterator[Finding]:
    """The mean accuracy of each batch is averaged over the batches, and the last batch is smaller."""
    for loop, over in loops_over_held_out(program):
        made = loader_made(program, over)
        dropped = keyword_of(made, "drop_last") if made is not None else None
        if made is None or (dropped is not None and not program.values.is_false(dropped)):
            continue
        if keyword_of(made, "batch_size") is None and len(made.args) < 2:
            continue
        for node in program.nodes.below(loop):
            value = added(node)
            if value is not None and is_share_right(program.algebra.of(value)):
                line = getattr(node, "lineno", loop.lineno)
                yield Finding(line, "", {"loader": source_of(over)})
                return


def added(node: ast.AST) -> ast.expr | None:
    """What is added up or appended."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.value
    is_append = isinstance(node, ast.Call) and name_called(node) == "append" and len(node.args) == 1
    return node.args[0] if is_append and isinstance(node, ast.Call) else None


def is_share_right(form: Form) -> bool:
    """`(prediction == label).float().mean().item()`."""
    while form.op == "call" and form.name == "item" and form.parts:
        form = form.parts[0]
    return form.op == "mean" and form.parts[0].op == "eq"
