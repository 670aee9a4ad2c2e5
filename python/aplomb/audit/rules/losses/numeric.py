"""Rules about arithmetic that gives Inf or NaN."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import (
    Function,
    arguments_of,
    is_constant,
    keyword_of,
    last_name,
    name_called,
    names_in,
    receiver_of,
    source_of,
)
from .domain import (
    arcs_at_one,
    functions_of_training,
    logs_of_squashed,
    logs_of_zero,
    roots_of_spreads,
    shared_out,
    standardised,
    unit_of_difference,
    units,
)

GUARDS = ("clamp", "clamp_min", "clamp_", "clip", "maximum", "nan_to_num", "where", "logsumexp", "relu_eps")
SQUASHERS = ("softmax", "sigmoid")
CASTS = ("float", "double", "to", "type", "contiguous")
LOGARITHMS = ("log", "log2", "log10")
SPREADS = ("norm", "std", "var")


def squashed_by(program: Program, node: ast.AST) -> str:
    """`softmax` or `sigmoid` where the expression is just that: `F.softmax(x, -1)`, `x.sigmoid()`."""
    if not isinstance(node, ast.Call):
        return ""
    name = name_called(node)
    return name if name in SQUASHERS else ""


def squashed(program: Program, call: ast.Call) -> ast.expr:
    """Of what it is the softmax or sigmoid."""
    return call.args[0] if program.name_of(call.func).startswith("torch.") and call.args else receiver_of(call)


def assigned_once(program: Program, name: str, near: ast.AST) -> ast.AST | None:
    """The only value that a name of this function is given; None where there are several (a parameter has one already) or
    none, and of what is made of itself."""
    function = program.function_of(near)
    values: list[ast.expr | None] = []
    if isinstance(function, Function) and any(each.arg == name for each in arguments_of(function.args)):
        values.append(None)
    for node in program.own_nodes(function):
        if isinstance(node, ast.Assign) and any(name in names_in(target) for target in node.targets):
            values.append(node.value if isinstance(node.targets[0], ast.Name) else None)
        elif isinstance(node, (ast.AugAssign, ast.For, ast.AnnAssign, ast.NamedExpr)) and name in names_in(node.target):
            values.append(None)
    only = values[0] if len(values) == 1 else None
    return None if only is not None and name in names_in(only) else only


def log_argument(program: Program, call: ast.Call) -> ast.AST | None:
    """What the logarithm of a tensor is taken of: `torch.log(x)`, `x.log()`."""
    if name_called(call) not in LOGARITHMS or not isinstance(call.func, ast.Attribute):
        return None
    if program.name_of(call.func) in ("torch.log", "torch.log2", "torch.log10"):
        return call.args[0] if call.args else None
    return call.func.value if not call.args and not call.keywords else None


def seen_through(program: Program, node: ast.AST) -> ast.AST:
    """A name stands for the one value that it was given."""
    if isinstance(node, ast.Name):
        value = assigned_once(program, node.id, node)
        return value if value is not None else node
    return node


def uncast(node: ast.AST) -> ast.AST:
    """Without the change of format around it: `softmax(x).float()`, `p.to(torch.float32)`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CASTS:
        node = node.func.value
    return node


@rule("code.log-of-softmax")
def log_softmax(program: Program) -> Iterator[Finding]:
    for call in program.calls_to(*LOGARITHMS):
        argument = log_argument(program, call)
        if argument is None:
            continue
        value = uncast(seen_through(program, uncast(argument)))
        if not isinstance(value, ast.Call) or squashed_by(program, value) != "softmax":
            continue
        inner = squashed(program, value)
        dim = keyword_of(value, "dim")
        yield Finding(call.lineno, f"F.log_softmax({source_of(inner)}, dim={source_of(dim) if dim is not None else -1})")
    for call, form in logs_of_squashed(program):
        if form.op == "softmax":
            yield Finding(call.lineno, f"F.log_softmax({source_of(form.parts[0].node)}, dim=-1)")


