"""Order: which of two places in different functions runs first, where the calls that lead to them say so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .program import Program
from .syntax import Function

DEEP = 8  # functions that lead to a place


def ways_to(program: Program, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """(function, place in it): of the node itself, then of the one call that runs its function, and so on outwards."""
    for _ in range(DEEP):
        scope = program.function_of(node)
        yield scope, node
        if not isinstance(scope, Function):
            return
        calls = [each for each in program.calls_to(scope.name) if not program.nodes.encloses(scope, each)]
        if len(calls) != 1:
            return
        node = calls[0]


def runs_before(program: Program, first: ast.AST, second: ast.AST) -> bool:
    """Whether one place surely runs before another: in the first function that leads to both, its way stands first."""
    here, there = where_they_meet(program, first, second)
    return (
        here is not there
        and here is not None
        and there is not None
        and program.nodes.place(here) < program.nodes.place(there)
    )


def where_they_meet(program: Program, first: ast.AST, second: ast.AST) -> tuple[ast.AST | None, ast.AST | None]:
    """The two places in the first function that leads to both."""
    ways = dict(ways_to(program, first))
    for scope, node in ways_to(program, second):
        if scope in ways:
            return ways[scope], node
    return None, None
