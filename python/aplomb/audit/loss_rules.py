"""Rules about the loss on its way to backward(): graphs that are cut, sums where a mean is meant, signs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .findings import Finding
from .numeric_rules import seen_through
from .precision_rules import is_optimizer_class
from .program import Program, method_of, names_in, source_of

MAKERS = ("tensor", "as_tensor", "Tensor", "FloatTensor", "from_numpy", "Variable")
DEEP = 20  # assignments that a value is followed through
CUTS = ("item", "tolist", "numpy", "detach")


def loss_rebuilt(program: Program) -> Iterator[Finding]:
    """`loss = torch.tensor(loss.item(), requires_grad=True)` on its way to backward()."""
    for loop in program.training_loops:
        losses = {name for _, name in program.backward_calls(loop)} - {""}
        for node in program.nodes.below(loop):
            if not isinstance(node, ast.Assign) or not losses & target_names(node):
                continue
            inner = what_is_remade(node.value)
            if inner is None:
                continue
            yield Finding(
                "",
                "failed",
                node.lineno,
                "The loss is made anew from its number",
                "A tensor made from a number (or detached) has no graph: backward() ends there, no weight gets a gradient, "
                "and requires_grad=True only hides the error that would say so.",
                mended(node, inner),
                leads_to=["stall.detached-graph"],
            )


def mended(node: ast.Assign, inner: ast.AST) -> str:
    name, value = source_of(node.targets[0]), source_of(inner)
    return f"{name}.backward()  # the line above it goes" if name == value else f"{name} = {value}"


def target_names(node: ast.Assign) -> set[str]:
    return {name for target in node.targets for name in names_in(target)}


def what_is_remade(value: ast.AST) -> ast.AST | None:
    """`x` of `torch.tensor(x.item())`, `x.detach().requires_grad_()`."""
    if not isinstance(value, ast.Call):
        return None
    if method_of(value) in MAKERS and value.args:
        return next((cut for each in ast.walk(value.args[0]) if (cut := cut_off(each)) is not None), None)
    if method_of(value) == "requires_grad_" and isinstance(value.func, ast.Attribute):
        return cut_off(value.func.value)
    return None


def cut_off(node: ast.AST) -> ast.expr | None:
    """`x` of `x.detach()`, `x.item()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CUTS:
        return node.func.value
    return None


def hidden_detached(program: Program) -> Iterator[Finding]:
    """`h = model.body(x).detach(); loss = ...(model.head(h))` while the optimizer is given all of `model`: nothing but
    the head learns. A probe whose optimizer has the head alone, a discriminator's `D(fake.detach())` and a recurrent
    state that is carried on are right."""
    trained = roots_of_optimizers(program)
    if not trained:
        return
    for loop in program.training_loops:
        flow = Flow(program, loop)
        for call, loss in program.backward_calls(loop):
            cut = flow.cut_between(loss, call.lineno, trained)
            if cut is not None:
                yield Finding(
                    "",
                    "unstable",
                    cut.lineno,
                    "What the model computes is detached on its way to the loss",
                    "Every path from the loss to these layers passes the detach(): they get no gradient although the "
                    "optimizer holds them, and only what comes after it learns.",
                    program.line_text(cut.lineno).replace(".detach()", ""),
                    leads_to=["stall.detached-graph", "stall.frozen-params"],
                )


def roots_of_optimizers(program: Program) -> set[str]:
    """`model` of `AdamW(model.parameters(), ...)`."""
    found = set()
    for call in program.calls_to("parameters"):
        taker = program.nodes.parents.get(call)
        if not isinstance(taker, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if is_optimizer_class(program.name_of(taker.func)):
            found.add(source_of(call.func.value))
    return found


class Flow:
    """What a loss of a loop is made of, name by name, up to the calls of a model."""

    def __init__(self, program: Program, loop: ast.AST):
        self.assigned: dict[str, list[ast.Assign]] = {}
        for node in program.nodes.below(loop):
            if isinstance(node, ast.Assign):
                for name in target_names(node):
                    self.assigned.setdefault(name, []).append(node)

    def cut_between(self, loss: str, line: int, roots: set[str]) -> ast.Call | None:
        """The detach() between two calls on the layers of one trained model, if every way from `loss` to a trained model
        passes such a one."""
        walk = Walk(self, roots)
        for made in self.before(loss, line):
            walk.through(made.value, made.lineno, "", 0)
        return walk.cut if not walk.is_whole else None

    def before(self, name: str, line: int) -> list[ast.Assign]:
        """The last assignment above the line."""
        return [node for node in self.assigned.get(name, []) if node.lineno < line][-1:]


class Walk:
    """One way back from a loss."""

    def __init__(self, flow: Flow, roots: set[str]):
        self.flow = flow
        self.roots = roots
        self.cut: ast.Call | None = None
        self.is_whole = False  # some way meets a trained model that nothing is cut off from

    def through(self, node: ast.AST, line: int, user: str, depth: int) -> bool:
        """`user`: the model whose layers take this value. True where the value is cut off from that same model."""
        if depth > DEEP or self.is_whole:
            return False
        tensor = cut_off(node)
        if tensor is not None and isinstance(node, ast.Call):
            is_own = bool(user) and self.comes_from(user, tensor, line, depth)
            if is_own:
                self.cut = self.cut or node
            return is_own
        if isinstance(node, ast.Call) and root_of(node.func) in self.roots:
            given = [*node.args, *(each.value for each in node.keywords)]
            if not any([self.through(each, line, root_of(node.func), depth + 1) for each in given]):
                self.is_whole = True
            return False
        parts: list[tuple[ast.AST, int]] = [(child, line) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Name):
            parts = [(made.value, made.lineno) for made in self.flow.before(node.id, line)]
        return any([self.through(part, at, user, depth + 1) for part, at in parts])

    def comes_from(self, root: str, node: ast.AST, line: int, depth: int) -> bool:
        if depth > DEEP:
            return False
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and root_of(each.func) == root:
                return True
            made = self.flow.before(each.id, line) if isinstance(each, ast.Name) else []
            if any(self.comes_from(root, one.value, one.lineno, depth + 1) for one in made):
                return True
        return False


def root_of(node: ast.AST) -> str:
    """`model` of `model.lm_head` and of `model`; `self.model` of `self.model.head`."""
    parts = source_of(node).split(".")
    return ".".join(parts[:2]) if parts[0] == "self" else parts[0]


def accumulation_summed(program: Program) -> Iterator[Finding]:
    """Several backward passes to one step, and no division by their number."""
    for loop in program.training_loops:
        if not steps_every_few(program, loop):
            continue
        for call, loss in program.backward_calls(loop):
            if method_of(call) != "backward" or "accelerator" in source_of(call.func) or divided(program, call, loss):
                continue
            yield Finding(
                "",
                "warning",
                call.lineno,
                "The losses of accumulated passes are added up, not averaged",
                "Gradients of all passes before the step are summed: without the division the gradient is as many times "
                "larger as there are passes. Clipping then cuts every step, and the learning rate means something else.",
                f"({loss} / accumulation_steps).backward()",
                leads_to=["diverge.grad-accumulation-mismatch", "diverge.lr-too-high"],
            )


def steps_every_few(program: Program, loop: ast.AST) -> bool:
    """`if step % n == 0: optimizer.step()`, or `if step % n: continue` before it."""
    for node in program.nodes.below(loop):
        if not isinstance(node, ast.If) or not counts_to_accumulation(node.test):
            continue
        steps = any(
            method_of(call) == "step" and isinstance(call.func, ast.Attribute) and program.is_optimizer(call.func.value)
            for call in program.calls_in(node)
        )
        if steps or any(isinstance(each, ast.Continue) for each in node.body):
            return True
    return False


def counts_to_accumulation(test: ast.AST) -> bool:
    return any(
        isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod) and "accum" in source_of(each.right).lower()
        for each in ast.walk(test)
    )


def divided(program: Program, call: ast.Call, loss: str) -> bool:
    """By anything, anywhere on the loss's way; also a gradient that is divided afterwards."""
    if any(isinstance(each, (ast.Div, ast.FloorDiv)) for each in ast.walk(call)):
        return True
    function = program.function_of(call)
    for node in program.own_nodes(function):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Div, ast.Mult)) and loss in names_in(node.target):
            return True
        if isinstance(node, ast.Assign) and loss in target_names(node) and is_scaled(node.value):
            return True
        if isinstance(node, ast.Call) and method_of(node) in ("div_", "mul_") and "grad" in source_of(node.func):
            return True
    return False


def is_scaled(value: ast.AST) -> bool:
    return any(isinstance(each, (ast.Div, ast.Mult)) for each in ast.walk(value))


def z_loss_subtracted(program: Program) -> Iterator[Finding]:
    """`loss = ce - 1e-4 * (torch.logsumexp(logits, -1) ** 2).mean()`."""
    if "logsumexp" not in program.names_called or not program.trains:
        return
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Sub) or not squares_log_z(program, node.right):
            continue
        yield Finding(
            "",
            "unstable",
            node.lineno,
            "The z-loss is subtracted",
            "The square of log Z is there to hold the logits: subtracted it rewards a log Z that grows, which it does "
            "without bound. The loss then falls below 0, which no cross-entropy does.",
            f"{source_of(node.left)} + {source_of(node.right)}",
            leads_to=["diverge.output-logit-drift"],
        )


def squares_log_z(program: Program, node: ast.AST) -> bool:
    for each in ast.walk(node):
        base = None
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Pow):
            base = each.left
        elif isinstance(each, ast.Call) and method_of(each) in ("square", "pow"):
            base = each.args[0] if program.name_of(each.func).startswith("torch.") and each.args else None
            base = base or (each.func.value if isinstance(each.func, ast.Attribute) else None)
        if base is not None and "logsumexp" in source_of(seen_through(program, base)):
            return True
    return False


LOSS_RULES = {
    "code.loss-rebuilt": loss_rebuilt,
    "code.hidden-detached": hidden_detached,
    "code.accumulation-summed": accumulation_summed,
    "code.z-loss-subtracted": z_loss_subtracted,
}
