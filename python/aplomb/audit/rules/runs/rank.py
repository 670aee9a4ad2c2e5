"""Rules about several processes: calls that all of them must make, and data that they should part."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import data_of, training_loaders
from ...program.program import Program
from ...program.syntax import is_constant, keyword_of, name_called, names_in, receiver_of, source_of
from ...program.timeline import Event, Guard, Timeline

RANKS = (
    "rank", "local_rank", "global_rank", "is_main_process", "is_global_zero", "is_master", "master_process",
    "is_main", "is_rank0", "is_local_main_process", "is_world_process_zero", "world_rank", "rank_zero", "get_rank",
    "is_chief", "is_primary",
)  # fmt: skip
WRAPPED = ("DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel", "fully_shard")
LAUNCHED = ("init_process_group", "init_distributed", "Accelerator", "Fabric")
#: What gives each rank data of its own.
PARTING = (
    "DistributedSampler", "prepare", "setup_dataloaders", "split_dataset_by_node", "DistributedBatchSampler",
    "StatefulDistributedSampler",
)  # fmt: skip
#: What makes a value the same on all ranks.
SHARING = (
    "all_reduce", "broadcast", "all_gather", "gather_for_metrics", "reduce", "gather", "all_gather_object",
    "broadcast_object_list", "gather_object",
)  # fmt: skip
#: Beside the collectives of torch.distributed: every rank has to enter these.
ENTERED_BY_ALL = ("save_checkpoint", "save_16bit_model", "full_state_dict", "summon_full_params", "consolidate_state_dict")


def is_distributed(program: Program) -> bool:
    return bool(program.names_called & {*LAUNCHED, *WRAPPED})


def asks_for_rank(program: Program, test: ast.AST) -> bool:
    """`rank == 0`, `if accelerator.is_main_process`, `dist.get_rank() == 0`."""
    for each in ast.walk(test):
        name = each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else ""
        if name.lower() in RANKS or name.lower().endswith(("_rank", "main_process", "process_index")):
            return True
        if isinstance(each, ast.Name) and is_given_rank(program, each):
            return True
    return False


def is_given_rank(program: Program, name: ast.Name) -> bool:
    """`R = dist.get_rank()`, `r = int(os.environ["RANK"])`."""
    origin = program.names.origin(name)
    if origin.path:
        return False
    called = name_called(origin.node)
    if called == "int" and isinstance(origin.node, ast.Call):
        asked = [each.value for each in ast.walk(origin.node) if isinstance(each, ast.Constant)]
        return "RANK" in asked or "LOCAL_RANK" in asked
    return called in ("get_rank", "get_local_rank", "get_global_rank")


@rule("code.collective-on-some-ranks")
def collective_on_some_ranks(program: Program) -> Iterator[Finding]:
    """A collective under a test of the rank (or behind a way out for some ranks) that the other ranks do not make."""
    if not is_distributed(program):
        return
    for timeline in program.timelines:
        for event in timeline.of("collective"):
            for guard in event.at.guards:
                if guard.how == "error" or not asks_for_rank(program, guard.test) or is_about_count(guard.test):
                    continue
                if not has_counterpart(program, timeline, event, guard):
                    values = {"call": source_of(event.node), "test": source_of(guard.test)}
                    yield Finding(event.line, "", values, also=[getattr(guard.test, "lineno", event.line)])
                    break


@rule("code.saved-by-one-rank")
def saved_by_one_rank(program: Program) -> Iterator[Finding]:
    """`if rank == 0: engine.save_checkpoint(folder)`: DeepSpeed, Lightning and FSDP gather the parts of all ranks there."""
    for call in program.calls_to(*ENTERED_BY_ALL):
        holder = source_of(call.func).lower()
        if name_called(call) == "save_checkpoint" and not any(
            word in holder for word in ("engine", "trainer", "accelerator", "deepspeed")
        ):
            continue
        for parent in program.enclosing(call):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
                break
            if isinstance(parent, ast.If) and asks_for_rank(program, parent.test) and is_in_body(program, parent, call):
                if not is_about_count(parent.test) and "!=" not in source_of(parent.test):
                    yield Finding(
                        call.lineno, "", {"call": source_of(call), "test": source_of(parent.test)}, also=[parent.lineno]
                    )
                break


def is_in_body(program: Program, branch: ast.If, node: ast.AST) -> bool:
    return any(program.nodes.encloses(each, node) for each in branch.body)


def is_about_count(test: ast.AST) -> bool:
    """`if rank >= 0`, `if local_rank != -1`: whether there are ranks at all."""
    return any(
        isinstance(each, ast.Compare)
        and any(is_minus_one(one) for one in each.comparators)
        or isinstance(each, ast.Compare)
        and isinstance(each.ops[0], ast.GtE)
        and any(is_constant(one, 0) for one in each.comparators)
        for each in ast.walk(test)
    )


def is_minus_one(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and is_constant(node.operand, 1)


def has_counterpart(program: Program, timeline: Timeline, event: Event, guard: Guard) -> bool:
    """The ranks for which the test does not hold make a collective too: in the other branch, or under the opposite test
    (what the main process does first: barrier under `rank != 0`, work, barrier under `rank == 0`)."""
    for other in timeline.of("collective"):
        if other is event or not isinstance(other.node, ast.Call) or not isinstance(event.node, ast.Call):
            continue
        for each in other.at.guards:
            if each.test is guard.test and each.holds != guard.holds:
                return True
            if (
                each.test is not guard.test
                and asks_for_rank(program, each.test)
                and name_called(other.node) == name_called(event.node)
            ):
                return True
    return False


@rule("code.collective-by-local-value")
def collective_by_local_value(program: Program) -> Iterator[Finding]:
    """A collective (or the end of the loop) under a test of a value that each rank computes for itself."""
    if not is_distributed(program):
        return
    for timeline in program.timelines:
        for event in timeline.of("collective"):
            for guard in event.at.guards:
                if guard.how == "error" or asks_for_rank(program, guard.test):
                    continue
                name = local_value(program, guard.test)
                if name:
                    line = guard.test.lineno  # type: ignore[attr-defined]
                    yield Finding(
                        event.line,
                        "",
                        {"call": source_of(event.node), "value": name, "test": source_of(guard.test)},
                        also=[line],
                    )
                    break
        if wrapped_models(program):
            yield from loops_left(program, timeline)


def loops_left(program: Program, timeline: Timeline) -> Iterator[Finding]:
    """`if stopper(val_loss): break` out of a loop whose backward passes meet those of the other ranks."""
    for event in timeline.of("break", "return", "continue"):
        if not event.loops or program.function_of(event.node) is not program.function_of(event.loops[-1]):
            continue
        if event.kind == "continue" and not skips_backward(timeline, event):
            continue
        meets = any(each.kind == "backward" and event.loops[-1] in each.loops for each in timeline.events)
        for guard in event.at.guards if meets else ():
            name = "" if guard.how != "if" or asks_for_rank(program, guard.test) else local_value(program, guard.test)
            if name:
                values = {"call": event.kind, "value": name, "test": source_of(guard.test)}
                yield Finding(event.line, "", values, also=[getattr(guard.test, "lineno", event.line)])
                break


def skips_backward(timeline: Timeline, event: Event) -> bool:
    """A backward pass of the same loop stands behind it."""
    behind = timeline.events[timeline.events.index(event) :]
    return any(each.kind == "backward" and event.loops[-1] in each.loops for each in behind)


def local_value(program: Program, test: ast.AST) -> str:
    """The name in a test that comes from a loss or a model's output of this rank, and was not shared; an object that was
    given such a value (`stopper(val_loss); if stopper.stop: ...`) is as local as the value."""
    for each in ast.walk(test):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and is_local(program, each, 0):
            return each.id
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and is_keeper(program, each.value):
            for call in program.calls:
                told = call.func.value if isinstance(call.func, ast.Attribute) else call.func
                if isinstance(told, ast.Name) and told.id == each.value.id and call.args and told is not each.value:
                    names = [one for one in ast.walk(call.args[0]) if isinstance(one, ast.Name)]
                    if any(is_local(program, one, 0) for one in names):
                        return each.value.id
    return ""


def is_keeper(program: Program, name: ast.Name) -> bool:
    """An object of a class of this file that is no module: what counts how long nothing has improved."""
    call = program.makers.call_of(name)
    owner = program.makers.class_made(call) if call is not None else None
    return owner is not None and not program.makers.is_module_class(owner)


def is_local(program: Program, node: ast.Name, depth: int) -> bool:
    binding = program.names.given(node)
    if binding is None or binding.value is None or depth > 5 or is_shared(program, node):
        return False
    value = binding.value
    for each in ast.walk(value):
        if isinstance(each, ast.Call):
            if name_called(each) in SHARING:
                return False
            kind = program.objects.event_of(each)[0]
            if kind == "forward" or program.losses.criterion(each) is not None or measures_alone(program, each):
                return True
        if (
            isinstance(each, ast.Name)
            and isinstance(each.ctx, ast.Load)
            and each.id != node.id
            and is_local(program, each, depth + 1)
        ):
            return True
    return False


def measures_alone(program: Program, call: ast.Call) -> bool:
    """A function of this file that runs a model over batches and shares nothing: `score = validate(model, loader)`."""
    function = program.names.function_called(call)
    if function is None:
        return False
    inside = program.calls_in(function)
    if any(name_called(each) in SHARING for each in inside):
        return False
    runs = any(program.objects.event_of(each)[0] == "forward" for each in inside)
    return runs and any(program.losses.criterion(each) is not None for each in inside)


def is_shared(program: Program, node: ast.Name) -> bool:
    """`dist.all_reduce(val)` somewhere: the same on all ranks from there."""
    return any(any(node.id in names_in(each) for each in call.args) for call in program.calls_to(*SHARING))


@rule("code.wrapper-bypassed")
def wrapper_bypassed(program: Program) -> Iterator[Finding]:
    """`ddp = DDP(model)`, and the training step calls `model(x)` (or `ddp.module(x)`): what averages the gradients hangs on
    the wrapper's own forward pass."""
    for call in program.calls_to("DistributedDataParallel", "DDP"):
        holder = program.nodes.parents.get(call)
        if not isinstance(holder, ast.Assign) or holder.value is not call or not call.args:
            continue
        wrapper, inner = source_of(holder.targets[0]), source_of(call.args[0])
        if wrapper == inner or is_called_or_given(program, wrapper):
            continue
        for event in trained_passes(program):
            called = spelled(program, event.node.func) if isinstance(event.node, ast.Call) else ""
            if called in (inner, f"{wrapper}.module"):
                values = {"wrapper": wrapper, "model": called}
                corrected = program.line_text(event.line).replace(f"{called}(", f"{wrapper}(", 1)
                yield Finding(event.line, corrected, values, also=[call.lineno])
                break
    yield from reached_through(program)