def model_outputs(program: Program, function: ast.AST) -> set[str]:
    """Names of a function that hold what a model gave, or a softmax or sigmoid."""
    names: set[str] = set()
    for node in program.own_nodes(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        call = uncast(node.value)
        if not isinstance(call, ast.Call):
            continue
        if program.is_model(call.func) or squashed_by(program, call):
            plain = [target for target in node.targets if isinstance(target, (ast.Name, ast.Tuple))]
            names |= {each for target in plain for each in names_in(target)}
    names.discard("self")
    return names


def is_guarded(node: ast.AST) -> bool:
    """Something is added, or the value is bounded from below."""
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add):
            return True
        if isinstance(each, ast.Call) and (name_called(each) in GUARDS or name_called(each).startswith(("clamp", "exp"))):
            return True
    return False


@rule("code.log-unguarded")
def log_unguarded(program: Program) -> Iterator[Finding]:
    """The logarithm of an output of a model without an epsilon."""
    for node, outputs in with_outputs(program, LOGARITHMS):
        argument = log_argument(program, node) if isinstance(node, ast.Call) else None
        if argument is None or squashed_by(program, uncast(seen_through(program, argument))) == "softmax":
            continue  # another rule says more
        if is_output(program, argument, outputs) and not is_guarded(argument):
            yield Finding(node.lineno, f"torch.log({source_of(argument)} + 1e-8)")
    yield from logs_of_zero(program)
    for call, form in logs_of_squashed(program):
        if form.op == "sigmoid":
            yield Finding(call.lineno, f"F.logsigmoid({source_of(form.parts[0].node)})")


@rule("code.sqrt-unguarded")
def sqrt_unguarded(program: Program) -> Iterator[Finding]:
    """The root of one, or its arc cosine: the gradient is infinite at the end of the range."""
    for node, outputs in with_outputs(program, ("sqrt", "acos", "asin")):
        name = program.name_of(node.func) if isinstance(node, ast.Call) else ""
        if name not in ("torch.sqrt", "torch.acos", "torch.asin") or not node.args:
            continue
        argument = node.args[0]
        if is_output(program, argument, outputs) and not is_guarded(argument):
            inner = source_of(argument)
            guarded = f"{inner} + 1e-12" if name == "torch.sqrt" else f"{inner}.clamp(-1 + 1e-6, 1 - 1e-6)"
            yield Finding(node.lineno, f"{name}({guarded})", {"function": name_called(node)}, sure=False)

    yield from distances(program)
    yield from roots_of_spreads(program)
    yield from arcs_at_one(program)


def distances(program: Program) -> Iterator[Finding]:
    """`((a - b) ** 2).sum(-1).sqrt()` in what a loss is made of: where both are the same the gradient is 0 times infinity.
    Squared distances of all pairs, bounded at 0, hold each sample's distance to itself."""
    if not program.trains:
        return
    used = functions_of_training(program)
    for call in program.calls_to("sqrt"):
        of_torch = program.name_of(call.func) == "torch.sqrt"
        argument = call.args[0] if of_torch and call.args else receiver_of(call)
        if argument is call.func or (not of_torch and call.args) or program.function_of(call) not in used:
            continue
        value = program.names.origin(argument).node
        bounded = is_bounded_at_zero(program, value)
        if bounded or is_sum_of_squares(program, value):
            text = source_of(argument)
            corrected = f"{text[:-1]}).clamp(min=1e-12).sqrt()" if text.endswith("))") else f"({text} + 1e-12).sqrt()"
            if bounded:
                corrected = source_of(call).replace("min=0", "min=1e-12").replace("clamp(0)", "clamp(1e-12)")
            yield Finding(call.lineno, corrected, {"function": "sqrt"})


def is_sum_of_squares(program: Program, node: ast.AST) -> bool:
    """`((a - b) ** 2).sum(dim)`, `(a - b).pow(2).sum(dim)`: of each row, not of everything."""
    if not isinstance(node, ast.Call) or name_called(node) != "sum" or not (node.args or node.keywords):
        return False
    held = node.args[0] if program.name_of(node.func) == "torch.sum" else receiver_of(node)
    if isinstance(held, ast.BinOp) and isinstance(held.op, ast.Pow):
        base: ast.AST = held.left
    elif isinstance(held, ast.Call) and name_called(held) in ("pow", "square"):
        base = receiver_of(held)
    else:
        return False
    base = program.names.origin(base).node
    return isinstance(base, ast.BinOp) and isinstance(base.op, ast.Sub)


