"""`python -m aplomb.audit FILE...`: one JSON object, `{"findings": [...], "errors": [...]}`.

Exit status: 0 nothing found (notes do not count), 1 something was found, 2 no file could be read.
"""

from __future__ import annotations

import json
import sys
import tokenize
import warnings
from typing import Any

from .rules import audit_source

MOST_BYTES = 4 << 20  # a program is written by people


def audit_file(path: str) -> tuple[list[dict[str, Any]], str]:
    """The findings and, where there are none to have, why."""
    try:
        with tokenize.open(path) as file:  # obeys the coding line
            source = file.read(MOST_BYTES + 1)
        if len(source) > MOST_BYTES:
            return [], f"{path} has more than {MOST_BYTES} characters"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings
            return [{"path": path, **finding.as_dict()} for finding in audit_source(source, path)], ""
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [], f"{path} cannot be parsed: {error}"


def main(paths: list[str]) -> int:
    findings: list[dict[str, Any]] = []
    errors: list[dict[str, str]] = []
    for path in paths:
        found, error = audit_file(path)
        findings += found
        if error:
            errors.append({"path": path, "text": error})
    json.dump({"findings": findings, "errors": errors}, sys.stdout)
    sys.stdout.write("\n")
    if len(errors) == len(paths):
        return 2
    return 1 if any(each["severity"] != "note" for each in findings) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