def spelled(program: Program, func: ast.expr) -> str:
    """`ddp.module.loss` of `net.loss`, where `net = ddp.module`."""
    root = func
    while isinstance(root, ast.Attribute):
        root = root.value
    binding = program.names.given(root) if isinstance(root, ast.Name) else None
    made = binding.value if binding is not None and binding.how == "assigned" else None
    text = source_of(func)
    if isinstance(made, ast.Attribute) and made.attr == "module":
        return source_of(made) + text[len(source_of(root)) :]
    return text


def reached_through(program: Program) -> Iterator[Finding]:
    """`loss = ddp.module.loss(x, y)`, and the backward pass of it: the wrapper's own forward pass never runs."""
    wrapped = {
        source_of(holder.targets[0]): call.lineno
        for call in program.calls_to("DistributedDataParallel", "DDP")
        if isinstance(holder := program.nodes.parents.get(call), ast.Assign) and holder.value is call
    }
    for back, _ in program.backward_calls(program.tree):
        loss = receiver_of(back)
        given = [one.value for one in program.names.all_given(loss) if one.value is not None]
        for each in [node for value in given for node in ast.walk(value)]:
            if not isinstance(each, ast.Call) or not isinstance(each.func, ast.Attribute):
                continue
            name = next((one for one in wrapped if spelled(program, each.func).startswith(f"{one}.module.")), None)
            if name is not None:
                corrected = f"{name}(...)  # with what {source_of(each.func)}() does in the model's forward()"
                values = {"wrapper": name, "model": source_of(each.func)}
                yield Finding(each.lineno, corrected, values, also=[wrapped[name]])
                return


