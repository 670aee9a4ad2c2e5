"""Rules about the training loop: gradients, evaluation, graphs that are kept, synchronisation, checkpoints, samplers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .findings import Finding
from .program import Function, Program, is_constant, keyword_of, method_of, names_in, receiver_of, source_of


def no_zero_grad(program: Program) -> Iterator[Finding]:
    for loop in program.training_loops:
        outermost = ([loop, *program.loops_of(loop)])[-1]
        steps = [call for call in program.calls_in(loop) if stepped_by(program, call)]
        if not steps or clears_gradients(program, outermost):
            continue
        optimizer = stepped_by(program, steps[0])
        yield Finding(
            "",
            "unstable",
            steps[0].lineno,
            "Gradients are never set to zero",
            "backward() adds to what is there: each step uses the sum of all gradients so far, and grows with the run.",
            f"{program.line_text(steps[0].lineno)}\n{optimizer}.zero_grad(set_to_none=True)",
            leads_to=["diverge.missing-zero-grad"],
        )


def stepped_by(program: Program, call: ast.Call) -> str:
    """The optimizer whose step this is: `optimizer.step()`, `scaler.step(optimizer)`; empty where it is none."""
    if method_of(call) != "step" or not isinstance(call.func, ast.Attribute):
        return ""
    if program.is_optimizer(call.func.value):
        return source_of(call.func.value)
    return source_of(call.args[0]) if program.is_scaler(call.func.value) and call.args else ""


def clears_gradients(program: Program, node: ast.AST) -> bool:
    """zero_grad() in the node or in a function of this file that it calls; `.grad = None` counts too."""
    called = {method_of(call) for call in program.calls_in(node)}
    helpers = [each for name in called for each in program.functions_by_name.get(name, [])]
    for place in [node, *helpers]:
        for each in program.nodes.below(place):
            if isinstance(each, ast.Call) and "zero_grad" in method_of(each):
                return True
            if isinstance(each, ast.Attribute) and each.attr == "grad" and isinstance(each.ctx, ast.Store):
                return True
            if isinstance(each, ast.Call) and method_of(each) == "zero_" and "grad" in source_of(each.func):
                return True
    return False


def evaluates_with_graph(program: Program) -> Iterator[Finding]:
    if "eval" not in program.names_called:
        return
    for function in [program.tree, *program.functions]:
        modes = [
            (call.lineno, method_of(call), source_of(call.func.value))
            for call in own_calls(program, function)
            if method_of(call) in ("eval", "train") and isinstance(call.func, ast.Attribute) and not call.args
        ]
        for line, mode, holder in sorted(modes):
            if mode != "eval" or turns_gradients_off(program, function):
                continue
            end = min((each for each, other, _ in modes if other == "train" and each > line), default=10**9)
            if wants_gradients(program, function, line, end):
                continue
            finding = forward_with_graph(program, function, holder, line, end)
            if finding is not None:
                yield finding
                break


def own_calls(program: Program, function: ast.AST) -> list[ast.Call]:
    return [each for each in program.own_nodes(function) if isinstance(each, ast.Call)]


def wants_gradients(program: Program, function: ast.AST, begin: int, end: int) -> bool:
    """A backward pass between these lines: of a discriminator that is kept still, of an attribution."""
    wanted = ("backward", "grad", "requires_grad_", "step")
    return any(method_of(each) in wanted and begin < each.lineno < end for each in program.calls_in(function))


def turns_gradients_off(program: Program, function: ast.AST) -> bool:
    """By a decorator, by a call, or because a caller does."""
    if "set_grad_enabled" in program.names_called:
        return True
    if isinstance(function, Function):
        if any(is_no_grad(program, each) for each in function.decorator_list):
            return True
        return any(under_no_grad(program, call) for call in program.calls_to(function.name))
    return False


def is_no_grad(program: Program, node: ast.AST) -> bool:
    node = node.func if isinstance(node, ast.Call) else node
    return program.name_of(node).rsplit(".", 1)[-1] in ("no_grad", "inference_mode")


def under_no_grad(program: Program, node: ast.AST) -> bool:
    for parent in program.enclosing(node):
        if isinstance(parent, ast.With) and any(is_no_grad(program, item.context_expr) for item in parent.items):
            return True
        if isinstance(parent, Function) and any(is_no_grad(program, each) for each in parent.decorator_list):
            return True
    return False


def forward_with_graph(program: Program, function: ast.AST, holder: str, begin: int, end: int) -> Finding | None:
    for call in own_calls(program, function):
        if source_of(call.func) != holder or not begin < call.lineno < end or not program.loops_of(call):
            continue
        if under_no_grad(program, call):
            continue
        return Finding(
            "",
            "warning",
            call.lineno,
            "The evaluation keeps the graph for a backward pass that never comes",
            "Every activation of the batch stays in memory, and with collected losses or outputs those of all batches. "
            "eval() only changes dropout and batch statistics.",
            f"with torch.no_grad():\n    {program.line_text(call.lineno)}",
            leads_to=["oom.eval-keeps-graph"],
        )
    return None


def keeps_graph(program: Program) -> Iterator[Finding]:
    for loop in program.training_loops:
        losses = {name for _, name in program.backward_calls(loop) if name}
        used = backward_sources(program, loop)
        for node in program.own_nodes(loop):
            finding = kept_by_sum(program, node, losses, used) or kept_in_list(program, node, losses)
            if finding is not None and not detached_before(program, loop, finding.line, losses):
                yield finding


def backward_sources(program: Program, loop: ast.AST) -> set[str]:
    """Names that go into a backward pass, directly or through other names."""
    names = {name for call, _ in program.backward_calls(loop) for name in names_in(call)}
    given = []  # by each assignment: to which names, from which
    for node in program.own_nodes(loop):
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            given.append(({name for each in targets for name in names_in(each)}, names_in(node.value)))
    for _ in range(4):
        for receivers, values in given:
            if receivers & names:
                names |= values
    return names


def loss_alone(node: ast.AST, losses: set[str]) -> str:
    """The loss, plain or scaled by something: the graph goes with it."""
    if isinstance(node, ast.Name):
        return node.id if node.id in losses else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        return loss_alone(node.left, losses) or loss_alone(node.right, losses)
    return ""


def kept_by_sum(program: Program, node: ast.AST, losses: set[str], used: set[str]) -> Finding | None:
    target: ast.expr
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        target, value = node.target, node.value
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
        target, value = node.targets[0], node.value.right
        if source_of(node.value.left) != source_of(target):
            return None
    else:
        return None
    name = loss_alone(value, losses)
    if not name or names_in(target) & used:
        return None
    return graph_finding(node.lineno, f"{source_of(target)} += {detached(value, name)}")


def kept_in_list(program: Program, node: ast.AST, losses: set[str]) -> Finding | None:
    if not isinstance(node, ast.Call) or method_of(node) != "append" or len(node.args) != 1:
        return None
    name = loss_alone(node.args[0], losses)
    if not name:
        return None
    return graph_finding(node.lineno, f"{source_of(node.func)}({detached(node.args[0], name)})")


def detached(value: ast.AST, name: str) -> str:
    text = source_of(value)
    return f"{name}.detach()" if text == name else text.replace(name, f"{name}.detach()", 1)


def detached_before(program: Program, loop: ast.AST, line: int, losses: set[str]) -> bool:
    """The name was given a number before: `loss = loss.item()`."""
    for each in program.own_nodes(loop):
        if not isinstance(each, ast.Assign) or each.lineno >= line:
            continue
        calls = [method_of(call) for call in program.calls_in(each.value)]
        if any(names_in(target) & losses for target in each.targets) and {"item", "detach", "float"} & set(calls):
            return True
    return False


def graph_finding(line: int, corrected: str) -> Finding:
    return Finding(
        "",
        "warning",
        line,
        "Losses are collected together with their graphs",
        "Each keeps the activations of its step alive: memory grows from step to step until the card is full.",
        corrected,
        leads_to=["oom.graph-retained-leak"],
    )


def syncs_each_step(program: Program) -> Iterator[Finding]:
    for loop in program.training_loops:
        losses = {name for _, name in program.backward_calls(loop) if name}
        for node in program.own_nodes(loop):
            if not isinstance(node, ast.Call) or program.loops_of(node)[:1] != [loop] or program.is_conditional(node, loop):
                continue
            method = method_of(node)
            printed = method == "print" and any(names_in(each) & losses for each in node.args)
            if not printed and not (method == "item" and isinstance(node.func, ast.Attribute)):
                continue
            line = node.lineno
            yield Finding(
                "",
                "note",
                line,
                "The host waits for the card at every step",
                "A number is fetched each step, so the next step is only sent to the card when this one is done. Small "
                "models lose much of their speed to that.",
                f"if step % 50 == 0:\n    {program.line_text(line)}",
                leads_to=["slow.host-device-sync"],
            )
            break  # one a loop says it


def checkpoint_incomplete(program: Program) -> Iterator[Finding]:
    saves = [call for call in program.calls_to("save") if program.name_of(call.func) == "torch.save" and call.args]
    if not program.trains or not saves:
        return
    texts = [source_of(seen_dict(program, call.args[0])).lower() for call in saves]
    if any("optim" in text for text in texts):
        return
    if program.names_called & {"save_state", "save_checkpoint", "save_pretrained"}:
        return
    for call, text in zip(saves, texts):
        if "state_dict" not in text or not program.loops_of(call):
            continue  # what is saved after the loop is the result, not a checkpoint
        yield Finding(
            "",
            "warning",
            call.lineno,
            "Checkpoints hold the weights and nothing else",
            "A run that resumes from them starts with fresh optimizer moments, a fresh schedule and other random numbers: "
            "the loss jumps.",
            'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), '
            '"scheduler": scheduler.state_dict(), "step": step, "rng": torch.get_rng_state()}, path)',
            leads_to=["resume.optimizer-state-lost", "resume.rng-not-restored"],
        )
        return


def seen_dict(program: Program, node: ast.AST) -> ast.AST:
    """The dictionary that a saved name was given in the same function."""
    if not isinstance(node, ast.Name):
        return node
    function = program.function_of(node)
    parts: list[ast.stmt] = [
        each
        for each in program.own_nodes(function)
        if isinstance(each, ast.Assign) and any(node.id in names_in(target) for target in each.targets)
    ]
    return ast.Module(body=parts, type_ignores=[]) if parts else node


def sampler_without_epoch(program: Program) -> Iterator[Finding]:
    if "set_epoch" in program.names_called:
        return
    # Frameworks that wrap the loader call it themselves.
    if program.names_called & {"Trainer", "Accelerator", "Fabric"} or not program.trains:
        return
    for call in program.calls_to("DistributedSampler"):
        if is_constant(keyword_of(call, "shuffle"), False):
            continue
        owner = program.statement_of(call)
        names = [program.last_name(each) for each in getattr(owner, "targets", [])]
        if any(word in name.lower() for name in names for word in ("val", "test", "eval")):
            continue
        sampler = names[0] if names and names[0] else "sampler"
        loop = next((each for each in program.nodes.of_kind(ast.For) if is_epoch_loop(each)), None)
        if loop is None:
            continue
        yield Finding(
            "",
            "warning",
            loop.lineno,
            "The sampler is never told the epoch",
            "DistributedSampler shuffles by its seed and the epoch; without set_epoch every pass has the same order.",
            f"{program.line_text(loop.lineno)}\n    {sampler}.set_epoch({source_of(loop.target)})",
            leads_to=["resume.rng-not-restored", "overfit.low-regularization"],
        )
        return


def is_epoch_loop(loop: ast.For) -> bool:
    return isinstance(loop.target, ast.Name) and "epoch" in loop.target.id.lower()


def scheduler_before_optimizer(program: Program) -> Iterator[Finding]:
    for loop in program.training_loops:
        steps = [
            each
            for each in program.own_nodes(loop)
            if isinstance(each, ast.Call)
            and method_of(each) == "step"
            and program.loops_of(each)[:1] == [loop]
            and isinstance(each.func, ast.Attribute)
            and not program.is_conditional(each, loop)
        ]
        schedules = [each for each in steps if "sched" in program.last_name(receiver_of(each)).lower()]
        optimizers = [each for each in steps if program.is_optimizer(receiver_of(each))]
        if not schedules or not optimizers or schedules[0].lineno >= optimizers[0].lineno:
            continue
        yield Finding(
            "",
            "warning",
            schedules[0].lineno,
            "The schedule steps before the optimizer",
            "The first learning rate of the schedule is then never used; with a warm-up from 0 the run starts a step late.",
            f"{source_of(optimizers[0])}\n{source_of(schedules[0])}",
            leads_to=["diverge.lr-scheduler-bug"],
        )


LOOP_RULES = {
    "code.no-zero-grad": no_zero_grad,
    "code.eval-keeps-graph": evaluates_with_graph,
    "code.loss-keeps-graph": keeps_graph,
    "code.sync-each-step": syncs_each_step,
    "code.checkpoint-incomplete": checkpoint_incomplete,
    "code.sampler-set-epoch": sampler_without_epoch,
    "code.scheduler-first": scheduler_before_optimizer,
}
