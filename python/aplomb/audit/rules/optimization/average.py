"""Rules about averages of weights, and about what a checkpoint holds and nobody takes out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...findings import Finding, rule, where_set
from ...program.algebra import Form, product, terms
from ...program.constants import is_number
from ...program.program import Program
from ...program.syntax import keyword_of, line_of, name_called, receiver_of, source_of

AVERAGES = re.compile(
    r"(^|_)(ema|shadow|slow|average|averaged|avg|target|teacher|smooth|polyak|s|a|t|tp|target_param)(_|\d|$)"
)


@dataclass(frozen=True)
class Update:
    """One way in which an average follows the live weights: `average = keep * average + (1 - keep) * live`."""

    node: ast.AST
    average: ast.expr
    live: ast.expr
    keep: Form | None  # what the average is multiplied with, where it is written so
    rate: Form | None  # what the live weights are multiplied with


def updates(program: Program) -> Iterator[Update]:
    algebra = program.algebra
    for call in program.calls_to("lerp_"):
        if len(call.args) == 2 and in_pairs(program, call):
            yield Update(call, receiver_of(call), call.args[0], None, algebra.of(call.args[1]))
    for call in program.calls_to("add_"):
        inner = receiver_of(call)
        if (
            isinstance(inner, ast.Call)
            and name_called(inner) == "mul_"
            and inner.args
            and call.args
            and in_pairs(program, call)
        ):
            yield from scaled_and_added(program, call, inner)
    for call in program.calls_to("copy_"):
        if len(call.args) == 1 and isinstance(call.args[0], ast.BinOp) and in_pairs(program, call):
            yield from written_out(program, call, receiver_of(call), call.args[0])
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if (
            isinstance(target, (ast.Attribute, ast.Subscript))
            and isinstance(node.value, ast.BinOp)
            and in_pairs(program, node)
        ):
            yield from written_out(program, node, target, node.value)


def scaled_and_added(program: Program, call: ast.Call, inner: ast.Call) -> Iterator[Update]:
    """`average.mul_(keep).add_(live, alpha=1 - keep)`, `average.mul_(keep).add_((1 - keep) * live)`."""
    algebra = program.algebra
    alpha, given = keyword_of(call, "alpha"), call.args[0]
    if alpha is not None:
        yield Update(call, receiver_of(inner), given, algebra.of(inner.args[0]), algebra.of(alpha))
    elif isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult):
        for rate, live in ((given.left, given.right), (given.right, given.left)):
            if isinstance(live, (ast.Name, ast.Attribute)) and source_of(live).endswith(("data", "param", "p")):
                yield Update(call, receiver_of(inner), live, algebra.of(inner.args[0]), algebra.of(rate))
                return


def written_out(program: Program, node: ast.AST, average: ast.expr, value: ast.BinOp) -> Iterator[Update]:
    """`keep * average + (1 - keep) * live`."""
    if not isinstance(value.op, ast.Add):
        return
    sides = [side for side in (value.left, value.right) if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Mult)]
    if len(sides) != 2:
        return
    own = plain(source_of(average))
    found: dict[str, tuple[ast.expr, ast.expr]] = {}
    for side in sides:
        for factor, weights in ((side.left, side.right), (side.right, side.left)):
            if plain(source_of(weights)) == own:
                found["average"] = (factor, weights)
                break
        else:
            for factor, weights in ((side.left, side.right), (side.right, side.left)):
                if isinstance(weights, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) and not is_number(
                    program.values.of(weights)
                ):
                    found["live"] = (factor, weights)
                    break
    if len(found) == 2:
        yield Update(
            node, average, found["live"][1], program.algebra.of(found["average"][0]), program.algebra.of(found["live"][0])
        )


def plain(text: str) -> str:
    return text.replace(".data", "").replace(".detach()", "")


def in_pairs(program: Program, node: ast.AST) -> bool:
    """In a loop over pairs of weights, or over the entries of a state."""
    return any(
        isinstance(loop, ast.For)
        and (
            "zip(" in source_of(loop.iter)
            or "items()" in source_of(loop.iter)
            or "parameters()" in source_of(loop.iter)
            or "_dict()" in source_of(loop.iter)
        )
        for loop in program.loops_of(node)
    )


def kept_share(update: Update) -> float | None:
    """The number that the average is multiplied with at each update."""
    for form, is_rate in ((update.keep, False), (update.rate, True)):
        if form is None:
            continue
        value = number_of(form)
        if value is not None:
            return 1 - value if is_rate else value
    return None


def number_of(form: Form) -> float | None:
    if form.op == "number":
        return form.value
    if form.op in ("sub", "add"):
        total = 0.0
        for sign, each in terms(form):
            held = product(each)
            if each.op != "number" and (held.divisors or any(one.op != "number" for one in held.factors)):
                return None
            value = each.value if each.op == "number" else None
            if value is None:
                return None
            total += sign * value
        return total
    return None


@rule("code.average-keeps-nothing")
def average_keeps_nothing(program: Program) -> Iterator[Finding]:
    """The average (or target network) takes almost all of the live weights at each update: the two factors are
    exchanged."""
    for update in updates(program):
        share = kept_share(update)
        if share is None and update.keep is not None:  # the default of a parameter that no call gives
            share = program.values.number(update.keep.node)
        if share is not None and 0 < share <= 0.2 and is_average(program, update):
            yield Finding(line_of(update.node), "", {"share": f"{share:g}"})


def is_average(program: Program, update: Update) -> bool:
    """Its name, or that of the model whose weights the loop goes over, says so."""
    words = source_of(update.average).lower().replace("self.", "")
    loops = program.loops_of(update.node)
    text = source_of(loops[0].iter).lower() if loops and isinstance(loops[0], ast.For) else ""
    return any(
        word in words or word in text
        for word in ("ema", "shadow", "slow", "average", "avg", "target", "teacher", "momentum_encoder")
    )


NORMALISING = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LazyBatchNorm1d", "LazyBatchNorm2d")
#: Networks of torchvision that hold batch normalisation.
NORMALISED = re.compile(r"^(resnet|wide_resnet|resnext|mobilenet_|densenet|efficientnet_|regnet_|shufflenet_|mnasnet)\w*\d")


@rule("code.average-misses-buffers")
def average_misses_buffers(program: Program) -> Iterator[Finding]:
    """The average follows the parameters alone, and is evaluated with the running statistics that it was copied with."""
    normalising = [
        call
        for call in program.calls
        if name_called(call) in NORMALISING
        or NORMALISED.match(name_called(call))
        or program.name_of(call.func) in NORMALISING
    ]
    handled = {"buffers", "named_buffers", "update_bn", "copy_buffers", "convert_sync_buffers"}
    if not normalising or program.names_called & handled:
        return
    for loop in program.nodes.of_kind(ast.For):
        over = loop.iter
        if name_called(over) != "zip" or not isinstance(over, ast.Call) or len(over.args) != 2:
            continue
        held = [receiver_of(each) for each in over.args if isinstance(each, ast.Call) and name_called(each) == "parameters"]
        if len(held) != 2 or not any(program.nodes.encloses(loop, each.node) for each in updates(program)):
            continue
        for average in held:
            if is_evaluated_copy(program, average):
                corrected = "for a, b in zip(average.buffers(), model.buffers()): a.copy_(b)"
                yield Finding(loop.lineno, corrected, {"average": source_of(average)}, also=[normalising[0].lineno])
                return
    yield from averaged_by_torch(program, normalising[0].lineno)


def averaged_by_torch(program: Program, line: int) -> Iterator[Finding]:
    """`AveragedModel(model)` without use_buffers=True averages parameters only; update_bn() is its other way."""
    for call in program.calls_to("AveragedModel"):
        if keyword_of(call, "use_buffers") is None and len(call.args) < 5:
            corrected = f"{source_of(call)[:-1]}, use_buffers=True)"
            yield Finding(call.lineno, corrected, {"average": source_of(call)}, also=[line])
            return


def is_evaluated_copy(program: Program, node: ast.expr) -> bool:
    """A deep copy of a model that is put into eval mode: where it is made, or where it is asked."""
    copied, quiet = False, False
    for origin in program.names.origins(node):
        value: ast.AST = origin.node
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and name_called(value) != "deepcopy":
            quiet = quiet or name_called(value) == "eval"
            value = value.func.value
        copied = copied or name_called(value) == "deepcopy"
    if not copied:
        return False
    whose = program.objects.identity(node)
    return quiet or any(each.subjects & whose for timeline in program.timelines for each in timeline.of("eval"))


@rule("code.average-outlasts-run")
def average_outlasts_run(program: Program) -> Iterator[Finding]:
    """The average forgets so slowly that at the end of the run most of it is still what the weights were drawn as."""
    for update in updates(program):
        share = kept_share(update)
        if (
            share is None
            or not 0.99 <= share < 1
            or "target" in source_of(update.average).lower()
            or is_warmed(program, update)
        ):
            continue
        steps = run_length(program)
        if steps is None or share**steps < 0.5 or "from_pretrained" in program.names_called or is_corrected(program):
            continue
        if (
            any(word in name for name in program.names_called for word in ("load_state_dict", "resume"))
            and "deepcopy" not in program.names_called
        ):
            continue
        where = next(
            (form.line for form in (update.keep, update.rate) if form is not None and form.line), line_of(update.node)
        )
        values = {"decay": f"{share:g}", "steps": f"{steps:g}", "left": f"{100 * share**steps:.0f} %"}
        also = sorted({where, *calls_around(program, update)} - {line_of(update.node)})
        forms = [each for one in (update.keep, update.rate) if one is not None for each in one.below()]
        sources = [each.node for each in forms if isinstance(each.node, ast.Subscript)]
        yield where_set(program, Finding(line_of(update.node), "", values, also=also), *sources[:1])
        return


def is_warmed(program: Program, update: Update) -> bool:
    """The decay depends on the count of updates."""
    function = program.function_of(update.node)
    # A whole script has other uses for min and max.
    where = program.statement_of(update.node) if isinstance(function, ast.Module) else function
    below = program.nodes.below(where)
    forms = [form.node for form in (update.keep, update.rate) if form is not None]
    asked = [*below, *(each for form in forms for each in ast.walk(form))]
    return any(name_called(each) in ("min", "max") for each in asked if isinstance(each, ast.Call)) or any(
        "warm" in each.id.lower() for each in asked if isinstance(each, ast.Name)
    )


def is_corrected(program: Program) -> bool:
    """Divided by 1 - decay ** n, as Adam does."""
    return any(
        isinstance(node.op, ast.Pow) and "decay" in source_of(node).lower() for node in program.nodes.of_kind(ast.BinOp)
    )


def calls_around(program: Program, update: Update) -> list[int]:
    name = getattr(program.function_of(update.node), "name", "")
    return [each.lineno for each in program.calls_to(name)][:3] if name else []


def run_length(program: Program) -> float | None:
    """How many steps the loop makes that trains, where that is written."""
    loops = program.training_loops
    if len(loops) != 1 or not isinstance(loops[0], ast.For):
        return None
    total = 1.0
    for loop in [loops[0], *[each for each in program.loops_of(loops[0])]]:
        if not isinstance(loop, ast.For):
            return None
        call = program.names.origin(loop.iter).node  # `bar = tqdm(range(steps))`
        while (
            isinstance(call, ast.Call)
            and name_called(call) in ("tqdm", "trange", "enumerate")
            and call.args
            and name_called(call) != "trange"
        ):
            call = call.args[0]
        if not isinstance(call, ast.Call) or name_called(call) not in ("range", "trange"):
            return None
        limits = [program.values.number(each) for each in call.args]
        if not limits or any(each is None for each in limits):
            return None
        numbers = [each for each in limits if each is not None]
        count = numbers[0] if len(numbers) == 1 else numbers[1] - numbers[0]
        total *= max(count, 0.0)
    return total if total >= 1 else None


# --- what is saved and not taken out


@rule("code.saved-not-restored")
def saved_not_restored(program: Program) -> Iterator[Finding]:
    """A checkpoint holds the state of something, the resume takes out the other parts and leaves this one."""
    for call in program.calls_to("save"):
        if program.name_of(call.func) not in ("torch.save", "accelerator.save", "fabric.save") or not call.args:
            continue
        saved = program.names.origin(call.args[0]).node
        if not isinstance(saved, ast.Dict):
            continue
        states = {
            key.value: value
            for key, value in zip(saved.keys, saved.values)
            if isinstance(key, ast.Constant)
            and isinstance(key.value, str)
            and name_called(value) in ("state_dict", "get_rng_state", "getstate")
            and isinstance(value, ast.Call)
        }
        for read, line in resumes(program):
            kept = set(states) & read
            lost = [key for key in states if key not in read]
            if len(kept) < 2 or not any("opt" in key.lower() for key in kept) or not lost:
                continue
            key = lost[0]
            holder = source_of(receiver_of(states[key]))
            corrected = (
                f'{holder}.load_state_dict(checkpoint["{key}"])'
                if name_called(states[key]) == "state_dict"
                else f'torch.set_rng_state(checkpoint["{key}"])'
            )
            yield Finding(line, corrected, {"key": key}, also=sorted({states[key].lineno} - {line}))
            return


def resumes(program: Program) -> Iterator[tuple[set[str], int]]:
    """What is read of a loaded checkpoint: the keys, and the line of the loading."""
    for call in program.calls_to("load"):
        if program.name_of(call.func) not in ("torch.load", "fabric.load"):
            continue
        statement = program.statement_of(call)
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        name = statement.targets[0].id
        scope = program.function_of(call)
        keys: set[str] = set()
        whole = False
        for node in program.nodes.below(scope):
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Name)
                and node.value.id == name
                and isinstance(node.slice, ast.Constant)
            ):
                keys.add(str(node.slice.value))
            elif (
                isinstance(node, ast.Call)
                and name_called(node) in ("get", "pop")
                and node.args
                and source_of(receiver_of(node)) == name
            ):
                keys.add(str(node.args[0].value) if isinstance(node.args[0], ast.Constant) else "")
            elif (
                isinstance(node, ast.Compare)
                and any(source_of(each) == name for each in node.comparators)
                and isinstance(node.left, ast.Constant)
            ):
                keys.add(str(node.left.value))
            elif isinstance(node, (ast.Return, ast.Call)):
                given = (
                    [node.value] if isinstance(node, ast.Return) else [*node.args, *(each.value for each in node.keywords)]
                )
                whole = whole or any(isinstance(each, ast.Name) and each.id == name for each in given)
        if not whole:
            yield keys, call.lineno
