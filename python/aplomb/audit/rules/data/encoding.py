"""Rules about the numbers that ids, words and classes are given: one numbering for all parts of the data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...findings import Finding, rule
from ...program.data import is_of_held_out
from ...program.names import Binding
from ...program.program import Program
from ...program.syntax import (
    Function,
    FunctionNode,
    keyword_of,
    name_called,
    parameters_of,
    receiver_of,
    source_of,
)

ENCODERS = ("LabelEncoder", "OrdinalEncoder")
TRAINING = re.compile(r"(^|[^a-z])(train|tr|trn|training)([^a-z]|$)")
#: Parameters that bring a numbering along.
BRINGS = re.compile(r"vocab|encod|mapping|token|categor|classes|lookup|2id|2idx|to_id|index_of|fit")
#: Listings of folders and sets of labels, which are the same for every part of the data as a rule.
THE_SAME = re.compile(r"listdir|iterdir|scandir|glob|class|label|tag|target|intent|columns")
#: Values that were made distinct, and names of numberings.
DISTINCT = re.compile(r"\bset\(|unique|counter|most_common|drop_duplicates|value_counts|vocab|\{")
OF_WORDS = re.compile(r"vocab|2i|to_i|stoi|ids?\b|code|map|lookup|words?\b")


@dataclass(frozen=True)
class Numbering:
    """Where values are numbered as they are found in some data."""

    node: ast.AST
    data: ast.expr
    kind: str


@rule("code.ids-numbered-apart")
def ids_numbered_apart(program: Program) -> Iterator[Finding]:
    """Codes of each frame by itself, `LabelEncoder().fit_transform` twice, a data set that builds its own vocabulary."""
    found = [each for each in numberings(program) if not is_the_same(program, each)]
    for each in found:
        place = in_a_function(program, each) or in_a_loop(program, each)
        if place is not None:
            yield said(each, place)
            return
    twin = next(((one, other) for one in found for other in found if is_twin(one, other)), None)
    if twin is not None:
        yield said(twin[1], twin[0].node)


def said(numbering: Numbering, other: ast.AST) -> Finding:
    line, also = getattr(numbering.node, "lineno", 0), getattr(other, "lineno", 0)
    corrected = "codes = {v: i for i, v in enumerate(sorted(set(train[column])))}  # one for all parts: x.map(codes)"
    return Finding(line, corrected, {"data": source_of(numbering.data)[:60]}, also=sorted({also} - {line, 0}))


def numberings(program: Program) -> Iterator[Numbering]:
    yield from by_a_library(program)
    for each in program.nodes.of_kind(ast.DictComp):
        over, place = each.generators[0].iter, each.generators[0].target
        counts = isinstance(place, ast.Tuple) and source_of(place.elts[0]) in source_of(each.value)
        if counts and isinstance(over, ast.Call) and name_called(over) == "enumerate" and over.args:
            yield Numbering(each, over.args[0], "enumerate")
    for node in program.nodes.of_kind(ast.Assign):
        made, held, loops = node.value, node.targets[0], program.loops_of(node)
        if not isinstance(made, ast.Call) or name_called(made) != "len" or not isinstance(held, ast.Subscript) or not loops:
            continue
        if isinstance(loops[-1], ast.For) and made.args and source_of(made.args[0]) == source_of(held.value):
            yield Numbering(node, loops[-1].iter, "grown")
    for call in program.calls_to("setdefault"):
        around, given = program.loops_of(call), call.args[1:2]
        counts = bool(given) and source_of(given[0]) == f"len({source_of(receiver_of(call))})"
        if counts and around and isinstance(around[-1], ast.For):
            yield Numbering(call, around[-1].iter, "grown")


def by_a_library(program: Program) -> Iterator[Numbering]:
    for each in program.nodes.of_kind(ast.Attribute):
        data = categories_of(each) if each.attr == "codes" else None
        if data is not None:
            yield Numbering(each, data, "codes")
    for call in program.calls_to("factorize", "fit_transform", "unique"):
        name = name_called(call)
        given = call.args[0] if call.args else None
        if name == "factorize" and program.name_of(call.func) != "pandas.factorize":
            given = receiver_of(call)
        fits = name != "fit_transform" or program.makers.made_by(receiver_of(call)) in ENCODERS
        inverts = name != "unique" or program.values.is_true(keyword_of(call, "return_inverse"))
        if given is not None and fits and inverts:
            yield Numbering(call, given, name)


def categories_of(node: ast.Attribute) -> ast.expr | None:
    """`x` of `x.astype("category").cat.codes` and of `pd.Categorical(x).codes`."""
    held = node.value
    if name_called(held) == "Categorical" and isinstance(held, ast.Call) and len(held.args) == 1 and not held.keywords:
        return held.args[0]
    made = held.value if isinstance(held, ast.Attribute) and held.attr == "cat" else None
    if isinstance(made, ast.Call) and name_called(made) == "astype" and made.args:
        return receiver_of(made) if source_of(made.args[0]).strip("'\"") == "category" else None
    return None


def is_the_same(program: Program, numbering: Numbering) -> bool:
    """A numbering that cannot differ: of a listing, of a set of labels that is sorted."""
    if numbering.kind in ("factorize", "codes", "fit_transform"):
        return False
    origin = program.names.origin(numbering.data, through_calls=False).node
    text = (source_of(numbering.data) + " " + source_of(origin)).lower()
    if numbering.kind == "enumerate" and not DISTINCT.search(text):
        return True  # rows by their place: `{name: i for i, name in enumerate(files)}` finds a row again
    if numbering.kind == "grown" and not OF_WORDS.search(source_of(numbering.node).lower()):
        return True
    return bool(THE_SAME.search(text))


# --- one place, run for each part


def in_a_function(program: Program, numbering: Numbering) -> ast.AST | None:
    """The call for held-out data of the function (or class) that numbers what it is given; None where it is not called for
    both parts."""
    function = program.function_of(numbering.node)
    if not isinstance(function, Function) or is_asked_for(program, numbering.node, function):
        return None
    if any(BRINGS.search(each.arg.lower()) for each, _ in parameters_of(function)):
        return None
    given = parameters_behind(program, numbering.data, 0)
    calls = [call for each in given for call in program.names.calls_of_parameter(each)]
    held = [each for each in calls if is_held(program, each)]
    trained = [each for each in calls if not is_held(program, each) and TRAINING.search(words_of(program, each))]
    return held[0] if held and trained else None


def is_asked_for(program: Program, node: ast.AST, function: FunctionNode) -> bool:
    """`if vocab is None`, `if fit`, `if split == "train"`: it numbers only where a parameter says so."""
    own = {each.arg for each, _ in parameters_of(function)}
    for parent in program.enclosing(node):
        if parent is function:
            return False
        for test in ast.walk(parent.test) if isinstance(parent, ast.If) else []:
            told = isinstance(test, ast.Compare) and any(isinstance(each, (ast.Is, ast.Eq)) for each in test.ops)
            if told or source_of(test if not isinstance(test, ast.UnaryOp) else test.operand) in own and test is parent.test:  # type: ignore[attr-defined]
                return True
    return False


def parameters_behind(program: Program, node: ast.AST, depth: int) -> list[Binding]:
    found: list[Binding] = []
    for each in ast.walk(node):
        binding = program.names.given(each) if isinstance(each, (ast.Name, ast.Attribute)) and depth < 8 else None
        if binding is None:
            continue
        if binding.how == "parameter":
            found += [binding] if binding.name not in ("self", "cls") and isinstance(binding.scope, Function) else []
        elif binding.value is not None and binding.how in ("assigned", "loop", "added"):
            found += parameters_behind(program, binding.value, depth + 1)
    return found


def words_of(program: Program, call: ast.Call) -> str:
    """What a call is given, and the name of what it gives."""
    statement = program.statement_of(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    named = [source_of(each) for each in (targets if len(targets) == 1 else [])]
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple) and isinstance(targets[0], ast.Tuple):
        named = [source_of(one) for one, value in zip(targets[0].elts, statement.value.elts) if value is call]
    return " ".join([*named, *(source_of(each) for each in call.args)]).lower()


def is_held(program: Program, call: ast.Call) -> bool:
    return any(is_of_held_out(each) for each in re.split(r"[^a-z_.]+", words_of(program, call)))


def in_a_loop(program: Program, numbering: Numbering) -> ast.AST | None:
    """`for df in (train, valid): df["user"] = df["user"].astype("category").cat.codes`."""
    for loop in program.loops_of(numbering.node):
        parts = loop.iter.elts if isinstance(loop, ast.For) and isinstance(loop.iter, (ast.Tuple, ast.List)) else []
        names = [source_of(each).lower() for each in parts]
        over = source_of(loop.target) if isinstance(loop, ast.For) else ""
        both = any(is_of_held_out(each) for each in names) and any(TRAINING.search(each.replace("_", " ")) for each in names)
        if both and over in {each.id for each in ast.walk(numbering.data) if isinstance(each, ast.Name)}:
            return loop
    return None


# --- the same twice


def is_twin(one: Numbering, other: Numbering) -> bool:
    """`train["user"]` and `valid["user"]`: the same but for the name of the part."""
    first, second = root_of(one.data), root_of(other.data)
    if one.kind != other.kind or not first or not second or first == second or not is_of_held_out(second):
        return False
    if is_of_held_out(first) or not TRAINING.search(first.lower().replace("_", " ")):
        return False
    return source_of(one.data).replace(first, "_") == source_of(other.data).replace(second, "_")


def root_of(node: ast.AST) -> str:
    plain = ("np", "pd", "sorted", "set", "list")
    names = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id not in plain]
    return names[0] if len(set(names)) == 1 else ""
