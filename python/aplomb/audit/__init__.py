"""What a training program does that will go wrong, told from its source. Nothing is executed or imported.

    from aplomb.audit import audit_source
    for finding in audit_source(open("train.py").read(), "train.py"):
        print(finding.line, finding.rule, finding.corrected)

`python -m aplomb.audit FILE...` prints the findings as JSON; `aplomb check FILE...` says what they mean, and
`aplomb explain RULE` does so of one. Only the standard library is used: `ast` parses the source, and every rule asks what
the program does (program/timeline.py), of what objects (program/objects.py) and with what numbers (program/values.py),
never the text.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .findings import RULES, Finding
    from .program.program import Program
    from .run import audit_program, audit_source

__all__ = ["RULES", "Finding", "Program", "audit_program", "audit_source"]


def __getattr__(name: str) -> Any:
    """The rules are loaded at first use: `columns` needs none of them."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(".run", __name__), name)
