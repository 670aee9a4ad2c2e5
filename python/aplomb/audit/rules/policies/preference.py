"""Rules about pairs of answers: which is chosen, what it is compared with, and the sign of the loss."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.constants import is_number
from ...program.data import entries
from ...program.gradients import passes
from ...program.program import Program
from ...program.syntax import Function, keyword_of, last_name, line_of, name_called, names_in, receiver_of, source_of
from ...program.trainers import trainers

GOOD = ("chosen", "preferred", "winner", "best", "better", "win", "good", "positive")
BAD = ("rejected", "dispreferred", "loser", "worst", "worse", "lose", "bad", "negative")
#: What is larger for the better answer, and what is smaller.
UPWARD = (
    "score",
    "reward",
    "rating",
    "rate",
    "grade",
    "quality",
    "win_rate",
    "votes",
    "upvotes",
    "likes",
    "accuracy",
    "helpfulness",
    "correct",
)
DOWNWARD = ("rank", "loss", "distance", "error", "cost", "perplexity", "ppl", "penalty")

#: Functions that give the log-probability of an answer.
LIKELIHOOD = re.compile(r"log_?(p|prob|probs|ps|likelihood)s?(_|$)")


def side_of(text: str) -> str:
    """`chosen` or `rejected`, by the words of an expression; empty where it says neither or both."""
    words = "".join(each if each.isalnum() else " " for each in text.lower()).split()
    good, bad = any(word in GOOD for word in words), any(word in BAD for word in words)
    return "" if good == bad else "chosen" if good else "rejected"


@rule("code.preference-swapped")
def preference_swapped(program: Program) -> Iterator[Finding]:
    """`{"chosen": row["rejected"], "rejected": row["chosen"]}`; the better of two by an order that ascends."""
    for node, chosen, rejected in entries(program):
        if side_of(source_of(chosen)) == "rejected" and side_of(source_of(rejected)) == "chosen":
            yield Finding(chosen.lineno, f'"chosen": {source_of(rejected)}, "rejected": {source_of(chosen)}')
        elif takes_the_other(program, chosen, rejected) or loses_comparison(program, node, chosen):
            corrected = f'"chosen": {source_of(rejected)}, "rejected": {source_of(chosen)}'
            yield Finding(chosen.lineno, corrected, also=[node.lineno])
        elif swapped := [two for one, two in chosen_in_branches(program, chosen) if loses_comparison(program, one, two)]:
            corrected = f'"chosen": {source_of(rejected)}, "rejected": {source_of(chosen)}'
            yield Finding(swapped[0].lineno, corrected, also=[node.lineno])
        else:
            place = ascending(program, chosen)
            if place is not None and ascending(program, rejected) is None:
                also = sorted({node.lineno, chosen.lineno} - {place.lineno})
                yield Finding(place.lineno, mended_order(place), also=also)
            elif place is None and worst_end(program, chosen) and not worst_end(program, rejected):
                corrected = f'"chosen": {source_of(rejected)}, "rejected": {source_of(chosen)}'
                yield Finding(chosen.lineno, corrected, also=[node.lineno, order_of(program, chosen)[1]])


def takes_the_other(program: Program, chosen: ast.expr, rejected: ast.expr) -> bool:
    """`"chosen": row[f"response_{1 - best}"], "rejected": row[f"response_{best}"]`; and with the worse one the other way
    round."""
    for one, other, wanted in ((chosen, rejected, "chosen"), (rejected, chosen, "rejected")):
        turned = [each for each in ast.walk(one) if is_turned(each)]
        if len(turned) != 1 or any(is_turned(each) for each in ast.walk(other)):
            continue
        name = turned[0].right  # type: ignore[attr-defined]
        if source_of(name) not in [source_of(each) for each in ast.walk(other) if isinstance(each, ast.expr)]:
            continue
        told = f"{source_of(name)} {source_of(program.names.origin(name).node)}".replace("_", " ")
        if side_of(told) == wanted:
            return True
    return False


#: The last word of a field tells which of two answers it is of.
OF_ONE = re.compile(r"(?:^|_|(?<=[a-z]))(a|b|0|1|2|left|right|first|second)$")


def which(program: Program, node: ast.AST) -> tuple[str, str]:
    """`score`, `a` of `row["score_a"]`, of a name too; empty where it says neither."""
    seen: set[ast.AST] = set()
    while isinstance(node, (ast.Call, ast.Attribute, ast.Name)) and node not in seen:
        seen.add(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value  # `.strip()`
            continue
        inner = program.names.origin(node).node if isinstance(node, ast.Name) else node
        if inner is node or isinstance(inner, ast.Call):
            break
        node = inner
    key = node.slice if isinstance(node, ast.Subscript) else None
    text = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else last_name(node)
    found = OF_ONE.search(text.lower())
    return (text.lower()[: found.start()], found.group(1)) if found else ("", "")


def loses_comparison(program: Program, pair: ast.expr, chosen: ast.expr) -> bool:
    """`if row["score_a"] > row["score_b"]`, and what is chosen there is of b; `if row["rank_a"] > row["rank_b"]`, and it is
    of a."""
    choice = program.names.origin(chosen).node
    test, holds = (choice.test, True) if isinstance(choice, ast.IfExp) else ruling_test(program, pair)
    side = which(program, choice.body if isinstance(choice, ast.IfExp) else chosen)[1]
    if not side or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    (one, first), (other, second) = which(program, test.left), which(program, test.comparators[0])
    if not first or first == second or one != other or side not in (first, second):
        return False
    words = set(one.split("_"))
    downward = bool(words & set(DOWNWARD))
    if downward == any(word in one for word in UPWARD):
        return False  # neither, or both: `error_rate`, `rank_score`
    if not isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
        return False
    larger = first if isinstance(test.ops[0], (ast.Gt, ast.GtE)) == holds else second
    return (side != larger) != downward


def chosen_in_branches(program: Program, chosen: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """`if a > b: best, worst = x, y` and its `else`: for each branch the place and what the name is there."""
    names = [each for each in ast.walk(chosen) if isinstance(each, ast.Name)]
    around = next((each for each in program.enclosing(chosen) if isinstance(each, Function)), None)
    if len(names) != 1 or around is None:
        return []
    found: list[tuple[ast.expr, ast.expr]] = []
    for each in program.own_nodes(around):
        if not isinstance(each, ast.Assign) or len(each.targets) != 1:
            continue
        target, value = each.targets[0], each.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        found += [(one, two) for one, two in pairs if isinstance(one, ast.Name) and one.id == names[0].id]
    return found


def ruling_test(program: Program, pair: ast.AST) -> tuple[ast.AST | None, bool]:
    """The comparison under which a pair is made, and whether it holds there."""
    below = pair
    for above in program.enclosing(pair):
        if isinstance(above, (*Function, ast.Module, ast.For)):
            break
        if isinstance(above, ast.If):
            return above.test, below in above.body
        below = above
    return None, False


def is_turned(node: ast.AST) -> bool:
    """`1 - best`."""
    one = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and isinstance(node.left, ast.Constant)
    return one and node.left.value == 1  # type: ignore[attr-defined]


def mended_order(call: ast.Call) -> str:
    return (
        source_of(call)[:-1] + ", reverse=True)"
        if name_called(call) in ("sorted", "sort")
        else source_of(call).replace("min(", "max(", 1)
    )


def ascending(program: Program, node: ast.expr) -> ast.Call | None:
    """The call that puts candidates in the order of a score, where the expression is the first (or the least) of them."""
    base, place = indexed(program, node)
    value = program.names.origin(base).node
    if place == 0 and name_called(value) == "sorted" and isinstance(value, ast.Call):
        return value if rises(program, value) else None
    if place is None and name_called(value) == "min" and isinstance(value, ast.Call):
        return value if rises(program, value) else None
    if place == 0:
        for call in program.calls_to("sort"):
            if source_of(receiver_of(call)) == source_of(base) and program.nodes.place(call) < program.nodes.place(node):
                return call if rises(program, call) else None
    return None


def indexed(program: Program, node: ast.expr) -> tuple[ast.expr, int | None]:
    """`pairs`, 0 of `pairs[0]["text"]`; of `best["text"]` with `best, worst = sorted(...)` too."""
    seen: set[ast.AST] = set()
    while node not in seen:
        seen.add(node)
        inside = within_text(node)
        if inside is not None:
            node = inside
        elif isinstance(node, ast.Subscript) and (place := place_in(node)) is not None:
            return node.value, place
        elif isinstance(node, ast.Attribute) or isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            node = node.value
        elif isinstance(node, ast.Name):
            inner, place = bound(program, node)
            if inner is None:
                return node, None
            if place is not None or not isinstance(inner, (ast.Subscript, ast.Name)):
                return inner, place
            node = inner
        else:
            break
    return node, None


def within_text(node: ast.expr) -> ast.expr | None:
    """What stands in a text: `best["text"]` of `best["text"] + "<eos>"`, `f"{best['text']} "`, `best["text"].strip()`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for constant, rest in ((node.right, node.left), (node.left, node.right)):
            if isinstance(constant, ast.Constant):
                return rest
    if isinstance(node, ast.JoinedStr):
        filled = [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
        return filled[0] if len(filled) == 1 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and name_called(node) in ("strip", "rstrip"):
        return node.func.value
    return None


def place_in(node: ast.Subscript) -> int | None:
    """0 of `pairs[0]`, -1 of `pairs[-1]`."""
    if source_of(node.slice) == "-1":
        return -1
    return node.slice.value if isinstance(node.slice, ast.Constant) and type(node.slice.value) is int else None


def bound(program: Program, name: ast.Name) -> tuple[ast.expr | None, int | None]:
    """What a name was assigned, and its place in it: `best, worst = sorted(...)`."""
    binding = program.names.given(name)
    if binding is None or binding.value is None or binding.how != "assigned":
        return None, None
    return binding.value, binding.path[0] if len(binding.path) == 1 else None


#: Of these 1 stands for the best: `rank`, not `rank_score`.
PLACES = re.compile(r"(^|[^a-z])(rank|ranks|ranking|place|position|standing)([^a-z]|$)")


def order_of(program: Program, node: ast.expr) -> tuple[int, int]:
    """1 where candidates are sorted from the worst to the best, -1 from the best to the worst, 0 where unknown; and the
    line of the call."""
    base, _ = indexed(program, node)
    value = program.names.origin(base).node
    if name_called(value) != "sorted" or not isinstance(value, ast.Call):
        return 0, 0
    key = keyword_of(value, "key")
    text = source_of(key).lower().split(":", 1)[-1] if key is not None else ""
    ranked = bool(PLACES.search(text.replace("_", " ")))
    if ranked == any(word in text for word in UPWARD) or "(" in text.strip("() "):
        return 0, 0
    upward = -1 if ranked else 1
    if "-" in text:
        upward = -upward
    if program.values.of(keyword_of(value, "reverse")) is True:
        upward = -upward
    return upward, value.lineno


def worst_end(program: Program, node: ast.expr) -> bool:
    """The expression takes the worst of sorted candidates: the first or the last."""
    upward, _ = order_of(program, node)
    place = indexed(program, node)[1]
    return upward != 0 and place == (0 if upward > 0 else -1)


def rises(program: Program, call: ast.Call) -> bool:
    """Sorted by something that is larger for the better answer, the smallest first."""
    if program.values.of(keyword_of(call, "reverse")) is True:
        return False
    key = keyword_of(call, "key")
    text = source_of(key).lower() if key is not None else ""
    if not text or any(word in text for word in DOWNWARD) or "-" in text.split(":", 1)[-1]:
        return False
    return any(word in text for word in UPWARD)


@rule("code.preference-always-true")
def preference_always_true(program: Program) -> Iterator[Finding]:
    """`a if row["winner"] else b`, and the winner is 1 or 2: the test holds for both."""
    for _, chosen, rejected in entries(program):
        for value in (chosen, rejected):
            choice = program.names.origin(value).node
            if not isinstance(choice, ast.IfExp) or not isinstance(choice.test, (ast.Subscript, ast.Attribute, ast.Name)):
                continue
            seen = given_to(program, choice.test)
            if seen and all(each for each in seen):
                shown = ", ".join(sorted({repr(each) for each in seen}))
                corrected = (
                    f"{source_of(choice.body)} if {source_of(choice.test)} == {seen[0]!r} else {source_of(choice.orelse)}"
                )
                yield Finding(choice.lineno, corrected, {"test": source_of(choice.test), "values": shown})
                return


def given_to(program: Program, test: ast.expr) -> list[object]:
    """The constants that the program gives a field or name, where all that it gives are such."""
    name = (
        test.slice.value
        if isinstance(test, ast.Subscript) and isinstance(test.slice, ast.Constant)
        else last_name(test)
    )
    found: list[object] = []
    for node in program.nodes.of_kind(ast.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant) and key.value == name:
                constant = program.values.of(value)
                if not is_number(constant) and not isinstance(constant, str):
                    return []
                found.append(constant)
    return found if len(set(map(repr, found))) > 1 else []


@rule("code.reference-is-policy")
def reference_is_policy(program: Program) -> Iterator[Finding]:
    """The reference model is the object that trains: policy and reference never part."""
    for call in trainers(program):
        model, reference = keyword_of(call, "model"), keyword_of(call, "ref_model")
        if model is None or reference is None or not isinstance(reference, (ast.Name, ast.Attribute)):
            continue
        if program.objects.identity(model) == program.objects.identity(reference):
            yield Finding(reference.lineno, "ref_model=None  # TRL makes a copy", {"model": source_of(model)})
    yield from references_by_hand(program)


def references_by_hand(program: Program) -> Iterator[Finding]:
    """`reference = policy`, or `reference = policy.eval()`: one object under two names, and the optimizer holds it."""
    trained = program.objects.trained()
    for node in program.nodes.of_kind(ast.Assign):
        words = last_name(node.targets[0]).lower().split("_")
        value = node.value
        while isinstance(value, ast.Call) and name_called(value) in ("eval", "to", "cuda", "requires_grad_", "train"):
            value = receiver_of(value)
        if not set(words) & {"ref", "reference"} or not isinstance(value, (ast.Name, ast.Attribute)):
            continue
        if program.objects.is_model(value) and program.objects.identity(value) & trained:
            yield Finding(
                node.lineno,
                f"{source_of(node.targets[0])} = copy.deepcopy({source_of(value)}).eval()",
                {"model": source_of(value)},
            )


@rule("code.reference-elsewhere")
def reference_elsewhere(program: Program) -> Iterator[Finding]:
    """The reference model is loaded from another place than the policy: the loss holds the policy to a model that it did not
    begin as."""
    for call in trainers(program):
        model, reference = keyword_of(call, "model"), keyword_of(call, "ref_model")
        one, other = (loaded_from(program, each) for each in (model, reference))
        if one and other and one != other:
            values = {"policy": one, "reference": other}
            yield Finding(line_of(reference or call), "ref_model=None  # TRL makes a copy of the policy", values)


def loaded_from(program: Program, node: ast.expr | None) -> str:
    """The constant name or path of `from_pretrained(path)`."""
    call = program.makers.call_of(node) if node is not None else None
    if call is None or name_called(call) != "from_pretrained" or not call.args:
        return ""
    return program.values.text(call.args[0])


@rule("code.preference-loss-sign")
def preference_loss_sign(program: Program) -> Iterator[Finding]:
    """`F.logsigmoid(margin)` goes into the loss with a plus, or the margin is rejected minus chosen."""
    for _, event, terms in passes(program):
        for term in terms:
            inner = margin_of(program, term.node)
            if inner is None:
                continue
            line = getattr(term.node, "lineno", event.line)
            direction = direction_of(program, inner, 0)
            if (direction and term.sign * direction > 0) or reference_turned(program, inner, 0):
                yield Finding(line, "loss = -F.logsigmoid(beta * (chosen - rejected)).mean()", {"margin": source_of(inner)})


def margin_of(program: Program, node: ast.AST) -> ast.expr | None:
    """The margin that a logsigmoid is taken of."""
    if name_called(node) not in ("logsigmoid",) or not isinstance(node, ast.Call) or not node.args:
        return None
    return node.args[0]


def direction_of(program: Program, node: ast.AST, depth: int) -> int:
    """1 where the expression grows with the chosen answer, -1 where it grows with the rejected one, 0 where unknown."""
    if depth > 8:
        return 0
    if isinstance(node, (ast.Name, ast.Attribute)):
        side = side_of(last_name(node))
        if side:
            return 1 if side == "chosen" else -1
        origin = program.names.origin(node).node
        return direction_of(program, origin, depth + 1) if origin is not node else 0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -direction_of(program, node.operand, depth + 1)
    if isinstance(node, ast.Call) and LIKELIHOOD.search(name_called(node).lower()):
        side = side_of(" ".join(source_of(each) for each in node.args))
        return 0 if not side else 1 if side == "chosen" else -1
    return direction_of_arithmetic(program, node, depth) if isinstance(node, ast.BinOp) else 0


def reference_turned(program: Program, node: ast.AST, depth: int) -> bool:
    """`(pi_chosen - pi_rejected) - (ref_rejected - ref_chosen)`: the reference's margin is added, not taken off."""
    if isinstance(node, (ast.Name, ast.Attribute)) and depth < 8:
        origin = program.names.origin(node).node
        return origin is not node and reference_turned(program, origin, depth + 1)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, (ast.Mult, ast.Div)):
        return any(reference_turned(program, each, depth + 1) for each in (node.left, node.right))
    one, other = (program.names.origin(each).node for each in (node.left, node.right))
    if not isinstance(node.op, ast.Sub) or not is_margin(program, one) or not is_margin(program, other):
        return False
    of_reference = ["ref" in " ".join(names_in(each)).lower() for each in (one, other)]
    return of_reference == [False, True] and direction_of(program, one, 0) == -direction_of(program, other, 0)


def is_margin(program: Program, node: ast.AST) -> bool:
    """One answer minus the other."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    left, right = direction_of(program, node.left, 0), direction_of(program, node.right, 0)
    return left != 0 and left == -right


def direction_of_arithmetic(program: Program, node: ast.BinOp, depth: int) -> int:
    left, right = direction_of(program, node.left, depth + 1), direction_of(program, node.right, depth + 1)
    if isinstance(node.op, ast.Sub):
        if left and right and left == right and grouped_by_model(node):
            return left  # (policy_chosen - policy_rejected) - (reference_chosen - reference_rejected)
        return left if left and right == -left else left if left and not right else -right if right and not left else 0
    if isinstance(node.op, (ast.Mult, ast.Div)):
        return left or right
    if isinstance(node.op, ast.Add):
        return left if left == right or not right else right if not left else 0
    return 0


def grouped_by_model(node: ast.BinOp) -> bool:
    """The right side is of the reference model, or of the same answer as the left one."""
    names = " ".join(sorted(names_in(node.right))).lower()
    return "ref" in names or "base" in names or "old" in names or len(names_in(node.right)) == 1
