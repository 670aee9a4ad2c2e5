"""Rules about what is put back: schedules after a resume, adapters that are to train on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, name_called, names_in, receiver_of, source_of


def made_after_the_optimizer_came_back(program: Program) -> Iterator[Finding]:
    """The optimizer's state is loaded and a schedule made afterwards, whose own state is never loaded."""
    loads = [call for call in program.calls_to("load_state_dict") if isinstance(call.func, ast.Attribute)]
    if any(is_schedule(program, receiver_of(call)) for call in loads):
        return
    loaded = [call for call in loads if program.is_optimizer(receiver_of(call))]
    for made, name in schedules_made(program):
        before = [each for each in loaded if each.lineno < made.lineno]
        same_place = [each for each in before if program.function_of(each) is program.function_of(made)]
        if same_place and keyword_of(made, "last_epoch") is None:
            yield Finding(made.lineno, f'{program.line_text(made.lineno)}\n{name}.load_state_dict(checkpoint["scheduler"])')


def is_schedule(program: Program, node: ast.AST) -> bool:
    return "sched" in last_name(node).lower()


def schedules_made(program: Program) -> Iterator[tuple[ast.Call, str]]:
    """Calls that make a schedule of torch or transformers, each with the name that holds it."""
    for name in list(program.names_called):
        if not name.endswith(("LR", "_scheduler", "Restarts")) and not name.startswith("get_scheduler"):
            continue
        for call in program.calls_to(name):
            holder = program.nodes.parents.get(call)
            target = holder.targets[0] if isinstance(holder, ast.Assign) else None
            if target is not None and is_schedule(program, target) and call.args + call.keywords:
                yield call, source_of(target)


def adapter_loads(program: Program) -> list[ast.Call]:
    return [call for call in program.calls_to("from_pretrained") if is_adapter_class(program, call)]


@rule("code.prefix-passed-over")
def prefix_passed_over(program: Program) -> Iterator[Finding]:
    """What DDP (or torch.compile) saves has a prefix before each name, and load_state_dict(strict=False) into the bare model
    passes over all of them."""
    texts = [each.value for each in program.nodes.of_kind(ast.Constant) if isinstance(each.value, str)]
    if any(text.startswith(("module", "_orig_mod")) for text in texts):
        return  # the prefix is seen to
    for call in program.calls_to("load_state_dict"):
        strict = keyword_of(call, "strict") or (call.args[1] if len(call.args) > 1 else None)
        key = call.args[0] if call.args else None
        if strict is None or not program.values.is_false(strict) or not isinstance(key, ast.Subscript):
            continue
        bare = receiver_of(call)
        if is_wrapped(program, bare) or not isinstance(key.slice, ast.Constant):
            continue
        for saved, holder in saved_states(program, key.slice.value):
            if is_wrapped(program, holder) and program.objects.identity(holder) & program.objects.identity(bare):
                corrected = f"{source_of(holder)}.load_state_dict({source_of(key)})  # behind the wrapping, and strict"
                yield Finding(call.lineno, corrected, {"wrapped": source_of(holder)}, also=[saved.lineno])
                return


def is_wrapped(program: Program, node: ast.expr) -> bool:
    """A name whose last value is a model in DDP, DataParallel or torch.compile(), by a function of this file too; a
    parameter that is given such a one."""
    binding = program.names.given(node)
    if binding is None:
        return False
    if binding.how == "parameter":
        given = program.names.values_of_parameter(binding)
        return bool(given) and all(each is not binding.value and is_wrapped(program, each) for each in given)
    made = binding.value if binding.how == "assigned" and not binding.path else None
    returned = program.names.returned_by(made) if isinstance(made, ast.Call) else []
    return any(wraps(each) for each in ([made] if made is not None else []) + returned)


def wraps(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return source_of(node.func) == "torch.compile" or name_called(node) in ("DDP", "DistributedDataParallel", "DataParallel")


def saved_states(program: Program, key: object) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The `model.state_dict()` that are saved under a key."""
    for node in program.nodes.of_kind(ast.Dict):
        for name, value in zip(node.keys, node.values):
            called = value.func if isinstance(value, ast.Call) and name_called(value) == "state_dict" else None
            if isinstance(name, ast.Constant) and name.value == key and isinstance(called, ast.Attribute):
                yield value, called.value  # type: ignore[misc]


@rule("code.adapter-prepared-late")
def adapter_prepared_late(program: Program) -> Iterator[Finding]:
    """prepare_model_for_kbit_training() freezes everything, the adapter that is on already included."""
    adapted = names_given(program, program.calls_to("get_peft_model")) | names_given(program, adapter_loads(program))
    for call in program.calls_to("prepare_model_for_kbit_training", "prepare_model_for_int8_training"):
        held = call.args[0] if call.args else keyword_of(call, "model")
        if isinstance(held, ast.Name) and held.id in adapted and given_before(program, held, call):
            corrected = f"{held.id} = {source_of(call)}\n{held.id} = get_peft_model({held.id}, ...)  # after it"
            yield Finding(call.lineno, corrected)


@rule("code.adapter-frozen")
def adapter_frozen(program: Program) -> Iterator[Finding]:
    """A loaded adapter is for inference unless it is asked to train."""
    if not trains(program):
        return
    for call in adapter_loads(program):
        if keyword_of(call, "is_trainable") is not None or any(each.arg is None for each in call.keywords):
            continue
        names = names_given(program, [call])
        if names and not names & revived(program):
            yield Finding(call.lineno, source_of(call)[:-1] + ", is_trainable=True)")


def is_adapter_class(program: Program, call: ast.Call) -> bool:
    """PeftModel, PeftModelForCausalLM; the AutoPeft classes load for inference as well."""
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = last_name(holder) if holder is not None else ""
    return name.startswith(("PeftModel", "AutoPeftModel"))


def names_given(program: Program, calls: list[ast.Call]) -> set[str]:
    names: set[str] = set()
    for call in calls:
        holder = program.nodes.parents.get(call)
        if isinstance(holder, ast.Assign):
            names |= {target.id for target in holder.targets if isinstance(target, ast.Name)}
    return names


def given_before(program: Program, name: ast.Name, call: ast.Call) -> bool:
    """The last value that the name was given before the call is an adapted model."""
    given = [
        node
        for node in program.own_nodes(program.function_of(call))
        if isinstance(node, ast.Assign)
        and node.lineno < call.lineno
        and name.id in set().union(*map(names_in, node.targets))
    ]
    if not given or not isinstance(given[-1].value, ast.Call):
        return False
    made = given[-1].value
    return name_called(made) == "get_peft_model" or (
        name_called(made) == "from_pretrained" and is_adapter_class(program, made)
    )


def trains(program: Program) -> bool:
    """A loop with a backward pass, or a Trainer that is told to train."""
    return program.trains or any(
        last_name(call.func.value).lower().endswith("trainer")
        for call in program.calls_to("train")
        if isinstance(call.func, ast.Attribute)
    )


def revived(program: Program) -> set[str]:
    """Names whose weights are switched on again, or merged into the base, which trains."""
    names: set[str] = set()
    for call in program.calls_to("merge_and_unload", "set_adapter", "load_adapter", "requires_grad_", "add_adapter"):
        if isinstance(call.func, ast.Attribute):
            names |= names_in(call.func.value)
    for node in program.nodes.of_kind(ast.Assign):
        if any(isinstance(target, ast.Attribute) and target.attr == "requires_grad" for target in node.targets):
            names |= {each.id for each in program.nodes.of_kind(ast.Name)}  # by hand, of whatever
            break
    return names
