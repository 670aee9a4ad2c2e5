"""Rules about programs that go on from a checkpoint: optimizer, schedule, count, data and their order."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...findings import Finding, rule
from ...program.data import goes_over_data
from ...program.formats import half_format
from ...program.program import Program
from ...program.syntax import is_constant, keyword_of, last_name, name_called, receiver_of, source_of
from .restore import is_schedule, made_after_the_optimizer_came_back, schedules_made

COUNT_WORDS = ("step", "epoch", "iter")
CHECKPOINT_WORDS = ("ckpt", "checkpoint", "epoch", "step", "iter", "model", ".pt", ".pth")
LISTING = ("glob", "iglob", "rglob", "listdir", "scandir", "iterdir")
#: Calls that put the data (or everything) back, whoever makes them.
DATA_RESTORED = ("skip_first_batches", "islice", "skip", "set_epoch", "load_state", "load_checkpoint", "set_state")


def resumed_weights(program: Program) -> ast.Call | None:
    """`model.load_state_dict(state["model"])` in a program that trains: the weights of one that stopped."""
    if not program.trains:
        return None
    loads = [call for call in loads_of(program) if program.is_model(receiver_of(call))]
    return loads[0] if loads else None


def loads_of(program: Program) -> list[ast.Call]:
    return [call for call in program.calls_to("load_state_dict") if isinstance(call.func, ast.Attribute)]


def count_restored(program: Program) -> ast.stmt | None:
    """`step = state["step"]`, `start = ckpt.get("global_step", 0) + 1`: a count that comes out of a file."""
    for node in program.nodes.of_kind(ast.Assign, ast.AugAssign):
        assert isinstance(node, (ast.Assign, ast.AugAssign))
        for each in ast.walk(node.value):
            key = key_of(each)
            if key is not None and any(word in key.lower() for word in COUNT_WORDS):
                return node
    return None


def key_of(node: ast.AST) -> str | None:
    """The text by which a dictionary is asked: `state["step"]`, `state.get("step")`."""
    if isinstance(node, ast.Subscript):
        key = node.slice
    elif isinstance(node, ast.Call) and name_called(node) == "get" and node.args:
        key = node.args[0]
    else:
        return None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def restores_all(program: Program) -> bool:
    """Something else puts everything back: Accelerate, DeepSpeed, a Trainer."""
    return bool(program.calls_to("load_state", "load_checkpoint", "auto_resume")) or any(
        keyword_of(call, "resume_from_checkpoint") is not None for call in program.calls_to("train")
    )


def optimizer_steps(program: Program) -> bool:
    return any(
        isinstance(call.func, ast.Attribute)
        and (program.is_optimizer(call.func.value) or any(program.is_optimizer(each) for each in call.args))
        for call in program.calls_to("step")
    )


@rule("code.checkpoints-sorted-as-text")
def checkpoints_sorted_as_text(program: Program) -> Iterator[Finding]:
    """`sorted(glob("ckpt/epoch_*.pt"))[-1]`: epoch_9 comes behind epoch_10."""
    for call in program.calls_to("sorted", "max", "sort"):
        if keyword_of(call, "key") is not None:
            continue
        listed = receiver_of(call) if name_called(call) == "sort" else (call.args[0] if len(call.args) == 1 else None)
        pattern = pattern_listed(program, listed) if listed is not None else None
        if pattern is None or is_padded(program, pattern) or not picks_an_end(program, call):
            continue
        corrected = 'max(names, key=lambda name: int(re.findall(r"[0-9]+", name)[-1]))'
        yield Finding(call.lineno, corrected, {"pattern": pattern})


def pattern_listed(program: Program, node: ast.AST) -> str | None:
    """The pattern, or the word by which names are chosen, of files that look like checkpoints: `epoch_*.pt`."""
    origin = program.names.origin(node).node
    listing = [each for each in ast.walk(origin) if isinstance(each, ast.Call) and name_called(each) in LISTING]
    if not listing:
        return None
    texts = [each.value for each in ast.walk(origin) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    named = [text for text in texts if any(word in text.lower() for word in CHECKPOINT_WORDS)]
    return named[-1] if named else pattern_written(program, listing[0])


def pattern_written(program: Program, listing: ast.Call) -> str | None:
    """`step_*` of `os.path.join(folder, f"step_{step}")`, where the very folder is listed."""
    folder = source_of(listing.args[0]) if listing.args and name_called(listing) in ("listdir", "scandir") else ""
    for text in program.nodes.of_kind(ast.JoinedStr) if folder else []:
        calls = [each for each in program.enclosing(text) if isinstance(each, ast.Call)]
        if not calls or folder not in {source_of(each) for each in calls[0].args} and not inside(text, folder):
            continue
        parts = [str(each.value) if isinstance(each, ast.Constant) else "*" for each in text.values]
        pattern = "".join(parts).rsplit("/", 1)[-1]
        if pattern.count("*") == 1 and any(word in pattern.lower() for word in CHECKPOINT_WORDS):
            return pattern
    return None


def inside(text: ast.JoinedStr, folder: str) -> bool:
    """`f"{folder}/step_{step}"`."""
    return any(isinstance(each, ast.FormattedValue) and source_of(each.value) == folder for each in text.values[:1])


def is_padded(program: Program, pattern: str) -> bool:
    """Names are written with leading zeros somewhere (`{step:06d}`, `%05d`, zfill): text then sorts as numbers do."""
    if program.calls_to("zfill"):
        return True
    return any(re.search(r"\{[^{}]*:0\d+d?\}|%0\d+d", line) for line in program.lines)


def picks_an_end(program: Program, call: ast.Call) -> bool:
    """The first or last is taken: `[-1]` of it or of the name that it was given to; max() takes it by itself."""
    if name_called(call) == "max":
        return True
    if name_called(call) == "sort":
        names = {source_of(receiver_of(call))}
    else:
        names = {
            source_of(each)
            for node in program.nodes.of_kind(ast.Assign)
            if isinstance(node, ast.Assign) and any(inner is call for inner in ast.walk(node.value))
            for each in node.targets
        }
    for node in program.nodes.of_kind(ast.Subscript):
        assert isinstance(node, ast.Subscript)
        if source_of(node.slice) == "-1" and (node.value is call or source_of(node.value) in names):
            return True
    return False


@rule("code.resumed-weights-only")
def resumed_weights_only(program: Program) -> Iterator[Finding]:
    """`model = AutoModel.from_pretrained(args.resume)`, and trainer.train() is not told of the checkpoint: optimizer,
    schedule and count begin anew."""
    if restores_all(program) or not any(name.endswith("Trainer") for name in program.names_called):
        return
    for call in program.calls_to("from_pretrained"):
        path = call.args[0] if call.args else keyword_of(call, "pretrained_model_name_or_path")
        if path is None or "resume" not in source_of(path).lower() or "oken" in source_of(call.func):
            continue
        for train in program.calls_to("train"):
            if not train.args and "model" not in source_of(receiver_of(train)):
                yield Finding(call.lineno, f"trainer.train(resume_from_checkpoint={source_of(path)})", also=[train.lineno])
                return


@rule("code.optimizer-not-restored")
def optimizer_not_restored(program: Program) -> Iterator[Finding]:
    """Weights and count come out of a checkpoint, and the optimizer begins anew."""
    weights = resumed_weights(program)
    if weights is None or count_restored(program) is None or restores_all(program) or not optimizer_steps(program):
        return
    if any(program.is_optimizer(receiver_of(call)) for call in loads_of(program)):
        return
    yield Finding(weights.lineno, put_back(program, weights))


def put_back(program: Program, weights: ast.Call) -> str:
    """The line of the weights with the optimizer's and the schedule's behind it, under the keys and names of this program.
    What its own torch.save leaves out it has to write first: that line comes before."""
    saved = saved_states(program)
    lines, left_out = [], []
    for word, name in states_stepped(program):
        is_kind = program.is_optimizer if word == "optimizer" else schedule_in(program)
        keys = [key for key, holder in saved if is_kind(holder)]
        if not keys:
            left_out.append(f"'{word}': {name}.state_dict()")
        lines.append(f'{name}.load_state_dict({loaded_name(weights)}["{keys[0] if keys else word}"])')
    return "\n".join([*written_first(program, left_out), program.line_text(weights.lineno), *lines])


def written_first(program: Program, left_out: list[str]) -> list[str]:
    """The program's own torch.save with what it leaves out; nothing where it leaves nothing out or saves no dictionary."""
    written = dict_saved(program)
    if not left_out or written is None or not written.keys:
        return []
    held = source_of(written.held)
    return [source_of(written.call).replace(held, f"{held[:-1]}, {', '.join(left_out)}}}")]


