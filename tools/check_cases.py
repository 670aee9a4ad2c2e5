#!/usr/bin/env python3
"""Which causes of a casebook `aplomb check` names from the configuration alone, of those that a configuration shows.

usage: check_cases.py --aplomb PROGRAM --cases FOLDER [--all]

A case is a folder with evidence/ and truth.json (`family`, `cause`, `accept`). Of its files those are configuration in
which aplomb reads settings and neither a metric nor a symptom, and which are no log. The cause is *shown* by them where

- `aplomb check` on them finds something of severity warning or worse that leads to it or to an accepted one, or
- `aplomb diagnose` on them ranks it first with at least 50 %, and not because something happened (a reported hang, an
  error): a configuration says what was asked for, and what came of it stands in logs and reports.

The second part does not know the rules of `check`: it asks the cause book. Every case that is shown must be named by
`check`. Exit status: 0 all are, 1 some are not.
"""

import argparse
import json
import pathlib
import subprocess
import sys


def report_of(program: str, command: str, paths: list[pathlib.Path]) -> dict:
    done = subprocess.run([program, command, "--json", *map(str, paths)], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode in (0, 1) else {}


def is_configuration(program: str, path: pathlib.Path) -> bool:
    report = report_of(program, "diagnose", [path])
    log = any(each["kind"] == "text-log" for each in report.get("inputs", []))
    return bool(report.get("settings")) and not log and not report["series"] and not report["symptoms"]


def is_right(cause: str, truth: dict) -> bool:
    return cause.split(".")[-1] in {truth["cause"], *truth.get("accept", [])}


def findings_on(program: str, paths: list[pathlib.Path]) -> list[dict]:
    return [each for each in report_of(program, "check", paths).get("findings", []) if each["severity"] != "note"]


def shows_cause(program: str, paths: list[pathlib.Path], truth: dict) -> bool:
    for cause in report_of(program, "diagnose", paths).get("causes", [])[:1]:
        happened = any(weight["when"].startswith("explains ") for weight in cause["weights"])
        return is_right(cause["id"], truth) and cause["probability"] >= 0.5 and not happened
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aplomb", required=True)
    parser.add_argument("--cases", required=True, type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="list the cases as well whose configuration shows no cause")
    options = parser.parse_args()
    cases = configured = named = missed = 0
    for truth_file in sorted(options.cases.glob("*/truth.json")):
        cases += 1
        truth = json.loads(truth_file.read_text())
        files = sorted(each for each in (truth_file.parent / "evidence").rglob("*") if each.is_file())
        files = [each for each in files if is_configuration(options.aplomb, each)]
        if not files:
            continue
        configured += 1
        found = findings_on(options.aplomb, files)
        hits = [each["id"] for each in found if any(is_right(cause, truth) for cause in each["leads_to"])]
        missing = not hits and shows_cause(options.aplomb, files, truth)
        named += bool(hits)
        missed += missing
        if hits or missing or options.all:
            mark = "named " if hits else "MISSED" if missing else "      "
            besides = [each["id"] for each in found if each["id"] not in hits]
            print(
                f"{mark}  {truth_file.parent.name}: {truth['family']}.{truth['cause']}: {', '.join(hits)}"
                f"{'; besides: ' + ', '.join(besides) if besides else ''}"
            )
    print(f"{cases} cases, {configured} with a configuration; shown by it: {named + missed}, named: {named}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
