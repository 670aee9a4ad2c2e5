"""Finding: one place of a program that will go wrong, by the rule that found it.

What it is called, why it is bad and what it leads to stands in knowledge/code/*.yaml, under the rule's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .program import Program


@dataclass
class Finding:
    line: int  # from 1
    corrected: str = ""  # the line (or lines) as it should read; empty: as the rule's entry says
    values: dict[str, str] = field(default_factory=dict)  # `{optimizer}` in the entry's texts
    sure: bool = True  # False: a suspicion, although the rule's findings are mistakes else
    also: list[int] = field(default_factory=list)  # further lines that show it
    rule: str = ""  # `code.no-zero-grad`
    text: str = ""  # the line as it stands

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


Rule = Callable[["Program"], Iterable[Finding]]

#: Every rule by its name, in the order in which the modules of rules are imported (rules.py).
RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """`@rule("code.no-zero-grad")` above a function that yields the findings of a program."""

    def enter(function: Rule) -> Rule:
        assert name not in RULES, name
        RULES[name] = function
        return function

    return enter
