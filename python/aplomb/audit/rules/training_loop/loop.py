"""Rules about what a loop keeps and waits for: graphs that stay, synchronisation, checkpoints, samplers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import (
    Function,
    is_constant,
    keyword_of,
    last_name,
    line_of,
    name_called,
    names_in,
    receiver_of,
    source_of,
)
from .mode import collecting_method, has_graph

STEPS_OF_LIGHTNING = ("training_step", "validation_step", "test_step", "predict_step")


@rule("code.loss-keeps-graph")
def keeps_graph(program: Program) -> Iterator[Finding]:
    """Losses, or what a model gave, that are added up or collected in the training loop with their graphs."""
    for loop in program.training_loops:
        used = backward_sources(program, loop)
        for node in program.own_nodes(loop):
            yield from kept_by_sum(program, node, used)
            yield from kept_in_list(program, node, used)


STEPS_OF_TRAINERS = ("compute_loss", "training_step")


@rule("code.step-keeps-graph")
def step_keeps_graph(program: Program) -> Iterator[Finding]:
    """`self.losses.append(loss)` in the step of a Trainer or of a LightningModule: every graph since the start is held."""
    for function in program.functions:
        owner = program.names.class_of(function)
        if function.name not in STEPS_OF_TRAINERS or owner is None:
            continue
        for node in program.own_nodes(function):
            value = kept_value(node)
            if value is None or not has_graph(program, value):
                continue
            held = receiver_of(node) if isinstance(node, ast.Call) else node.target  # type: ignore[attr-defined]
            if source_of(held).startswith("self."):
                kept = f"{source_of(held)}.append({detached(value)})"
                corrected = kept if isinstance(node, ast.Call) else f"{source_of(held)} += {detached(value)}"
                yield Finding(line_of(node), corrected, {"list": source_of(held)})
                break


def kept_value(node: ast.AST) -> ast.expr | None:
    """What `self.losses.append(x)` or `self.total += x` keeps."""
    if isinstance(node, ast.Call) and name_called(node) == "append" and isinstance(node.func, ast.Attribute):
        return node.args[0] if node.args else None
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return node.value
    return None


def backward_sources(program: Program, loop: ast.AST) -> set[str]:
    """Names that go into a backward pass, directly or through other names."""
    names = {name for call, _ in program.backward_calls(loop) for name in names_in(call)}
    given = []  # by each assignment: to which names, from which
    for node in program.own_nodes(program.function_of(loop)):
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            given.append(({name for each in targets for name in names_in(each)}, names_in(node.value)))
    for _ in range(4):
        for receivers, values in given:
            if receivers & names:
                names |= values
    return names


def kept_by_sum(program: Program, node: ast.AST, used: set[str]) -> Iterator[Finding]:
    """`total += loss`, `total = total + loss`."""
    target: ast.expr
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        target, value = node.target, node.value
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
        target, value = node.targets[0], node.value.right
        if source_of(node.value.left) != source_of(target):
            yield from kept_by_average(program, node, used)
            return
    else:
        return
    if has_graph(program, value) and not names_in(target) & used:
        yield Finding(node.lineno, f"{source_of(target)} += {detached(value)}")


def kept_by_average(program: Program, node: ast.Assign, used: set[str]) -> Iterator[Finding]:
    """`smooth = 0.9 * smooth + 0.1 * loss`."""
    target, value = node.targets[0], node.value
    sides = [value.left, value.right] if isinstance(value, ast.BinOp) else []
    products = [each for each in sides if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult)]
    own = [each for each in products if is_factor(each, target)]
    rest = [each for each in sides if each not in own]
    if len(own) == 1 and isinstance(target, ast.Name) and has_graph(program, rest[0]) and not names_in(target) & used:
        yield Finding(node.lineno, f"{source_of(target)} = {source_of(own[0])} + {detached(rest[0])}")


def is_factor(product: ast.BinOp, target: ast.expr) -> bool:
    return source_of(target) in (source_of(product.left), source_of(product.right))


def kept_in_list(program: Program, node: ast.AST, used: set[str]) -> Iterator[Finding]:
    """`losses.append(loss)`; also in a small class of the file that does so."""
    if not isinstance(node, ast.Call) or len(node.args) < 1 or not isinstance(node.func, ast.Attribute):
        return
    if name_called(node) != "append" and not collecting_method(program, node):
        return
    if has_graph(program, node.args[0]) and not names_in(node.func) & used:
        rest = "".join(f", {source_of(each)}" for each in node.args[1:])
        yield Finding(node.lineno, f"{source_of(node.func)}({detached(node.args[0])}{rest})")


def detached(value: ast.AST) -> str:
    """`loss.detach()`, `loss.detach() * 2`."""
    if isinstance(value, ast.BinOp) and not isinstance(value.left, ast.Constant):
        return source_of(value).replace(source_of(value.left), detached(value.left), 1)
    return f"{source_of(value)}.detach()"


@rule("code.outputs-kept")
def outputs_kept(program: Program) -> Iterator[Finding]:
    """`self.outputs.append(...)` in a step of Lightning, and nothing that ever empties the list."""
    for owner in program.nodes.of_kind(ast.ClassDef):
        if not isinstance(owner, ast.ClassDef) or not any("LightningModule" in source_of(base) for base in owner.bases):
            continue
        seen = set()
        for method in owner.body:
            if not isinstance(method, ast.FunctionDef) or method.name not in STEPS_OF_LIGHTNING:
                continue
            for call in program.calls_in(method):
                held = source_of(receiver_of(call)) if isinstance(call.func, ast.Attribute) else ""
                if name_called(call) != "append" or not held.startswith("self.") or held in seen or keeps_numbers(call):
                    continue
                seen.add(held)
                if not is_emptied(owner, held):
                    yield Finding(call.lineno, f"{held}.clear()  # at the end of each pass", {"name": held})


def keeps_numbers(call: ast.Call) -> bool:
    """What is appended is a plain number: `.item()`, `float(...)`."""
    given = call.args[0] if call.args else None
    return isinstance(given, ast.Call) and name_called(given) in ("item", "float", "len", "int")


def is_emptied(owner: ast.ClassDef, held: str) -> bool:
    """The list is cleared, cut or made anew outside of __init__."""
    for method in owner.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            continue
        for node in ast.walk(method):
            if isinstance(node, ast.Call) and name_called(node) in ("clear", "pop") and source_of(receiver_of(node)) == held:
                return True
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                flat = [part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
                if any(source_of(each) in (held, f"{held}[:]") for each in flat):
                    return True
            if isinstance(node, ast.Delete) and any(source_of(each).startswith(held) for each in node.targets):
                return True
    return False


@rule("code.sync-each-step")
def syncs_each_step(program: Program) -> Iterator[Finding]:
    if not uses_card(program):
        return
    for loop in program.training_loops:
        losses = {name for _, name in program.backward_calls(loop) if name}
        for node in program.own_nodes(loop):
            if not isinstance(node, ast.Call) or program.loops_of(node)[:1] != [loop] or program.is_conditional(node, loop):
                continue
            method = name_called(node)
            printed = method == "print" and any(names_in(each) & losses for each in node.args)
            if not printed and not (method == "item" and isinstance(node.func, ast.Attribute)):
                continue
            line = node.lineno
            yield Finding(line, f"if step % 50 == 0:\n    {program.line_text(line)}")
            break  # one a loop says it


def uses_card(program: Program) -> bool:
    """The program speaks of a GPU at all."""
    texts = [each.value for each in program.nodes.of_kind(ast.Constant) if isinstance(each.value, str)]
    return "cuda" in program.names_called or any(each.startswith("cuda") for each in texts)


@rule("code.checkpoint-incomplete")
def checkpoint_incomplete(program: Program) -> Iterator[Finding]:
    saves = [call for call in program.calls_to("save") if program.name_of(call.func) == "torch.save" and call.args]
    if not program.trains or not saves:
        return
    texts = [source_of(seen_dict(program, call.args[0])).lower() for call in saves]
    if any(re.search(r"\bopt|optim", text) for text in texts) or keeps_optimizer(program):
        return
    if program.names_called & {"save_state", "save_checkpoint", "save_pretrained"}:
        return
    for call, text in zip(saves, texts):
        made = next(places_of(program, call), None)
        if "state_dict" not in text or made is None or not is_to_go_on_from(program, call):
            continue  # what is saved after the loop is the result, not a checkpoint
        yield Finding(call.lineno, also=[] if made is call else [made.lineno])
        return


def places_of(program: Program, call: ast.Call) -> Iterator[ast.Call]:
    """The call itself where it stands in a loop, else the calls in loops of the function that it stands in."""
    if program.loops_of(call):
        yield call
        return
    function = program.function_of(call)
    if isinstance(function, Function):
        for each in program.calls_to(function.name):
            if program.objects.function_run(each) is function and program.loops_of(each):
                yield each


@rule("code.checkpoint-without-optimizer")
def checkpoint_without_optimizer(program: Program) -> Iterator[Finding]:
    """`if step % 500 == 0: torch.save(model.state_dict(), f"ckpt_{step}.pt")`: nothing can go on from it as the run was."""
    saves = [call for call in program.calls_to("save") if program.name_of(call.func) == "torch.save" and call.args]
    if not program.trains or not saves or keeps_optimizer(program) or not keeps_moments(program):
        return
    if program.names_called & {"save_state", "save_checkpoint", "save_pretrained", "load_state_dict"}:
        return  # what goes on from its checkpoints is asked for more (code.checkpoint-incomplete)
    for call in saves:
        made = next(places_of(program, call), None)
        held = source_of(seen_dict(program, call.args[0]))
        if made is None or "state_dict" not in held or re.search(r"\bopt|optim", held.lower()):
            continue
        path = source_of(made).lower() + source_of(call).lower()
        tests = " ".join(source_of(each.test) for each in program.enclosing(made) if isinstance(each, ast.If))
        if ("ckpt" in path or "checkpoint" in path) and "%" in tests and not re.search(r"best|final|ema", path):
            yield Finding(call.lineno, also=[] if made is call else [made.lineno])
            return


def keeps_moments(program: Program) -> bool:
    """An optimizer whose state matters: Adam's moments, momentum."""
    return any("adam" in name.lower() or name in ("Lion", "Adafactor", "RMSprop", "Muon") for name in program.names_called)


