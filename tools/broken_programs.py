#!/usr/bin/env python3
"""Breaks sound training programs on purpose, and counts how often `aplomb check` points at the line that was broken.

    tools/broken_programs.py build/dev/aplomb            every fault in every style, a table by fault
    tools/broken_programs.py build/dev/aplomb --short    each fault once, each in another style
    tools/broken_programs.py --write FOLDER              the programs with their truth, to look at

A sound program (tools/programs) is parsed; a fault rewrites its tree and marks what it touched; a style then writes the
same program otherwise (other names, the loop in a function, the loss as a module, ...). The marks are found again in the
text that comes out: they are the truth. Sound programs pass through every style as well; the exit status is 1 where one of
them is warned about.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

SOUND = pathlib.Path(__file__).parent / "programs"
Change = Callable[[ast.Module], bool]
FAULTS: dict[str, tuple[str, Change]] = {}
STYLES: dict[str, Callable[[ast.Module], None]] = {}


# --- trees


def called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def calls(tree: ast.AST, *names: str) -> list[ast.Call]:
    return [each for each in ast.walk(tree) if isinstance(each, ast.Call) and called(each) in names]


def parents_of(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}


def statement_of(tree: ast.AST, node: ast.AST) -> ast.stmt:
    parents = parents_of(tree)
    while not isinstance(node, ast.stmt):
        node = parents[node]
    return node


def block_of(tree: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """The list that the statement stands in."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and any(each is statement for each in block):
                return block
    raise LookupError("the statement is not in the tree")


def put(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
                return
            if isinstance(value, list) and any(each is old for each in value):
                value[[each is old for each in value].index(True)] = new
                return


def mark(*nodes: ast.AST) -> bool:
    for each in nodes:
        each.truth = True  # type: ignore[attr-defined]
    return True


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def steps(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], ast.Call]]:
    """(block, call) of each backward pass that stands in a block as a statement."""
    for call in calls(tree, "backward"):
        yield block_of(tree, statement_of(tree, call)), call


def drop(tree: ast.AST, statement: ast.stmt, *witnesses: ast.AST) -> bool:
    """Takes a statement out; its neighbours (or what is named) are the truth."""
    block = block_of(tree, statement)
    at = [each is statement for each in block].index(True)
    del block[at]
    if not block:
        block.append(ast.Pass())
    return mark(*(witnesses or block[max(at - 1, 0) : at + 1]))


def move(tree: ast.AST, statement: ast.stmt, behind: ast.stmt) -> bool:
    block_of(tree, statement).remove(statement)
    block = block_of(tree, behind)
    block.insert(block.index(behind) + 1, statement)
    return mark(statement)


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    return next((each for each in call.keywords if each.arg == name), None)


# --- faults


def fault(name: str, *programs: str) -> Callable[[Change], Change]:
    """`@fault("no-zero-grad", "classify")`: the change, and the sound programs that it is made to."""

    def enter(change: Change) -> Change:
        for program in programs:
            FAULTS[f"{name}@{program}"] = (program, change)
        return change

    return enter


@fault("no-zero-grad", "classify", "latents", "ranks", "accelerated", "actor")
def no_zero_grad(tree: ast.Module) -> bool:
    found = calls(tree, "zero_grad")[0]
    witnesses = [*calls(tree, "backward")[:1], *[each for each in calls(tree, "step") if "opt" in ast.unparse(each)][:1]]
    loops = [each for each in ast.walk(tree) if isinstance(each, ast.For) and found in list(ast.walk(each))]
    return drop(tree, statement_of(tree, found), *witnesses, loops[-1])


@fault("cleared-before-step", "classify", "latents", "ranks")
def cleared_before_step(tree: ast.Module) -> bool:
    return move(tree, statement_of(tree, calls(tree, "zero_grad")[0]), statement_of(tree, calls(tree, "backward")[0]))


@fault("clip-after-step", "classify", "actor")
def clip_after_step(tree: ast.Module) -> bool:
    step = next(each for each in calls(tree, "step") if "optimizer" in ast.unparse(each))
    return move(tree, statement_of(tree, calls(tree, "clip_grad_norm_")[0]), statement_of(tree, step))


