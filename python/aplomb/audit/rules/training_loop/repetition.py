"""Rules about what a loop does once, each time, or once too often."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import LoopNode, keyword_of, name_called, names_in, source_of

SAVING = ("save_pretrained", "save_checkpoint", "save_state", "save_model")


def batch_loops(program: Program) -> Iterator[LoopNode]:
    """Loops that take a backward pass by themselves, over something that is no range of a few tries."""
    for loop in program.training_loops:
        if isinstance(loop, ast.For):
            yield loop


@rule("code.loop-leaves-at-once")
def loop_leaves_at_once(program: Program) -> Iterator[Finding]:
    """A `return` or `break` at the end of the loop's body, under no condition: one batch, and the loop is over."""
    for loop in batch_loops(program):
        last = loop.body[-1]
        if not isinstance(last, (ast.Return, ast.Break)) or is_over_constants(program, loop):
            continue
        if any(isinstance(each, ast.Continue) for each in program.own_nodes(loop)) or is_one_try(program, loop):
            continue
        word = "return" if isinstance(last, ast.Return) else "break"
        yield Finding(
            last.lineno,
            "# behind the loop, not in it" if word == "return" else "# leave it out",
            {"word": word},
            also=[loop.lineno],
        )


def is_over_constants(program: Program, loop: LoopNode) -> bool:
    return isinstance(loop, ast.For) and isinstance(loop.iter, (ast.List, ast.Tuple))


def is_one_try(program: Program, loop: LoopNode) -> bool:
    """The loop is a trial by its own words: a test, a profile, a sanity check."""
    name = getattr(program.function_of(loop), "name", "").lower()
    return any(
        word in name
        for word in ("test", "profile", "sanity", "debug", "overfit", "one_step", "single", "dry", "bench", "warm")
    )


@rule("code.count-begins-anew")
def count_begins_anew(program: Program) -> Iterator[Finding]:
    """`total = 0` inside the loop that adds to it, and read behind the loop: only the last batch is counted."""
    for loop in program.nodes.of_kind(ast.For):
        firsts = {
            source_of(each.targets[0]): each
            for each in loop.body
            if isinstance(each, ast.Assign)
            and len(each.targets) == 1
            and isinstance(each.targets[0], ast.Name)
            and is_zero(each.value)
        }
        if not firsts or name_called(loop.iter) == "range":
            continue
        for node in loop.body:
            if (
                not isinstance(node, ast.AugAssign)
                or not isinstance(node.op, ast.Add)
                or source_of(node.target) not in firsts
            ):
                continue
            name = source_of(node.target)
            first = firsts[name]
            inner = any(isinstance(each, (ast.For, ast.While)) and name in names_in(each) for each in loop.body)
            later = read_behind(program, loop, name)
            if first.lineno < node.lineno and not inner and later is not None and not read_inside(program, loop, name, node):
                yield Finding(first.lineno, f"{name} = 0  # before the loop", {"name": name}, also=[node.lineno, later])


def is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in (0, 0.0) and not isinstance(node.value, bool)


def read_behind(program: Program, loop: ast.For, name: str) -> int | None:
    scope = program.function_of(loop)
    end = program.nodes.place(program.nodes.below(loop)[-1])
    for each in program.own_nodes(scope):
        if (
            isinstance(each, ast.Name)
            and each.id == name
            and isinstance(each.ctx, ast.Load)
            and program.nodes.place(each) > end
        ):
            return each.lineno
    return None


def read_inside(program: Program, loop: ast.For, name: str, added: ast.AugAssign) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
        for each in program.nodes.below(loop)
    )


