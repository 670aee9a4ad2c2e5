"""Rules about what is measured and what is chosen by it: the direction of better, the first best, thresholds."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.constants import is_number
from ...program.program import Program
from ...program.syntax import dotted, keyword_of, name_called, receiver_of, source_of

LOWER = re.compile(
    r"(^|_|/)(loss|losses|err|error|perplexity|ppl|mae|mse|rmse|nll|wer|cer|fid|bpc|bpb|logloss|brier|eer|mape)(_|\d|/|$)"
)
HIGHER = re.compile(
    r"(^|_|/)(acc|accuracy|f1|auc|auroc|iou|miou|bleu|rouge\w*|psnr|ssim|map|dice|r2|recall|precision|reward|rewards|mcc|"
    r"top1|top5|exact_match|em|win_rate|ndcg|mrr|kappa|bal_acc|balanced_accuracy)(_|\d|/|$)"
)
BEST = re.compile(r"(^|_|\.)(best|min|max|lowest|highest)(_|$|\w)")


def better(text: str) -> int:
    """1 where more is better, -1 where less is, 0 where the name does not say."""
    words = text.lower().replace(".", "_").replace("-", "_").replace("[", "_").replace("]", "_").replace("'", "")
    low, high = bool(LOWER.search(words)), bool(HIGHER.search(words))
    return 0 if low == high else (1 if high else -1)


# --- the best so far


def comparisons(program: Program) -> Iterator[tuple[ast.If, ast.Compare, ast.expr, ast.expr, int]]:
    """(if, test, value, best, direction) of `if value > best: best = value`."""
    for node in program.nodes.of_kind(ast.If):
        both = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
        tests = node.test.values if both and isinstance(node.test, ast.BoolOp) else [node.test]
        for test in tests:
            if (
                not isinstance(test, ast.Compare)
                or len(test.ops) != 1
                or not isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
            ):
                continue
            rising = 1 if isinstance(test.ops[0], (ast.Gt, ast.GtE)) else -1
            for value, best, direction in (
                (test.left, test.comparators[0], rising),
                (test.comparators[0], test.left, -rising),
            ):
                if dotted(best) and "best" in dotted(best).lower() and is_set(node, best, value):
                    yield node, test, value, best, direction


def is_set(node: ast.If, best: ast.expr, value: ast.expr) -> bool:
    """`best = value` in the body."""
    for statement in node.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.Assign):
                for target in each.targets:
                    pairs = (
                        zip(target.elts, each.value.elts)
                        if isinstance(target, ast.Tuple) and isinstance(each.value, ast.Tuple)
                        else [(target, each.value)]
                    )
                    if any(
                        source_of(one) == source_of(best) and source_of(other) == source_of(value) for one, other in pairs
                    ):
                        return True
    return False


def meaning(program: Program, value: ast.expr, best: ast.expr) -> int:
    """Which direction is better for what is compared, by its names and by what it was made of."""
    if isinstance(value, ast.UnaryOp):
        return 0
    own = better(dotted(value)) if dotted(value) else 0
    kept = better(dotted(best))
    if own and kept and own != kept:
        return 0
    binding = program.names.given(value)
    if not own and not kept and binding is not None and isinstance(binding.value, ast.UnaryOp):
        return 0
    return own or kept


@rule("code.worst-is-kept")
def worst_is_kept(program: Program) -> Iterator[Finding]:
    """`if loss > best` keeps the worst; `if accuracy < best` too."""
    for node, test, value, best, direction in comparisons(program):
        good = meaning(program, value, best)
        if good and good != direction:
            sign = "<" if good < 0 else ">"
            yield Finding(
                node.lineno,
                f"if {source_of(value)} {sign} {source_of(best)}:",
                {"value": source_of(value), "test": source_of(test)},
            )


@rule("code.best-never-beaten")
def best_never_beaten(program: Program) -> Iterator[Finding]:
    """`best = 0` and `if loss < best`, `best = inf` and `if accuracy > best`: nothing is ever better."""
    for node, _, value, best, direction in comparisons(program):
        first = first_of(program, best)
        if first is None:
            continue
        line, number = first
        good = meaning(program, value, best)
        never = (
            (direction > 0 and number >= 1e6)
            or (direction < 0 and number <= -1e6)
            or (direction < 0 and number == 0 and good < 0)
        )
        if never:
            right = 'float("inf")' if direction < 0 else 'float("-inf")'
            yield Finding(
                line, f"{source_of(best)} = {right}", {"best": source_of(best), "first": f"{number:g}"}, also=[node.lineno]
            )


def first_of(program: Program, best: ast.expr) -> tuple[int, float] | None:
    for binding in program.names.all_given(best):
        if binding.how == "assigned" and binding.value is not None:
            value = number_of(program, binding.value)
            return (binding.value.lineno, value) if value is not None else None
    return None


def number_of(program: Program, node: ast.expr) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(program, node.operand)
        return None if inner is None else -inner
    text = source_of(node).replace('"', "'")
    if text in ("float('inf')", "math.inf", "np.inf", "torch.inf", "float('Inf')", "float('infinity')", "numpy.inf"):
        return math.inf
    if text in ("float('-inf')", "-math.inf"):
        return -math.inf
    value = program.values.of(node)
    return float(value) if is_number(value) else None


# --- the same told to a callback


@rule("code.monitor-direction")
def monitor_direction(program: Program) -> Iterator[Finding]:
    """A callback, a schedule or the Trainer is told (or left to take) the wrong direction of its metric."""
    for call in program.calls_to("ModelCheckpoint", "EarlyStopping"):
        monitor = keyword_of(call, "monitor") or (
            call.args[0] if call.args and name_called(call) == "EarlyStopping" else None
        )
        good = better(program.values.text(monitor)) if monitor is not None else 0
        mode = keyword_of(call, "mode")
        said = program.values.text(mode) if mode is not None else "min"
        if program.names_called & {"EarlyStoppingCallback"} or (not lightning(program) and mode is None):
            continue
        if monitor is not None and good and said in ("min", "max") and (said == "max") != (good > 0):
            right = "max" if good > 0 else "min"
            yield Finding(
                call.lineno,
                f'{name_called(call)}(monitor={source_of(monitor)}, mode="{right}")',
                {"metric": program.values.text(monitor), "said": said},
            )
    yield from plateaus(program)
    yield from trainers(program)


def lightning(program: Program) -> bool:
    return any("lightning" in full for full in program.aliases.values()) or any(
        "lightning" in line for line in program.lines if "import" in line
    )


def plateaus(program: Program) -> Iterator[Finding]:
    for call in program.calls_to("step"):
        if not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
            continue
        made = program.makers.call_of(call.func.value)
        if made is None or program.makers.class_name(made) != "ReduceLROnPlateau":
            continue
        mode = keyword_of(made, "mode") or (made.args[1] if len(made.args) > 1 else None)
        said = program.values.text(mode) if mode is not None else "min"
        given = call.args[0]
        good = better(dotted(given)) if dotted(given) else 0
        if good and said in ("min", "max") and (said == "max") != (good > 0):
            right = "max" if good > 0 else "min"
            yield Finding(
                made.lineno,
                f'ReduceLROnPlateau(optimizer, mode="{right}")',
                {"metric": source_of(given), "said": said},
                also=[call.lineno],
            )


def trainers(program: Program) -> Iterator[Finding]:
    for call in program.calls:
        metric = keyword_of(call, "metric_for_best_model")
        greater = keyword_of(call, "greater_is_better")
        if metric is not None and greater is None and takes_larger(program, call, program.values.text(metric)):
            values = {"metric": program.values.text(metric), "said": "larger is better, as for every name without `loss`,"}
            yield Finding(metric.lineno, "greater_is_better=False", values)
        if metric is None or greater is None:
            continue
        good = better(program.values.text(metric))
        said = program.values.of(greater)
        if good and isinstance(said, bool) and said != (good > 0):
            yield Finding(
                greater.lineno,
                f"greater_is_better={good > 0}",
                {"metric": program.values.text(metric), "said": f"greater_is_better={said}"},
            )


def takes_larger(program: Program, call: ast.Call, metric: str) -> bool:
    """greater_is_better is not given: TrainingArguments take larger values for better unless the name ends in `loss`."""
    if name_called(call) not in ("TrainingArguments", "Seq2SeqTrainingArguments") or metric.endswith("loss"):
        return False
    chosen = keyword_of(call, "load_best_model_at_end")
    used = chosen is not None and program.values.is_true(chosen) or "EarlyStoppingCallback" in program.names_called
    return used and better(metric) < 0 and all(each.arg is not None for each in call.keywords)


@rule("code.patience-never-restored")
def patience_never_restored(program: Program) -> Iterator[Finding]:
    """The count of passes without progress is never set back when there is progress."""
    for node in program.nodes.of_kind(ast.If):
        counted = [
            each.target
            for statement in node.orelse
            for each in ast.walk(statement)
            if isinstance(each, ast.AugAssign)
            and isinstance(each.op, ast.Add)
            and isinstance(each.value, ast.Constant)
            and each.value.value == 1
        ]
        if len(counted) != 1 or not program.loops_of(node) and program.names.class_of(node) is None:
            continue
        name = source_of(counted[0])
        compared = isinstance(node.test, (ast.Compare, ast.BoolOp)) and "best" in source_of(node.test).lower()
        improved = any(
            "best" in source_of(target).lower()
            for each in node.body
            if isinstance(each, ast.Assign)
            for target in each.targets
        )
        if not compared or not improved or not stops_by(program, name):
            continue
        others = [
            each
            for each in program.names.all_given(counted[0])
            if each.how == "assigned" and program.nodes.encloses(program.function_of(node), each.node)
        ]
        inside = [
            each
            for each in others
            if program.loops_of(each.node)
            or program.names.class_of(node) is not None
            and getattr(program.function_of(each.node), "name", "") != "__init__"
        ]
        if not inside:
            yield Finding(counted[0].lineno, f"{name} = 0  # where there is progress", {"count": name}, also=[node.lineno])


def stops_by(program: Program, name: str) -> bool:
    words = ("patience", "wait", "bad", "no_improve", "stale", "counter", "since", "without")
    compared = any(
        source_of(each.left) == name and isinstance(each.ops[0], (ast.Gt, ast.GtE, ast.Eq))
        for each in program.nodes.of_kind(ast.Compare)
    )
    return compared and any(word in name.lower() for word in words)


# --- predictions


@rule("code.argmax-of-one")
def argmax_of_one(program: Program) -> Iterator[Finding]:
    """The largest of one output is always the first: every prediction is class 0."""
    for call in program.calls_to("argmax"):
        library = program.name_of(call.func).startswith(("torch.", "numpy."))
        held = call.args[0] if library and call.args else receiver_of(call)
        given = call.args[1:] if library else call.args
        dim = keyword_of(call, "dim") or keyword_of(call, "axis") or (given[0] if given else None)
        if dim is None or program.values.of(dim) not in (1, -1) or not isinstance(held, ast.expr):
            continue
        if program.shapes.width(held) == 1 and binary_loss(program):
            yield Finding(call.lineno, f"({source_of(held)} > 0).long()", {"output": source_of(held)})


@rule("code.one-label-classified")
def one_label_classified(program: Program) -> Iterator[Finding]:
    """num_labels=1 makes a model of transformers a regression, and the largest of one column is always column 0."""
    made = [call for call in program.calls if "ForSequenceClassification" in source_of(call.func)]
    single = [each for call in made if (each := one_label(program, call)) is not None]
    if not single or any("Reward" in name for name in program.names_called):
        return
    for call in program.calls_to("argmax"):
        library = program.name_of(call.func).startswith(("torch.", "numpy."))
        held = call.args[0] if library and call.args else receiver_of(call)
        given = call.args[1:] if library else call.args
        dim = keyword_of(call, "dim") or keyword_of(call, "axis") or (given[0] if given else None)
        words = f"{source_of(held)} {source_of(program.names.origin(held).node)}".lower()
        if program.values.of(dim) in (1, -1) and any(word in words for word in ("logits", "pred", "scores")):
            yield Finding(single[0].lineno, "num_labels=2", {"how": source_of(call)}, also=[call.lineno])
            return


def one_label(program: Program, call: ast.Call) -> ast.expr | None:
    """Where num_labels=1 is written, of a model or of the configuration that it is made of."""
    places = [call]
    for each in [*call.args[:2], *(one.value for one in call.keywords if one.arg == "config")]:
        origin = program.names.origin(each).node
        if isinstance(origin, ast.Call):
            places.append(origin)
    for each in places:
        given = keyword_of(each, "num_labels")
        if given is not None and program.values.of(given) == 1:
            return given
    return None


def binary_loss(program: Program) -> bool:
    return any(
        each.kind in ("binary_cross_entropy_with_logits", "binary_cross_entropy") for each in program.losses.all_criteria
    )


@rule("code.logits-against-half")
def logits_against_half(program: Program) -> Iterator[Finding]:
    """Raw outputs of a model that learns with a loss of logits are compared with 0.5, which is a probability of 0.62."""
    if not any(each.kind == "binary_cross_entropy_with_logits" for each in program.losses.all_criteria):
        return
    for node in program.nodes.of_kind(ast.Compare):
        if (
            len(node.ops) != 1
            or not isinstance(node.ops[0], (ast.Gt, ast.GtE))
            or program.values.of(node.comparators[0]) != 0.5
        ):
            continue
        if program.makers.squash(node.left) == "linear" and comes_from_model(program, node.left):
            yield Finding(node.lineno, f"torch.sigmoid({source_of(node.left)}) > 0.5", {"output": source_of(node.left)})


def comes_from_model(program: Program, node: ast.AST) -> bool:
    form = program.algebra.of(node)
    return any(
        isinstance(each.node, ast.Call) and program.objects.event_of(each.node)[0] == "forward" for each in form.below()
    ) and not form.holds("sigmoid", "softmax", "exp")