@fault("clip-before-unscale", "accumulate")
def clip_before_unscale(tree: ast.Module) -> bool:
    clip = statement_of(tree, calls(tree, "clip_grad_norm_")[0])
    unscale = statement_of(tree, calls(tree, "unscale_")[0])
    block = block_of(tree, clip)
    block.remove(unscale)
    return mark(clip, *calls(tree, "step")[:1])


@fault("scaler-never-updated", "accumulate")
def scaler_never_updated(tree: ast.Module) -> bool:
    scaled = next(each for each in calls(tree, "step") if "scaler" in ast.unparse(each))
    return drop(tree, statement_of(tree, calls(tree, "update")[0]), scaled, calls(tree, "GradScaler")[0])


@fault("not-divided", "accumulate")
def not_divided(tree: ast.Module) -> bool:
    quotient = next(
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div) and "cross_entropy" in ast.unparse(each.left)
    )
    put(tree, quotient, quotient.left)
    return mark(quotient.left, *calls(tree, "backward")[:1])


@fault("eval-mode-stays", "classify", "ranks", "accelerated")
def eval_mode_stays(tree: ast.Module) -> bool:
    trained = next(each for each in calls(tree, "train") if not each.args)
    return move_before_loops(tree, statement_of(tree, trained)) and mark(*calls(tree, "eval"))


def move_before_loops(tree: ast.Module, statement: ast.stmt) -> bool:
    """Before the outermost loop that it stands in."""
    outer = next(each for each in tree.body if statement in list(ast.walk(each)))
    block_of(tree, statement).remove(statement)
    tree.body.insert(tree.body.index(outer), statement)
    return mark(statement)


@fault("evaluated-in-train-mode", "classify", "accelerated", "ranks")
def evaluated_in_train_mode(tree: ast.Module) -> bool:
    evaluated = statement_of(tree, calls(tree, "eval")[0])
    block = block_of(tree, evaluated)
    at = block.index(evaluated)
    behind = ast.Module(block[at + 1 :], [])
    return drop(tree, evaluated, *[each for each in ast.walk(behind) if isinstance(each, ast.stmt)])


@fault("softmax-twice", "classify", "accumulate", "ranks", "accelerated")
def softmax_twice(tree: ast.Module) -> bool:
    loss = calls(tree, "cross_entropy")[0]
    loss.args[0] = ast.Call(ast.Attribute(loss.args[0], "softmax", ast.Load()), [expression("-1")], [])
    return mark(loss)


@fault("softmax-in-forward", "classify")
def softmax_in_forward(tree: ast.Module) -> bool:
    returned = [each for each in ast.walk(tree) if isinstance(each, ast.Return) and "head" in ast.unparse(each)][0]
    returned.value = ast.Call(expression("torch.softmax"), [returned.value, ast.Constant(1)], [])
    return mark(returned, *calls(tree, "cross_entropy"))


@fault("loss-maximised", "classify", "latents", "accelerated")
def loss_maximised(tree: ast.Module) -> bool:
    given = next(each for each in ast.walk(tree) if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "loss")
    given.value = ast.UnaryOp(ast.USub(), given.value)
    return mark(given, *calls(tree, "backward"))


@fault("graph-kept", "classify", "latents")
def graph_kept(tree: ast.Module) -> bool:
    item = next(each for each in calls(tree, "item") if ast.unparse(each) == "loss.item()")
    kept = statement_of(tree, item)
    put(tree, item, item.func.value)  # type: ignore[attr-defined]
    return mark(kept)


@fault("schedule-by-epoch", "classify")
def schedule_by_epoch(tree: ast.Module) -> bool:
    schedule = calls(tree, "CosineAnnealingLR")[0]
    schedule.keywords[0].value = expression("EPOCHS")
    return mark(schedule, statement_of(tree, next(e for e in calls(tree, "step") if "scheduler" in ast.unparse(e))))


@fault("rate-too-high", "classify", "latents", "ranks", "accumulate")
def rate_too_high(tree: ast.Module) -> bool:
    made = calls(tree, "AdamW", "Adam")[0]
    keyword(made, "lr").value = ast.Constant(0.5)  # type: ignore[union-attr]
    return mark(made)


@fault("betas-swapped", "classify", "accumulate", "opponents")
def betas_swapped(tree: ast.Module) -> bool:
    made = next(each for each in calls(tree, "AdamW", "Adam") if keyword(each, "betas"))
    keyword(made, "betas").value.elts.reverse()  # type: ignore[union-attr]
    return mark(made)


