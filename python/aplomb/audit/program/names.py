"""Names: what each name of a program was given, and where a value comes from.

Every node knows its place, so a value is followed through names, attributes, parameters, calls of functions of this file
and unpacked tuples without running anything. What several places could give has several origins; what cannot be followed
is its own origin.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Optional

from .source import Source
from .syntax import (
    Comprehension,
    Function,
    FunctionNode,
    argument_given,
    arguments_of,
    constant_index,
    dotted,
    name_called,
    parameters_of,
    path_in,
    takes,
    unstarred,
)

DEEP = 24  # names that a value is followed through
MANY = 6  # origins that are worth looking at
LIBRARIES = ("torch.", "numpy.", "json.", "pickle.", "yaml.", "pandas.")  # whose functions are none of this file


#: The forward() of this file that a call runs; None where it runs none.
ForwardRun = Callable[[ast.Call], Optional[FunctionNode]]  # noqa: UP045


@dataclass(frozen=True)
class Binding:
    """One place that gives a name (or an attribute) a value."""

    name: str
    scope: ast.AST  # the function or module; of an attribute of `self` the class
    node: ast.AST  # the statement, parameter or comprehension
    value: ast.expr | None
    path: tuple[int, ...] = ()  # the place within an unpacked value
    how: str = "assigned"  # assigned | added | loop | with | parameter | defined | imported

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 0)


class Origin(NamedTuple):
    """An expression that nothing more is known of; `path` where only a part of it is meant."""

    node: ast.AST
    path: tuple[int, ...] = ()


class Names:
    def __init__(self, source: Source, forward_run: ForwardRun):
        """`forward_run`: the forward() that a call of a module runs, told by whoever knows modules (makers.py)."""
        self.source = source
        self.forward_run = forward_run
        self.tree = source.nodes
        self._table: dict[tuple[ast.AST, str], list[Binding]] = {}
        self._scopes: dict[ast.AST, ast.AST] = {}
        self._given: dict[ast.AST, Binding | None] = {}
        self._origins: dict[tuple[ast.AST, tuple[int, ...], bool], list[Origin]] = {}
        self._forwards: dict[ast.AST, list[ast.Call]] | None = None
        self._collect()

    # --- collecting

    def _collect(self) -> None:
        for node in self.tree.of_kind(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr):
            self._bind_assigned(node)
        loops: list[ast.For | ast.AsyncFor] = self.tree.of_kind(ast.For, ast.AsyncFor)
        for loop in loops:
            self._bind_item(loop.target, loop.iter, loop)
        blocks: list[ast.With | ast.AsyncWith] = self.tree.of_kind(ast.With, ast.AsyncWith)
        for block in blocks:
            for item in block.items:
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, item.context_expr, block, how="with")
        for function in self.source.functions:
            self._enter(Binding(function.name, self.scope_of(function), function, None, how="defined"))
            for argument, default in parameters_of(function):
                self._enter(Binding(argument.arg, function, argument, default, how="parameter"))
        for each in self.tree.of_kind(ast.ClassDef):
            self._enter(Binding(each.name, self.scope_of(each), each, None, how="defined"))
        self._collect_registered()
        for found in self._table.values():
            found.sort(key=lambda binding: self.tree.place(binding.node))

    def _collect_registered(self) -> None:
        """`self.register_buffer("mask", value)` gives `self.mask` its value."""
        for call in self.source.calls_to("register_buffer", "register_parameter", "add_module", "register_module"):
            owner = self.class_of(call)
            name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
            if owner is None or len(call.args) < 2 or not isinstance(name, str) or not name.isidentifier():
                continue
            self._enter(Binding(f".{name}", owner, call, call.args[1], (), "assigned"))

    def _bind_assigned(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value, node)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self._bind(node.target, node.value, node)
        elif isinstance(node, ast.AugAssign):
            self._bind(node.target, node.value, node, how="added")

    def _bind_item(self, target: ast.expr, value: ast.expr, node: ast.AST) -> None:
        """A loop variable: an item of the loop's iterable, of which `enumerate` and `zip` are looked through."""
        call = name_called(value)
        if call == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2 and value.args:  # type: ignore[attr-defined]
            self._bind(target.elts[0], value, node, (0,), "loop")
            self._bind_item(target.elts[1], value.args[0], node)  # type: ignore[attr-defined]
        elif call in ("tqdm", "trange", "track", "progress_bar") and value.args:  # type: ignore[attr-defined]
            self._bind_item(target, value.args[0], node)  # type: ignore[attr-defined]
        elif call == "zip" and isinstance(target, ast.Tuple) and len(target.elts) == len(value.args):  # type: ignore[attr-defined]
            for part, source in zip(target.elts, value.args):  # type: ignore[attr-defined]
                self._bind_item(part, source, node)
        else:
            self._bind(target, value, node, (), "loop")

    def _bind(
        self, target: ast.expr, value: ast.expr, node: ast.AST, path: tuple[int, ...] = (), how: str = "assigned"
    ) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = unstarred(value) if how == "assigned" and not path else None
            paired = parts is not None and len(parts) == len(target.elts)
            for place, part in enumerate(target.elts):
                if paired and parts is not None:
                    self._bind(part, parts[place], node)
                else:
                    self._bind(part, value, node, (*path, place), how)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, node, (*path, -1), how)
        elif isinstance(target, ast.Name):
            self._enter(Binding(target.id, self.scope_of(node), node, value, path, how))
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            scope, name = self.place_of(target)
            if name:
                self._enter(Binding(name, scope, node, value, path, how))

    def _enter(self, binding: Binding) -> None:
        self._table.setdefault((binding.scope, binding.name), []).append(binding)

    # --- scopes

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The function or module in whose names the node is; of a definition the one around it."""
        held = self._scopes.get(node)
        if held is None:
            parent = self.tree.parents.get(node)
            while parent is not None and not isinstance(parent, (*Function, ast.Module)):
                parent = self.tree.parents.get(parent)
            held = self._scopes[node] = parent if parent is not None else self.tree.root
        return held

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose method the node stands in."""
        for parent in self.source.enclosing(node):
            if isinstance(parent, ast.ClassDef):
                return parent
        return None

    def place_of(self, node: ast.Attribute | ast.Subscript) -> tuple[ast.AST, str]:
        """Where `self.net`, `cfg.lr` or `state["step"]` is kept: the class and `.net`, else the scope of the first name and
        the text."""
        text = dotted(node)
        if not text:
            return self.tree.root, ""
        first, rest = text.split(".", 1)
        if first in ("self", "s", "cls") and (owner := self.class_of(node)) is not None:
            return owner, "." + rest
        return self.home_of(first, node), text

    def home_of(self, name: str, near: ast.AST) -> ast.AST:
        """The scope whose name it is: the nearest function that gives it a value, else the module."""
        scope = self.scope_of(near)
        while not isinstance(scope, ast.Module):
            if (scope, name) in self._table:
                return scope
            scope = self.scope_of(scope)
        return scope

    def attributes(self, owner: ast.ClassDef) -> dict[str, list[Binding]]:
        """What the methods of a class give its objects: `self.net` by its name."""
        found: dict[str, list[Binding]] = {}
        for (scope, name), bindings in self._table.items():
            if scope is owner and name.startswith(".") and name.count(".") == 1 and "[" not in name:
                found[name[1:]] = bindings
        return found

    # --- asking

    def bindings(self, scope: ast.AST, name: str) -> list[Binding]:
        return self._table.get((scope, name), [])

    def all_given(self, node: ast.AST) -> list[Binding]:
        """Every place that gives this name or attribute a value, in the order of the text."""
        if isinstance(node, ast.Name):
            return self._table.get((self.home_of(node.id, node), node.id), [])
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            scope, name = self.place_of(node)
            return self._table.get((scope, name), []) if name else []
        return []

    def given(self, node: ast.AST) -> Binding | None:
        """The value in force: the last one before the node in its own scope, else (of a loop, of another scope) the last."""
        if node not in self._given:
            self._given[node] = self._last_given(node)
        return self._given[node]

    def _last_given(self, node: ast.AST) -> Binding | None:
        own = self.local_binding(node)
        if own is not None:
            return own
        found = self.all_given(node)
        if not found:
            return None
        if isinstance(getattr(node, "ctx", None), ast.Store):  # a target: what it is given there
            return next((each for each in found if self.tree.encloses(each.node, node)), found[-1])
        if found[0].scope is self.scope_of(node):
            place = self.tree.place(node)
            before = [each for each in found if self._is_before(each, node, place)]
            if before:
                return before[-1]
        found = [each for each in found if not self.tree.encloses(each.node, node)]  # `x = f(x)` alone gives nothing
        return found[-1] if found else None

    def is_sure(self, node: ast.AST) -> bool:
        """Whether nothing else could have given the value: one place, or the last of several that all are run."""
        found = self.all_given(node)
        last = self.given(node)
        if last is None:
            return False
        if len(found) == 1:
            return True
        conditional = self.source.is_conditional(last.node, last.scope)
        added = any(each.how in ("added", "loop") for each in found)
        return last.scope is self.scope_of(node) and not conditional and not added

    def _is_before(self, binding: Binding, node: ast.AST, place: int) -> bool:
        begin = self.tree.place(binding.node)
        if begin >= place:
            return False
        inside = self.tree.encloses(binding.node, node)
        return not inside or binding.how in ("loop", "with", "parameter")

    def local_binding(self, node: ast.AST) -> Binding | None:
        """Of a variable of a comprehension, or of a parameter of a lambda."""
        if not isinstance(node, ast.Name):
            return None
        for parent in self.source.enclosing(node):
            if isinstance(parent, Comprehension):
                for each in parent.generators:
                    path = path_in(each.target, node.id)
                    if path is not None and not self.tree.encloses(each.iter, node):
                        return Binding(node.id, parent, parent, each.iter, path, "loop")
            elif isinstance(parent, ast.Lambda):
                if any(each.arg == node.id for each in arguments_of(parent.args)):
                    return Binding(node.id, parent, parent, None, (), "parameter")
            elif isinstance(parent, (*Function, ast.Module)):
                return None
        return None

    # --- following

    def origin(self, node: ast.AST, through_calls: bool = True) -> Origin:
        """The one origin of a value; the node itself where it may come from several places. Two calls of one function come
        to the same place inside it; `through_calls=False` ends at the call, which tells their objects apart."""
        found = self.origins(node, through_calls=through_calls)
        return found[0] if len(found) == 1 else Origin(node)

    def origins(self, node: ast.AST, path: tuple[int, ...] = (), depth: int = 0, through_calls: bool = True) -> list[Origin]:
        """Where a value comes from, through names, parameters and functions of this file."""
        if self._forwards is None:
            self.forward_calls(self.tree.root)  # before anything is asked on the way
        key = (node, path, through_calls)
        if key not in self._origins:
            if depth > DEEP:
                return [Origin(node, path)]
            self._origins[key] = [Origin(node, path)]  # of what is made of itself, as in a function that calls itself
            self._origins[key] = self._followed(node, path, depth, through_calls)
        return self._origins[key]

    def _followed(self, node: ast.AST, path: tuple[int, ...], depth: int, through_calls: bool) -> list[Origin]:
        if path and isinstance(node, (ast.Tuple, ast.List)) and 0 <= path[0] < len(node.elts):
            return self.origins(node.elts[path[0]], path[1:], depth + 1, through_calls)
        if isinstance(node, ast.Subscript) and (place := constant_index(node)) is not None:
            base = self.origins(node.value, (), depth + 1, through_calls)
            if len(base) == 1 and isinstance(base[0].node, (ast.Tuple, ast.List)) and not base[0].path:
                return self.origins(base[0].node, (place, *path), depth + 1, through_calls)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._origins_of_name(node, path, depth, through_calls)
        if isinstance(node, ast.Call) and through_calls:
            returned = self.returned_by(node)
            if returned:
                found = [each for one in returned[:MANY] for each in self.origins(one, path, depth + 1)]
                return distinct(found)[:MANY]
        return [Origin(node, path)]

    def _origins_of_name(self, node: ast.AST, path: tuple[int, ...], depth: int, through_calls: bool) -> list[Origin]:
        binding = self.given(node)
        if binding is None or binding.how in ("defined", "added", "loop", "with", "imported"):
            return [Origin(node, path)]
        if binding.how == "parameter":
            values = self.values_of_parameter(binding)
            if not values or len(values) > MANY:
                return [Origin(node, path)]
            found = [each for one in values for each in self.origins(one, path, depth + 1, through_calls)]
            return distinct(found)[:MANY]
        if binding.value is None:
            return [Origin(node, path)]
        return self.origins(binding.value, (*binding.path, *path), depth + 1, through_calls)

    def values_of_parameter(self, binding: Binding) -> list[ast.expr]:
        """What the calls of this file give a parameter; its default where a call gives none, or where nothing calls."""
        function = binding.scope
        if not isinstance(function, Function):
            return []
        is_method = isinstance(self.tree.parents.get(function), ast.ClassDef)
        calls = self.calls_of_parameter(binding)
        if not calls:
            return [binding.value] if binding.value is not None else []
        found = []
        for call in calls:
            value = argument_given(call, function, binding.name, is_method)
            value = value if value is not None else binding.value
            if value is None:
                return []
            found.append(value)
        return found

    def calls_of_parameter(self, binding: Binding) -> list[ast.Call]:
        """The calls of this file that run the function whose parameter it is."""
        function = binding.scope
        if not isinstance(function, Function):
            return []
        owner = self.tree.parents.get(function)
        if isinstance(owner, ast.ClassDef) and function.name == "forward":
            return self.forward_calls(function)
        named = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
        found = self.source.calls_to(named)
        if isinstance(owner, ast.ClassDef):
            return found
        return [each for each in found if not self.source.name_of(each.func).startswith(LIBRARIES)]  # torch.save, json.load

    def forward_calls(self, forward: ast.AST) -> list[ast.Call]:
        """The calls that run a module's forward(): `model(x)`, `self.mix(x)`, `block(x)` of `for block in self.blocks`."""
        if self._forwards is None:
            self._forwards = {}  # while it is filled
            if any(each.name == "forward" for each in self.source.functions):
                for call in self.source.calls:
                    run = self.forward_run(call) if call.args or call.keywords else None
                    if run is not None:
                        self._forwards.setdefault(run, []).append(call)
        return self._forwards.get(forward, [])

    def function_called(self, call: ast.Call) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function of this file that a call runs, where only one has the name."""
        name = ""
        if isinstance(call.func, ast.Name):
            name = call.func.id
        elif isinstance(call.func, ast.Attribute):
            name = call.func.attr
        found = self.source.functions_by_name.get(name, [])
        if len(found) != 1 or not isinstance(found[0], Function):
            return None
        function = found[0]
        is_method = isinstance(self.tree.parents.get(function), ast.ClassDef)
        same_kind = is_method == isinstance(call.func, ast.Attribute)
        return function if same_kind and takes(function, call, is_method) else None

    def returned_by(self, call: ast.Call) -> list[ast.expr]:
        """What a function of this file returns to a call."""
        function = self.function_called(call)
        return [] if function is None or function.name == "forward" else self.source.returns_of(function)


# --- small questions to the tree


def distinct(found: list[Origin]) -> list[Origin]:
    return list(dict.fromkeys(found))
