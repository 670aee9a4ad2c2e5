"""The order of the Python package (python/aplomb), for check_layers.py.

No module imports one that imports it, by whichever way: inside functions and for types only count as well, since they hide
a circle and solve none. The code audit has a flow of its own (AUDIT) and stands alone, since the program embeds it without
the rest of the package. No folder is longer than one person can hold in mind.
"""

from __future__ import annotations

import ast
import pathlib
import sys
from collections.abc import Iterator

PACKAGE = pathlib.PurePath("python/aplomb")
# Right may import left. One row a part of aplomb.audit: what it may import besides itself.
AUDIT = {
    "program": [],
    "findings": ["program"],
    "rules": ["program", "findings"],
    "budget": [],
    "run": ["budget", "program", "findings", "rules"],
    "__init__": ["program", "findings", "run"],
    "__main__": ["budget", "program", "findings", "run"],
    "columns": [],
}
# Of the rules, the module that names them all: what the other subjects share is asked of the program, not of each other.
ROSTER = "roster"
# What a part of the audit needs of what is not in the standard library.
AUDIT_NEEDS = {"columns": {"pyarrow"}}
# Folders that hold rooms: their own files count, and each room by itself.
HOUSES = ("", "audit", "audit/rules")

Graph = dict[str, dict[str, int]]  # module -> what it imports, with the line


def modules_of(root: pathlib.Path) -> dict[str, pathlib.Path]:
    """Every module of the package by its full name, those that are compiled by their stubs."""
    found = {}
    for path in sorted((root / PACKAGE).rglob("*.py*")):
        if path.suffix in {".py", ".pyi"}:
            parts = path.relative_to(root / PACKAGE.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: pathlib.Path) -> Iterator[tuple[str, int]]:
    """Full names that a module imports, with the line; of `from a import b` the name `a.b`."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, node.module] if node.module else base
            yield from ((".".join([*base, each.name]), node.lineno) for each in node.names)


def graph_of(modules: dict[str, pathlib.Path]) -> Graph:
    graph: Graph = {}
    for name, path in modules.items():
        graph[name] = {}
        for full, line in imported(name, path):
            there = full
            while there and there not in modules:
                there = there.rpartition(".")[0]
            if there and there != name:
                graph[name].setdefault(there, line)
    return graph


def circles(graph: Graph) -> Iterator[list[str]]:
    """Each group of modules of which every one leads to every other."""
    reached = {name: reach(graph, name) for name in graph}
    seen: set[str] = set()
    for name in graph:
        if name in reached[name] and name not in seen:
            group = sorted(each for each in reached[name] if name in reached[each])
            seen |= set(group)
            yield group


def reach(graph: Graph, name: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[name])
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += graph[each]
    return found


def way_around(graph: Graph, group: list[str]) -> list[str]:
    """A shortest circle through the first of a group."""
    ways = [[group[0]]]
    for way in ways:
        for each in graph[way[-1]]:
            if each == group[0]:
                return [*way, each]
            if each in group and each not in way:
                ways.append([*way, each])
    return group


def check_circles(root: pathlib.Path, modules: dict[str, pathlib.Path], graph: Graph) -> list[str]:
    faults = []
    for group in circles(graph):
        way = way_around(graph, group)
        place = f"{modules[way[0]].relative_to(root)}:{graph[way[0]][way[1]]}"
        faults.append(f"{place}: an import circle of {len(group)} modules: {' -> '.join(way)}")
    return faults


def part_of(name: str) -> list[str]:
    """`program`, `names` of `aplomb.audit.program.names`."""
    return name.split(".")[2:] or ["__init__"]


def check_audit(root: pathlib.Path, modules: dict[str, pathlib.Path], graph: Graph) -> list[str]:
    faults = []
    for name, path in modules.items():
        if name.split(".")[:2] != ["aplomb", "audit"]:
            continue
        here = part_of(name)
        where = path.relative_to(root)
        if here[0] not in AUDIT:
            faults.append(f"{where}: {here[0]} is no known part of the audit (tools/python_layers.py)")
            continue
        for there, line in graph[name].items():
            if not there.startswith("aplomb.audit"):
                faults.append(f"{where}:{line}: the audit stands alone: it may not import {there}")
            elif (part := part_of(there))[0] != here[0] and part[0] not in AUDIT[here[0]]:
                faults.append(f"{where}:{line}: {here[0]} may not import {part[0]} ({there})")
            elif here[0] == part[0] == "rules" and here[1:2] != part[1:2] and here[1:] != [ROSTER]:
                faults.append(f"{where}:{line}: rules of one subject may not import those of another ({there})")
        allowed = sys.stdlib_module_names | AUDIT_NEEDS.get(here[0], set()) | {"aplomb"}
        for full, line in imported(name, path):
            if full.split(".")[0] not in allowed:
                faults.append(f"{where}:{line}: the audit needs nothing but the standard library ({full})")
    return faults


def check_roster(root: pathlib.Path, modules: dict[str, pathlib.Path], graph: Graph) -> list[str]:
    """A module of rules that the roster does not name would be silent."""
    roster = f"aplomb.audit.rules.{ROSTER}"
    named = graph.get(roster, {})
    return [
        f"{path.relative_to(root)}: audit/rules/{ROSTER}.py does not name it"
        for name, path in modules.items()
        if name.startswith("aplomb.audit.rules.") and path.stem not in ("__init__", ROSTER) and name not in named
    ]


def check_sizes(root: pathlib.Path, most: int) -> list[str]:
    faults = []
    for folder in [root / PACKAGE, *(each for each in sorted((root / PACKAGE).rglob("*")) if each.is_dir())]:
        where = folder.relative_to(root / PACKAGE).as_posix().removeprefix(".")
        files = folder.glob("*.py") if where in HOUSES else folder.rglob("*.py")
        lines = sum(path.read_bytes().count(b"\n") for path in files)
        if lines > most:
            faults.append(f"{folder.relative_to(root)}: {lines} lines, at most {most}: split it by what its parts are for")
    return faults


def check(root: pathlib.Path, most_lines: int) -> list[str]:
    modules = modules_of(root)
    graph = graph_of(modules)
    return [
        *check_circles(root, modules, graph),
        *check_audit(root, modules, graph),
        *check_roster(root, modules, graph),
        *check_sizes(root, most_lines),
    ]
