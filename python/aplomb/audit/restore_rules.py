"""Rules about what is put back: schedules after a resume, adapters that are to train on, rewards that anything earns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .findings import Finding
from .program import Function, Program, is_constant, keyword_of, method_of, names_in, receiver_of, source_of

REWARD_WORDS = ("reward", "score", "correct")


def schedule_not_restored(program: Program) -> Iterator[Finding]:
    """The optimizer's state is loaded and a schedule made afterwards, whose own state is never loaded."""
    loads = [call for call in program.calls_to("load_state_dict") if isinstance(call.func, ast.Attribute)]
    if any(is_schedule(program, receiver_of(call)) for call in loads):
        return
    loaded = [call for call in loads if program.is_optimizer(receiver_of(call))]
    for made, name in schedules_made(program):
        before = [each for each in loaded if each.lineno < made.lineno]
        same_place = [each for each in before if program.function_of(each) is program.function_of(made)]
        if not same_place or keyword_of(made, "last_epoch") is not None:
            continue
        yield Finding(
            "",
            "warning",
            made.lineno,
            "The schedule starts anew after a resume",
            "Making a schedule sets the learning rate of its first step, over what the optimizer's state has brought back; "
            "without its own state it then runs from the start, warm-up included.",
            f'{program.line_text(made.lineno)}\n{name}.load_state_dict(checkpoint["scheduler"])',
            leads_to=["resume.scheduler-lost"],
        )


def is_schedule(program: Program, node: ast.AST) -> bool:
    return "sched" in program.last_name(node).lower()


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


def adapter_frozen(program: Program) -> Iterator[Finding]:
    """A loaded adapter is for inference unless it is asked to train; preparing a model for k-bit training freezes all."""
    adapted = names_given(program, program.calls_to("get_peft_model"))
    loads = [call for call in program.calls_to("from_pretrained") if is_adapter_class(program, call)]
    adapted |= names_given(program, loads)
    for call in program.calls_to("prepare_model_for_kbit_training", "prepare_model_for_int8_training"):
        held = call.args[0] if call.args else keyword_of(call, "model")
        if not isinstance(held, ast.Name) or held.id not in adapted or not given_before(program, held, call):
            continue
        yield frozen_finding(
            call.lineno,
            "The adapter is frozen right after it was put on",
            "prepare_model_for_kbit_training() switches the gradients of all weights off, those of the adapter too: call it "
            "before the adapter is put on.",
            f"{held.id} = {source_of(call)}\n{held.id} = get_peft_model({held.id}, ...)  # after it",
        )
    if not trains(program):
        return
    for call in loads:
        if keyword_of(call, "is_trainable") is not None or any(each.arg is None for each in call.keywords):
            continue
        names = names_given(program, [call])
        if names & revived(program) or not names:
            continue
        yield frozen_finding(
            call.lineno,
            "The loaded adapter does not train",
            "from_pretrained() gives an adapter for inference: all its weights have requires_grad=False.",
            source_of(call)[:-1] + ", is_trainable=True)",
        )


def frozen_finding(line: int, title: str, because: str, corrected: str) -> Finding:
    return Finding("", "unstable", line, title, because, corrected, leads_to=["stall.frozen-params"])


def is_adapter_class(program: Program, call: ast.Call) -> bool:
    """PeftModel, PeftModelForCausalLM; the AutoPeft classes load for inference as well."""
    holder = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = program.last_name(holder) if holder is not None else ""
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
    return method_of(made) == "get_peft_model" or (method_of(made) == "from_pretrained" and is_adapter_class(program, made))


def trains(program: Program) -> bool:
    """A loop with a backward pass, or a Trainer that is told to train."""
    return program.trains or any(
        program.last_name(call.func.value).lower().endswith("trainer")
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


def reward_by_containment(program: Program) -> Iterator[Finding]:
    """`if truth in answer or answer in truth: reward = 1`: an empty answer is contained in everything."""
    for node in program.nodes.of_kind(ast.If):
        pair = contained_both_ways(node.test)
        if pair is None or not gives_reward(program, node):
            continue
        text = source_of(node.test)
        yield Finding(
            "",
            "warning",
            node.lineno,
            "An empty answer earns the reward",
            "'' is contained in every text, and so is any short piece of the truth: the policy learns to say nothing.",
            f"if answer.strip() and ({text}):  # or, better, equality after normalisation",
            leads_to=["rl.reward-hacking"],
        )


def contained_both_ways(test: ast.AST) -> tuple[str, str] | None:
    """The two texts of `a in b or b in a`, where nothing else is asked."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or) or len(test.values) != 2:
        return None
    sides = []
    for value in test.values:
        if not isinstance(value, ast.Compare) or len(value.ops) != 1 or not isinstance(value.ops[0], ast.In):
            return None
        sides.append((source_of(value.left), source_of(value.comparators[0])))
    return sides[0] if sides[0] == sides[1][::-1] else None


def gives_reward(program: Program, node: ast.If) -> bool:
    """A reward or score is set, added or returned under the test, and nothing asked whether the texts are empty."""
    function = program.function_of(node)
    named = isinstance(function, Function) and any(word in function.name.lower() for word in REWARD_WORDS)
    tested = {name for each in program.own_nodes(function) if isinstance(each, ast.If) for name in emptiness_of(each.test)}
    if tested & names_in(node.test):
        return False
    for each in node.body:
        for inner in program.nodes.below(each):
            if isinstance(inner, (ast.Assign, ast.AugAssign)):
                targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                words = [name.lower() for target in targets for name in names_in(target)]
                if any(word in name for name in words for word in REWARD_WORDS):
                    return not is_constant(inner.value, 0)
            if isinstance(inner, ast.Return) and named:
                return True
            if isinstance(inner, ast.Call) and method_of(inner) == "append":
                return any("reward" in name.lower() or "score" in name.lower() for name in names_in(inner.func))
    return False


def emptiness_of(test: ast.AST) -> set[str]:
    """Names that a test asks for being empty: `not x`, `x`, `len(x) == 0`, `x == ""`."""
    if isinstance(test, ast.BoolOp):
        return set().union(*map(emptiness_of, test.values))
    if isinstance(test, ast.UnaryOp):
        return names_in(test.operand)
    if isinstance(test, ast.Name):
        return {test.id}
    if isinstance(test, ast.Compare) and not any(isinstance(each, (ast.In, ast.NotIn)) for each in test.ops):
        return names_in(test)
    return names_in(test) if isinstance(test, ast.Call) else set()


RESTORE_RULES = {
    "code.scheduler-not-restored": schedule_not_restored,
    "code.adapter-frozen": adapter_frozen,
    "code.reward-by-containment": reward_by_containment,
}
