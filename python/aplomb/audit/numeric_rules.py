"""Rules about arithmetic that gives Inf or NaN, or wrong losses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .findings import Finding
from .program import Program, is_constant, keyword_of, method_of, names_in, receiver_of, source_of

GUARDS = ("clamp", "clamp_min", "clamp_", "clip", "maximum", "nan_to_num", "where", "logsumexp", "relu_eps")
SQUASHERS = ("softmax", "sigmoid")
CASTS = ("float", "double", "to", "type", "contiguous")
LOGARITHMS = ("log", "log2", "log10")
SPREADS = ("norm", "std", "var")
PLAIN_REDUCTIONS = ("sum", "norm", "std", "var", "max", "amax", "abs")


def squashed_by(program: Program, node: ast.AST) -> str:
    """`softmax` or `sigmoid` where the expression is just that: `F.softmax(x, -1)`, `x.sigmoid()`."""
    if not isinstance(node, ast.Call):
        return ""
    name = method_of(node)
    return name if name in SQUASHERS else ""


def squashed(program: Program, call: ast.Call) -> ast.expr:
    """Of what it is the softmax or sigmoid."""
    return call.args[0] if program.name_of(call.func).startswith("torch.") and call.args else receiver_of(call)


def assigned_once(program: Program, name: str, near: ast.AST) -> ast.AST | None:
    """The only value that a name of this function is given; None where there are several or none."""
    values = []
    for node in program.own_nodes(program.function_of(near)):
        if isinstance(node, ast.Assign) and any(name in names_in(target) for target in node.targets):
            values.append(node.value if isinstance(node.targets[0], ast.Name) else None)
        elif isinstance(node, (ast.AugAssign, ast.For, ast.AnnAssign, ast.NamedExpr)) and name in names_in(node.target):
            values.append(None)
    return values[0] if len(values) == 1 else None


def log_argument(program: Program, call: ast.Call) -> ast.AST | None:
    """What the logarithm of a tensor is taken of: `torch.log(x)`, `x.log()`."""
    if method_of(call) not in LOGARITHMS or not isinstance(call.func, ast.Attribute):
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
        yield Finding(
            "",
            "unstable",
            call.lineno,
            "The logarithm of a softmax",
            "A probability below 1e-45 (6e-8 in fp16) is 0 and its logarithm -Inf; the gradient is then NaN. log_softmax "
            "subtracts the maximum first and never leaves the range.",
            f"F.log_softmax({source_of(inner)}, dim={source_of(dim) if dim is not None else -1})",
            leads_to=["nan.unstable-op"],
        )


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
        if isinstance(each, ast.Call) and (method_of(each) in GUARDS or method_of(each).startswith(("clamp", "exp"))):
            return True
    return False


def unguarded(program: Program) -> Iterator[Finding]:
    """log, sqrt and division on outputs of a model without an epsilon."""
    if not program.names_called & {*LOGARITHMS, *SPREADS, "sqrt"}:
        return
    for function in [program.tree, *program.functions]:
        outputs = model_outputs(program, function)
        if not outputs:
            continue
        for node in program.own_nodes(function):
            finding = unguarded_call(program, node, outputs) or unguarded_division(program, node, outputs)
            if finding is not None:
                yield finding


def unguarded_call(program: Program, node: ast.AST, outputs: set[str]) -> Finding | None:
    if not isinstance(node, ast.Call):
        return None
    argument = log_argument(program, node)
    what, epsilon = "log", "1e-8"
    if argument is None and program.name_of(node.func) == "torch.sqrt" and node.args:
        argument, what, epsilon = node.args[0], "sqrt", "1e-12"
    if argument is None or squashed_by(program, uncast(seen_through(program, argument))) == "softmax":
        return None  # another rule says more
    if not is_output(program, argument, outputs) or is_guarded(argument):
        return None
    reason = (
        "Where the value is 0 the logarithm is -Inf and its gradient infinite."
        if what == "log"
        else "At 0 the gradient of the root is infinite, below 0 the root is NaN."
    )
    return Finding(
        "",
        "warning",
        node.lineno,
        f"{what} of a model's output without an epsilon",
        reason + " One such sample makes the whole batch NaN.",
        f"torch.{what}({source_of(argument)} + {epsilon})",
        leads_to=["nan.unstable-op"],
    )


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


def unguarded_division(program: Program, node: ast.AST, outputs: set[str]) -> Finding | None:
    """`x / out.norm()`, `x / out.sum()`: the divisor is 0 where all of it is."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    divisor = node.right
    if not isinstance(divisor, ast.Call) or method_of(divisor) not in SPREADS:
        return None
    if not isinstance(divisor.func, ast.Attribute):
        return None
    held = divisor.args[0] if program.name_of(divisor.func).startswith("torch.") and divisor.args else divisor.func.value
    if not is_output(program, held, outputs) or is_guarded(divisor):
        return None
    return Finding(
        "",
        "warning",
        node.lineno,
        f"Division by the {method_of(divisor)} of a model's output without an epsilon",
        "Where the output is constant or zero this divides by 0.",
        f"{source_of(node.left)} / ({source_of(divisor)} + 1e-8)",
        leads_to=["nan.unstable-op"],
    )


def softmax_into_cross_entropy(program: Program) -> Iterator[Finding]:
    criteria = cross_entropy_names(program)
    for call in program.calls_to("cross_entropy", *(criteria - {"cross_entropy"})):
        named = program.is_from_torch(call, "cross_entropy")
        if not named and program.last_name(call.func) not in criteria or not call.args:
            continue
        first = call.args[0]
        value = seen_through(program, first)
        if not isinstance(value, ast.Call) or squashed_by(program, value) != "softmax" or is_guarded(first):
            continue
        inner = squashed(program, value)
        yield Finding(
            "",
            "unstable",
            call.lineno,
            "Cross-entropy is given probabilities, and takes their softmax again",
            "The loss expects raw logits. A softmax of a softmax is almost flat: the loss stops near its start and "
            "gradients are small.",
            f"{source_of(call.func)}({', '.join([source_of(inner), *map(source_of, call.args[1:])])})",
            leads_to=["stall.vanishing-gradient", "stall.lr-too-low"],
        )


def cross_entropy_names(program: Program) -> set[str]:
    """Names that hold nn.CrossEntropyLoss()."""
    names = set()
    for call in program.calls_to("CrossEntropyLoss"):
        holder = program.nodes.parents[call]
        if isinstance(holder, ast.Assign):
            names |= {program.last_name(target) for target in holder.targets}
    names.discard("")
    return names


def anomaly_on(program: Program) -> Iterator[Finding]:
    if not program.trains:
        return
    for call in program.calls_to("set_detect_anomaly"):
        if program.name_of(call.func).endswith("autograd.set_detect_anomaly"):
            on = call.args[0] if call.args else keyword_of(call, "mode")
            if is_constant(on, True):
                yield Finding(
                    "",
                    "warning",
                    call.lineno,
                    "Anomaly mode is on for the whole run",
                    "It keeps the trace of every operation and slows each step several times. It is for finding the "
                    "operation, not for training.",
                    "torch.autograd.set_detect_anomaly(False)",
                    leads_to=["slow.host-device-sync", "slow.cpu-bound"],
                )


NUMERIC_RULES = {
    "code.log-softmax": log_softmax,
    "code.no-epsilon": unguarded,
    "code.softmax-cross-entropy": softmax_into_cross_entropy,
    "code.anomaly-on": anomaly_on,
}