def states_stepped(program: Program) -> list[tuple[str, str]]:
    """What is stepped and has a state: the optimizer first, then the schedules, each with the name that holds it."""
    names = [
        ("optimizer", source_of(call.func.value))
        for call in program.calls_to("step")
        if isinstance(call.func, ast.Attribute) and program.is_optimizer(call.func.value)
    ]
    stepped = {source_of(receiver_of(call)) for call in program.calls_to("step")}
    schedules = [("scheduler", name) for _, name in schedules_made(program) if name in stepped]
    return list(dict.fromkeys([*(names or [("optimizer", "optimizer")])[:1], *schedules[:1]]))


def schedule_in(program: Program) -> Callable[[ast.AST], bool]:
    return lambda node: is_schedule(program, node) or last_name(node).lower().startswith("sched")


class Written(NamedTuple):
    call: ast.Call
    held: ast.Dict
    keys: list[str]


def dict_saved(program: Program) -> Written | None:
    """`torch.save({"model": model.state_dict(), "step": step}, path)`, the dictionary in the call itself."""
    for call in program.calls_to("save"):
        if source_of(receiver_of(call)) != "torch" or not call.args or not isinstance(call.args[0], ast.Dict):
            continue
        held = call.args[0]
        constants = [key.value for key in held.keys if isinstance(key, ast.Constant)]
        return Written(call, held, [value for value in constants if isinstance(value, str)])
    return None


