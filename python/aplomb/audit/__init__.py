"""What a training program does that will go wrong, told from its source. Nothing is executed or imported.

    from aplomb.audit import audit_source
    for finding in audit_source(open("train.py").read(), "train.py"):
        print(finding.line, finding.title, finding.corrected)

`python -m aplomb.audit FILE...` prints the findings as JSON. Only the standard library is used: `ast` parses the
source, and every rule asks the tree, never the text.
"""

from .findings import Finding
from .program import Program
from .rules import RULES, audit_program, audit_source

__all__ = ["RULES", "Finding", "Program", "audit_program", "audit_source"]