@fault("sorted-not-shuffled", "classify")
def sorted_not_shuffled(tree: ast.Module) -> bool:
    made = next(each for each in calls(tree, "DataLoader") if keyword(each, "shuffle"))
    keyword(made, "shuffle").value = ast.Constant(False)  # type: ignore[union-attr]
    labels = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and ast.unparse(e.targets[0]) == "labels")
    labels.value = ast.Call(expression("torch.sort"), [labels.value], [])
    labels.value = ast.Attribute(labels.value, "values", ast.Load())
    return mark(made, labels)


@fault("evaluated-on-training-data", "classify", "accelerated", "lightning_regression", "tags")
def evaluated_on_training_data(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "eval_dataset":
            trained = next(e for e in ast.walk(tree) if isinstance(e, ast.keyword) and e.arg == "train_dataset")
            shared = ast.Name("rows", ast.Load())
            made = ast.Assign([ast.Name("rows", ast.Store())], trained.value, lineno=1)
            tree.body.insert(len(tree.body) - 2, made)
            trained.value, node.value = shared, ast.Name("rows", ast.Load())
            return mark(node.value)
        if called(node) == "DataLoader" and isinstance(node, ast.Call) and ast.unparse(node.args[0]).find("val_set") >= 0:
            node.args[0] = expression("self.train_set")
            return mark(node)
        if isinstance(node, ast.For) and ast.unparse(node.iter) == "test_loader":
            name = "train_loader" if any("train_loader" in ast.unparse(each) for each in tree.body) else "loader"
            node.iter = ast.Name(name, ast.Load())
            return mark(node)
    return False


@fault("arguments-swapped", "classify", "ranks")
def arguments_swapped(tree: ast.Module) -> bool:
    loss = calls(tree, "cross_entropy")[0]
    loss.args.reverse()
    return mark(loss)


@fault("detached", "classify", "lightning_regression", "latents")
def detached(tree: ast.Module) -> bool:
    forward = next(e for e in ast.walk(tree) if isinstance(e, ast.FunctionDef) and e.name == "forward")
    returned = next(e for e in ast.walk(forward) if isinstance(e, ast.Return))
    value = returned.value.elts[0] if isinstance(returned.value, ast.Tuple) else returned.value
    cut = ast.Call(ast.Attribute(value, "detach", ast.Load()), [], [])  # type: ignore[arg-type]
    put(tree, value, cut)  # type: ignore[arg-type]
    return mark(returned, *calls(tree, "cross_entropy", "mse_loss", "binary_cross_entropy_with_logits"))


@fault("column-against-row", "lightning_regression")
def column_against_row(tree: ast.Module) -> bool:
    squeezed = calls(tree, "squeeze")[0]
    put(tree, squeezed, squeezed.func.value)  # type: ignore[attr-defined]
    return mark(*calls(tree, "mse_loss"), *[e for e in ast.walk(tree) if isinstance(e, ast.Return)])


@fault("targets-not-scaled", "lightning_regression")
def targets_not_scaled(tree: ast.Module) -> bool:
    scaled = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and ast.unparse(e.value) == "(y - mean) / std")
    scaled.value = expression("y * 50000.0")
    return mark(scaled, *calls(tree, "mse_loss"))


@fault("never-shifted", "accumulate")
def never_shifted(tree: ast.Module) -> bool:
    y = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and "i + 1:" in ast.unparse(e))
    y.value = expression("torch.stack([source[i:i + CONTEXT] for i in starts])")
    return mark(y, *calls(tree, "cross_entropy"))


@fault("mask-inverted", "accumulate")
def mask_inverted(tree: ast.Module) -> bool:
    filled = calls(tree, "masked_fill")[0]
    filled.args[0] = filled.args[0].operand  # type: ignore[attr-defined]
    return mark(filled, *calls(tree, "tril"))


@fault("attention-over-queries", "accumulate")
def attention_over_queries(tree: ast.Module) -> bool:
    softmax = calls(tree, "softmax")[0]
    softmax.args[0] = ast.UnaryOp(ast.USub(), ast.Constant(2))
    return mark(softmax)


