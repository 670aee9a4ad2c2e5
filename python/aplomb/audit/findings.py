"""Finding: one place of a program that will go wrong, by the rule that found it.

What it is called, why it is bad and what it leads to stands in knowledge/code/*.yaml, under the rule's name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .program.program import Program


@dataclass
class Finding:
    line: int  # from 1
    corrected: str = ""  # the line (or lines) as it should read; empty: as the rule's entry says
    values: dict[str, str] = field(default_factory=dict)  # `{optimizer}` in the entry's texts
    sure: bool = True  # False: a suspicion, although the rule's findings are mistakes else
    also: list[int] = field(default_factory=list)  # further lines that show it
    file: str = ""  # a configuration in which the mistake stands; `line` and `also` are lines of it then
    rule: str = ""  # `code.no-zero-grad`
    text: str = ""  # the line as it stands

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def where_set(program: Program, finding: Finding, *values: ast.AST | None) -> Finding:
    """The finding at the configuration's lines, where the values that are wrong stand in one; else as it is."""
    found = [each for value in values if value is not None and (each := program.values.written_at(value)) is not None]
    if not found or len({path for path, _ in found}) != 1:
        return finding
    path = found[0][0]
    lines = sorted({line for _, line in found})
    return replace(finding, file=path, line=lines[0], also=lines[1:], text=text_at(path, lines[0]))


def text_at(path: str, line: int) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return next((text.strip() for number, text in enumerate(file, 1) if number == line), "")
    except (OSError, ValueError):
        return ""


Rule = Callable[[Program], Iterable[Finding]]

#: Every rule by its name, in the order in which their modules are imported (rules/roster.py).
RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """`@rule("code.no-zero-grad")` above a function that yields the findings of a program."""

    def enter(function: Rule) -> Rule:
        assert name not in RULES, name
        RULES[name] = function
        return function

    return enter
