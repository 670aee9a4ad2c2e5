"""Arithmetic at the rim of its domain, in what a loss is made of: quotients by what may be 0, roots and logarithms of 0.

Values are known by their form (algebra.py), so that a name, a helper or another spelling hides nothing; whatever bounds a
value (an epsilon, a clamp, a maximum) is seen there as well. Only what runs in training is asked: the functions of a loop
that trains, steps of Trainers and of Lightning, forward() of modules of a program that trains.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding
from ...program.algebra import Form, product
from ...program.gradients import name_of_call
from ...program.program import Program
from ...program.syntax import Function, keyword_of, last_name, name_called, receiver_of, source_of

STEPS = ("compute_loss", "training_step", "shared_step", "_step", "step_loss")


def training_functions(program: Program) -> set[ast.AST]:
    """Functions whose arithmetic a loss is made of."""
    trained = program.trains or any(name.endswith("Trainer") or name == "fit" for name in program.names_called)
    differentiated = functions_differentiated(program)
    if not trained and not differentiated:
        return set()
    found = functions_of_training(program) | differentiated
    forwards = ("forward", "__call__") if differentiated else ("forward",)
    for function in program.functions:
        owner = program.names.class_of(function)
        is_forward = owner is not None and function.name in forwards and program.makers.is_module_class(owner)
        if is_forward or (owner is not None and function.name in STEPS):
            found.add(function)
    waiting = [call for function in found if isinstance(function, Function) for call in program.calls_in(function)]
    for _ in range(2000):
        if not waiting:
            break
        run = program.objects.function_run(waiting.pop())
        if run is not None and run not in found and not is_without_gradient(run):
            found.add(run)
            waiting += program.calls_in(run)
    return {each for each in found if not (isinstance(each, Function) and is_without_gradient(each))}


def functions_differentiated(program: Program) -> set[ast.AST]:
    """What is handed to jax.grad(), jax.value_and_grad() and what Flax has of them, or stands below them as a decorator."""
    found: set[ast.AST] = set()
    for call in program.calls_to("grad", "value_and_grad"):
        binding = program.names.given(call.args[0]) if call.args and is_of_jax(program, call.func) else None
        if binding is not None and isinstance(binding.node, Function):
            found.add(binding.node)
    for function in program.functions:
        wraps = [each.func if isinstance(each, ast.Call) else each for each in function.decorator_list]
        if any(last_name(each) in ("grad", "value_and_grad") and is_of_jax(program, each) for each in wraps):
            found.add(function)
    return found


def is_of_jax(program: Program, node: ast.AST) -> bool:
    return program.name_of(node).startswith(("jax.", "flax.", "nnx."))


def functions_of_training(program: Program) -> set[ast.AST]:
    """The functions that hold a backward pass, and those of this file that their training loops call, gradients on."""
    found: set[ast.AST] = set()
    waiting = [call for loop in program.training_loops for call in program.calls_in(loop)]
    found |= {program.function_of(loop) for loop in program.training_loops}
    while waiting:
        function = program.objects.function_run(waiting.pop())
        if function is None or function in found or is_without_gradient(function):
            continue
        found.add(function)
        waiting += program.calls_in(function)
    return found


def is_without_gradient(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    quiet = any("no_grad" in source_of(each) or "inference" in source_of(each) for each in function.decorator_list)
    return quiet or gives_plain_numbers(function)


def gives_plain_numbers(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A measure: all that it returns is `x.item()` and the like, and no backward pass is taken in it."""
    nodes = [each for each in ast.walk(function) if isinstance(each, (ast.Return, ast.Call))]
    if any(isinstance(each, ast.Call) and name_called(each) in ("backward", "manual_backward", "grad") for each in nodes):
        return False
    given = [each.value for each in nodes if isinstance(each, ast.Return) and each.value is not None]
    parts = [one for each in given for one in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return bool(parts) and all(
        isinstance(each, ast.Call) and name_called(each) in ("item", "tolist", "numpy", "float", "round") for each in parts
    )


def in_training(program: Program, nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """Those of the nodes that run in training, of the loop's own function only what stands in the loop."""
    functions = training_functions(program) if nodes else set()
    for node in nodes:
        function = program.function_of(node)
        if function not in functions or inside_no_grad(program, node):
            continue
        if isinstance(function, ast.Module) and not any(
            program.nodes.encloses(loop, node) for loop in program.training_loops
        ):
            continue
        yield node


def inside_no_grad(program: Program, node: ast.AST) -> bool:
    return any(
        isinstance(each, (ast.With, ast.AsyncWith)) and any("no_grad" in source_of(one) for one in each.items)
        for each in program.enclosing(node)
    )


def is_bounded_at(form: Form, value: float) -> bool:
    """`clamp(min=0)`, `relu`: bounded, and at the very value."""
    if form.op == "relu":
        return value == 0.0
    node = form.node
    if not isinstance(node, ast.Call) or name_called(node) not in ("clamp", "clamp_min", "clamp_", "clip", "maximum"):
        return False
    least = keyword_of(node, "min")
    if least is not None:
        return isinstance(least, ast.Constant) and float(least.value) == value  # type: ignore[arg-type]
    return any(each.op == "number" and each.value == value for each in form.parts[1:2])


def lies_between(program: Program, node: ast.AST) -> bool:
    """Whether the node stands inside of a comparison, a print or an assertion: it is only looked at."""
    for parent in program.enclosing(node):
        if isinstance(parent, ast.stmt):
            return isinstance(parent, (ast.Assert, ast.If))
        if isinstance(parent, ast.Call) and name_called(parent) in (
            "print",
            "log",
            "append",
            "item",
            "log_dict",
            "add_scalar",
        ):
            return name_called(parent) == "print"
    return False


# --- quotients


def standardised(program: Program) -> Iterator[Finding]:
    """`(x - x.mean()) / x.std()`: 0 / 0 where all of x are alike, as the rewards of a group that all fail are."""
    quotients: list[ast.AST] = [each for each in program.nodes.of_kind(ast.BinOp) if isinstance(each.op, ast.Div)]
    if not program.names_called & {"std", "var"}:
        return
    for node in in_training(program, quotients):
        form = program.algebra.of(node)
        if form.op != "div" or lies_between(program, node):
            continue
        above, below = form.parts
        spread = below.parts[0] if below.op == "sqrt" else below
        if spread.op not in ("std", "var") or (below.op == "sqrt" and spread.op != "var"):
            continue
        if is_of_the_data(program, spread.node):
            continue
        if above.op == "sub" and any(
            each.op == "mean" and each.parts[0].key == spread.parts[0].key for each in above.below()
        ):
            divisor = source_of(node.right) if isinstance(node, ast.BinOp) else ""
            corrected = f"({source_of(node.left)}) / ({divisor} + 1e-8)" if isinstance(node, ast.BinOp) else ""
            yield Finding(node.lineno, corrected, {"function": spread.op})  # type: ignore[attr-defined]


def is_of_the_data(program: Program, node: ast.AST) -> bool:
    """The spread of a whole table, taken once before the loop that trains: somebody has seen that it is not 0."""
    if node not in program.nodes.parents or list(program.loops_of(node)):
        return False
    if runs_outside_of_loops(program, node):
        return True
    below = set(program.nodes.below(program.function_of(node)))
    return any(loop in below for loop in program.training_loops)


def runs_outside_of_loops(program: Program, node: ast.AST, depth: int = 0) -> bool:
    """The function around it is called, and neither it nor what calls it stands in a loop."""
    function = program.function_of(node)
    if depth > 4 or list(program.loops_of(node)) or not isinstance(function, Function):
        return depth > 0 and isinstance(function, ast.Module) and not list(program.loops_of(node))
    calls = [each for each in program.calls_to(function.name) if program.objects.function_run(each) is function]
    if not calls:
        return depth > 0 and function.name == "main"
    return all(runs_outside_of_loops(program, each, depth + 1) for each in calls)


def shared_out(program: Program) -> Iterator[Finding]:
    """`w / w.sum(-1)` of what a mask or a ReLU may have made 0 everywhere; `(loss * mask).sum() / mask.sum()`."""
    quotients: list[ast.AST] = [each for each in program.nodes.of_kind(ast.BinOp) if isinstance(each.op, ast.Div)]
    if "sum" not in program.names_called:
        return
    for node in in_training(program, quotients):
        form = program.algebra.of(node)
        if form.op != "div" or form.parts[1].op != "sum" or not isinstance(node, ast.BinOp) or lies_between(program, node):
            continue
        total, whole = form.parts[1].parts[0], form.parts[0]
        same = total.key in {each.key for each in whole.below()}
        if same and may_be_empty(total):
            yield Finding(
                node.lineno,
                f"{source_of(node.left)} / {source_of(node.right)}.clamp(min=1e-8)",
                {"function": "sum"},
                sure=False,
            )


def may_be_empty(form: Form) -> bool:
    """A ReLU's output, or a product with a mask of what counts. A mask of tokens keeps one at least: it is left out."""
    if form.op in ("relu",) or is_bounded_at(form, 0.0):
        return True
    if form.op == "mul":
        return any(may_be_empty(each) for each in product(form).factors)
    return form.op in ("gt", "lt", "ge", "le") and any(each.op == "number" for each in form.parts)


def unit_of_difference(program: Program) -> Iterator[Finding]:
    """`d / d.norm()` of the differences of all pairs: that of a sample to itself is 0."""
    quotients: list[ast.AST] = [each for each in program.nodes.of_kind(ast.BinOp) if isinstance(each.op, ast.Div)]
    if not program.names_called & {"norm", "vector_norm"}:
        return
    for node in in_training(program, quotients):
        if not isinstance(node, ast.BinOp):
            continue
        form = program.algebra.of(node)
        if form.op != "div" or form.parts[1].op != "norm":
            continue
        inner = form.parts[1].parts[0]
        pairs = inner.op == "sub" and inner.parts[0].key == inner.parts[1].key and is_pairing(program, inner.node)
        if pairs and form.parts[0].key == inner.key:
            yield Finding(node.lineno, f"{source_of(node.left)} / ({source_of(node.right)} + 1e-8)", {"function": "norm"})


def units(program: Program) -> Iterator[Finding]:
    """`x / x.norm(dim)`: 0 / 0 where a row is all zeros, as padding is, or what a ReLU has let nothing through of."""
    quotients: list[ast.AST] = [each for each in program.nodes.of_kind(ast.BinOp) if isinstance(each.op, ast.Div)]
    if not program.names_called & {"norm", "vector_norm"}:
        return
    for node in in_training(program, quotients):
        form = program.algebra.of(node)
        if form.op == "div" and form.parts[1].op == "norm" and form.parts[0].key == form.parts[1].parts[0].key:
            text = source_of(form.parts[0].node)
            yield Finding(node.lineno, f"F.normalize({text}, dim=-1)", {"given": text})  # type: ignore[attr-defined]


def is_pairing(program: Program, node: ast.AST) -> bool:
    """`x[:, None] - x[None]`, `x.unsqueeze(1) - x.unsqueeze(0)`."""
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    return any(
        (isinstance(each, ast.Call) and name_called(each) == "unsqueeze")
        or (isinstance(each, ast.Subscript) and "None" in source_of(each.slice))
        for each in sides
    )


# --- roots


def roots_of_spreads(program: Program) -> Iterator[Finding]:
    """`x.var(dim).sqrt()`, `mse.sqrt()`, `(x ** 2).sum(1) ** 0.5`: the gradient of a root is infinite at 0."""
    powers: list[ast.AST] = [each for each in program.nodes.of_kind(ast.BinOp) if isinstance(each.op, ast.Pow)]
    for node in in_training(program, [*program.calls_to("sqrt", "pow", "rsqrt"), *powers]):
        form = program.algebra.of(node)
        if form.op not in ("sqrt", "rsqrt") or not is_tensor(program, node) or lies_between(program, node):
            continue
        what = vanishing(form.parts[0])
        if what:
            inner = source_of(form.parts[0].node)
            of_jax = isinstance(node, ast.Call) and is_of_jax(program, node.func)
            corrected = f"jnp.sqrt({inner} + 1e-8)" if of_jax else f"({inner} + 1e-8).sqrt()"
            yield Finding(node.lineno, corrected, {"function": "sqrt"}, sure=what != "a loss")  # type: ignore[attr-defined]


def is_tensor(program: Program, node: ast.AST) -> bool:
    return not (isinstance(node, ast.Call) and program.name_of(node.func).startswith(("math.", "numpy.", "np.")))


def vanishing(form: Form) -> str:
    """What is 0 at times: a variance, a mean of squares of differences, a loss; empty for anything else."""
    if form.op == "var":
        return "a variance"
    if form.op == "relu" or is_bounded_at(form, 0.0):
        return "a bound at 0"
    if form.op == "call" and form.name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        return "a loss"
    if form.op in ("mean", "sum") and form.parts[0].op == "square" and form.parts[0].parts[0].op == "sub":
        return "a loss" if form.op == "mean" else "a distance"
    if form.op == "sub" and is_mean_of_square(form.parts[0]) and is_square_of_mean(form.parts[1]):
        return "a variance"
    return ""


def is_mean_of_square(form: Form) -> bool:
    return form.op == "mean" and form.parts[0].op == "square"


def is_square_of_mean(form: Form) -> bool:
    return form.op == "square" and form.parts[0].op == "mean"


# --- logarithms and arcs


def logs_of_zero(program: Program) -> Iterator[Finding]:
    """`relu(x).log()`, `log(x.clamp(min=0))`: minus infinity wherever x is negative."""
    for node in in_training(program, list(program.calls_to("log", "log2", "log10"))):
        form = program.algebra.of(node)
        inner = form.parts[0] if form.op == "log" and form.parts else None
        if inner is None or not is_tensor(program, node):
            continue
        if inner.op == "relu" or is_bounded_at(inner, 0.0):
            yield Finding(node.lineno, f"torch.log({source_of(inner.node)} + 1e-8)", {})  # type: ignore[attr-defined]


def logs_of_squashed(program: Program) -> Iterator[tuple[ast.Call, Form]]:
    """`probs.log()` of probabilities that a helper or another name has made of logits."""
    for node in in_training(program, list(program.calls_to("log"))):
        form = program.algebra.of(node)
        if isinstance(node, ast.Call) and form.op == "log" and form.parts and form.parts[0].op in ("softmax", "sigmoid"):
            yield node, form.parts[0]


def arcs_at_one(program: Program) -> Iterator[Finding]:
    """acos() of a cosine: the gradient is infinite at 1, where clamp(-1, 1) leaves it."""
    for node in in_training(program, list(program.calls_to("acos", "arccos", "asin", "arcsin"))):
        if not isinstance(node, ast.Call) or not is_tensor(program, node):
            continue
        of_torch = program.name_of(node.func).startswith("torch.")
        argument = node.args[0] if of_torch and node.args else receiver_of(node)
        form = program.algebra.of(argument)
        bounded = form.op == "clamp" or (form.op == "call" and name_of_call(form) in ("clamp", "clamp_"))
        limits = [each.value for each in form.parts[1:] if each.op == "number"] if bounded else []
        inner = form.parts[0] if bounded else form
        cosine = name_of_call(inner) == "cosine_similarity" if inner.op == "call" else False
        cosine = cosine or inner.mentions("cos", "cosine", "cos_theta", "similarity") or inner.holds("normalize")
        if cosine and (not bounded or any(abs(each or 0.0) == 1.0 for each in limits)):
            text = source_of(inner.node)
            yield Finding(
                node.lineno, f"torch.{name_called(node)}({text}.clamp(-1 + 1e-6, 1 - 1e-6))", {"function": name_called(node)}
            )