def keeps_optimizer(program: Program) -> bool:
    return any(program.objects.is_optimizer(receiver_of(call)) for call in program.calls_to("state_dict"))


def is_to_go_on_from(program: Program, call: ast.Call) -> bool:
    """The program puts weights back and then trains. What it writes and never resumes from is its result: the best model,
    or one of each pass to make samples with."""
    path = source_of(call.args[1]).lower() if len(call.args) > 1 else ""
    if "best" in path or "final" in path:
        return False
    return any(resumes_from(program, each) for each in program.calls_to("load_state_dict"))


def resumes_from(program: Program, call: ast.Call) -> bool:
    """`if args.resume: model.load_state_dict(torch.load(args.resume))` before the loop that trains: by its words not what
    somebody else has trained before."""
    loops = [loop for loop in program.training_loops if program.function_of(loop) is program.function_of(call)]
    if program.loops_of(call) or any(program.nodes.place(call) > program.nodes.place(loop) for loop in loops):
        return False
    tests = [each.test for each in program.enclosing(call) if isinstance(each, ast.If)]
    names = [name for each in call.args for name in ast.walk(each) if isinstance(name, ast.Name)]
    given = [program.names.origin(each).node for each in names]
    text = " ".join(source_of(each).lower() for each in (call, *given, *tests))
    return any(word in text for word in ("resume", "last", "latest", "ckpt", "checkpoint"))


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


@rule("code.sampler-set-epoch")
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
        names = [last_name(each) for each in getattr(owner, "targets", [])]
        if any(word in name.lower() for name in names for word in ("val", "test", "eval")):
            continue
        sampler = names[0] if names and names[0] else "sampler"
        loop = next((each for each in program.nodes.of_kind(ast.For) if is_epoch_loop(program, each)), None)
        if loop is None:
            continue
        yield Finding(loop.lineno, f"{program.line_text(loop.lineno)}\n    {sampler}.set_epoch({source_of(loop.target)})")
        return


def is_epoch_loop(program: Program, loop: ast.For) -> bool:
    """A loop over passes: so called, or counted around a loop that holds a backward pass."""
    if not isinstance(loop.target, ast.Name):
        return False
    if "epoch" in loop.target.id.lower():
        return True
    counted = isinstance(loop.iter, ast.Call) and name_called(loop.iter) in ("range", "trange")
    return counted and any(loop in program.loops_of(each)[:1] for each in program.training_loops)
