"""Rules about what stands between a bad gradient and the weights: clipping, and steps that are not finite."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, names_in, receiver_of, source_of
from ...program.timeline import Cycle

#: Layers whose gradients have rare large values that clipping is there for: attention, and what goes round in time.
SPIKY = (
    "MultiheadAttention", "TransformerEncoder", "TransformerDecoder", "TransformerEncoderLayer", "TransformerDecoderLayer",
    "Transformer", "LSTM", "GRU", "RNN", "scaled_dot_product_attention", "AutoModelForCausalLM",
    "AutoModelForSeq2SeqLM", "GPT2LMHeadModel",
)  # fmt: skip
TESTS = ("isnan", "isinf", "isfinite")
ZEROS = ("zeros_like", "zeros", "tensor", "new_zeros", "new_tensor")


@rule("code.never-clipped")
def never_clipped(program: Program) -> Iterator[Finding]:
    """Attention or recurrence is trained in a loop of its own, and nothing bounds what one batch can do."""
    text = " ".join(program.names_called)
    if "clip" in text or "Accelerator" in text or "initialize" in text or "clip" in " ".join(program.aliases):
        return
    if not is_spiky(program):
        return
    for cycle in program.cycles:
        steps = cycle.of("step")
        if cycle.loop is None or not steps or names_clipping(program, cycle):
            continue
        yield Finding(
            steps[0].line, f"torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n{program.line_text(steps[0].line)}"
        )
        return


#: Below the first every step is cut, whatever the model (P13: 0.5 to 1.0 is usual); above the second none is that trains.
SMALL_THRESHOLD = 0.01
LARGE_THRESHOLD = 100.0


@rule("code.clip-threshold")
def clip_threshold(program: Program) -> Iterator[Finding]:
    """`clip_grad_norm_(parameters, 1e-4)` cuts every step; a threshold of 1000 none. Infinity is a way to measure."""
    for cycle in program.cycles:
        for clip in cycle.of("clip"):
            if not isinstance(clip.node, ast.Call) or not name_called(clip.node).startswith("clip_grad_norm"):
                continue
            given = keyword_of(clip.node, "max_norm") or (clip.node.args[1] if len(clip.node.args) > 1 else None)
            most = program.values.number(given)
            if most is None or not math.isfinite(most) or SMALL_THRESHOLD <= most < LARGE_THRESHOLD or most <= 0:
                continue
            often = "every step, so that it is a learning rate in disguise" if most < 1 else "no step that still trains"
            yield Finding(
                clip.line, "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", {"most": f"{most:g}", "often": often}
            )
            return


def is_spiky(program: Program) -> bool:
    """Attention or recurrence; or a model of another file in a program that has nothing of images."""
    names = {name.rsplit(".", 1)[-1] for name in map(program.name_of, (call.func for call in program.calls))}
    pretrained = any("ForCausalLM" in source_of(each.func) for each in program.calls_to("from_pretrained"))
    if names & set(SPIKY) or pretrained:
        return True
    images = any(name.startswith("Conv") for name in names) or any("vision" in each for each in program.aliases.values())
    holders = [holder for call, _ in program.objects.optimizers_made() for holder in held_by(program, call)]
    made = [program.makers.call_of(holder) for holder in holders]
    unseen = [call for call in made if call is not None and program.makers.class_made(call) is None]
    return not images and any(not program.name_of(call.func).startswith("torch.") for call in unseen)


def held_by(program: Program, optimizer: ast.Call) -> list[ast.expr]:
    return [holder for each in optimizer.args[:1] for holder in program.objects.parameters_in(each)]


def names_clipping(program: Program, cycle: Cycle) -> bool:
    """`if norm > 1: p.grad.mul_(1 / norm)` and its kin: gradients are changed by hand."""
    changing = ("mul_", "div_", "clamp_", "copy_")
    return any(
        name_called(each) in changing and "grad" in source_of(each.func)
        for each in (program.calls_in(cycle.loop) if cycle.loop is not None else [])
    )


@rule("code.nan-hidden")
def nan_hidden(program: Program) -> Iterator[Finding]:
    """A loss that is NaN is made a number before the backward pass: what made it goes on, and nothing tells."""
    for call in program.calls_to("nan_to_num", "nan_to_num_"):
        held = call.args[0] if program.name_of(call.func).startswith("torch.") and call.args else receiver_of(call)
        if program.loops_of(call) and gives_loss(program, call, held):
            yield Finding(call.lineno, skipped(source_of(held)), {"how": f"{name_called(call)}() makes it 0"})
    for node in program.nodes.of_kind(ast.If):
        tested = [each for each in ast.walk(node.test) if name_called(each) in TESTS]
        if not tested or not program.loops_of(node):
            continue
        for each in node.body:
            if isinstance(each, ast.Assign) and name_called(each.value) in ZEROS and replaces(program, node, each):
                corrected = skipped(source_of(each.targets[0]))
                yield Finding(each.lineno, corrected, {"how": "a 0 takes its place"}, also=[node.lineno])


def skipped(name: str) -> str:
    return f"if not torch.isfinite({name}): optimizer.zero_grad(set_to_none=True); skipped += 1; continue"


def backward_names(program: Program, near: ast.AST) -> set[str]:
    """Names that backward passes of the same function are taken of."""
    function = program.function_of(near)
    calls = [call for call, _ in program.backward_calls(program.tree) if program.function_of(call) is function]
    roots = [program.losses.root(call) for call in calls]
    found = {name for call in calls for name in names_in(receiver_of(call)) | {n for a in call.args for n in names_in(a)}}
    return found | {name for each in roots if each is not None for name in names_in(each)}


def gives_loss(program: Program, call: ast.Call, held: ast.AST) -> bool:
    """`loss = torch.nan_to_num(loss)`, `loss.nan_to_num_()`, `torch.nan_to_num(loss).backward()`."""
    names = backward_names(program, call)
    statement = program.statement_of(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        return bool({name for each in statement.targets for name in names_in(each)} & names)
    return isinstance(statement, ast.Expr) and bool(names_in(held) & names) and name_called(call) != "nan_to_num" or (
        isinstance(statement, ast.Expr) and name_called(statement.value) == "backward"
    )


def replaces(program: Program, node: ast.If, each: ast.Assign) -> bool:
    """The name that is tested is given a 0, and a backward pass is taken of it."""
    given = {name for target in each.targets for name in names_in(target)}
    return bool(given & names_in(node.test) & backward_names(program, node)) and not any(
        isinstance(one, (ast.Continue, ast.Break, ast.Return, ast.Raise)) for one in node.body
    )
