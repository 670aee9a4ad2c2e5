"""python -m aplomb COMMAND: `experiments` (aplomb.experiments) and `audit` (aplomb.audit) run in this Python; every other
command is the aplomb program's, of the same environment."""

from __future__ import annotations

import os
import runpy
import sys

from aplomb.report import _program

HERE = ("experiments", "audit")


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] in HERE:
        name = sys.argv.pop(1)
        runpy.run_module(f"aplomb.{name}", run_name="__main__", alter_sys=True)
        return
    program = _program()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
