"""Rules about one object under two names: what is kept changes with what goes on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import Function, last_name, name_called, receiver_of, source_of

TARGETS = re.compile(r"(^|_)(target|ema|shadow|slow|average|avg|momentum|teacher)(_|\d|$)")
PAIRED = re.compile(r"label|target|clean|orig|input|noisy|corrupt|masked|gold|before|backup|truth|source|tokens")


# --- the best weights


@rule("code.best-weights-aliased")
def best_weights_aliased(program: Program) -> Iterator[Finding]:
    """`best = model.state_dict()` holds the live tensors: it follows every later step."""
    for node in program.nodes.of_kind(ast.Assign):
        if len(node.targets) != 1 or not is_in_question(program, node):
            continue
        for name, call in live_states(node):
            if not program.objects.is_model(receiver_of(call)) and "model" not in source_of(receiver_of(call)).lower():
                continue
            if is_put_back(program, node, name):
                corrected = f"copy.deepcopy({source_of(call)})"
                yield Finding(call.lineno, source_of(node).replace(source_of(call), corrected, 1), {"name": name})
                return


def is_in_question(program: Program, node: ast.AST) -> bool:
    """Under an `if` of the loop, or of a method that is called in one: kept where something got better."""
    if not any(isinstance(parent, ast.If) for parent in program.enclosing(node)):
        return False
    return bool(program.loops_of(node)) or bool(loop_around_method(program, node))


def loop_around_method(program: Program, node: ast.AST) -> ast.AST | None:
    """The loop in which a method of an object is called: `stopper.step(score, model)`, `stopper(score, model)`."""
    function = program.function_of(node)
    owner = program.names.class_of(node)
    if owner is None or not isinstance(function, Function) or function.name == "__init__":
        return None
    for call in program.calls:
        loops = program.loops_of(call)
        if not loops:
            continue
        holder = call.func if function.name == "__call__" else receiver_of(call)
        named = function.name == "__call__" or name_called(call) == function.name
        if named and program.makers.definition(holder) is owner:
            return loops[-1]
    return None


def live_states(node: ast.Assign) -> Iterator[tuple[str, ast.Call]]:
    """(name, `model.state_dict()`) of what an assignment keeps as it is."""
    pairs: list[tuple[ast.expr, ast.expr]] = [(node.targets[0], node.value)]
    if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = list(zip(node.targets[0].elts, node.value.elts))
    for target, value in pairs:
        inner = list(value.values) if isinstance(value, ast.Dict) else [value]
        for each in inner:
            if isinstance(each, ast.DictComp):
                each = gone_through(each) or each
            if isinstance(each, ast.Call) and name_called(each) in ("dict", "copy", "OrderedDict") and each.args:
                each = each.args[0]
            if isinstance(each, ast.Call) and name_called(each) == "state_dict" and not each.args and not each.keywords:
                held = receiver_of(each)
                if "opt" not in source_of(held).lower() and "sched" not in source_of(held).lower():
                    yield source_of(target), each


def gone_through(made: ast.DictComp) -> ast.expr | None:
    """`model.state_dict()` of `{name: value for name, value in model.state_dict().items()}`: each tensor as it is."""
    over = made.generators[0]
    pair = over.target.elts if isinstance(over.target, ast.Tuple) else []
    plain = len(made.generators) == 1 and len(pair) == 2 and name_called(over.iter) == "items"
    if not plain or source_of(made.value) != source_of(pair[1]) or not isinstance(over.iter, ast.Call):
        return None
    return receiver_of(over.iter)


def is_put_back(program: Program, node: ast.Assign, name: str) -> bool:
    """Loaded into the model again, or saved behind the loop."""
    loops = program.loops_of(node)
    loop = loops[-1] if loops else loop_around_method(program, node)
    field = name.split(".", 1)[1] if name.startswith("self.") else ""
    owner = program.names.class_of(node)
    for call in program.calls_to("load_state_dict", "save"):
        given = [*call.args, *(each.value for each in call.keywords)]
        kept = any(
            isinstance(each, ast.Attribute)
            and each.attr == field
            and owner is not None
            and program.makers.definition(each.value) is owner
            for each in given
        )
        if not kept and not any(source_of(each) == name or source_of(each).startswith(name + "[") for each in given):
            continue
        if is_another_before(program, node, call):
            continue
        if name_called(call) == "load_state_dict" or loop is None or not program.nodes.encloses(loop, call):
            return True
    return False


def is_another_before(program: Program, node: ast.Assign, call: ast.Call) -> bool:
    """The call stands before in the same function, in no loop of it: what it takes under the name is something else."""
    around = program.loops_of(node)
    if program.function_of(call) is not program.function_of(node) or not around:
        return False
    return program.nodes.place(call) < program.nodes.place(around[-1])


# --- a target that is the network itself


@rule("code.target-is-network")
def target_is_network(program: Program) -> Iterator[Finding]:
    """`target_net = net`: one network under two names, so that the target moves with every step."""
    trained = program.objects.trained()
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, (ast.Name, ast.Attribute)) or not isinstance(node.value, (ast.Name, ast.Attribute)):
            continue
        name = last_name(target).lower()
        if not TARGETS.search(name) or not is_network_name(name) or TARGETS.search(last_name(node.value).lower()):
            continue
        if program.objects.is_model(node.value) and program.objects.identity(node.value) & trained:
            yield Finding(
                node.lineno,
                f"{source_of(target)} = copy.deepcopy({source_of(node.value)})",
                {"target": source_of(target), "network": source_of(node.value)},
            )


def is_network_name(name: str) -> bool:
    parts = set(name.split("_"))
    return bool(
        parts & {"net", "network", "model", "encoder", "q", "critic", "actor", "policy", "ema", "teacher", "shadow"}
    ) or name.endswith(("net", "model"))


# --- labels that are the inputs


@rule("code.labels-are-inputs-in-place")
def labels_are_inputs_in_place(program: Program) -> Iterator[Finding]:
    """`labels = inputs`, then `inputs[mask] = MASK`: the labels are changed too."""
    for function in program.functions:
        for node in program.own_nodes(function):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target, value = node.targets[0], node.value
            if not is_plain(target) or not is_plain(value):
                continue
            one, other = source_of(target), source_of(value)
            if one == other or not (PAIRED.search(one.lower()) or PAIRED.search(other.lower())):
                continue
            changed = changed_behind(program, function, node, (one, other))
            if changed is not None:
                place, name = changed
                kept = other if name == one else one
                if is_read_behind(program, function, place, kept):
                    yield Finding(
                        node.lineno,
                        f"{one} = {other}.clone()",
                        {"one": one, "other": other},
                        also=[getattr(place, "lineno", node.lineno)],
                    )
                    break


def is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return (
            isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        )
    return isinstance(node, ast.Name)


def changed_behind(
    program: Program, function: ast.AST, alias: ast.Assign, names: tuple[str, str]
) -> tuple[ast.AST, str] | None:
    """The first statement behind that changes the object under one of its names, before either name gets a new one."""
    place = program.nodes.place(alias)
    for node in program.own_nodes(function):
        if program.nodes.place(node) <= place or program.nodes.encloses(alias, node):
            continue
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if source_of(target) in names:
                    return None
                if (
                    isinstance(target, ast.Subscript)
                    and source_of(target.value) in names
                    and not isinstance(target.slice, ast.Constant)
                ):
                    return node, source_of(target.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and source_of(node.func.value) in names:
            method = node.func.attr
            if method.endswith("_") and not method.startswith("__") and method not in ("requires_grad_", "share_memory_"):
                return node, source_of(node.func.value)
    return None


def is_read_behind(program: Program, function: ast.AST, place: ast.AST, name: str) -> bool:
    begin = program.nodes.place(place)
    return any(
        program.nodes.place(each) > begin and source_of(each) == name and isinstance(getattr(each, "ctx", None), ast.Load)
        for each in program.own_nodes(function)
        if isinstance(each, (ast.Name, ast.Subscript))
    ) or any(
        isinstance(each, ast.Return)
        and each.value is not None
        and name.split("[")[0] in {one for one in names_of(each.value)}
        for each in program.own_nodes(function)
    )


def names_of(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


# --- a memory of one array


@rule("code.memory-of-live-array")
def memory_of_live_array(program: Program) -> Iterator[Finding]:
    """step() returns the array that it changes in place, and a memory keeps it without a copy: all entries are alike."""
    for owner in program.nodes.of_kind(ast.ClassDef):
        live = {name: line for name, line in changed_in_place(program, owner)}
        for function in owner.body:
            if not isinstance(function, Function) or function.name not in (
                "step",
                "reset",
                "observe",
                "observation",
                "_obs",
            ):
                continue
            for node in program.own_nodes(function):
                if not isinstance(node, ast.Return) or node.value is None:
                    continue
                first = node.value.elts[0] if isinstance(node.value, ast.Tuple) and node.value.elts else node.value
                if not isinstance(first, ast.Attribute) or source_of(first) not in live or function.name != "step":
                    continue
                kept = kept_by(program, function)
                if kept is not None:
                    yield Finding(
                        kept.lineno,
                        f"return {source_of(first)}.copy(), ...  # in step()",
                        {"array": source_of(first)},
                        also=[node.lineno, live[source_of(first)]],
                    )
                    return


def changed_in_place(program: Program, owner: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """(`self.state`, line): entries of arrays that methods write into, and that no method makes anew."""
    made: dict[str, int] = {}
    written: dict[str, int] = {}
    for node in program.nodes.below(owner):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        for target in targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute):
                written.setdefault(source_of(target.value), target.lineno)
            elif isinstance(target, ast.Attribute) and isinstance(node, ast.Assign):
                function = program.function_of(node)
                if getattr(function, "name", "") != "__init__":
                    made[source_of(target)] = target.lineno
    for name, line in written.items():
        if name not in made:
            yield name, line


def kept_by(program: Program, step: ast.AST) -> ast.Call | None:
    """`memory.push(obs, action, reward, nxt)` with what this step() gave, and no copy on the way in."""
    results: set[str] = set()
    for call in program.calls_to("step"):
        if program.objects.event_of(call)[0] or len(call.args) != 1:
            continue
        statement = program.statement_of(call)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            results.add(source_of(statement.targets[0].elts[0]))
    for call in program.calls_to("push", "append", "add", "store", "put", "remember"):
        given = {
            source_of(part)
            for each in call.args
            for part in (each.elts if isinstance(each, (ast.Tuple, ast.List)) else [each])
        }
        if given & results and not copies_inside(program, call):
            return call
    return None


def copies_inside(program: Program, call: ast.Call) -> bool:
    """The memory copies what it is given: into an array of its own, or by name."""
    function = program.objects.function_run(call) or program.names.function_called(call)
    if function is None:
        return False
    for node in program.nodes.below(function):
        if isinstance(node, ast.Assign) and any(
            isinstance(part, ast.Subscript) for target in node.targets for part in ast.walk(target)
        ):
            return True
        if isinstance(node, ast.Call) and name_called(node) in ("copy", "array", "clone", "deepcopy", "tensor", "astype"):
            return True
    return False


# --- a state that is carried on


@rule("code.state-keeps-graph")
def state_keeps_graph(program: Program) -> Iterator[Finding]:
    """`out, state = model(x, state)` with backward(retain_graph=True): the state is handed on with its graph, and every
    pass goes back through all passes before."""
    for call in program.calls_to("backward"):
        loops = program.loops_of(call)
        if not loops or not keeps_graph(program, call):
            continue
        for node in program.own_nodes(loops[0]):
            value = node.value if isinstance(node, ast.Assign) else None
            if not isinstance(node, ast.Assign) or not isinstance(value, ast.Call):
                continue
            targets = [each for one in node.targets for each in (one.elts if isinstance(one, ast.Tuple) else [one])]
            given = {source_of(each) for each in [*value.args, *(one.value for one in value.keywords)]}
            carried = next((source_of(each) for each in targets if source_of(each) in given), "")
            if carried and not is_let_go(program, loops[0], carried):
                detached = f"{carried} = tuple(s.detach() for s in {carried})  # or {carried}.detach()"
                yield Finding(node.lineno, detached, {"state": carried}, also=[call.lineno])
                return


def keeps_graph(program: Program, call: ast.Call) -> bool:
    return any(each.arg == "retain_graph" and program.values.is_true(each.value) for each in call.keywords)


def is_let_go(program: Program, loop: ast.AST, name: str) -> bool:
    """Somewhere in the loop the state is detached, or made anew."""
    for each in program.calls_in(loop):
        if name_called(each) in ("detach", "detach_", "repackage_hidden", "clone_detached", "stop_gradient", "repackage"):
            return True
    return any(
        isinstance(each, ast.Assign)
        and any(source_of(target) == name for target in each.targets)
        and not isinstance(each.value, ast.Call)
        for each in program.own_nodes(loop)
    )
