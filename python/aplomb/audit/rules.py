"""The rules, and a program held against all of them."""

from __future__ import annotations

from .findings import Finding
from .label_rules import LABEL_RULES
from .loop_rules import LOOP_RULES
from .loss_rules import LOSS_RULES
from .numeric_rules import NUMERIC_RULES
from .precision_rules import PRECISION_RULES
from .program import Program
from .restore_rules import RESTORE_RULES
from .resume_rules import RESUME_RULES

RULES = {
    **PRECISION_RULES,
    **NUMERIC_RULES,
    **LOOP_RULES,
    **LABEL_RULES,
    **LOSS_RULES,
    **RESTORE_RULES,
    **RESUME_RULES,
}


def audit_program(program: Program) -> list[Finding]:
    """Findings in the order of the lines; one of a rule on a line."""
    found: dict[tuple[int, str], Finding] = {}
    for name, rule in RULES.items():
        for finding in rule(program):
            finding.rule = name
            finding.text = finding.text or program.line_text(finding.line)
            found.setdefault((finding.line, name), finding)
    return [found[key] for key in sorted(found)]


def audit_source(source: str, path: str = "<source>") -> list[Finding]:
    """Raises SyntaxError where the source is no Python of this interpreter's version."""
    return audit_program(Program(source, path))
