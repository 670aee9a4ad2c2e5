"""`%aplomb` in a notebook: `%load_ext aplomb`, then `%aplomb diagnose out/` shows the report, and any other command what it
prints. `%aplomb` alone diagnoses the folder of the notebook."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import Any

from aplomb.report import Report, _program, diagnose

ENDLESS = ("run", "mcp", "serve", "train")  # they own the terminal


def aplomb(line: str) -> Report | None:
    """%aplomb [COMMAND] [WORDS...]"""
    words = [os.path.expanduser(each) for each in shlex.split(line)] or ["diagnose", "."]
    if words[0] in ENDLESS:
        print(f"`aplomb {words[0]}` wants a terminal of its own", file=sys.stderr)
        return None
    if words[0] == "diagnose" and not any(each.startswith("-") for each in words):
        return diagnose(*words[1:])
    done = subprocess.run([_program(), *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    return None


def load(shell: Any) -> None:
    shell.register_magic_function(aplomb, "line", "aplomb")
