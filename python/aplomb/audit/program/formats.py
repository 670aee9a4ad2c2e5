"""Formats: where a program leaves float32: casts, and autocast."""

from __future__ import annotations

import ast

from .program import Program
from .syntax import name_called

HALF = {"torch.float16": "fp16", "torch.half": "fp16", "torch.bfloat16": "bf16"}


def is_autocast(program: Program, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and program.name_of(node.func).rsplit(".", 1)[-1] in ("autocast", "auto_cast")


def half_format(program: Program, call: ast.Call) -> str:
    """`fp16` or `bf16` where the call casts to it: `.half()`, `.bfloat16()`, `.to(torch.float16)`, `.to(dtype)`."""
    method = name_called(call)
    if method == "half" and not call.args:
        return "fp16"
    if method == "bfloat16" and not call.args:
        return "bf16"
    if method != "to":
        return ""
    values = [*call.args, *(each.value for each in call.keywords if each.arg == "dtype")]
    return next((HALF[name] for name in map(program.values.of, values) if isinstance(name, str) and name in HALF), "")