@fault("layers-in-list", "accumulate")
def layers_in_list(tree: ast.Module) -> bool:
    listed = calls(tree, "ModuleList")[0]
    put(tree, listed, listed.args[0])
    return mark(listed.args[0], *[e for e in calls(tree, "AdamW")])


@fault("optimizer-not-restored", "accumulate")
def optimizer_not_restored(tree: ast.Module) -> bool:
    restored = next(e for e in calls(tree, "load_state_dict") if "optimizer" in ast.unparse(e))
    return drop(tree, statement_of(tree, restored), *calls(tree, "load_state_dict"), *calls(tree, "load"))


@fault("labels-beside-markers", "tags")
def labels_beside(tree: ast.Module) -> bool:
    labels = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and ast.unparse(e.targets[0]) == "labels")
    labels.value = expression("list(tags)")
    rest = next(e for e in ast.walk(tree) if isinstance(e, ast.Dict) and "labels" in ast.unparse(e))
    rest.values[2] = expression("torch.tensor(labels + [-100] * (LENGTH - len(labels)))")
    return mark(labels, rest.values[2])


@fault("labels-padded-with-token", "tags")
def labels_padded(tree: ast.Module) -> bool:
    rest = next(e for e in ast.walk(tree) if isinstance(e, ast.Dict) and "labels" in ast.unparse(e))
    rest.values[2] = expression("torch.tensor(labels + [VOCAB['[PAD]']] * rest)")
    return mark(rest.values[2])


@fault("worst-is-best", "tags")
def worst_is_best(tree: ast.Module) -> bool:
    better = next(e for e in ast.walk(tree) if isinstance(e, ast.keyword) and e.arg == "greater_is_better")
    better.value = ast.Constant(False)
    return mark(better.value)


@fault("preference-swapped", "preferences")
def preference_swapped(tree: ast.Module) -> bool:
    ranked = calls(tree, "sorted")[0]
    ranked.keywords = [each for each in ranked.keywords if each.arg != "reverse"]
    return mark(ranked, *[e for e in ast.walk(tree) if isinstance(e, ast.Return) and "chosen" in ast.unparse(e)])


@fault("preference-keys-swapped", "preferences")
def preference_keys(tree: ast.Module) -> bool:
    pair = next(e for e in ast.walk(tree) if isinstance(e, ast.Dict) and "chosen" in ast.unparse(e))
    pair.values[1], pair.values[2] = pair.values[2], pair.values[1]
    return mark(pair, pair.values[1], pair.values[2])


@fault("variance-for-deviation", "latents")
def variance_for_deviation(tree: ast.Module) -> bool:
    exponential = next(each for each in calls(tree, "exp") if each.args)
    exponential.args[0] = expression("logvar")
    return mark(exponential)


@fault("divergence-sign", "latents")
def divergence_sign(tree: ast.Module) -> bool:
    given = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and ast.unparse(e.targets[0]) == "loss")
    given.value.op = ast.Sub()  # type: ignore[attr-defined]
    return mark(given, *[e for e in ast.walk(tree) if isinstance(e, ast.Assign) and "divergence" in ast.unparse(e)])


@fault("sum-reduction", "latents")
def sum_reduction(tree: ast.Module) -> bool:
    divided = next(e for e in ast.walk(tree) if isinstance(e, ast.BinOp) and ast.unparse(e.right) == "x.size(0)")
    put(tree, divided, divided.left)
    return mark(divided.left)


@fault("opponents-agree", "opponents")
def opponents_agree(tree: ast.Module) -> bool:
    zeros = calls(tree, "zeros_like")[0]
    zeros.func.attr = "ones_like"  # type: ignore[attr-defined]
    return mark(zeros, *calls(tree, "binary_cross_entropy_with_logits"))


@fault("opponent-in-optimizer", "opponents")
def opponent_in_optimizer(tree: ast.Module) -> bool:
    made = calls(tree, "Adam")[0]
    made.args[0] = expression("list(generator.parameters()) + list(discriminator.parameters())")
    return mark(made)


@fault("ratio-inverted", "actor")
def ratio_inverted(tree: ast.Module) -> bool:
    ratio = next(e for e in ast.walk(tree) if isinstance(e, ast.BinOp) and ast.unparse(e).startswith("logp - "))
    ratio.left, ratio.right = ratio.right, ratio.left
    return mark(ratio)


