"""A program held against all of the rules."""

from __future__ import annotations

from collections.abc import Iterable

from .budget import MOST_SECONDS_OF_A_PROGRAM, MOST_SECONDS_OF_A_RULE, Budget, OutOfTime
from .findings import Finding, Rule
from .program.program import Program
from .rules.roster import RULES


def audit_program(program: Program, budget: Budget | None = None) -> list[Finding]:
    """Findings in the order of the lines; one of a rule on a line. A rule that fails on a program, takes too long over it,
    or comes when the budget is used up is left out, and the program's `troubles` and `left_out` say so."""
    budget = (budget or Budget(MOST_SECONDS_OF_A_PROGRAM)).part(MOST_SECONDS_OF_A_PROGRAM)
    found: dict[tuple[int, str], Finding] = {}
    names = list(RULES)
    for at, name in enumerate(names):
        if budget.left() <= 0:
            program.troubles.append(f"there was no time for {name} and the {len(names) - at - 1} rules behind it")
            program.left_out += names[at:]
            break
        findings, trouble = judged(RULES[name], program, budget)
        if trouble:
            program.troubles.append(f"{name} {trouble}")
            program.left_out.append(name)
        for finding in findings:
            finding.rule = name
            if not finding.file:
                finding.text = finding.text or program.line_text(finding.line)
            found.setdefault((finding.line, name), finding)
    return [found[key] for key in sorted(found)]


def judged(rule: Rule, program: Program, budget: Budget) -> tuple[Iterable[Finding], str]:
    """What one rule finds, and why it could not judge; one rule's mistake is not the others'."""
    seconds = min(MOST_SECONDS_OF_A_RULE, budget.left())
    try:
        with budget.limited(seconds):
            return list(rule(program)), ""
    except OutOfTime:
        return [], f"was stopped after {seconds:.1g} s and judged nothing"
    except Exception as error:
        return [], f"could not judge it ({type(error).__name__})"


def audit_source(source: str, path: str = "<source>") -> list[Finding]:
    """Raises SyntaxError where the source is no Python of this interpreter's version."""
    return audit_program(Program(source, path))


__all__ = ["RULES", "Finding", "Program", "audit_program", "audit_source"]