def trained_passes(program: Program) -> Iterator[Event]:
    """The forward passes, gradients on, of loops that hold a backward pass."""
    for timeline in program.timelines:
        loops = {each.loops[-1] for each in timeline.of("backward") if each.loops}
        for event in timeline.of("forward"):
            without = any(each in ("no_grad", "inference_mode") for each in event.at.contexts)
            if not without and event.loops and event.loops[-1] in loops:
                yield event


def is_called_or_given(program: Program, wrapper: str) -> bool:
    """Called somewhere, or handed to a function, which may call it."""
    for call in program.calls:
        if source_of(call.func) == wrapper:
            return True
        if any(source_of(each) == wrapper for each in (*call.args, *(one.value for one in call.keywords))):
            return True
    kept: list[ast.Return | ast.Assign] = program.nodes.of_kind(ast.Return, ast.Assign)
    return any(isinstance(each.value, ast.Name) and each.value.id == wrapper for each in kept)


# --- data


def wrapped_models(program: Program) -> bool:
    return bool(program.names_called & set(WRAPPED))


@rule("code.ranks-share-data")
def ranks_share_data(program: Program) -> Iterator[Finding]:
    """Every rank goes through the same batches: no DistributedSampler, and nothing that knows the rank."""
    if not wrapped_models(program) or program.names_called & set(PARTING):
        return
    for call, _ in training_loaders(program):
        if any(keyword_of(call, each) is not None for each in ("sampler", "batch_sampler")) or any(
            each.arg is None for each in call.keywords
        ):
            continue
        data = data_of(call)
        if data is not None and not knows_rank(program, data, 0) and not seeds_by_rank(program):
            yield Finding(call.lineno, source_of(call)[:-1] + ", sampler=DistributedSampler(dataset))")


