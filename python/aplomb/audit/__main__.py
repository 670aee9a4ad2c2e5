"""`python -m aplomb.audit FILE...`: one JSON object, `{"findings": [...], "errors": [...]}`.

A finding: `rule`, `path`, `places` ([line, byte of its beginning] of the line itself and of further ones that show it),
`text` of the line, `corrected`, `values` for the texts of knowledge/code, and whether it is `sure`. An error: `path`,
`text`, and `rules` that were left out while the others judged the program (none: it was not judged at all).
Exit status: 0 nothing found, 1 something was found, 2 no file could be read.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import tokenize
import warnings
from collections.abc import Sequence
from typing import Any

from .budget import Budget, OutOfTime
from .findings import Finding
from .program.project import Unit, plain_name, units_of
from .run import audit_program

MOST_BYTES = 4 << 20  # a program is written by people
MOST_SECONDS_TO_READ = 20.0  # one program, with the modules that it imports
MOST_SECONDS = 100.0  # of processor time, of all programs together


def read_source(path: str) -> tuple[bytes, str]:
    """The bytes and the text. Raises OSError, SyntaxError, ValueError, LookupError."""
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)  # obeys the coding line
    return data, data.decode(encoding)


class Audit:
    """The findings of several files, each judged with the program that it belongs to."""

    def __init__(self, budget: Budget):
        self.budget = budget
        self.bytes: dict[str, bytes] = {}
        self.begins: dict[str, list[int]] = {}
        self.found: dict[tuple[str, int, str], dict[str, Any]] = {}
        self.errors: list[dict[str, Any]] = []
        self.folders: tuple[str, ...] = ()  # of the files that are named

    def run(self, paths: list[str]) -> None:
        sources: dict[str, str] = {}
        names: dict[str, str] = {}
        for path in paths:
            plain = os.path.normpath(path)
            try:
                self.bytes[plain], text = read_source(path)
                if "import" not in text:
                    ast.parse(text)
            except (OSError, SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as error:
                self.trouble(path, f"{path} cannot be parsed: {error}")
                continue
            if plain not in sources:
                names[plain] = path
                sources[plain] = text
        self.folders = tuple({os.path.join(os.path.dirname(path), "") for path in sources})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings
            for unit in units_of(sources, self.beside):
                self.judge(unit, names)

    def beside(self, path: str) -> str:
        """The text of a module that was not named, in the folder of a file that was, or below; empty where there is none.
        A link may lead elsewhere, and is left out."""
        if not path.startswith(self.folders) or not os.path.isfile(path) or os.path.realpath(path) != os.path.abspath(path):
            return ""
        try:
            self.bytes[path], text = read_source(path)
        except (OSError, SyntaxError, ValueError, LookupError):
            return ""
        return text

    def judge(self, unit: Unit, names: dict[str, str]) -> None:
        shown = names.get(unit.path, unit.path)
        if self.budget.left() <= 0:
            self.trouble(shown, f"there was no time left for {shown}")
            return
        try:
            with self.budget.limited(MOST_SECONDS_TO_READ):
                program = unit.program()
        except OutOfTime:
            self.trouble(shown, f"{shown} takes too long to read")
            return
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.trouble(shown, f"{shown} cannot be parsed: {error}")
            return
        for finding in audit_program(program, self.budget):
            self.enter(finding, unit, names)
        if program.troubles:
            self.trouble(shown, f"{shown}: {'; '.join(program.troubles)}", program.left_out)

    def enter(self, finding: Finding, unit: Unit, names: dict[str, str]) -> None:
        path, line = unit.place(finding.line) if not finding.file else (finding.file, finding.line)
        others = [unit.place(each) if not finding.file else (path, each) for each in finding.also]
        if finding.file and path not in self.bytes and not self.take(path):
            return
        lines = dict.fromkeys([line, *(at for other, at in others if other == path)])
        begins = self.begins.setdefault(path, []) or line_begins(self.bytes[path])
        self.begins[path] = begins
        entry = {
            "path": names.get(path, path),
            "places": [[each, begins[each - 1] if 0 < each <= len(begins) else 0] for each in lines],
            "rule": finding.rule,
            "text": finding.text,
            "corrected": plain_name(finding.corrected),
            "values": {name: plain_name(value) for name, value in finding.values.items()},
            "sure": finding.sure,
        }
        self.found.setdefault((path, line, finding.rule), entry)

    def take(self, path: str) -> bool:
        """Reads a configuration that a finding stands in."""
        try:
            with open(path, "rb") as file:
                self.bytes[path] = file.read(MOST_BYTES)
        except OSError:
            return False
        return True

    def trouble(self, path: str, text: str, rules: Sequence[str] = ()) -> None:
        self.errors.append({"path": path, "text": text, "rules": list(rules)})


def audit_files(paths: list[str], seconds: float = MOST_SECONDS) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Findings, file by file in the order given and line by line, and what was not judged. `seconds`: of processor time."""
    audit = Audit(Budget(seconds))
    audit.run(paths)
    order = {os.path.normpath(path): at for at, path in enumerate(paths)}
    keys = sorted(audit.found, key=lambda key: (order.get(key[0], len(order)), key))
    return [audit.found[key] for key in keys], audit.errors


def line_begins(data: bytes) -> list[int]:
    begins = [0]
    for line in data.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    return begins


def main(request: list[str] | dict[str, Any]) -> int:
    paths = request["paths"] if isinstance(request, dict) else request
    seconds = request.get("seconds", MOST_SECONDS) if isinstance(request, dict) else MOST_SECONDS
    findings, errors = audit_files(paths, seconds)
    json.dump({"findings": findings, "errors": errors}, sys.stdout)
    sys.stdout.write("\n")
    if len(errors) >= len(paths) and not findings:
        return 2
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
