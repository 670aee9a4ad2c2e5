"""Gradients: which outputs of models reach a loss with their gradient, and in which direction a loss pulls a value.

for loss in losses_of(program):                 # of backward passes, and what training_step() returns
    attached(program, loss.form)                # forward passes that it has a gradient for
    directions(loss.form, is_entropy)           # [(1, form)]: making the loss small makes it small
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .algebra import Form, product, terms
from .losses import Term
from .program import Program
from .syntax import Function
from .timeline import Cycle, Event

QUIET = ("no_grad", "inference_mode", "torch.no_grad", "torch.inference_mode")
#: What has no gradient, whatever it is given.
STOPPING = (
    "detach", "argmax", "argmin", "item", "tolist", "round", "floor", "sign", "one_hot", "eq", "ne", "lt", "le", "gt",
    "ge", "long", "int", "bool", "invert", "multinomial", "sample", "zeros_like", "ones_like", "randn_like",
    "rand_like",
    "topk_indices", "argsort", "randint", "size", "shape", "numel", "rand", "randn",
)  # fmt: skip
RISING = (
    "mean", "sum", "exp", "log", "sqrt", "softplus", "relu", "sigmoid", "tanh", "logsigmoid", "log1p", "expm1", "cumsum",
)  # fmt: skip
RISING_CALLS = (
    "clamp", "min", "max", "stack", "cat", "leaky_relu", "gather", "amax", "amin", "masked_select", "squeeze",
    "index_select",
    "masked_fill", "median", "elu", "transpose", "permute", "t", "swapaxes", "logsumexp",
)  # fmt: skip
#: Names of what is never negative: weights, masks, counts.
POSITIVE = (
    "coef", "coeff", "weight", "weights", "beta", "alpha", "lambda", "lam", "mask", "live", "alive", "valid", "scale",
    "temperature", "temp", "tau", "gamma", "eta", "ent", "vf", "importance", "w", "n", "count", "num", "lmbda", "kl_coef",
)  # fmt: skip


@dataclass(frozen=True)
class Loss:
    """What gradients are taken of."""

    form: Form
    node: ast.AST  # the backward pass or the return

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 0)


def losses_of(program: Program) -> Iterator[Loss]:
    """Of every backward pass, of training_step() of Lightning and of compute_loss() of a Trainer."""
    for name in ("backward", "manual_backward"):
        for call in program.calls_to(name):
            source = program.losses.root(call)
            if source is not None:
                yield Loss(program.algebra.of(source), call)
    for function in program.functions:
        if function.name in ("training_step", "compute_loss") and program.names.class_of(function) is not None:
            for value in program.returns_of(function):
                held = value
                if isinstance(value, ast.Dict):
                    keys = [each.value if isinstance(each, ast.Constant) else "" for each in value.keys]
                    held = value.values[keys.index("loss")] if "loss" in keys else value
                elif isinstance(value, (ast.Tuple, ast.List)) and value.elts:
                    held = value.elts[0]
                yield Loss(program.algebra.of(held), value)


def passes(program: Program) -> Iterator[tuple[Cycle, Event, list[Term]]]:
    """Every backward pass of a training loop with the terms of its loss."""
    for cycle in program.cycles:
        for event in cycle.of("backward"):
            if isinstance(event.node, ast.Call):
                yield cycle, event, program.losses.terms(event.node)


def is_quiet(program: Program, node: ast.AST) -> bool:
    """Whether the place runs without gradients: under no_grad(), or in a function that is decorated so."""
    for parent in program.enclosing(node):
        if isinstance(parent, (ast.With, ast.AsyncWith)):
            for item in parent.items:
                text = ast.unparse(item.context_expr)
                if "no_grad" in text or "inference_mode" in text or "set_grad_enabled(False" in text:
                    return True
        if isinstance(parent, Function):
            return any(
                "no_grad" in ast.unparse(each) or "inference_mode" in ast.unparse(each) for each in parent.decorator_list
            )
    return False


#: Names of networks by the part that they play.
PLAYERS = (
    "critic", "actor", "policy", "q", "qf", "q1", "q2", "q_net", "value", "value_net", "baseline", "gen", "generator",
    "disc", "discriminator", "encoder", "decoder", "predictor", "projector", "teacher", "student", "backbone", "online",
    "netg", "netd",
)  # fmt: skip


def is_forward(program: Program, form: Form) -> bool:
    if form.op != "call" or not isinstance(form.node, ast.Call):
        return False
    return program.objects.event_of(form.node)[0] == "forward" or (name_of_call(form) in PLAYERS and bool(form.parts))


def reaching(form: Form, depth: int = 0) -> Iterator[Form]:
    """The form and its parts, what stands behind a detach() (or has no gradient by itself) left out."""
    if depth > 60 or form.op in STOPPING or name_of_call(form) in STOPPING:
        return
    yield form
    for each in form.parts[:1] if form.op == "index" else form.parts:
        yield from reaching(each, depth + 1)


def attached(program: Program, form: Form, depth: int = 0) -> Iterator[Form]:
    """The forward passes of models that the value has a gradient for."""
    if depth > 60 or form.op in STOPPING or name_of_call(form) in STOPPING:
        return
    if is_forward(program, form):
        if not is_quiet(program, form.node):
            yield form
        return
    parts = form.parts[:1] if form.op == "index" else form.parts
    for each in parts:
        yield from attached(program, each, depth + 1)


def directions(form: Form, is_wanted: Callable[[Form], bool], sign: int = 1, depth: int = 0) -> Iterator[tuple[int, Form]]:
    """Each wanted part of a loss with the sign of its effect: 1 where the loss rises with it. Parts whose effect cannot be
    told are left out."""
    if is_wanted(form):
        yield sign, form
    elif depth < 40 and form.op != "detach":
        yield from _below(form, is_wanted, sign, depth)


def _below(form: Form, is_wanted: Callable[[Form], bool], sign: int, depth: int) -> Iterator[tuple[int, Form]]:
    if form.op in ("add", "sub", "neg"):
        for inner, part in terms(form):
            yield from directions(part, is_wanted, sign * inner, depth + 1)
    elif form.op in ("mul", "div"):
        yield from _of_product(form, is_wanted, sign, depth)
    elif form.op in (*RISING, "index", "slice", "transposed"):
        yield from directions(form.parts[0], is_wanted, sign, depth + 1)
    elif form.op in ("list", "choice") or name_of_call(form) in RISING_CALLS:
        for part in form.parts[: 8 if form.op == "list" else 2]:
            yield from directions(part, is_wanted, sign, depth + 1)
    elif form.op == "call":
        yield from _of_criterion(form, is_wanted, sign, depth)


def _of_product(form: Form, is_wanted: Callable[[Form], bool], sign: int, depth: int) -> Iterator[tuple[int, Form]]:
    held = product(form)
    sign = sign * (1 if held.coefficient >= 0 else -1)
    for at, factor in enumerate(held.factors):
        others = [*held.factors[:at], *held.factors[at + 1 :], *held.divisors]
        if all(is_positive(each) for each in others):
            yield from directions(factor, is_wanted, sign, depth + 1)


def is_positive(form: Form) -> bool:
    if form.op == "number":
        return (form.value or 0.0) > 0
    if form.op in ("exp", "sqrt", "square", "abs", "softplus", "sigmoid", "norm", "std", "var", "relu"):
        return True
    if form.op in ("mean", "sum", "detach", "index", "slice", "key") and form.parts and is_positive(form.parts[0]):
        return True
    if form.op in ("ne", "eq", "lt", "gt", "le", "ge", "invert", "bool"):
        return True
    if form.op == "call" and form.name.rsplit(".", 1)[-1] in ("len", "numel", "size", "clamp", "max", "count_nonzero"):
        return True
    return form.called(*POSITIVE)


def _of_criterion(form: Form, is_wanted: Callable[[Form], bool], sign: int, depth: int) -> Iterator[tuple[int, Form]]:
    """Of a binary loss with labels that are all ones, or all zeros: its input is pulled up, or down."""
    name = form.name.rsplit(".", 1)[-1]
    if len(form.parts) < 2 or name not in (
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy",
        "mse_loss",
        "criterion",
    ):
        return
    label = constant_of(form.parts[1])
    if label is not None:
        yield from directions(form.parts[0], is_wanted, sign * (-1 if label > 0.5 else 1), depth + 1)


def constant_of(form: Form) -> float | None:
    """The number that a tensor of labels is full of."""
    if form.op == "number":
        return form.value
    if form.op == "call":
        name = form.name.rsplit(".", 1)[-1]
        if name in ("ones", "ones_like", "new_ones"):
            return 1.0
        if name in ("zeros", "zeros_like", "new_zeros"):
            return 0.0
        if name in ("full", "full_like", "new_full") and len(form.parts) > 1:
            return constant_of(form.parts[-1])
    if form.op == "mul":
        held = product(form)
        inner = [constant_of(each) for each in held.factors]
        return held.coefficient * inner[0] if len(inner) == 1 and inner[0] is not None and not held.divisors else None
    if form.op in ("add", "sub"):
        inner = [constant_of(each) for each in form.parts]
        if inner[0] is None or inner[1] is None:
            return None
        return inner[0] + inner[1] if form.op == "add" else inner[0] - inner[1]
    return None


def name_of_call(form: Form) -> str:
    """The last name of what a form calls, in lower case; `actor` of `self.actor(x)[0]`."""
    return form.name.split("[")[0].rsplit(".", 1)[-1].lower() if form.op == "call" else ""
