#!/usr/bin/env python3
"""Which causes of a casebook `aplomb check` names from the configuration alone.

usage: check_cases.py --aplomb PROGRAM --cases FOLDER [--all]

A case is a folder with evidence/ and truth.json (`family`, `cause`, `accept`). It counts as named where a finding of
severity warning or worse leads to the cause or an accepted one. With --all the cases without a finding are listed too.
"""

import argparse
import json
import pathlib
import subprocess
import sys


def findings_of(program: str, evidence: pathlib.Path) -> list[dict]:
    done = subprocess.run([program, "check", "--json", str(evidence)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return []
    return [each for each in json.loads(done.stdout)["findings"] if each["severity"] != "note"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aplomb", required=True)
    parser.add_argument("--cases", required=True, type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    named = other = silent = 0
    for truth_file in sorted(options.cases.glob("*/truth.json")):
        truth = json.loads(truth_file.read_text())
        right = {truth["cause"], *truth.get("accept", [])}
        found = findings_of(options.aplomb, truth_file.parent / "evidence")
        hits = [each["id"] for each in found if any(cause.split(".")[-1] in right for cause in each["leads_to"])]
        rest = [each["id"] for each in found if each["id"] not in hits]
        named += bool(hits)
        other += bool(rest) and not hits
        silent += not found
        if found or options.all:
            cause = f"{truth['family']}.{truth['cause']}"
            print(
                f"{'named' if hits else 'other' if rest else '     '}  {truth_file.parent.name}: {cause}: "
                f"{', '.join(hits)}{'; besides: ' + ', '.join(rest) if rest else ''}"
            )
    print(f"{named} named, {other} with other findings only, {silent} without findings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
