"""Configuration: the YAML and JSON files beside a program, as far as they are plain: what they hold, and in which line."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from .constants import UNKNOWN

MOST_BYTES = 1 << 18  # of a configuration file


def read_configuration(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_BYTES)
        return json.loads(text) if path.endswith(".json") else parse_plain_yaml(text)
    except (OSError, ValueError, RecursionError):
        return UNKNOWN


def parse_plain_yaml(text: str) -> Any:
    """Keys with scalars, nested by indentation, and lists of scalars: what configurations mostly are. Anything else is left
    out."""
    root: dict[str, Any] = {}
    stack: list[tuple[int, dict[str, Any], str]] = [(-1, root, "")]  # indentation, what is filled, its own key
    for line in text.splitlines():
        body = line.split(" #", 1)[0].rstrip()
        stripped = body.lstrip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(body) - len(stripped)
        if stripped.startswith("- "):
            _take_item(stack, indent, stripped[2:].strip())
            continue
        if ":" not in stripped:
            continue
        while stack[-1][0] >= indent:
            stack.pop()
        key, value = (part.strip() for part in stripped.split(":", 1))
        if value:
            stack[-1][1][key] = plain_value(value)
        else:
            inner: dict[str, Any] = {}
            stack[-1][1][key] = inner
            stack.append((indent, inner, key))
    return root


def _take_item(stack: list[tuple[int, dict[str, Any], str]], indent: int, value: str) -> None:
    """`- value` of the list whose key was the last one."""
    while stack[-1][0] > indent:
        stack.pop()
    if len(stack) < 2:
        return
    _, inner, key = stack[-1]
    holder = stack[-2][1]
    if inner or (":" in value and value[:1] not in "\"'"):  # entries of their own keys
        return
    if not isinstance(holder.get(key), list):
        holder[key] = []
    holder[key].append(plain_scalar(value))


def plain_value(value: str) -> Any:
    """A scalar, or a list or a dictionary of scalars on one line."""
    if value[:1] == "[" and value[-1:] == "]":
        inner = value[1:-1].strip()
        return [plain_scalar(each.strip()) for each in inner.split(",")] if inner and not set(inner) & set("[{") else []
    if value[:1] == "{" and value[-1:] == "}" and not set(value[1:-1]) & set("[{"):
        pairs = [each.split(":", 1) for each in value[1:-1].split(",") if ":" in each]
        return {key.strip(): plain_scalar(held.strip()) for key, held in pairs}
    return plain_scalar(value)


def plain_scalar(value: str) -> Any:
    if value[:1] in "\"'" and value[-1:] == value[:1]:
        return value[1:-1]
    if value.lower() in ("true", "false", "null", "~"):
        return {"true": True, "false": False}.get(value.lower())
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return UNKNOWN if value[:1] in "[{&*|>" else value


def only_configuration(folders: list[str]) -> str:
    """The YAML file beside the program, where it is the only one: most likely what `open(sys.argv[1])` reads."""
    try:
        found = [each for each in os.listdir(folders[0] or ".") if each.endswith((".yaml", ".yml"))]
    except (OSError, IndexError):
        return ""
    return found[0] if len(found) == 1 else ""


def line_of_keys(path: str, keys: list[str]) -> tuple[str, int] | None:
    """The line of a key in the text of a configuration, each one behind the key that holds it."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_BYTES)
    except (OSError, ValueError):
        return None
    at = 0
    for key in keys:
        found = re.compile(r"(?m)(?:^|[\s{,\"'])" + re.escape(key) + r"[\"']?\s*:").search(text, at)
        if found is None:
            return None
        at = found.end()
    return path, text.count("\n", 0, at) + 1