def saved_states(program: Program) -> list[tuple[str, ast.AST]]:
    """The keys under which a dictionary of this program holds a state_dict(), each with what it is of."""
    return [
        (key.value, receiver_of(value))
        for node in program.nodes.of_kind(ast.Dict)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
        if isinstance(value, ast.Call) and name_called(value) == "state_dict"
    ]


def loaded_name(weights: ast.Call) -> str:
    """`ck` of `model.load_state_dict(ck["model"])`."""
    held = weights.args[0] if weights.args else None
    return source_of(held.value) if isinstance(held, ast.Subscript) else "checkpoint"


@rule("code.schedule-not-restored")
def schedule_not_restored(program: Program) -> Iterator[Finding]:
    found = list(made_after_the_optimizer_came_back(program))
    yield from found or schedule_counts_anew(program)


def schedule_counts_anew(program: Program) -> Iterator[Finding]:
    """Weights and optimizer are put back, and the schedule that sets the rate from step to step is not."""
    loads = loads_of(program)
    optimizers = [call for call in loads if program.is_optimizer(receiver_of(call))]
    if resumed_weights(program) is None or not optimizers or restores_all(program):
        return
    if any(is_schedule(program, receiver_of(call)) for call in loads) or schedule_moved(program):
        return
    for made, name in schedules_made(program):
        stepped = any(
            isinstance(call.func, ast.Attribute) and is_schedule(program, call.func.value)
            for call in program.calls_to("step")
        )
        if not stepped or keyword_of(made, "last_epoch") is not None or is_made_behind(program, made, optimizers[0]):
            continue
        keys = [key for key, holder in saved_states(program) if schedule_in(program)(holder)]
        first = written_first(program, [] if keys else [f"'scheduler': {name}.state_dict()"])
        put = f'{name}.load_state_dict({loaded_name(optimizers[0])}["{keys[0] if keys else "scheduler"}"])'
        yield Finding(optimizers[0].lineno, "\n".join([*first, program.line_text(optimizers[0].lineno), put]))
        return


def is_made_behind(program: Program, made: ast.Call, load: ast.Call) -> bool:
    """In one function the schedule is made after the optimizer came back; of two functions nothing is said here."""
    return program.function_of(made) is program.function_of(load) and made.lineno > load.lineno


def schedule_moved(program: Program) -> bool:
    """`scheduler.last_epoch = step`, `for _ in range(step): scheduler.step()`."""
    for node in program.nodes.of_kind(ast.Assign):
        if any(isinstance(target, ast.Attribute) and target.attr == "last_epoch" for target in node.targets):
            return True
    training = set(program.training_loops)
    return any(
        isinstance(call.func, ast.Attribute)
        and is_schedule(program, call.func.value)
        and program.loops_of(call)
        and not training & set(program.loops_of(call))
        and not program.backward_calls(program.loops_of(call)[0])
        for call in program.calls_to("step")
    )


@rule("code.count-not-restored")
def count_not_restored(program: Program) -> Iterator[Finding]:
    """Weights and optimizer are put back, and the loop counts from 0."""
    weights = resumed_weights(program)
    optimizers = [call for call in loads_of(program) if program.is_optimizer(receiver_of(call))]
    if weights is None or not optimizers or restores_all(program) or count_restored(program) is not None:
        return
    for name in counters(program):
        written = dict_saved(program)
        first = written_first(program, [f"'{name}': {name}"] if written is not None and name not in written.keys else [])
        put = f'{name} = {loaded_name(optimizers[0])}["{name}"]'
        yield Finding(optimizers[0].lineno, "\n".join([*first, program.line_text(optimizers[0].lineno), put]))
        return


def counters(program: Program) -> list[str]:
    """Names that begin at 0 and are counted up inside a training loop: `step = 0` ... `step += 1`."""
    begun: set[str] = set()
    for node in program.nodes.of_kind(ast.Assign):
        for target in node.targets:
            pairs: list[tuple[ast.expr, ast.expr]] = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts))
            begun |= {each.id for each, value in pairs if isinstance(each, ast.Name) and is_constant(value, 0)}
    counted = {
        node.target.id
        for loop in program.training_loops
        for node in program.nodes.below(loop)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add)
    }
    return sorted(name for name in begun & counted if any(word in name.lower() for word in COUNT_WORDS))


