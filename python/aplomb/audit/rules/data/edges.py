"""Rules about the edges of a graph: links that are to be predicted, and those that messages pass along."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...findings import Finding, rule
from ...program.data import is_of_held_out
from ...program.program import Program
from ...program.syntax import Function, line_of, name_called, names_in, source_of

#: Names of the methods of a model that turn a graph into embeddings.
ENCODING = ("encode", "encoder", "embed", "gnn", "forward")
SPLITTING = ("RandomLinkSplit", "train_test_split_edges")


class Parted(NamedTuple):
    """Edges (or the graph that holds them) that were parted into those of training and held-out ones."""

    node: ast.AST
    whole: str
    parts: frozenset[str]


@rule("code.held-out-edges-in-graph")
def held_out_edges_in_graph(program: Program) -> Iterator[Finding]:
    """The edges were parted, and the model still passes its messages along all of them: it is shown the links that it is
    asked for."""
    for parted in partings(program):
        for call, given in encodings(program, parted):
            place = made_of_whole(program, given, parted, 0)
            if place is not None:
                corrected = source_of(place).replace(parted.whole, "train_edges", 1)
                yield Finding(
                    line_of(place), corrected, {"edges": parted.whole}, also=sorted({line_of(parted.node), call.lineno})
                )
                return


def partings(program: Program) -> Iterator[Parted]:
    for node in program.nodes.of_kind(ast.Assign):
        target, value = node.targets[0], node.value
        whole = whole_parted(program, value)
        if not whole:
            continue
        names = frozenset(names_in(target))
        if isinstance(target, ast.Tuple):
            if any("train" in each.lower() for each in names) and any(is_of_held_out(each) for each in names):
                yield Parted(node, whole, names)
        elif parts_by_name(program, target, value):
            yield Parted(node, whole, names)


def whole_parted(program: Program, value: ast.expr) -> str:
    """`edges` of `split_edges(edges)`, `(edges[:, a], edges[:, b])`; `data` of `RandomLinkSplit(...)(data)`."""
    if isinstance(value, ast.Call):
        made = value.func if isinstance(value.func, ast.Call) else program.makers.call_of(value.func)
        of_library = {name_called(value), program.makers.class_name(made) if made is not None else ""} & set(SPLITTING)
        by_name = "split" in name_called(value).lower()
        first = value.args[0] if value.args else None
        if isinstance(first, (ast.Name, ast.Attribute)) and (of_library or (by_name and is_edges(source_of(first)))):
            return source_of(first)
        return ""
    if isinstance(value, ast.Tuple) and len(value.elts) > 1:
        held = {source_of(each.value) if isinstance(each, ast.Subscript) else "" for each in value.elts}
        only = held.pop() if len(held) == 1 else ""
        return only if is_edges(only) else ""
    return ""


def is_edges(text: str) -> bool:
    return "edge" in text.lower() or "link" in text.lower() or "pairs" in text.lower()


def parts_by_name(program: Program, target: ast.expr, value: ast.expr) -> bool:
    """`splits = split_edges(edges)`, which is a dictionary with `train` and a held-out part."""
    returned = program.names.returned_by(value) if isinstance(value, ast.Call) else []
    for each in returned:
        made = program.names.origin(each).node
        keys = [key.value for key in made.keys if isinstance(key, ast.Constant)] if isinstance(made, ast.Dict) else []
        texts = [key for key in keys if isinstance(key, str)]
        if any(key.startswith("train") for key in texts) and any(is_of_held_out(key) for key in texts):
            return True
    return False


def encodings(program: Program, parted: Parted) -> Iterator[tuple[ast.Call, ast.expr]]:
    """What models are given, of the function in which the edges were parted."""
    scope = program.function_of(parted.node)
    for call in program.calls:
        if program.nodes.place(call) < program.nodes.place(parted.node) or program.function_of(call) is not scope:
            continue
        is_pass = program.objects.event_of(call)[0] == "forward"
        if not is_pass and not (isinstance(call.func, ast.Attribute) and call.func.attr in ENCODING):
            continue
        for each in [*call.args, *(one.value for one in call.keywords)]:
            if not isinstance(each, ast.Starred):
                yield call, each


def made_of_whole(program: Program, node: ast.expr, parted: Parted, depth: int) -> ast.AST | None:
    """The expression by which the undivided edges come into what the model is given."""
    if depth > 6:
        return None
    if source_of(node) == parted.whole or (isinstance(node, ast.Attribute) and is_edge_attribute(node, parted.whole)):
        return node if is_still_whole(program, node, parted) else None
    if isinstance(node, ast.Name):
        binding = program.names.given(node)
        if binding is None or binding.how != "assigned" or binding.path or binding.value is None:
            return None
        if names_in(binding.value) & parted.parts or isinstance(binding.scope, ast.ClassDef):
            return None
        found = made_of_whole(program, binding.value, parted, depth + 1)
        return binding.value if found is not None else None
    if isinstance(node, ast.Call) and not (names_in(node) & parted.parts):
        given = [each for each in node.args if not isinstance(each, ast.Starred)]
        given += [each.value for each in node.keywords]
        held = node.func.value if isinstance(node.func, ast.Attribute) and name_called(node) in ("to", "cuda") else None
        for each in [*given, *([held] if held is not None else [])]:
            found = made_of_whole(program, each, parted, depth + 1)
            if found is not None:
                return node
    return None


def is_edge_attribute(node: ast.Attribute, whole: str) -> bool:
    """`data.edge_index` of the graph `data` that was parted."""
    return source_of(node.value) == whole and node.attr in ("edge_index", "adj_t", "edges", "adj")


def is_still_whole(program: Program, node: ast.expr, parted: Parted) -> bool:
    """Nothing has given the name a part since: `edges = splits["train"]`."""
    first: ast.AST = node
    while isinstance(first, ast.Attribute):
        first = first.value
    place = program.nodes.place
    return not any(
        place(parted.node) <= place(each.node) < place(node) and not isinstance(each.node, Function)
        for each in program.names.all_given(first)
    )
