"""Losses: what a backward pass is taken of, as a sum of terms with their signs, weights and reductions.

`loss = ce(out, y) - 1e-4 * z.pow(2).mean()` has two terms: +1 of a cross-entropy, -1e-4 of a mean of squares. Names,
tuples and functions of the file are followed; what is multiplied by a tensor is a term of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from .constants import is_number, known
from .makers import RESHAPES, Makers
from .names import Binding, Names
from .objects import Objects
from .source import Source
from .syntax import constant_index, last_name, name_called
from .values import Values

DEEP = 30
MANY = 24  # terms
#: Classes and functions of losses that are made small; the class's or the function's name.
CRITERIA = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "KLDivLoss": "kl_div",
    "CTCLoss": "ctc_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "TripletMarginLoss": "triplet_margin_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
}
FUNCTIONS = frozenset(CRITERIA.values())
REGRESSIONS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
SAME = (
    "float", "to", "cuda", "cpu", "double", "contiguous", "squeeze", "scale", "half", "type", "unsqueeze", "gather",
    "reduce", *RESHAPES,
)  # fmt: skip
#: Names of coefficients.
WEIGHTS = (
    "beta", "alpha", "gamma", "lambda", "lam", "weight", "coef", "coeff", "scale", "w", "lambd", "wt", "factor", "eta",
    "coefficient",
)  # fmt: skip
CUTS = ("item", "tolist", "detach", "numpy")


@dataclass(frozen=True)
class Criterion:
    """A call of a known loss."""

    kind: str  # `cross_entropy`
    call: ast.Call
    maker: ast.Call  # what holds its options: the same call, or that of the class
    given: ast.expr | None  # the predictions
    target: ast.expr | None
    reduction: str  # mean | sum | none; empty where it is not known


@dataclass(frozen=True)
class Term:
    """One summand of a loss."""

    node: ast.AST  # the call or expression
    sign: int = 1  # of the constants before it
    weight: float | None = 1.0  # the product of the constants; None where one is not known
    scaled: bool = False  # divided or multiplied by something that is no constant
    divided: bool = False
    reductions: tuple[str, ...] = ()  # from the outside in: mean, sum, sum(1)
    lines: tuple[int, ...] = ()  # of the statements on the way
    path: tuple[int, ...] = ()
    cut: ast.AST | None = None  # `.item()`, `.detach()`, `.data` on the way

    def times(self, factor: float) -> Term:
        weight = None if self.weight is None else self.weight * abs(factor)
        return replace(self, sign=self.sign * (-1 if factor < 0 else 1), weight=weight)


class Losses:
    def __init__(self, source: Source, names: Names, values: Values, makers: Makers, objects: Objects):
        self.source = source
        self.names = names
        self.values = values
        self.makers = makers
        self.objects = objects
        self._terms: dict[ast.AST, list[Term]] = {}
        self._criteria: dict[ast.AST, Criterion | None] = {}

    # --- of a backward pass

    def root(self, call: ast.Call) -> ast.expr | None:
        """What `loss.backward()`, `accelerator.backward(loss)`, `scaler.scale(loss).backward()` goes back from."""
        if not isinstance(call.func, ast.Attribute):
            return None
        holder = call.func.value
        if name_called(call) == "manual_backward":
            return call.args[0] if call.args else None
        from_holder = not call.args or isinstance(holder, (ast.BinOp, ast.UnaryOp)) or "loss" in ast.unparse(holder).lower()
        if not from_holder or (call.args and last_name(holder).lower() in ("accelerator", "fabric", "engine")):
            return call.args[0]
        return holder

    def terms(self, call: ast.Call) -> list[Term]:
        """The terms of the loss that a backward pass is taken of."""
        held = self._terms.get(call)
        if held is None:
            source = self.root(call)
            held = self._terms[call] = (
                list(self.expand(source, Term(source, lines=(call.lineno,)))) if source is not None else []
            )
        return held

    def expand(self, node: ast.AST, term: Term, depth: int = 0) -> Iterator[Term]:
        term = replace(term, node=node)
        if depth > DEEP:
            yield term
            return
        if isinstance(node, ast.BinOp):
            yield from self._binary(node, term, depth + 1)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            yield from self.expand(node.operand, term.times(-1 if isinstance(node.op, ast.USub) else 1), depth + 1)
        elif isinstance(node, ast.Call):
            yield from self._call(node, term, depth + 1)
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            yield from self.expand(node.value, replace(term, cut=term.cut or node), depth + 1)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            yield from self._name(node, term, depth + 1)
        elif isinstance(node, ast.Subscript) and (place := constant_index(node)) is not None:
            yield from self.expand(node.value, replace(term, path=(place, *term.path)), depth + 1)
        elif isinstance(node, (ast.Tuple, ast.List)) and term.path and 0 <= term.path[0] < len(node.elts):
            yield from self.expand(node.elts[term.path[0]], replace(term, path=term.path[1:]), depth + 1)
        elif isinstance(node, ast.IfExp):
            yield from self.expand(node.body, term, depth + 1)
        else:
            yield term

    def _binary(self, node: ast.BinOp, term: Term, depth: int) -> Iterator[Term]:
        if isinstance(node.op, (ast.Add, ast.Sub)):
            yield from self.expand(node.left, term, depth)
            yield from self.expand(node.right, term.times(-1 if isinstance(node.op, ast.Sub) else 1), depth)
            return
        if isinstance(node.op, (ast.Div, ast.FloorDiv)):
            divisor = self.values.of(node.right)
            if is_number(divisor) and divisor:
                yield from self.expand(node.left, replace(term.times(1 / divisor), divided=True), depth)
            elif self._is_tensor(node.left):
                yield from self.expand(node.left, replace(term, weight=None, divided=True, scaled=True), depth)
            else:
                yield replace(term, divided=True)
            return
        if isinstance(node.op, ast.Mult):
            for factor, other in ((node.left, node.right), (node.right, node.left)):
                value = self.values.of(factor)
                if is_number(value):
                    yield from self.expand(other, term.times(value), depth)
                    return
            for factor, other in ((node.left, node.right), (node.right, node.left)):
                if self._is_weight(factor):
                    yield from self.expand(other, replace(term, weight=None, scaled=True), depth)
                    return
        yield term

    def _is_weight(self, node: ast.AST) -> bool:
        """A name of a coefficient, as far as its name says so: `args.beta`, `self.lambda_kl`, `kl_weight`."""
        name = last_name(node).lower()
        if not name or self._is_learnt(node, name):
            return False
        return any(word in WEIGHTS for word in name.split("_")) or name.endswith(("coef", "weight", "coeff", "lambda"))

    def _is_learnt(self, node: ast.AST, name: str) -> bool:
        """A number with a gradient of its own: `log_alpha` of SAC, an nn.Parameter."""
        made = self.names.origin(node).node
        if not isinstance(made, ast.Call):
            return name.startswith("log_")
        asks = next((each.value for each in made.keywords if each.arg == "requires_grad"), None)
        return name_called(made) in ("Parameter", "requires_grad_") or (asks is not None and self.values.is_true(asks))

    def _is_tensor(self, node: ast.AST) -> bool:
        return not known(self.values.of(node))

    def _call(self, node: ast.Call, term: Term, depth: int) -> Iterator[Term]:
        name = name_called(node)
        if self.criterion(node) is not None:
            yield term
            return
        of_torch = self.source.name_of(node.func).startswith("torch.")
        held = node.args[0] if of_torch and node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
        if held is not None and name in ("mean", "sum", "nanmean", "nansum"):
            word = name.replace("nan", "")
            rest = node.args[1:] if of_torch else node.args
            word += "(dim)" if rest or any(each.arg in ("dim", "axis") for each in node.keywords) else ""
            yield from self.expand(held, replace(term, reductions=(*term.reductions, word)), depth)
        elif held is not None and name in ("neg", "negative"):
            yield from self.expand(held, term.times(-1), depth)
        elif held is not None and name in CUTS:
            yield from self.expand(held, replace(term, cut=term.cut or node), depth)
        elif name == "scale" and node.args:
            yield from self.expand(node.args[0], term, depth)
        elif (
            held is not None
            and name in ("div", "div_", "mul", "mul_")
            and isinstance(node.func, ast.Attribute)
            and not of_torch
        ):
            yield from self.expand(held, replace(term, weight=None, scaled=True, divided=True), depth)
        elif held is not None and name in SAME and not (name in ("gather", "reduce") and node.args):
            yield from self.expand(held, term, depth)
        elif name in ("sum",) and isinstance(node.func, ast.Name) and node.args:
            yield from self._of_list(node.args[0], term, depth)
        else:
            yield from self._returned(node, term, depth)

    def _of_list(self, node: ast.AST, term: Term, depth: int) -> Iterator[Term]:
        origin = self.names.origin(node).node
        if isinstance(origin, (ast.List, ast.Tuple)):
            for each in origin.elts[:MANY]:
                yield from self.expand(each, term, depth)
        elif isinstance(origin, (ast.ListComp, ast.GeneratorExp)):
            yield from self.expand(origin.elt, term, depth)
        else:
            yield term

    def _returned(self, node: ast.Call, term: Term, depth: int) -> Iterator[Term]:
        """Of a function of this file, what it returns."""
        function = self.objects.function_run(node)
        returned = []
        if function is not None and function.name != "__init__":
            own = self.source.own_nodes(function)
            returned = [each.value for each in own if isinstance(each, ast.Return) and each.value is not None]
        if len(returned) != 1:
            yield term
            return
        yield from self.expand(returned[0], replace(term, lines=(*term.lines, node.lineno)), depth)

    def _name(self, node: ast.Name | ast.Attribute, term: Term, depth: int) -> Iterator[Term]:
        binding = self.names.given(node)
        if binding is None or binding.how in ("loop", "with", "defined", "imported"):
            yield term
            return
        if binding.how == "parameter":
            values = self.names.values_of_parameter(binding)
            if len(values) == 1:
                yield from self.expand(values[0], replace(term, lines=(*term.lines, binding.line)), depth)
            else:
                yield term
            return
        yield from self._through(node, binding, term, depth)

    def _through(self, node: ast.AST, binding: Binding, term: Term, depth: int) -> Iterator[Term]:
        """The last value, and what was added to it (`loss += ...`) since the value before."""
        term = replace(term, lines=(*term.lines, binding.line))
        if binding.how == "added" and isinstance(binding.node, ast.AugAssign):
            before = self._before(binding)
            operation = binding.node.op
            if isinstance(operation, (ast.Add, ast.Sub)):
                sign = -1 if isinstance(operation, ast.Sub) else 1
                if binding.value is not None:
                    yield from self.expand(binding.value, term.times(sign), depth)
            elif isinstance(operation, (ast.Div, ast.Mult)):
                value = self.values.of(binding.value)
                factor = (value if isinstance(operation, ast.Mult) else 1 / value) if is_number(value) and value else None
                divided = isinstance(operation, ast.Div) or term.divided
                scaled = replace(term, weight=None, scaled=True) if factor is None else term.times(factor)
                term = replace(scaled, divided=divided)
            if before is not None and depth < DEEP:
                yield from self._through(node, before, term, depth + 1)
            return
        if binding.value is not None:
            yield from self.expand(binding.value, replace(term, path=(*binding.path, *term.path)), depth)

    def _before(self, binding: Binding) -> Binding | None:
        found = self.names.bindings(binding.scope, binding.name)
        place = found.index(binding)
        return found[place - 1] if place > 0 else None

    # --- known losses

    def criterion(self, call: ast.Call) -> Criterion | None:
        """`F.cross_entropy(x, y)`, `criterion(x, y)` with `criterion = nn.CrossEntropyLoss()`, `nn.MSELoss()(x, y)`."""
        if call not in self._criteria:
            self._criteria[call] = self._criterion(call)
        return self._criteria[call]

    def _criterion(self, call: ast.Call) -> Criterion | None:
        full = self.source.name_of(call.func)
        name = full.rsplit(".", 1)[-1]
        if name in FUNCTIONS and (full.startswith("torch.") or full.startswith("F.")):
            return self._made(name, call, call)
        maker = call.func if isinstance(call.func, ast.Call) else None
        if maker is None and isinstance(call.func, (ast.Name, ast.Attribute)):
            maker = self.makers.call_of(call.func)
        if maker is None or maker is call:
            return None
        kind = CRITERIA.get(self.makers.class_name(maker), "")
        return self._made(kind, call, maker) if kind and call.args else None

    def _made(self, kind: str, call: ast.Call, maker: ast.Call) -> Criterion:
        options = {each.arg: each.value for each in maker.keywords}
        reduction = self.values.text(options["reduction"]) if "reduction" in options else "mean"
        averaged = options.get("size_average")
        if averaged is not None and self.values.is_false(averaged):
            reduction = "sum"
        reduce = options.get("reduce")
        if reduce is not None and self.values.is_false(reduce):
            reduction = "none"
        given = {each.arg: each.value for each in call.keywords}
        first = call.args[0] if call.args else given.get("input", given.get("preds"))
        second = call.args[1] if len(call.args) > 1 else given.get("target", given.get("labels"))
        return Criterion(kind, call, maker, first, second, reduction)

    @cached_property
    def all_criteria(self) -> list[Criterion]:
        """Every call of a known loss in the program."""
        found = (self.criterion(call) for call in self.source.calls)
        return [each for each in found if each is not None]