@fault("policy-sign", "actor")
def policy_sign(tree: ast.Module) -> bool:
    given = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and ast.unparse(e.targets[0]) == "loss")
    turned = next(e for e in ast.walk(given) if isinstance(e, ast.UnaryOp) and ast.unparse(e) == "-gain")
    put(tree, turned, turned.operand)
    return mark(given)


@fault("entropy-sign", "actor")
def entropy_sign(tree: ast.Module) -> bool:
    given = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and ast.unparse(e.targets[0]) == "loss")
    given.value.op = ast.Add()  # type: ignore[attr-defined]
    return mark(given)


@fault("bootstrap-through-end", "actor")
def bootstrap_through_end(tree: ast.Module) -> bool:
    delta = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and ast.unparse(e.targets[0]) == "delta")
    delta.value = expression("data['reward'][t] + GAMMA * ahead - data['value'][t]")
    return mark(delta)


@fault("clip-takes-better", "actor")
def clip_takes_better(tree: ast.Module) -> bool:
    least = calls(tree, "min")[0]
    least.func.attr = "max"  # type: ignore[attr-defined]
    return mark(least)


@fault("std-unguarded", "actor")
def std_unguarded(tree: ast.Module) -> bool:
    bounded = next(e for e in ast.walk(tree) if isinstance(e, ast.BinOp) and ast.unparse(e) == "a.std() + 1e-08")
    put(tree, bounded, bounded.left)
    return mark(bounded.left)


@fault("spread-is-logarithm", "latents")
def spread_is_logarithm(tree: ast.Module) -> bool:
    exponential = next(each for each in calls(tree, "exp") if each.args)
    plain = expression("logvar")
    put(tree, exponential, plain)
    return mark(plain)


@fault("fakes-not-detached", "opponents")
def fakes_not_detached(tree: ast.Module) -> bool:
    detached = calls(tree, "detach")[0]
    made = [each for each in ast.walk(tree) if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "fake"]
    put(tree, detached, detached.func.value)  # type: ignore[attr-defined]
    return mark(*made, *calls(tree, "backward"))


@fault("scores-of-one-rank", "accelerated")
def scores_of_one_rank(tree: ast.Module) -> bool:
    gathered = calls(tree, "gather_for_metrics")[0]
    put(tree, gathered, gathered.args[0])
    counted = [each for each in ast.walk(tree) if isinstance(each, ast.AugAssign)]
    return mark(*counted[:2], statement_of(tree, gathered.args[0]))


@fault("advantage-through-end", "actor")
def advantage_through_end(tree: ast.Module) -> bool:
    given = next(e for e in ast.walk(tree) if isinstance(e, ast.Assign) and "LAMBDA" in ast.unparse(e.value))
    given.value = expression(ast.unparse(given.value).replace(" * live", ""))
    return mark(given)


@fault("shuffled-beside-sampler", "ranks")
def shuffled_beside_sampler(tree: ast.Module) -> bool:
    loader = next(e for e in calls(tree, "DataLoader") if keyword(e, "sampler"))
    loader.keywords.append(ast.keyword("shuffle", ast.Constant(True)))
    return mark(loader)


@fault("sampler-set-epoch", "ranks")
def sampler_set_epoch(tree: ast.Module) -> bool:
    told = statement_of(tree, calls(tree, "set_epoch")[0])
    return drop(tree, told, *[e for e in ast.walk(tree) if isinstance(e, ast.For)], *calls(tree, "DistributedSampler"))


@fault("collective-on-one-rank", "ranks")
def collective_on_one_rank(tree: ast.Module) -> bool:
    shared = statement_of(tree, calls(tree, "all_reduce")[0])
    told = next(e for e in ast.walk(tree) if isinstance(e, ast.If))
    block_of(tree, shared).remove(shared)
    told.body.insert(0, shared)
    return mark(shared, told)


@fault("ranks-share-data", "ranks")
def ranks_share_data(tree: ast.Module) -> bool:
    loader = calls(tree, "DataLoader")[0]
    keyword(loader, "sampler").arg = "shuffle"  # type: ignore[union-attr]
    keyword(loader, "shuffle").value = ast.Constant(True)  # type: ignore[union-attr]
    made = statement_of(tree, calls(tree, "DistributedSampler")[0])
    block_of(tree, made).remove(made)
    told = statement_of(tree, calls(tree, "set_epoch")[0])
    block_of(tree, told).remove(told)
    return mark(loader)