@rule("code.counted-samples-over-batches")
def counted_samples_over_batches(program: Program) -> Iterator[Finding]:
    """`correct / len(loader)`: samples are counted and divided by batches, or means of batches by samples."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Div) or name_called(node.right) != "len" or not isinstance(node.right, ast.Call):
            continue
        counted = program.names.origin(node.right.args[0]).node if node.right.args else None
        held = (
            node.left.args[0]
            if name_called(node.left) in ("float", "sum") and isinstance(node.left, ast.Call) and node.left.args
            else node.left
        )
        if not isinstance(held, ast.Name) or counted is None:
            continue
        added = [each for each in program.names.all_given(held) if each.how == "added" and each.value is not None]
        is_loader = name_called(counted) == "DataLoader" or (
            isinstance(node.right.args[0], ast.Name) and "loader" in node.right.args[0].id.lower()
        )
        if len(added) == 1 and is_loader and counts_samples(program, added[0].value):
            yield Finding(
                node.lineno,
                f"{source_of(node.left)} / len({source_of(node.right.args[0])}.dataset)",
                {"count": held.id},
                also=[added[0].line],
            )


def counts_samples(program: Program, value: ast.AST | None) -> bool:
    """`(pred == y).sum().item()`."""
    if value is None:
        return False
    text = source_of(value)
    compares = (
        any(isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Eq) for each in ast.walk(value)) or ".eq(" in text
    )
    return (
        compares
        and ".sum(" in text
        and not any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div) for each in ast.walk(value))
        and ".mean(" not in text
    )


@rule("code.saved-each-step")
def saved_each_step(program: Program) -> Iterator[Finding]:
    """A checkpoint (or a whole evaluation) at every batch, under no condition."""
    for loop in batch_loops(program):
        if isinstance(loop, ast.For) and not goes_over_batches(program, loop):
            continue
        for call in program.calls_in(loop):
            is_save = program.name_of(call.func) == "torch.save" or (
                name_called(call) in SAVING and isinstance(call.func, ast.Attribute)
            )
            inner = program.loops_of(call)
            is_save = is_save or is_whole_evaluation(program, call)
            if is_save and inner and inner[0] is loop and not program.is_conditional(call, loop):
                yield Finding(call.lineno, "if step % save_every == 0:", {"call": source_of(call.func)}, also=[loop.lineno])
                return


def is_whole_evaluation(program: Program, call: ast.Call) -> bool:
    """A function of this file, called so, that goes over a loader of its own."""
    function = program.names.function_called(call)
    named = function is not None and re.match(r"(eval|valid|test)", function.name.lower()) is not None
    return function is not None and named and any(isinstance(each, ast.For) for each in program.own_nodes(function))


def goes_over_batches(program: Program, loop: ast.For) -> bool:
    """Over a loader, by what it was made of or is called."""
    names = " ".join(each.id for each in ast.walk(loop.iter) if isinstance(each, ast.Name)).lower()
    return "loader" in names or any(
        name_called(program.names.origin(each).node) == "DataLoader"
        for each in ast.walk(loop.iter)
        if isinstance(each, ast.Name)
    )


@rule("code.figures-kept")
def figures_kept(program: Program) -> Iterator[Finding]:
    """pyplot keeps every figure that is made in a loop until it is closed."""
    if (
        "close" in program.names_called
        and program.calls_to("close")
        and any(
            program.name_of(each.func).startswith("matplotlib") or "plt" in source_of(each.func)
            for each in program.calls_to("close")
        )
    ):
        return
    for call in program.calls_to("figure", "subplots"):
        if not program.name_of(call.func).startswith("matplotlib.pyplot") or keyword_of(call, "num") is not None:
            continue
        function = program.function_of(call)
        loops = program.loops_of(call) or [
            loop for each in program.calls_to(getattr(function, "name", "")) for loop in program.loops_of(each)
        ]
        if loops and "show" not in program.names_called and program.trains and isinstance(loops[0], (ast.For, ast.While)):
            yield Finding(call.lineno, "plt.close(fig)  # behind savefig()", also=[loops[0].lineno])
            return


# --- weights that are made and not kept


@rule("code.layer-made-in-forward")
def layer_made_in_forward(program: Program) -> Iterator[Finding]:
    """`nn.Linear(...)(x)` in forward(): new random weights at every pass, which no optimizer holds."""
    for owner in program.nodes.of_kind(ast.ClassDef):
        if not program.makers.is_module_class(owner):
            continue
        forward = program.makers.method(owner, "forward")
        for call in program.calls_in(forward) if forward is not None else []:
            full = program.name_of(call.func)
            if full not in WEIGHTED or (
                forward is not None and (program.is_conditional(call, forward) or kept_as_attribute(program, call))
            ):
                continue
            yield Finding(
                call.lineno, f"self.layer = {source_of(call)[:80]}  # in __init__()", {"layer": full.rsplit(".", 1)[-1]}
            )


LAYERS = (
    "Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d", "Embedding", "LSTM", "GRU", "MultiheadAttention",
    "BatchNorm1d", "BatchNorm2d", "Parameter",
)  # fmt: skip
WEIGHTED = tuple(f"torch.nn.{name}" for name in LAYERS)


def kept_as_attribute(program: Program, call: ast.Call) -> bool:
    """Made once and kept: `self.head = nn.Linear(...)` where it is not there yet."""
    statement = program.statement_of(call)
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Attribute)
        and program.is_conditional(call, program.function_of(call))
    )


@rule("code.parameter-not-registered")
def parameter_not_registered(program: Program) -> Iterator[Finding]:
    """A weight of a module that is no nn.Parameter when it is assigned: parameters() does not give it."""
    for owner in program.nodes.of_kind(ast.ClassDef):
        if not program.makers.is_module_class(owner):
            continue
        for name, bindings in program.names.attributes(owner).items():
            for binding in bindings:
                value = binding.value
                if (
                    not isinstance(value, ast.Call)
                    or binding.path
                    or getattr(program.function_of(binding.node), "name", "") != "__init__"
                ):
                    continue
                moved = (
                    isinstance(value.func, ast.Attribute)
                    and name_called(value) in ("to", "cuda", "float", "half", "double")
                    and name_called(value.func.value) == "Parameter"
                )
                grown = (
                    program.name_of(value.func).startswith("torch.")
                    and any(each.arg == "requires_grad" and program.values.is_true(each.value) for each in value.keywords)
                    and name_called(value) != "Parameter"
                )
                if (moved or grown) and not is_given_itself(program, name):
                    inner = (
                        source_of(value.func.value)
                        if moved and isinstance(value.func, ast.Attribute)
                        else f"nn.Parameter({source_of(value)})"
                    )
                    yield Finding(binding.line, f"self.{name} = {inner}", {"name": f"self.{name}"})


def is_given_itself(program: Program, name: str) -> bool:
    """An optimizer is given it by name, or it is registered."""
    given = [each for call, _ in program.objects.optimizers_made() for each in call.args[:1]]
    given += [each for call in program.calls_to("register_parameter") for each in call.args]
    return any(isinstance(one, ast.Attribute) and one.attr == name for each in given for one in ast.walk(each))


@rule("code.parameters-used-up")
def parameters_used_up(program: Program) -> Iterator[Finding]:
    """`params = model.parameters()` can be gone through once: the second that asks for it gets nothing."""
    for node in program.nodes.of_kind(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not isinstance(value, ast.Call) or len(program.names.all_given(target)) != 1:
            continue
        is_stream = name_called(value) in ("parameters", "named_parameters") and isinstance(value.func, ast.Attribute)
        is_stream = is_stream or (
            isinstance(value.func, ast.Name) and value.func.id == "filter" and "parameters" in source_of(value)
        )
        scope = program.function_of(node)
        uses = [
            each
            for each in program.own_nodes(scope)
            if isinstance(each, ast.Name) and each.id == target.id and isinstance(each.ctx, ast.Load)
        ]
        if (
            not is_stream
            or len(uses) < 2
            or any(
                isinstance(program.nodes.parents.get(each), ast.Call)
                and name_called(program.nodes.parents[each]) in ("list", "tuple", "next", "type", "print", "tee")
                for each in uses
            )
        ):
            continue
        first, second = uses[0], uses[1]
        if program.is_conditional(first, scope) and program.is_conditional(second, scope):
            continue
        yield Finding(
            node.lineno,
            f"{target.id} = list({source_of(value)})",
            {"name": target.id, "use": program.line_text(second.lineno)[:80]},
            also=[second.lineno],
        )


# --- constants that turn a thing round


@rule("code.schedule-grows")
def schedule_grows(program: Program) -> Iterator[Finding]:
    """A schedule whose factor is above 1 makes the rate larger at every step."""
    for call in program.calls_to("ExponentialLR", "StepLR", "MultiStepLR", "ReduceLROnPlateau"):
        place = {"ExponentialLR": 1, "StepLR": 2, "MultiStepLR": 2}.get(name_called(call), 2)
        name = "factor" if name_called(call) == "ReduceLROnPlateau" else "gamma"
        given = keyword_of(call, name) or (call.args[place] if len(call.args) > place else None)
        value = program.values.number(given)
        if value is not None and value > 1:
            yield Finding(call.lineno, f"{name}={1 / value:g}", {"name": name, "value": f"{value:g}"})


@rule("code.momentum-of-statistics")
def momentum_of_statistics(program: Program) -> Iterator[Finding]:
    """BatchNorm(momentum=0.99) of torch, whose momentum is the share of the new batch; 0.01 of Keras or Flax, where it is
    that of the old ones."""
    for call, value in momenta(program):
        if 0.9 <= value < 1:
            yield Finding(call.lineno, f"momentum={1 - value:g}", {"value": f"{value:g}", "whose": WHOSE[0]})
    for call in program.calls_to("BatchNormalization", "BatchNorm"):
        of_others = program.name_of(call.func).startswith(("keras.", "tensorflow.", "tf.", "flax.", "nnx."))
        share = program.values.number(keyword_of(call, "momentum"))
        if of_others and share is not None and 0 < share <= 0.1:
            yield Finding(call.lineno, f"momentum={1 - share:g}", {"value": f"{share:g}", "whose": WHOSE[1]})


WHOSE = (
    "torch's momentum is the share of the new batch, where Keras and Flax count the share of the old ones",
    "here momentum is the share of the old batches, where torch counts the share of the new one",
)
#: Of a statistic that began elsewhere (1 - 0.003)^500 = 22 % is left after 500 steps. Judgement: what is shorter evaluates
#: by what it began with; the smallest of usual numbers, 0.01, has 0.7 % left by then.
HARDLY = 0.003


def momenta(program: Program) -> Iterator[tuple[ast.Call, float]]:
    for call in program.calls_to("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"):
        given = keyword_of(call, "momentum") or (call.args[2] if len(call.args) > 2 else None)
        value = program.values.number(given)
        if value is not None and program.name_of(call.func).startswith("torch.nn"):
            yield call, value


@rule("code.statistics-hardly-move")
def statistics_hardly_move(program: Program) -> Iterator[Finding]:
    """BatchNorm(momentum=0.001) of torch: another library's 0.999, one minus it. Asked of programs that train."""
    if not program.names_called & {"backward", "fit", "train", "manual_backward"}:
        return
    for call, value in momenta(program):
        if 0 < value <= HARDLY:
            yield Finding(call.lineno, "momentum=0.1", {"value": f"{value:g}"})
            return


@rule("code.ranks-on-one-card")
def ranks_on_one_card(program: Program) -> Iterator[Finding]:
    """Several processes with NCCL, and each puts its model on the first card."""
    if "init_process_group" not in program.names_called or program.names_called & {
        "set_device",
        "spawn_on",
        "Accelerator",
        "Fabric",
    }:
        return
    nccl = any("nccl" in source_of(each) for each in program.calls_to("init_process_group"))
    wraps = program.calls_to("DistributedDataParallel", "DDP")
    if (
        not nccl
        or not wraps
        or any("LOCAL_RANK" in line or "local_rank" in line or "CUDA_VISIBLE_DEVICES" in line for line in program.lines)
    ):
        return
    for call in program.calls_to("cuda", "to"):
        plain = name_called(call) == "cuda" and not call.args and not call.keywords
        named = name_called(call) == "to" and call.args and program.values.of(call.args[0]) == "cuda"
        if (plain or named) and isinstance(call.func, ast.Attribute) and program.objects.is_model(call.func.value):
            yield Finding(call.lineno, 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))', also=[wraps[0].lineno])
            return
