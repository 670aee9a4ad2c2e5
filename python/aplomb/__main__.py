"""python -m aplomb COMMAND: `experiments` (aplomb.experiments), `audit` (aplomb.audit) and `mcp` (aplomb.mcp_server) run in
this Python; every other command is the aplomb program's, of the same environment."""

from __future__ import annotations

import os
import runpy
import sys

from aplomb.report import _program

HERE = {"experiments": "aplomb.experiments", "audit": "aplomb.audit", "mcp": "aplomb.mcp_server"}


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] in HERE:
        name = sys.argv.pop(1)
        try:
            runpy.run_module(HERE[name], run_name="__main__", alter_sys=True)
        except ModuleNotFoundError as missing:
            if name != "mcp" or missing.name is None or missing.name.split(".")[0] not in ("mcp", "mcp_types", "anyio"):
                raise
            sys.exit("aplomb: `aplomb mcp` needs the package mcp (2.x): pip install 'aplomb[mcp]'")
        return
    program = _program()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