@fault("clip-past-accelerator", "accelerated")
def clip_past_accelerator(tree: ast.Module) -> bool:
    clip = calls(tree, "clip_grad_norm_")[0]
    clip.func = expression("nn.utils.clip_grad_norm_")
    return mark(clip)


@fault("accelerator-bypassed", "accelerated")
def accelerator_bypassed(tree: ast.Module) -> bool:
    call = calls(tree, "backward")[0]
    statement = statement_of(tree, call)
    statement.value = expression("loss.backward()")  # type: ignore[attr-defined]
    return mark(statement)


# --- styles: the same program written otherwise


def style(function: Callable[[ast.Module], None]) -> Callable[[ast.Module], None]:
    STYLES[function.__name__.replace("_", "-")] = function
    return function


@style
def as_it_is(tree: ast.Module) -> None:
    """The program as its author wrote it."""


@style
def other_names(tree: ast.Module) -> None:
    """`net`, `opt`, `objective`: nothing is called as in a textbook."""
    new = {"model": "net", "optimizer": "opt", "scheduler": "lr_plan", "loss": "objective", "logits": "out",
           "train_loader": "batches", "loader": "batches", "scaler": "grad_scaler", "x": "inputs", "y": "goal"}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)


@style
def in_main(tree: ast.Module) -> None:
    """What runs stands in main()."""
    into_function(tree, tree.body, "main", set())


@style
def loop_in_function(tree: ast.Module) -> None:
    """The training loop is fit(model, optimizer, ...), called at the end."""
    at = next((i for i, each in enumerate(tree.body) if isinstance(each, (ast.For, ast.While))), None)
    if at is None:
        return
    loop = tree.body[at]
    given = sorted(names_made(tree.body[:at]) & loaded(loop) - constants(tree))
    made = ast.FunctionDef("fit", arguments(given), [loop], [], lineno=1)
    call = ast.Expr(ast.Call(ast.Name("fit", ast.Load()), [ast.Name(each, ast.Load()) for each in given], []))
    tree.body[at : at + 1] = [made, call]


@style
def loss_as_module(tree: ast.Module) -> None:
    """`criterion = nn.CrossEntropyLoss()` before the loop, `zero_grad(set_to_none=True)`, inference_mode()."""
    classes = {"cross_entropy": "CrossEntropyLoss", "mse_loss": "MSELoss"}
    for kind, made in classes.items():
        for call in calls(tree, kind):
            inside = any(isinstance(each, ast.ClassDef) and call in list(ast.walk(each)) for each in tree.body)
            if call.keywords or inside:
                continue
            call.func = ast.Name("criterion", ast.Load())
            if "criterion" not in names_made(tree.body):
                at = next(i for i, each in enumerate(tree.body) if call in list(ast.walk(each)))
                while at and isinstance(tree.body[at], ast.FunctionDef):
                    at -= 1
                tree.body.insert(at, ast.parse(f"criterion = nn.{made}()").body[0])
    for call in calls(tree, "zero_grad"):
        call.keywords = [ast.keyword("set_to_none", ast.Constant(True))]
    for call in calls(tree, "no_grad"):
        call.func = expression("torch.inference_mode")


def arguments(names: list[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])


