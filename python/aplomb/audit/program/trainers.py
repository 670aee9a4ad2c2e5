"""Trainers: what a program hands to a framework that trains: the calls that make a Trainer, and its reward functions."""

from __future__ import annotations

import ast

from .program import Program
from .syntax import keyword_of, names_in

REWARD_WORDS = ("reward", "score", "correct")


def trainers(program: Program) -> list[ast.Call]:
    """Calls that make a Trainer of transformers or TRL."""
    names = [name for name in program.names_called if name.endswith("Trainer")]
    return [call for name in names for call in program.calls_to(name) if call.keywords or call.args]


def reward_functions(program: Program) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that a Trainer of TRL is given to reward with, and those that are called so and take completions."""
    names: set[str] = set()
    for call in trainers(program):
        given = keyword_of(call, "reward_funcs") or keyword_of(call, "reward_function")
        if given is not None:
            value = program.names.origin(given).node
            names |= names_in(value) | names_in(given)
    found = []
    for function in program.functions:
        takes = any(each.arg in ("completions", "completion", "responses") for each in function.args.args)
        called_so = any(word in function.name.lower() for word in REWARD_WORDS)
        if function.name in names or (takes and called_so):
            found.append(function)
    return found
