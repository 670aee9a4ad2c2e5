"""Rules about pairs of answers that are taken from a ranking."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import entries
from ...program.names import Binding
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, receiver_of, source_of
from .preference import preference_swapped

SCORES = re.compile(r"scor|rating|reward|vote|likes|quality|preference|helpful|grade")


@rule("code.preference-by-rank")
def preference_by_rank(program: Program) -> Iterator[Finding]:
    """The answer that is called chosen is the one with the lower score, by the order in which the answers stand."""
    if any(True for _ in preference_swapped(program)):
        return
    for _, chosen, rejected in entries(program):
        pairs = {"chosen": chosen, "rejected": rejected}
        ranks = [rank_of(program, pairs[each], 0) for each in ("chosen", "rejected")]
        if ranks == [-1, 1]:
            yield Finding(
                pairs["chosen"].lineno,
                "# chosen: the answer with the higher score",
                {"chosen": source_of(pairs["chosen"])[:60]},
                also=sorted({pairs["rejected"].lineno, *order_lines(program, pairs["chosen"])} - {pairs["chosen"].lineno}),
            )
            return


def order_lines(program: Program, node: ast.expr) -> list[int]:
    return [each.lineno for each in program.calls_to("sorted", "sort")][:2]


def rank_of(program: Program, node: ast.AST, depth: int) -> int:
    """1 where the value is the best of some answers by their score, -1 where it is the worst (or the worse of two), 0 where
    it cannot be told."""
    if depth > 10:
        return 0
    if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
        parts = node.values if isinstance(node, ast.Dict) else node.elts
        return next((found for each in parts if (found := rank_of(program, each, depth + 1))), 0)
    if isinstance(node, ast.Subscript):
        order = order_of(program, node.value, depth + 1)
        index = program.values.of(node.slice)
        if order and type(index) is int:
            return (-order if index >= 0 else order) if index in (0, -1) else 0
        return rank_of(program, node.value, depth + 1)
    if isinstance(node, ast.Attribute):
        return rank_of(program, node.value, depth + 1)
    if isinstance(node, (ast.BinOp, ast.JoinedStr)):  # `prompt + ranked[0]["text"]`, f"{best['text']}"
        sides = (
            [node.left, node.right]
            if isinstance(node, ast.BinOp)
            else [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
        )
        ranks = {rank for each in sides if (rank := rank_of(program, each, depth + 1))}
        return ranks.pop() if len(ranks) == 1 else 0
    if isinstance(node, ast.Call):
        return rank_of_call(program, node, depth)
    binding = program.names.given(node) if isinstance(node, ast.Name) else None
    return rank_of_binding(program, binding, depth + 1) if binding is not None else 0


def rank_of_call(program: Program, node: ast.Call, depth: int) -> int:
    """Of `max(answers, key=...)`, and of `answer.strip()` what the answer has."""
    key = keyword_of(node, "key")
    if name_called(node) in ("min", "max") and key is not None and by_score(key):
        return (1 if name_called(node) == "max" else -1) * by_score(key)
    if isinstance(node.func, ast.Attribute) and not node.args:
        return rank_of(program, node.func.value, depth + 1)
    return 0


def rank_of_binding(program: Program, binding: Binding, depth: int) -> int:
    if binding.value is None:
        return 0
    if binding.how == "assigned" and not binding.path:
        return rank_of(program, binding.value, depth)
    place = binding.path[0] if binding.path else None
    if binding.how == "assigned" and place is not None:
        order = order_of(program, binding.value, depth)
        return 0 if not order else (-order if place == 0 else order)
    if binding.how == "loop" and place in (0, 1) and len(binding.path) == 1:
        order = order_of_pairs(program, binding.value, depth)
        return 0 if not order else (-order if place == 0 else order)
    return 0


def order_of_pairs(program: Program, node: ast.AST, depth: int) -> int:
    """Of `combinations(ranked, 2)`, `zip(ranked, ranked[1:])`, sliced, filtered: the order of the two in a pair."""
    if depth > 10:
        return 0
    if isinstance(node, ast.Subscript):
        return order_of_pairs(program, node.value, depth + 1)
    if isinstance(node, ast.Name):
        binding = program.names.given(node)
        return (
            order_of_pairs(program, binding.value, depth + 1)
            if binding is not None and binding.how == "assigned" and binding.value is not None and not binding.path
            else 0
        )
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        target = node.generators[0].target
        if isinstance(node.elt, ast.Tuple) and isinstance(target, ast.Tuple) and source_of(node.elt) == source_of(target):
            return order_of_pairs(program, node.generators[0].iter, depth + 1)
        return 0
    if isinstance(node, ast.Call):
        name = name_called(node)
        if name in ("combinations", "pairwise") and node.args:
            return order_of(program, node.args[0], depth + 1)
        if name == "zip" and len(node.args) == 2 and source_of(node.args[1]).startswith(source_of(node.args[0]) + "[1"):
            return order_of(program, node.args[0], depth + 1)
        if name in ("list", "tuple") and node.args:
            return order_of_pairs(program, node.args[0], depth + 1)
    return 0


def order_of(program: Program, node: ast.AST, depth: int) -> int:
    """1 where something stands from the lowest score to the highest, -1 from the highest; 0 where it cannot be told."""
    if depth > 10:
        return 0
    if isinstance(node, ast.Name):
        for call in program.calls_to("sort"):
            if source_of(receiver_of(call)) == node.id and program.function_of(call) is program.function_of(node):
                return direction(program, call)
        binding = program.names.given(node)
        if binding is None or binding.how != "assigned" or binding.value is None or binding.path:
            return 0
        return order_of(program, binding.value, depth + 1)
    if isinstance(node, ast.Attribute) and node.attr in ("iloc", "values"):
        return order_of(program, node.value, depth + 1)
    if isinstance(node, ast.Call):
        return order_of_call(program, node, depth)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        step = program.values.of(node.slice.step) if node.slice.step is not None else 1
        order = order_of(program, node.value, depth + 1)
        return -order if step == -1 else order if step == 1 else 0
    return 0


def order_of_call(program: Program, call: ast.Call, depth: int) -> int:
    name = name_called(call)
    if name == "sorted":
        return direction(program, call)
    if name in ("sort_values", "nlargest", "nsmallest"):
        return order_of_table(program, call)
    same = name in ("reset_index", "to_dict", "to_list", "head", "copy") and isinstance(call.func, ast.Attribute)
    return order_of(program, receiver_of(call), depth + 1) if same else 0


def order_of_table(program: Program, call: ast.Call) -> int:
    """Of `table.sort_values("score", ascending=False)`, `table.nlargest(4, "score")`."""
    by = keyword_of(call, "by") or keyword_of(call, "columns") or (call.args[-1] if call.args else None)
    column = program.values.of(by) if by is not None else ""
    column = column[0] if isinstance(column, list) and len(column) == 1 else column
    if not isinstance(column, str) or not SCORES.search(column.lower()) or "rank" in column.lower():
        return 0
    if name_called(call) != "sort_values":
        return -1 if name_called(call) == "nlargest" else 1
    ascending = keyword_of(call, "ascending")
    value = program.values.of(ascending) if ascending is not None else True
    return 1 if value is True else -1 if value is False else 0


def direction(program: Program, call: ast.Call) -> int:
    key = keyword_of(call, "key")
    sign = by_score(key) if key is not None else 0
    reverse = keyword_of(call, "reverse")
    if reverse is None:
        return sign
    value = program.values.of(reverse)
    return -sign if value is True else sign if value is False else 0


def by_score(key: ast.expr) -> int:
    """1 of `lambda a: a["rating"]`, -1 of its negative, 0 of other keys."""
    body = key.body if isinstance(key, ast.Lambda) else key
    sign = 1
    if isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub):
        sign, body = -1, body.operand
    return sign if SCORES.search(source_of(body).lower()) and "rank" not in source_of(body).lower() else 0
