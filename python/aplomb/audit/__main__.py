"""`python -m aplomb.audit FILE...`: one JSON object, `{"findings": [...], "errors": [...]}`.

A finding: `rule`, `path`, `places` ([line, byte of its beginning] of the line itself and of further ones that show it),
`text` of the line, `corrected`, `values` for the texts of knowledge/code, and whether it is `sure`.
Exit status: 0 nothing found, 1 something was found, 2 no file could be read.
"""

from __future__ import annotations

import io
import json
import sys
import time
import tokenize
import warnings
from typing import Any

from .program import Program
from .rules import audit_program

MOST_BYTES = 4 << 20  # a program is written by people
MOST_SECONDS = 100.0  # of all programs together


def audit_file(path: str, deadline: float) -> tuple[list[dict[str, Any]], str]:
    """The findings and, where something of the program was not judged, why."""
    if time.monotonic() > deadline:
        return [], f"there was no time left for {path}"
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            return [], f"{path} has more than {MOST_BYTES} bytes"
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)  # obeys the coding line
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings
            program = Program(data.decode(encoding), path)
            found = audit_program(program, deadline)
    except (OSError, SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as error:
        return [], f"{path} cannot be parsed: {error}"
    begins = line_begins(data)
    entries = []
    for finding in found:
        lines = [finding.line, *(each for each in finding.also if each != finding.line)]
        places = [[line, begins[line - 1] if 0 < line <= len(begins) else 0] for line in lines]
        entry = {"path": path, "places": places}
        entries.append(
            {**entry, **{name: getattr(finding, name) for name in ("rule", "text", "corrected", "values", "sure")}}
        )
    trouble = "; ".join(program.troubles)
    return entries, f"{path}: {trouble}" if trouble else ""


def line_begins(data: bytes) -> list[int]:
    begins = [0]
    for line in data.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    return begins


def main(request: list[str] | dict[str, Any]) -> int:
    paths = request["paths"] if isinstance(request, dict) else request
    seconds = request.get("seconds", MOST_SECONDS) if isinstance(request, dict) else MOST_SECONDS
    deadline = time.monotonic() + seconds
    findings: list[dict[str, Any]] = []
    errors: list[dict[str, str]] = []
    for path in paths:
        found, error = audit_file(path, deadline)
        findings += found
        if error:
            errors.append({"path": path, "text": error})
    json.dump({"findings": findings, "errors": errors}, sys.stdout)
    sys.stdout.write("\n")
    if len(errors) == len(paths) and not findings:
        return 2
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