def loaded(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def names_made(body: list[ast.stmt]) -> set[str]:
    kinds = (ast.Assign, ast.AugAssign)
    found = (part for each in body if isinstance(each, kinds) for part in ast.walk(each))
    return {each.id for each in found if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def constants(tree: ast.Module) -> set[str]:
    return {each for each in names_made(tree.body) if each.isupper()} | {"device"}


def into_function(tree: ast.Module, body: list[ast.stmt], name: str, given: set[str]) -> None:
    """Everything behind the last definition, and whatever no definition needs, runs in a function."""
    defined = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    needed = {each for part in body if isinstance(part, defined) for each in loaded(part)}
    last = max((i for i, each in enumerate(body) if isinstance(each, defined)), default=-1)
    kept = [
        each
        for i, each in enumerate(body)
        if isinstance(each, defined)
        or (i <= last and (names_made([each]) & needed or not names_made([each])))
        or (names_made([each]) and names_made([each]) <= constants(tree))
    ]  # fmt: skip
    inside = [each for each in body if each not in kept]
    if inside:
        made = ast.FunctionDef(name, arguments(sorted(given)), inside, [], lineno=1)
        tree.body = [*kept, made, *ast.parse(f"if __name__ == '__main__':\n    {name}()").body]


# --- making and scoring


def made(program: str, change: Change | None, name: str) -> tuple[str, list[int]]:
    """The text, and the lines that were broken."""
    tree = ast.parse((SOUND / f"{program}.py").read_text())
    if change is not None and not change(tree):
        raise ValueError(f"the fault does not fit {program}")
    STYLES[name](tree)
    tree = copy.deepcopy(tree)
    ast.fix_missing_locations(tree)
    text = ast.unparse(tree)
    lines = []
    for old, new in zip(ast.walk(tree), ast.walk(ast.parse(text))):
        if type(old) is not type(new):
            raise ValueError(f"{program} in {name} is not what it is written as")
        if getattr(old, "truth", False) and hasattr(new, "lineno"):
            lines.append(new.lineno)
    return text + "\n", sorted(set(lines))


def programs(short: bool) -> Iterator[tuple[str, str, str, list[int]]]:
    """(fault or empty, name of the file, text, truth)."""
    names = list(STYLES)
    for number, (each, (program, change)) in enumerate(FAULTS.items()):
        for place, name in enumerate(names):
            if not short or place == number % len(names):
                text, lines = made(program, change, name)
                yield each.split("@")[0], f"{each.replace('@', '-')}-{name}.py".replace("-", "_"), text, lines
    for path in sorted(SOUND.glob("*.py")):
        for name in names:
            text, _ = made(path.stem, None, name)
            yield "", f"sound-{path.stem}-{name}.py".replace("-", "_"), text, []


def said_of(binary: str, path: pathlib.Path) -> list[dict]:
    done = subprocess.run([binary, "check", "--json", str(path)], capture_output=True, text=True, timeout=120)
    try:
        return [each for each in json.loads(done.stdout)["findings"] if each["severity"] != "note"]
    except (ValueError, KeyError):
        raise SystemExit(f"{binary} check {path}: {done.stderr or done.stdout}") from None


def points_at(findings: list[dict], lines: list[int]) -> bool:
    places = {place.get("line") for each in findings for place in each["evidence"]}
    return any(place is not None and abs(place - line) <= 1 for place in places for line in lines)


def score(binary: str, short: bool, verbose: bool) -> int:
    found: dict[str, list[bool]] = {}
    warned: list[str] = []
    sound = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, text, lines in programs(short):
            path = pathlib.Path(folder) / name.removesuffix(".py") / "train.py"
            path.parent.mkdir()
            path.write_text(text)
            findings = said_of(binary, path)
            if kind:
                hit = points_at(findings, lines)
                found.setdefault(kind, []).append(hit)
                if verbose and not hit:
                    print(f"missed {name} {lines}: {[(e['id'], [p.get('line') for p in e['evidence']]) for e in findings]}")
            else:
                sound += 1
                warned += [name] if findings else []
                if verbose and findings:
                    print(f"warned {name}: {[(e['id'], [p.get('line') for p in e['evidence']]) for e in findings]}")
    for kind, hits in sorted(found.items()):
        print(f"{kind:28} {sum(hits):3} of {len(hits)}")
    every = [hit for hits in found.values() for hit in hits]
    print(f"{len(found)} faults: pointed at {sum(every)} of {len(every)}; sound: {len(warned)} of {sound} warned about")
    return 1 if warned else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", default="build/dev/aplomb")
    parser.add_argument("--short", action="store_true", help="each fault in one style")
    parser.add_argument("--verbose", action="store_true", help="what was missed")
    parser.add_argument("--write", metavar="FOLDER", type=pathlib.Path, help="write the programs and truth.json")
    asked = parser.parse_args()
    if asked.write is None:
        return score(asked.binary, asked.short, asked.verbose)
    asked.write.mkdir(parents=True, exist_ok=True)
    truth = {}
    for kind, name, text, lines in programs(asked.short):
        (asked.write / name).write_text(text)
        truth[name] = {"kind": kind, "lines": lines, "sound": not kind}
    (asked.write / "truth.json").write_text(json.dumps(truth, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
