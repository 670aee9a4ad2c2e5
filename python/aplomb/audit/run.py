"""A program held against all of the rules."""

from __future__ import annotations

import time

from .findings import Finding
from .program.program import Program
from .rules.roster import RULES


def audit_program(program: Program, deadline: float | None = None) -> list[Finding]:
    """Findings in the order of the lines; one of a rule on a line. A rule that fails on a program (or comes behind the
    deadline of time.monotonic()) is left out, and the program's `troubles` say so."""
    found: dict[tuple[int, str], Finding] = {}
    for name, rule in RULES.items():
        if deadline is not None and time.monotonic() > deadline:
            program.troubles.append(f"there was no time for {name} and the rules behind it")
            break
        try:
            findings = list(rule(program))
        except Exception as error:  # one rule's mistake is not the others'
            program.troubles.append(f"{name} could not judge it ({type(error).__name__})")
            continue
        for finding in findings:
            finding.rule = name
            if not finding.file:
                finding.text = finding.text or program.line_text(finding.line)
            found.setdefault((finding.line, name), finding)
    return [found[key] for key in sorted(found)]


def audit_source(source: str, path: str = "<source>") -> list[Finding]:
    """Raises SyntaxError where the source is no Python of this interpreter's version."""
    return audit_program(Program(source, path))


__all__ = ["RULES", "Finding", "Program", "audit_program", "audit_source"]
