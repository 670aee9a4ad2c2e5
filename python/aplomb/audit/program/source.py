"""Source: a parsed source as it stands: its lines, imports and calls by name, what encloses what, and what names say.

What a program does not show is taken to be right.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from functools import cached_property

from .syntax import Function, Loop, LoopNode, last, last_name, name_called
from .tree import Tree

MODEL_NAMES = ("model", "net", "network", "policy", "generator", "discriminator", "transformer", "unet")


class Source:
    def __init__(
        self,
        source: str,
        path: str = "<source>",
        linked: ast.Module | None = None,
        folders: list[str] | None = None,
    ):
        """`linked`: the tree of several files (project.py), whose lines the source has one behind the other."""
        self.path = path
        self.lines = source.splitlines() if linked is None else source.split("\n")
        self.folders = list(dict.fromkeys(folders or [os.path.dirname(path)]))  # of its files: where its configuration lies
        self.take(Tree(source, path, linked))

    def take(self, nodes: Tree) -> None:
        self.nodes = nodes
        self.tree = self.nodes.root
        self.aliases = self._aliases()
        self.calls = self.nodes.of_kind(ast.Call)
        self._calls_by_name = self._called()
        self.names_called = self._calls_by_name.keys()
        self.functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = self.nodes.of_kind(*Function)

    def _called(self) -> dict[str, list[ast.Call]]:
        """Calls by the name that is called last; what was imported under another name stands under both."""
        found: dict[str, list[ast.Call]] = {}
        for call in self.calls:
            name = name_called(call)
            found.setdefault(name, []).append(call)
            imported = last(self.aliases.get(name, name)) if isinstance(call.func, ast.Name) else name
            if imported != name:
                found.setdefault(imported, []).append(call)
        return found

    def calls_to(self, *names: str) -> list[ast.Call]:
        """Calls of functions and methods of one of these last names, in the order of the text."""
        found = [call for name in names for call in self._calls_by_name.get(name, [])]
        return found if len(names) == 1 else self.nodes.in_order(found)

    def functions_that_call(self, name: str) -> set[str]:
        """Names of the functions of this file in which a call of that name stands."""
        return {each.name for call in self.calls_to(name) for each in self.enclosing(call) if isinstance(each, Function)}

    @cached_property
    def functions_by_name(self) -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        for function in self.functions:
            found.setdefault(function.name, []).append(function)
        return found

    # --- names

    def _aliases(self) -> dict[str, str]:
        aliases = {}
        imports: list[ast.Import | ast.ImportFrom] = self.nodes.of_kind(ast.Import, ast.ImportFrom)
        for node in imports:
            for item in node.names:
                if isinstance(node, ast.ImportFrom):
                    if node.module and node.level == 0:
                        aliases[item.asname or item.name] = f"{node.module}.{item.name}"
                elif item.asname:
                    aliases[item.asname] = item.name
        return aliases

    def name_of(self, node: ast.AST) -> str:
        """`F.log_softmax` -> `torch.nn.functional.log_softmax`; empty where it is no plain name."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        parts.append(self.aliases.get(node.id, node.id))
        return ".".join(reversed(parts))

    def is_from_torch(self, call: ast.Call, *names: str) -> bool:
        """Whether the call is torch's function (or class) of one of these last names."""
        full = self.name_of(call.func)
        return full.rsplit(".", 1)[-1] in names and full.startswith("torch.")

    def line_text(self, line: int) -> str:
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    # --- places

    def enclosing(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parents, the nearest first."""
        parents = self.nodes.parents
        while node in parents:
            node = parents[node]
            yield node

    def function_of(self, node: ast.AST) -> ast.AST:
        """The function that holds the node; the module where none does."""
        for parent in self.enclosing(node):
            if isinstance(parent, (*Function, ast.Module)):
                return parent
        return self.tree

    def loops_of(self, node: ast.AST) -> list[LoopNode]:
        """Loops around the node inside its function, the innermost first."""
        found: list[LoopNode] = []
        for parent in self.enclosing(node):
            if isinstance(parent, (*Function, ast.Lambda)):
                break
            if isinstance(parent, Loop):
                found.append(parent)
        return found

    def is_conditional(self, node: ast.AST, within: ast.AST) -> bool:
        """Whether an `if` (or a handler of exceptions) stands between the node and what holds it."""
        for parent in self.enclosing(node):
            if parent is within:
                return False
            if isinstance(parent, (ast.If, ast.IfExp, ast.ExceptHandler, ast.Try)):
                return True
        return False

    def statement_of(self, node: ast.AST) -> ast.AST:
        parents = self.nodes.parents
        while not isinstance(node, ast.stmt) and node in parents:
            node = parents[node]
        return node

    def calls_in(self, node: ast.AST) -> list[ast.Call]:
        return [each for each in self.nodes.below(node) if isinstance(each, ast.Call)]

    def own_nodes(self, function: ast.AST) -> Iterator[ast.AST]:
        """Nodes of a function without those of the functions defined in it."""
        return self.nodes.own(function)

    def returns_of(self, function: ast.AST) -> list[ast.expr]:
        return [each.value for each in self.own_nodes(function) if isinstance(each, ast.Return) and each.value is not None]

    # --- what the program is, as far as names say it

    @cached_property
    def training_loops(self) -> list[LoopNode]:
        """The innermost loops that hold a backward pass, in the order of the lines."""
        loops = (self.loops_of(call)[:1] for call, _ in self.backward_calls(self.tree))
        return list(dict.fromkeys(loop[0] for loop in loops if loop))

    @property
    def trains(self) -> bool:
        return "backward" in self.names_called

    def is_model(self, node: ast.AST) -> bool:
        """A name that holds a model: so called, or made by a class of this file that is a module; or what wraps one."""
        if isinstance(node, ast.Call) and name_called(node) in ("unwrap_model", "unwrap") and node.args:
            return self.is_model(node.args[0])
        name = last_name(node).lower()
        return any(name == each or name.endswith("_" + each) for each in MODEL_NAMES) or name in self.module_names

    @cached_property
    def module_names(self) -> set[str]:
        """Names that a module of this file, or a pretrained model, is assigned to; in lower case."""
        classes = {
            node.name
            for node in self.nodes.of_kind(ast.ClassDef)
            if any(last(self.name_of(base)) == "Module" for base in node.bases)
        }
        names: set[str] = set()
        for node in self.nodes.of_kind(ast.Assign):
            if isinstance(node.value, ast.Call):
                made = last(self.name_of(node.value.func))
                if made in classes or (made == "from_pretrained" and "Model" in self.name_of(node.value.func)):
                    names |= {last_name(target).lower() for target in node.targets}
        return names - {""}

    def is_optimizer(self, node: ast.AST) -> bool:
        name = last_name(node).lower()
        return "opt" in name.split("_") or name.startswith("optim") or name.endswith(("optimizer", "optim"))

    def is_scaler(self, node: ast.AST) -> bool:
        return last_name(node).lower().endswith("scaler")

    def backward_calls(self, node: ast.AST) -> list[tuple[ast.Call, str]]:
        """Backward passes in a node, each with the name of the loss: `loss.backward()`,
        `scaler.scale(loss / n).backward()`, `accelerator.backward(loss)`."""
        found = []
        for call in self.nodes.within(node, self.calls_to("backward")):
            if not isinstance(call.func, ast.Attribute):
                continue
            holder = call.func.value
            source = call.args[0] if call.args else holder
            names = [each.id for each in ast.walk(source) if isinstance(each, ast.Name)]
            losses = [name for name in names if "loss" in name.lower()] or names[-1:]
            found.append((call, losses[-1] if losses else ""))
        return found
