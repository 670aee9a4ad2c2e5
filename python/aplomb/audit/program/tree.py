"""Tree: the nodes of a parsed source in the order of the text, found by kind, by place and by name without walking again.

Nodes without a place (`ast.Load`, `ast.Add` and the like) are shared by the parser and left out.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar, cast

Node = TypeVar("Node", bound=ast.AST)

Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
PLACELESS = ("ctx", "op", "ops", "type_ignores", "kind", "type_comment")


@cache
def child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes."""
    return () if kind is ast.Constant else tuple(name for name in kind._fields if name not in PLACELESS)


def children_of(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in child_fields(node.__class__):  # type: ignore[arg-type]  # a class can be hashed
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


@contextmanager
def no_collection() -> Iterator[None]:
    """A tree of a million nodes and no garbage: the collector would walk it again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Tree:
    """One pass over the nodes, then look-ups. `root` stands first and encloses all others."""

    def __init__(self, source: str, path: str, linked: ast.Module | None = None):
        with no_collection():
            self.root = linked if linked is not None else ast.parse(source, filename=path)
            self.nodes: list[ast.AST] = []
            self.parents: dict[ast.AST, ast.AST] = {}
            self._place: dict[ast.AST, int] = {}
            self._kinds: dict[type[ast.AST], list[ast.AST]] = {}
            self._enter()
            self._end = self._ends()

    def _enter(self) -> None:
        waiting: list[ast.AST] = [self.root]
        nodes, parents, place, kinds = self.nodes, self.parents, self._place, self._kinds
        while waiting:
            node = waiting.pop()
            place[node] = len(nodes)
            nodes.append(node)
            kinds.setdefault(node.__class__, []).append(node)
            children = children_of(node)
            for child in children:
                parents[child] = node
            children.reverse()
            waiting += children

    def _ends(self) -> list[int]:
        """For each place the one behind the last node below it."""
        sizes = [1] * len(self.nodes)
        for at in range(len(self.nodes) - 1, 0, -1):
            sizes[self._place[self.parents[self.nodes[at]]]] += sizes[at]
        return [at + size for at, size in enumerate(sizes)]

    def of_kind(self, *kinds: type[Node]) -> list[Node]:
        by_kind = cast("dict[type[Node], list[Node]]", self._kinds)
        if len(kinds) == 1:
            return by_kind.get(kinds[0], [])
        return self.in_order(node for kind in kinds for node in by_kind.get(kind, []))

    def in_order(self, nodes: Iterable[Node]) -> list[Node]:
        return sorted(nodes, key=self._place.__getitem__)

    def within(self, outer: ast.AST, ordered: list[Node]) -> list[Node]:
        """Those of some nodes, given in the order of the text, that stand in `outer`."""
        begin = self._place[outer]
        return ordered[self._first_from(begin, ordered) : self._first_from(self._end[begin], ordered)]

    def _first_from(self, place: int, ordered: list[Node]) -> int:
        low, high = 0, len(ordered)
        while low < high:
            middle = (low + high) // 2
            if self._place[ordered[middle]] < place:
                low = middle + 1
            else:
                high = middle
        return low

    def place(self, node: ast.AST) -> int:
        """Its number in the order of the text."""
        return self._place[node]

    def encloses(self, outer: ast.AST, node: ast.AST) -> bool:
        begin = self._place[outer]
        return begin <= self._place[node] < self._end[begin]

    def below(self, node: ast.AST) -> list[ast.AST]:
        """The node and all that stands in it."""
        begin = self._place[node]
        return self.nodes[begin : self._end[begin]]

    def own(self, node: ast.AST) -> Iterator[ast.AST]:
        """What stands in a node, without the insides of functions and classes that are defined in it."""
        at = self._place[node] + 1
        end = self._end[at - 1]
        nodes, ends = self.nodes, self._end
        while at < end:
            each = nodes[at]
            yield each
            at = ends[at] if isinstance(each, Scope) else at + 1
