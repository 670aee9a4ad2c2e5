"""Launches: what a shell script of the folder gives a program when it starts it.

    torchrun --nproc-per-node 8 train.py --lr "$LR" --use-ema

Nothing is run: words are split as a shell does, variables that the script itself sets are put in, and what depends on
anything else (`$1`, `$(...)`, a loop) is left out. Where two launches disagree, neither counts.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from typing import Any

ENDINGS = (".sh", ".bash", ".slurm", ".sbatch", ".zsh")
MOST_SCRIPTS = 20
MOST_BYTES = 1 << 16
ASSIGNED = re.compile(r"^(?:export\s+)?([A-Za-z_]\w*)=(.*)$")
VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|([A-Za-z_]\w*))")


@dataclass(frozen=True)
class Given:
    """An argument as a script gives it."""

    value: Any
    path: str
    line: int


def arguments_given(folders: list[str], program: str) -> dict[str, Given]:
    """By the name of the argument, `-` as `_`: what every launch of the program in these folders agrees on."""
    name = os.path.basename(program)
    if not name.endswith(".py"):
        return {}
    found: list[dict[str, Given]] = []
    for path in scripts_in(folders):
        found += launches_in(path, name)
    agreed: dict[str, Given] = {}
    for each in found:
        for key, given in each.items():
            if all(key in other and other[key].value == given.value for other in found):
                agreed[key] = given
    return agreed


def scripts_in(folders: list[str]) -> list[str]:
    found: list[str] = []
    for folder in folders:
        try:
            names = sorted(each for each in os.listdir(folder or ".") if each.endswith(ENDINGS))
        except OSError:
            continue
        found += [os.path.join(folder, each) for each in names]
    return found[:MOST_SCRIPTS]


def launches_in(path: str, program: str) -> list[dict[str, Given]]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_BYTES)
    except (OSError, ValueError):
        return []
    if program not in text:
        return []
    variables: dict[str, str] = {}
    found = []
    for number, line in whole_lines(text):
        assigned = ASSIGNED.match(line.strip())
        if assigned is not None and program not in line:
            words = split(assigned.group(2), variables)
            if words is not None and len(words) <= 1:
                variables[assigned.group(1)] = words[0] if words else ""
            continue
        if program in line:
            words = split(line, variables)
            at = next((i for i, word in enumerate(words or []) if os.path.basename(word) == program), -1)
            if words is not None and at >= 0:
                found.append(flags_of(words[at + 1 :], path, number, text))
    return found


def whole_lines(text: str) -> list[tuple[int, str]]:
    """Each command with the line it begins in, lines that end in a backslash put together."""
    found: list[tuple[int, str]] = []
    held, begin = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        begin = begin or number
        if line.rstrip().endswith("\\"):
            held += line.rstrip()[:-1] + " "
            continue
        found.append((begin, held + line))
        held, begin = "", 0
    return found


def split(line: str, variables: dict[str, str]) -> list[str] | None:
    """The words; None where quotes do not close. A word that depends on what is not known is `?`."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return None
    return [filled(each, variables) for each in words]


def filled(word: str, variables: dict[str, str]) -> str:
    if "$(" in word or "`" in word or "$" in VARIABLE.sub("", word):
        return "?"

    def value(found: re.Match[str]) -> str:
        name = found.group(1) or found.group(3)
        return variables.get(name, found.group(2) if found.group(2) is not None else "?")

    return VARIABLE.sub(value, word)


def flags_of(words: list[str], path: str, line: int, text: str) -> dict[str, Given]:
    """`--lr 1e-3`, `--lr=1e-3`, `--ema`."""
    found: dict[str, Given] = {}
    for place, word in enumerate(words):
        if word in ("&&", "|", ";", ">", "2>&1", "&", "||"):
            break
        if not re.match(r"--?[A-Za-z]", word):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        following = words[place + 1] if place + 1 < len(words) else "--"
        if not equals:
            value = "true" if re.match(r"--?[A-Za-z]", following) or following in ("&&", "|", ";", ">") else following
        if "?" not in value:
            where = line + text_before(text, line, name)
            found[name.replace("-", "_")] = Given(plain(value), path, where)
    return found


def text_before(text: str, line: int, name: str) -> int:
    """How many lines below the first one of the command the flag stands."""
    for below, each in enumerate(text.splitlines()[line - 1 :]):
        if re.search(r"--?" + re.escape(name) + r"(?![\w-])", each):
            return below
        if not each.rstrip().endswith("\\"):
            return 0
    return 0


def plain(value: str) -> Any:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