def knows_rank(program: Program, node: ast.AST, depth: int) -> bool:
    """The rank goes into the data, anywhere on the way."""
    if depth > 5:
        return False
    origin = program.names.origin(node).node
    for each in ast.walk(origin):
        name = each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else ""
        if "rank" in name.lower() or "shard" in name.lower():
            return True
        if isinstance(each, ast.Call):
            owner = program.makers.class_made(each)
            if owner is not None and "rank" in source_of(owner):
                return True
        if (
            isinstance(each, ast.Name)
            and each is not origin
            and isinstance(each.ctx, ast.Load)
            and knows_rank(program, each, depth + 1)
        ):
            return True
    return False


def seeds_by_rank(program: Program) -> bool:
    return any(
        "rank" in source_of(each).lower()
        for call in program.calls_to("manual_seed", "seed", "set_seed", "seed_everything")
        for each in call.args
    )


def own_files(program: Program) -> Iterator[Finding]:
    """`rows = read(f"part-{rank}.jsonl")`, and the loop of the training goes to the end of the rows."""
    for loop in program.training_loops:
        if not isinstance(loop, ast.For):
            continue
        for name in [each for each in ast.walk(loop.iter) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]:
            read = program.names.origin(name, through_calls=False).node
            for text in [each for each in ast.walk(read) if isinstance(each, (ast.JoinedStr, ast.BinOp, ast.Call))]:
                is_path = isinstance(text, ast.JoinedStr) or name_called(text) == "format"
                if isinstance(read, ast.Call) and is_path and asks_for_rank(program, text):
                    yield Finding(read.lineno, "with model.join():  # around the loop", also=[loop.lineno])
                    return


@rule("code.ranks-uneven")
def ranks_uneven(program: Program) -> Iterator[Finding]:
    """Each rank goes through its own part of files or rows to the end, of whatever length, and the backward pass meets the
    others at every step."""
    if not wrapped_models(program) or program.names_called & {"Join", "DistributedSampler", "islice"}:
        return
    if any(isinstance(program.nodes.parents.get(call), ast.withitem) for call in program.calls_to("join")):
        return  # with model.join():
    yield from own_files(program)
    for call, loop in training_loaders(program):
        data = data_of(call)
        part = sliced_by_rank(program, data, 0) if data is not None else None
        if part is None or is_true_drop(program, call) or leaves_early(program, loop):
            continue
        yield Finding(
            getattr(part, "lineno", call.lineno),
            "with Join([model]): ...  # or as many steps on every rank",
            also=[call.lineno],
        )


def sliced_by_rank(program: Program, node: ast.AST, depth: int) -> ast.AST | None:
    """`files[rank::world]` on the way into the data, with parts whose lengths may differ: files, shards."""
    if depth > 6:
        return None
    origin = program.names.origin(node).node
    for each in ast.walk(origin):
        place = each.slice if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice) else None
        begin = place.lower if place is not None and place.step is not None else None
        if begin is not None and "rank" in source_of(begin).lower():
            return each
        if isinstance(each, ast.Name) and each is not origin and isinstance(each.ctx, ast.Load):
            found = sliced_by_rank(program, each, depth + 1) if program.names.origin(each).node is not each else None
            if found is not None:
                return found
    return None


def is_true_drop(program: Program, call: ast.Call) -> bool:
    """The last batch is left out: rows of which each rank has the same number, but for one."""
    return program.values.is_true(keyword_of(call, "drop_last"))


def leaves_early(program: Program, loop: ast.AST) -> bool:
    """A number of steps that is the same for all ends the loop."""
    return (
        any(isinstance(each, ast.Break) for each in program.nodes.below(loop))
        or name_called(getattr(loop, "iter", loop)) == "zip"
    )
