"""Algebra: what an expression computes, whichever way it is spelled.

`mu + eps * torch.exp(logvar)`, `torch.addcmul(mu, eps, logvar.exp())` and the same through names and functions of the file
have one form: a sum of `mu` and a product. Rules ask for terms and factors of that form, not for the text.

    form = program.algebra.of(node)
    form.op                     # "add", "mul", "exp", "sqrt", "index", "name", "number", "call", ...
    terms(form)                 # [(1, mu), (1, eps * exp(logvar))]
    form.words                  # names by which the value is known on the way: {"std"}
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from .constants import is_number
from .losses import Losses
from .names import Binding, Names
from .objects import Objects
from .source import Source
from .syntax import argument_given, constant_index, dotted, name_called
from .values import Values

DEEP = 40
MOST_FORMS = 40_000  # of one program

#: What gives the same numbers in another shape, place or format.
TRANSPARENT = (
    "view", "reshape", "flatten", "squeeze", "unsqueeze", "expand", "expand_as", "view_as", "reshape_as", "contiguous",
    "to", "float", "double", "cuda", "cpu", "half", "bfloat16", "clone", "type_as", "type", "astype", "copy", "numpy",
    "requires_grad_", "as_tensor", "broadcast_to", "asarray",
)  # fmt: skip
UNARY = (
    "exp", "log", "sqrt", "abs", "square", "sigmoid", "tanh", "relu", "softplus", "logsigmoid", "detach", "mean", "sum",
    "std", "norm", "cumprod", "softmax", "log_softmax", "log1p", "expm1", "rsqrt", "reciprocal", "neg", "cos", "sin",
    "bool", "long", "int", "var", "cumsum", "logical_not", "normalize", "argmax", "argmin",
)  # fmt: skip
SPELLINGS = {
    "multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div", "power": "pow", "negative": "neg",
    "logical_not": "invert", "bitwise_not": "invert", "minimum": "min", "maximum": "max", "nanmean": "mean",
    "clip": "clamp", "concat": "cat", "concatenate": "cat", "hstack": "cat", "not_equal": "ne", "greater": "gt",
    "mm": "matmul",
}  # fmt: skip
LIBRARIES = ("torch.", "numpy.", "math.", "F.", "np.", "jax.")
BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitOr: "or",
    ast.BitAnd: "and",
}
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}

Bound = dict[str, "Form"]


@dataclass(frozen=True)
class Form:
    op: str
    node: ast.AST
    parts: tuple[Form, ...] = ()
    name: str = ""  # of a call: what is called; of a name: the name itself
    value: float | None = None  # of a number
    words: frozenset[str] = frozenset()  # names by which it is known, in lower case

    @cached_property
    def key(self) -> str:
        """The same for equal forms."""
        inner = ",".join(each.key for each in self.parts)
        return f"{self.op}:{self.name}{'' if self.value is None else self.value}({inner})"

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 0)

    def below(self) -> Iterator[Form]:
        waiting = [self]
        for _ in range(2000):
            if not waiting:
                return
            form = waiting.pop()
            yield form
            waiting += form.parts

    def called(self, *words: str) -> bool:
        """Whether one of its names is, or ends or begins with, one of these words."""
        return any(is_word(each, word) for each in self.words for word in words)

    def mentions(self, *words: str) -> bool:
        return any(each.called(*words) for each in self.below())

    def holds(self, *ops: str) -> bool:
        return any(each.op in ops for each in self.below())


def is_word(name: str, word: str) -> bool:
    return name == word or name.endswith("_" + word) or name.startswith(word + "_")


class Algebra:
    def __init__(self, source: Source, names: Names, values: Values, objects: Objects, losses: Losses):
        self.source = source
        self.names = names
        self.values = values
        self.objects = objects
        self.losses = losses
        self._forms: dict[tuple[ast.AST, tuple[int, ...]], Form] = {}
        self._count = 0
        self._running: set[tuple[ast.AST, tuple[int, ...]]] = set()

    def of(self, node: ast.AST, path: tuple[int, ...] = (), bound: Bound | None = None, depth: int = 0) -> Form:
        key = (node, path)
        if not bound and key in self._forms:
            return self._forms[key]
        self._count += 1
        if depth > DEEP or self._count > MOST_FORMS or key in self._running:
            return self._leaf(node, path)
        self._running.add(key)
        try:
            form = self._of(node, path, bound or {}, depth + 1)
        finally:
            self._running.discard(key)
        if not bound:
            self._forms[key] = form
        return form

    def _leaf(self, node: ast.AST, path: tuple[int, ...] = ()) -> Form:
        text = dotted(node) or f"#{self.source.nodes.place(node)}"
        word = text.replace("[", "").replace("]", "").rsplit(".", 1)[-1].lower()
        words = frozenset({word}) if dotted(node) else frozenset()
        return Form("name", node, (), text + (str(list(path)) if path else ""), None, words)

    def _of(self, node: ast.AST, path: tuple[int, ...], bound: Bound, depth: int) -> Form:
        if path and isinstance(node, (ast.Tuple, ast.List)) and 0 <= path[0] < len(node.elts):
            return self.of(node.elts[path[0]], path[1:], bound, depth)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name(node, path, bound, depth)
        if isinstance(node, ast.Call):
            return self._call(node, path, bound, depth)
        if path:
            return self._leaf(node, path)
        if isinstance(node, ast.Subscript):
            return self._item(node, bound, depth)
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            return self._operation(node, bound, depth)
        return self._display(node, bound, depth)

    def _display(self, node: ast.AST, bound: Bound, depth: int) -> Form:
        """Constants, choices and lists as they are written."""
        if isinstance(node, ast.Constant):
            if is_number(node.value):
                return Form("number", node, (), "", float(node.value))  # type: ignore[arg-type]
            return Form("text", node, (), repr(node.value))
        if isinstance(node, ast.IfExp):
            return Form("choice", node, (self.of(node.body, (), bound, depth), self.of(node.orelse, (), bound, depth)))
        if isinstance(node, (ast.Tuple, ast.List)):
            return Form("list", node, tuple(self.of(each, (), bound, depth) for each in node.elts[:16]))
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return Form("list", node, (self.of(node.elt, (), bound, depth),))
        return self._leaf(node)

    def _operation(self, node: ast.BinOp | ast.UnaryOp | ast.Compare, bound: Bound, depth: int) -> Form:
        if isinstance(node, ast.UnaryOp):
            inner = self.of(node.operand, (), bound, depth)
            if isinstance(node.op, ast.USub):
                return simplified(Form("neg", node, (inner,)))
            return Form("invert", node, (inner,)) if isinstance(node.op, (ast.Invert, ast.Not)) else inner
        if isinstance(node, ast.BinOp):
            op = BINARY.get(type(node.op), "")
            sides = (node.left, node.right)
        else:
            op = COMPARED.get(type(node.ops[0]), "") if len(node.ops) == 1 else ""
            sides = (node.left, node.comparators[0])
        if not op:
            return self._leaf(node)
        return simplified(Form(op, node, tuple(self.of(each, (), bound, depth) for each in sides)))

    # --- names

    def _name(self, node: ast.Name | ast.Attribute, path: tuple[int, ...], bound: Bound, depth: int) -> Form:
        word = (node.attr if isinstance(node, ast.Attribute) else node.id).lower()
        if isinstance(node, ast.Name) and node.id in bound and not path:
            form = bound[node.id]
            return replace(form, words=form.words | {word})
        if isinstance(node, ast.Attribute) and node.attr in ("data", "T", "mT"):
            return Form("detach" if node.attr == "data" else "transposed", node, (self.of(node.value, path, bound, depth),))
        if isinstance(node, ast.Attribute) and not dotted(node) and not path:
            inner = self.of(node.value, (), bound, depth)
            return (
                inner if node.attr in ("values", "real") else Form("key", node, (inner,), node.attr, None, frozenset({word}))
            )
        binding = self.names.given(node)
        value = self.values.of(node) if binding is None or binding.how == "assigned" else None
        if binding is None or binding.how != "assigned" or binding.value is None:
            if binding is not None and binding.how == "parameter":
                return self._parameter(node, binding, path, bound, word, depth)
            leaf = self._leaf(node, path)
            return Form("number", node, (), "", float(value), frozenset({word})) if is_number(value) else leaf  # type: ignore[arg-type]
        if not self.names.is_sure(node) and self._is_changed(node):
            return self._leaf(node, path)
        collected = self._collected(node, binding, bound, depth)
        if collected is not None:
            return collected
        here = bound if binding.scope is self.names.scope_of(node) else {}
        form = self.of(binding.value, (*binding.path, *path), here, depth)
        if form.op == "name" and form.node is not node and (binding.path or path):
            form = replace(form, words=frozenset())  # a part of something: the name that it gets here tells what it is
        return replace(form, words=form.words | {word})

    def _is_changed(self, node: ast.AST) -> bool:
        """Added to, or the variable of a loop too."""
        return any(each.how in ("added", "loop") for each in self.names.all_given(node))

    def _collected(self, node: ast.AST, binding: Binding, bound: Bound, depth: int) -> Form | None:
        """A list that things are appended to."""
        if not isinstance(binding.value, (ast.List, ast.Call)) or not isinstance(node, ast.Name):
            return None
        if isinstance(binding.value, ast.List) and binding.value.elts:
            return None
        if isinstance(binding.value, ast.Call) and name_called(binding.value) not in ("list", "deque"):
            return None
        added = [
            call.args[0]
            for call in self.source.calls_to("append")
            if call.args
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id == node.id
            and self.names.given(call.func.value) in self.names.all_given(node)
        ]
        parts = tuple(self.of(each, (), {}, depth) for each in added[:8])
        return Form("list", node, parts, "", None, frozenset({node.id.lower()})) if parts else None

    def _parameter(
        self, node: ast.AST, binding: Binding, path: tuple[int, ...], bound: Bound, word: str, depth: int
    ) -> Form:
        values = self.names.values_of_parameter(binding)
        if len(values) == 1 and (values[0] is not binding.value or not self.names.calls_of_parameter(binding)):
            if values[0] is binding.value and not is_number(self.values.of(values[0])):
                return self._leaf(node, path)
            form = self.of(values[0], path, {}, depth)
            return replace(form, words=form.words | {word})
        return self._leaf(node, path)

    # --- parts

    def _item(self, node: ast.Subscript, bound: Bound, depth: int) -> Form:
        if dotted(node):
            binding = self.names.given(node)
            if binding is not None and binding.how == "assigned" and binding.value is not None and self.names.is_sure(node):
                return self.of(binding.value, binding.path, bound, depth)
        value = self.values.of(node)
        if is_number(value):  # of a configuration
            return Form("number", node, (), "", float(value), self._leaf(node).words)
        place = constant_index(node)
        if place is not None and isinstance(node.value, ast.Call):
            return self.of(node.value, (place,), bound, depth)
        held = self.of(node.value, (), bound, depth)
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            return Form("key", node, (held,), index.value, None, frozenset({index.value.lower()}))
        inner = index.elts if isinstance(index, ast.Tuple) else [index]
        if all(is_whole(each) for each in inner):
            return held
        asked = tuple(
            self.of(each, (), bound, depth) for each in inner if not isinstance(each, ast.Slice) and not is_whole(each)
        )
        return Form("index" if asked else "slice", node, (held, *asked), ast.unparse(index), None, held.words)

    # --- calls

    def _call(self, node: ast.Call, path: tuple[int, ...], bound: Bound, depth: int) -> Form:
        name = name_called(node)
        full = self.source.name_of(node.func)
        name = full.rsplit(".", 1)[-1] if full and isinstance(node.func, ast.Name) else name
        library = full.startswith(LIBRARIES)
        own = self.objects.function_run(node) if not library else None
        if own is not None and own.name not in ("forward", "__init__") and len(node.args) < 12:
            returned = self.source.returns_of(own)
            if len(returned) == 1:
                return self.of(returned[0], path, self._given(node, own, bound, depth), depth)
        criterion = self.losses.criterion(node) if not library else None
        if criterion is not None and criterion.given is not None and criterion.target is not None and not path:
            asked = (criterion.given, criterion.target)
            return Form("call", node, tuple(self.of(each, (), bound, depth) for each in asked), criterion.kind)
        held = [node.func.value] if isinstance(node.func, ast.Attribute) and not library else []
        given = [*held, *node.args]
        name = SPELLINGS.get(name.rstrip("_") or name, name.rstrip("_") or name)
        known = library or isinstance(node.func, ast.Attribute) or name in ("abs", "min", "max", "sum")
        if path or not known or not given or any(isinstance(each, ast.Starred) for each in given):
            inner = tuple(self.of(each.value if isinstance(each, ast.Starred) else each, (), bound, depth) for each in given)
            what = full or name
            return Form("call", node, inner, what + (f"{list(path)}" if path else ""))
        if name in TRANSPARENT:
            return self.of(given[0], (), bound, depth)
        if name in UNARY:
            rest = [self.of(each, (), bound, depth) for each in given[1:]] if name in ("softmax", "log_softmax") else []
            return simplified(Form(name, node, (self.of(given[0], (), bound, depth), *rest)))
        parts = tuple(self.of(each, (), bound, depth) for each in given)
        return self._arithmetic(node, name, parts)

    @staticmethod
    def _arithmetic(node: ast.Call, name: str, parts: tuple[Form, ...]) -> Form:
        if name in ("add", "sub", "mul", "div", "pow", "matmul", "eq", "ne", "lt", "le", "gt", "ge") and len(parts) == 2:
            return simplified(Form(name, node, parts))
        if name == "addcmul" and len(parts) == 3:
            return Form("add", node, (parts[0], Form("mul", node, parts[1:])))
        if name == "addcdiv" and len(parts) == 3:
            return Form("add", node, (parts[0], Form("div", node, parts[1:])))
        return Form("call", node, parts, name)

    def _given(self, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef, bound: Bound, depth: int) -> Bound:
        is_method = isinstance(self.source.nodes.parents.get(function), ast.ClassDef)
        found: Bound = {}
        for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            value = argument_given(call, function, each.arg, is_method)
            if value is not None:
                found[each.arg] = self.of(value, (), bound, depth)
        return found


def is_whole(node: ast.AST) -> bool:
    """`:`, `None`, `...`: no number is left out."""
    if isinstance(node, ast.Slice):
        return node.lower is None and node.upper is None and node.step is None
    return isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis)


def simplified(form: Form) -> Form:
    if form.op in ("add", "sub", "mul", "div") and all(each.op == "number" and not each.words for each in form.parts):
        left, right = (each.value or 0.0 for each in form.parts)
        if form.op != "div" or right:
            worked = {"add": left + right, "sub": left - right, "mul": left * right, "div": left / (right or 1.0)}
            return Form("number", form.node, (), "", worked[form.op])
    if form.op == "neg" and form.parts[0].op == "number":
        return Form("number", form.node, (), "", -(form.parts[0].value or 0.0), form.parts[0].words)
    if form.op == "pow" and len(form.parts) == 2:
        if form.parts[1].value == 2:
            return Form("square", form.node, form.parts[:1])
        if form.parts[1].value == 0.5:
            return Form("sqrt", form.node, form.parts[:1])
    return form


def terms(form: Form, sign: int = 1, whole: Callable[[Form], bool] = lambda form: False) -> list[tuple[int, Form]]:
    """The summands, each with its sign; what is `whole` stays so."""
    if whole(form):
        return [(sign, form)]
    if form.op in ("add", "sub"):
        return terms(form.parts[0], sign, whole) + terms(form.parts[1], -sign if form.op == "sub" else sign, whole)
    if form.op == "neg":
        inner = form.parts[0]  # what is negated is known by the same names
        return terms(replace(inner, words=inner.words | form.words) if form.words else inner, -sign, whole)
    return [(sign, form)]


@dataclass(frozen=True)
class Product:
    """`coefficient * factors / divisors`."""

    coefficient: float
    factors: tuple[Form, ...]
    divisors: tuple[Form, ...] = ()


def product(form: Form) -> Product:
    if form.op == "number" and form.value is not None:
        return Product(form.value, ()) if not form.words else Product(-1.0 if form.value < 0 else 1.0, (form,))
    if form.op == "neg":
        inner = product(form.parts[0])
        return replace(inner, coefficient=-inner.coefficient)
    if form.op in ("mul", "div"):
        one, other = product(form.parts[0]), product(form.parts[1])
        if form.op == "mul":
            return Product(one.coefficient * other.coefficient, one.factors + other.factors, one.divisors + other.divisors)
        if other.coefficient:
            return Product(one.coefficient / other.coefficient, one.factors + other.divisors, one.divisors + other.factors)
    return Product(1.0, (form,))


def averaged(form: Form) -> Form:
    """What a mean or a sum is taken of."""
    while form.op in ("mean", "sum"):
        form = form.parts[0]
    return form
