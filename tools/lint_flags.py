#!/usr/bin/env python3
"""Write a compile_commands.json that clang-tidy understands: without the headers that g++ has precompiled.

usage: lint_flags.py BUILD OUT

BUILD is a folder of CMake's with a compile_commands.json, OUT the folder that gets the copy. Each `-include
.../cmake_pch.hxx` goes: clang would take the .gch beside it for its own. The files include what they need themselves.
"""

import json
import pathlib
import shlex
import sys


def without_precompiled(command: str) -> str:
    words = shlex.split(command)
    kept = []
    skip = False
    for i, word in enumerate(words):
        if skip:
            skip = False
        elif word == "-include" and i + 1 < len(words) and words[i + 1].endswith("cmake_pch.hxx"):
            skip = True
        elif word != "-Winvalid-pch":
            kept.append(word)
    return shlex.join(kept)


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    build, out = map(pathlib.Path, sys.argv[1:])
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        entry["command"] = without_precompiled(entry["command"])
    out.mkdir(parents=True, exist_ok=True)
    (out / "compile_commands.json").write_text(json.dumps(entries, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
