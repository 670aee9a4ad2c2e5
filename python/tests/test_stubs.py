"""_core.pyi says what the compiled module has: the same names, and the same parameters where it tells them."""

import ast
import os
import re

import aplomb
from aplomb import _core


def stub():
    with open(os.path.join(os.path.dirname(aplomb.__file__), "_core.pyi")) as file:
        return ast.parse(file.read()).body


def members(node):
    """Of a class: methods and attributes; `__init__` is every class's own."""
    names = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return (names | {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}) - {"__init__"}


def parameters(node):
    arguments = node.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args) if each.arg != "self"]


def told(function):
    """Names of the parameters in the first line of what nanobind writes as documentation."""
    inside = function.__doc__.split("\n")[0].partition("(")[2].rpartition(")")[0]
    flat = re.sub(r"\[[^\[\]]*\]", "", re.sub(r"\[[^\[\]]*\]", "", re.sub(r"\[[^\[\]]*\]", "", inside)))
    return [name for part in flat.split(",") if (name := part.partition(":")[0].strip()) not in ("self", "/", "*", "")]


def test_names_and_parameters_agree():
    nodes = {each.name: each for each in stub() if isinstance(each, (ast.ClassDef, ast.FunctionDef))}
    assert set(nodes) == {name for name in dir(_core) if not name.startswith("_")}
    compared = 0
    for name, node in nodes.items():
        there = getattr(_core, name)
        functions = [(node, there)]
        if isinstance(node, ast.ClassDef):
            assert members(node) == {each for each in dir(there) if not each.startswith("_")}, name
            functions = [(each, getattr(there, each.name)) for each in node.body if isinstance(each, ast.FunctionDef)]
        for function, real in functions:
            if getattr(real, "__doc__", None) and "(" in real.__doc__ and function.name != "__init__":
                wanted = told(real)
                if not any(each.startswith("arg") for each in wanted):
                    assert parameters(function) == wanted, f"{name}.{function.name}"
                    compared += 1
    assert compared >= 5