@rule("code.data-not-restored")
def data_not_restored(program: Program) -> Iterator[Finding]:
    """A run is saved within a pass over the data and goes on, and the loader begins at its first batch."""
    weights = resumed_weights(program)
    count = count_restored(program)
    if weights is None or count is None or restores_all(program) or not saves_within_a_pass(program):
        return
    if not any(goes_over_data(program, loop) for loop in program.training_loops):
        return  # batches are drawn at random: there is no place in the data
    if (
        program.calls_to(*DATA_RESTORED)
        or skips_by_hand(program)
        or any(is_of_data(program, call) for call in loads_of(program))
        or sampler_is_set(program)
    ):
        return
    yield Finding(
        count.lineno,
        f"{program.line_text(count.lineno)}\nloader = skip_first_batches(loader, done)  # or a StatefulDataLoader",
    )


def sampler_is_set(program: Program) -> bool:
    """`sampler.at = state["at"]`: what a loader draws its samples by is told where it was."""
    given = [keyword_of(call, name) for call in program.calls_to("DataLoader") for name in ("sampler", "batch_sampler")]
    names = {source_of(each) for each in given if each is not None}
    for node in program.nodes.of_kind(ast.Assign):
        targets = [part for each in node.targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
        told = any(isinstance(each, ast.Attribute) and source_of(each.value) in names for each in targets)
        if told and any(isinstance(each, ast.Subscript) for each in ast.walk(node.value)):
            return True
    return False


def is_of_data(program: Program, call: ast.Call) -> bool:
    name = last_name(receiver_of(call)).lower()
    return any(word in name for word in ("loader", "sampler", "data", "iter"))


def saves_within_a_pass(program: Program) -> bool:
    """torch.save() inside the innermost loop with a backward pass, or in a function that it calls."""
    for loop in program.training_loops:
        for call in program.calls_in(loop):
            helpers = program.functions_by_name.get(name_called(call), [])
            places = [[call], *(program.calls_in(each) for each in helpers)]
            if any(name_called(each) in ("save", "save_checkpoint") for place in places for each in place):
                return True
    return False


def skips_by_hand(program: Program) -> bool:
    """`if i < start: continue`, `next(loader)`, `itertools.islice`: batches that are passed over."""
    for node in program.nodes.of_kind(ast.If):
        if any(isinstance(each, ast.Continue) for each in node.body) and any(
            isinstance(each, ast.Compare) and isinstance(each.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
            for each in ast.walk(node.test)
        ):
            return True
    return bool(program.calls_to("next"))


@rule("code.order-not-restored")
def order_not_restored(program: Program) -> Iterator[Finding]:
    """Batches are counted off, of an order that is drawn anew."""
    skips = program.calls_to("skip_first_batches", "islice")
    if not skips or resumed_weights(program) is None or restores_all(program):
        return
    drawn = [call for call in program.calls_to("DataLoader") if is_constant(keyword_of(call, "shuffle"), True)]
    fixed = program.calls_to("set_rng_state", "set_epoch", "RandomSampler") or any(
        keyword_of(call, "generator") is not None or keyword_of(call, "sampler") is not None for call in drawn
    )
    if not drawn or fixed:
        return
    yield Finding(
        skips[0].lineno,
        "torch.utils.data.DataLoader(..., shuffle=True, generator=torch.Generator().manual_seed(seed + epoch))",
    )


@rule("code.cast-after-load")
def cast_after_load(program: Program) -> Iterator[Finding]:
    """`model.load_state_dict(...)` and then `model.half()`, of a model that was trained in another format."""
    if not program.trains:
        return
    for load in loads_of(program):
        holder = receiver_of(load)
        for cast in program.calls_to("half", "bfloat16", "to"):
            form = half_format(program, cast)
            if not form or program.nodes.place(cast) < program.nodes.place(load) or not program.objects.is_model(holder):
                continue
            same = program.objects.identity(receiver_of(cast)) & program.objects.identity(holder)
            if same and program.names.scope_of(cast) is program.names.scope_of(load) and not starts_in_half(program):
                yield Finding(cast.lineno, "", {"format": form}, also=[load.lineno])


def starts_in_half(program: Program) -> bool:
    """The model is made in 16 bits to begin with."""
    for call in program.calls_to("from_pretrained", "set_default_dtype", "from_config"):
        values = [program.values.of(each) for each in [*call.args, *(one.value for one in call.keywords)]]
        if any(isinstance(each, str) and each.endswith("16") for each in values):
            return True
    return False
