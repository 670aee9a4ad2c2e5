"""Syntax: small questions to a node of a program, which need nothing but the node."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Union

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]  # noqa: UP007  (Python 3.9 runs this)
Loop = (ast.For, ast.While, ast.AsyncFor)
LoopNode = Union[ast.For, ast.While, ast.AsyncFor]  # noqa: UP007
Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


# --- names and calls


def last(dotted: str) -> str:
    return dotted.rsplit(".", 1)[-1]


def last_name(node: ast.AST) -> str:
    """`self.model` -> `model`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """`self.net`, `cfg.optim.lr`, `state['step']` as `state.[step]`; empty for anything else."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            parts.append(f"[{node.slice.value!r}]".replace("'", ""))
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            return ".".join(reversed(parts))
        else:
            return ""


def name_called(node: ast.AST) -> str:
    """The name that is called last: `backward` of `scaler.scale(loss).backward()`; empty for what is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def receiver_of(call: ast.Call) -> ast.expr:
    """What a method is called on: `scaler` of `scaler.step(optimizer)`; a plain function itself."""
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def words_in(node: ast.AST) -> set[str]:
    """Names and attributes, in lower case."""
    found = {each.id.lower() for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found | {each.attr.lower() for each in ast.walk(node) if isinstance(each, ast.Attribute)}


# --- parameters and what they are given


def arguments_of(arguments: ast.arguments) -> list[ast.arg]:
    rest = [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Each parameter with its default."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    without = len(positional) - len(arguments.defaults)
    for place, each in enumerate(positional):
        yield each, arguments.defaults[place - without] if place >= without else None
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults)
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            yield rest, None


def argument_given(
    call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, is_method: bool = False
) -> ast.expr | None:
    """What a call gives a parameter of a function, by place or by name."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    positional = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if name not in positional:
        return None
    place = positional.index(name) - (1 if is_method and positional[:1] in (["self"], ["s"], ["cls"]) else 0)
    if not 0 <= place < len(call.args) or any(isinstance(each, ast.Starred) for each in call.args[: place + 1]):
        return None
    return call.args[place]


def takes(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, is_method: bool = False) -> bool:
    """Whether a function could be what a call runs, by its parameters without a default: `dist.sample()` is not a buffer's
    `sample(self, n)`. What decorates a function may give it some of them."""
    spread = any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)
    if spread or function.decorator_list:
        return True
    arguments = function.args
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    asked = positional[int(is_method) : len(positional) - len(arguments.defaults)]
    given = {each.arg for each in call.keywords}
    return all(name in given for name in asked[len(call.args) :])


# --- parts


def is_constant(node: ast.AST | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def constant_index(node: ast.Subscript) -> int | None:
    if isinstance(node.slice, ast.Constant) and type(node.slice.value) is int and node.slice.value >= 0:
        return node.slice.value
    return None


def unstarred(value: ast.expr) -> list[ast.expr] | None:
    if isinstance(value, (ast.Tuple, ast.List)) and not any(isinstance(each, ast.Starred) for each in value.elts):
        return value.elts
    return None


def path_in(target: ast.expr, name: str) -> tuple[int, ...] | None:
    """Where a name stands in the target of a loop."""
    if isinstance(target, ast.Name):
        return () if target.id == name else None
    if isinstance(target, (ast.Tuple, ast.List)):
        for place, each in enumerate(target.elts):
            inner = path_in(each, name)
            if inner is not None:
                return (place, *inner)
    return None


def line_of(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def source_of(node: ast.AST) -> str:
    return ast.unparse(node)