def is_bounded_at_zero(program: Program, node: ast.AST) -> bool:
    """`d2.clamp(min=0)`, `relu(d2)` of `x.x + y.y - 2 x.y`."""
    if not isinstance(node, ast.Call) or name_called(node) not in ("clamp", "clamp_min", "relu", "clamp_"):
        return False
    least = keyword_of(node, "min") or (node.args[-1] if node.args and name_called(node) != "relu" else None)
    if name_called(node) != "relu" and (least is None or program.values.of(least) != 0):
        return False
    of_torch = program.name_of(node.func).startswith("torch.")
    held = program.names.origin(node.args[0] if of_torch and node.args else receiver_of(node)).node
    product = any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.MatMult) for each in ast.walk(held))
    product = product or any(name_called(each) in ("mm", "matmul") for each in ast.walk(held))
    return isinstance(held, ast.BinOp) and product


@rule("code.division-unguarded")
def division_unguarded(program: Program) -> Iterator[Finding]:
    """`x / out.norm()`, `x / out.std()`: the divisor is 0 where all of it is."""
    for node, outputs in with_outputs(program, SPREADS):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            continue
        divisor = node.right
        if (
            not isinstance(divisor, ast.Call)
            or name_called(divisor) not in SPREADS
            or not isinstance(divisor.func, ast.Attribute)
        ):
            continue
        of_torch = program.name_of(divisor.func).startswith("torch.") and divisor.args
        held = divisor.args[0] if of_torch else divisor.func.value
        if is_output(program, held, outputs) and not is_guarded(divisor):
            corrected = f"{source_of(node.left)} / ({source_of(divisor)} + 1e-8)"
            yield Finding(node.lineno, corrected, {"function": name_called(divisor)})
    yield from standardised(program)
    yield from unit_of_difference(program)
    yield from shared_out(program)


@rule("code.norm-unguarded")
def norm_unguarded(program: Program) -> Iterator[Finding]:
    yield from units(program)


def with_outputs(program: Program, names: tuple[str, ...]) -> Iterator[tuple[Any, set[str]]]:
    """The nodes of every function that names hold a model's outputs in, with these names."""
    if not program.names_called & set(names):
        return
    for function in [program.tree, *program.functions]:
        outputs = model_outputs(program, function)
        for node in program.own_nodes(function) if outputs else ():
            yield node, outputs


def is_output(program: Program, node: ast.AST, outputs: set[str]) -> bool:
    """A name among the outputs, or a squashing of anything: nothing that was worked on further."""
    if isinstance(node, ast.Name):
        return node.id in outputs
    if isinstance(node, ast.Subscript):
        return is_output(program, node.value, outputs)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and is_constant_number(node.left):
        return is_output(program, node.right, outputs)  # 1 - p
    return squashed_by(program, node) == "sigmoid"


def is_constant_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def cross_entropy_names(program: Program) -> set[str]:
    """Names that hold nn.CrossEntropyLoss()."""
    names = set()
    for call in program.calls_to("CrossEntropyLoss"):
        holder = program.nodes.parents[call]
        if isinstance(holder, ast.Assign):
            names |= {last_name(target) for target in holder.targets}
    names.discard("")
    return names


@rule("code.anomaly-on")
def anomaly_on(program: Program) -> Iterator[Finding]:
    """Under a test it is what somebody asks for who looks for the operation."""
    if not program.trains:
        return
    for call in program.calls_to("set_detect_anomaly"):
        if program.name_of(call.func).endswith("autograd.set_detect_anomaly"):
            on = call.args[0] if call.args else keyword_of(call, "mode")
            if is_constant(on, True) and not program.is_conditional(call, program.function_of(call)):
                yield Finding(call.lineno, "torch.autograd.set_detect_anomaly(False)")
