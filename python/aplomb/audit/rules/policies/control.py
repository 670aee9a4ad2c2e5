"""Rules about reinforcement learning that is written by hand: where an episode ends, and what is learnt of later."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import line_of, name_called, names_in, source_of

REWARDS = re.compile(r"^(r|R|rs|rews?|rwd)$|reward", re.IGNORECASE)
DISCOUNT = re.compile(r"(^|[._])(gamma|discount|GAMMA|DISCOUNT)$")
ENDS = re.compile(r"(^|_)(done|dones|term|terms|terminal|terminals|terminated|truncated|dw)($|_)", re.IGNORECASE)
#: What stands for "the episode goes on" under another name.
GOES_ON = re.compile(r"mask|alive|cont(inue)?(s|ation)?$|not_?done|non_?(final|terminal)|valid|live", re.IGNORECASE)

SHARE = re.compile(r"lam|tau")  # of what comes later, in generalised advantages

CHOOSING = ("where", "masked_fill", "masked_fill_", "logical_not", "index_fill")


@rule("code.ends-not-cut")
def ends_not_cut(program: Program) -> Iterator[Finding]:
    """`r + gamma * V(next)` in a program that keeps when episodes end and never asks for it: the value of the next episode
    is credited to this one."""
    kept = ends_kept(program)
    if kept is None or (is_read(program, kept.name) if kept.is_list else asks_for_ends(program)):
        return
    for node in program.nodes.of_kind(ast.BinOp):
        assert isinstance(node, ast.BinOp)
        if isinstance(node.op, ast.Add) and (ahead := bootstrapped(program, node)) is not None:
            cut = f"{source_of(ahead)} * (1 - {kept.name})"
            corrected = source_of(program.statement_of(node)).replace(source_of(ahead), cut, 1)
            yield Finding(node.lineno, corrected, {"kept": kept.name}, also=[kept.line])
            return


@rule("code.advantage-through-end")
def advantage_through_end(program: Program) -> Iterator[Finding]:
    """`last = delta + gamma * lam * last` where the ends of episodes are known and cut the values alone: what is summed up
    runs on from the next episode into this one."""
    for node in program.nodes.of_kind(ast.Assign):
        loops = program.loops_of(node)
        target = node.targets[0]
        if not loops or not isinstance(node.value, ast.BinOp) or not isinstance(node.value.op, ast.Add):
            continue
        for side in (node.value.left, node.value.right):
            factors = factors_of(side)
            carried = next((each for each in factors if is_carried_on(target, each)), None)
            if carried is None or len(factors) < 3 or not any(SHARE.search(source_of(each).lower()) for each in factors):
                continue
            names = {name for each in factors for name in (names_of(each) | names_stored(program, each))}
            if any(ENDS.search(name) or GOES_ON.search(name) for name in names) or is_stopped(program, node, loops[0]):
                continue
            if knows_of_ends(program, program.function_of(node)) or cuts_values(program, node):
                corrected = source_of(node).replace(source_of(side), f"{source_of(side)} * (1 - done)", 1)
                yield Finding(node.lineno, corrected, {"sum": source_of(carried)})
                return


def names_stored(program: Program, factor: ast.expr) -> set[str]:
    """`done` of `(1 - D[t])`, where `D[t] = torch.as_tensor(done)` fills the array."""
    arrays = {source_of(each.value) for each in ast.walk(factor) if isinstance(each, ast.Subscript)}
    return {
        name
        for node in program.nodes.of_kind(ast.Assign)
        for target in node.targets
        for each in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(each, ast.Subscript) and source_of(each.value) in arrays
        for name in names_of(node.value)
    }


def is_carried_on(target: ast.expr, factor: ast.expr) -> bool:
    """What is assigned, of the step before: `last`, `adv[t + 1]` for `adv[t]`."""
    if isinstance(target, ast.Subscript) and isinstance(factor, ast.Subscript):
        return source_of(target.value) == source_of(factor.value) and source_of(target) != source_of(factor)
    return isinstance(target, (ast.Name, ast.Attribute)) and source_of(target) == source_of(factor)


def is_stopped(program: Program, node: ast.Assign, loop: ast.AST) -> bool:
    """Something in the loop sets it to 0, or chooses, where an episode ends; or the discount knows of the ends already."""
    for each in program.nodes.below(loop):
        names = names_of(each) if isinstance(each, (ast.If, ast.IfExp)) else set()
        if any(ENDS.search(name) or GOES_ON.search(name) for name in names):
            return True
        if isinstance(each, ast.Call) and source_of(each.func).rsplit(".", 1)[-1] in CHOOSING:
            return True
    names = {name for part in ast.walk(node.value) for name in names_of(part)}
    for name in [part for part in ast.walk(node.value) if isinstance(part, ast.Name)]:
        binding = program.names.given(name)
        made = binding.value if binding is not None and binding.how == "assigned" and binding.node is not node else None
        masked = made is not None and any(ENDS.search(one) or GOES_ON.search(one) for one in names_of(made))
        if made is not None and masked and not is_of_rewards(made):
            return True
    return any(name in ("discounts", "pcont", "not_end") for name in names)


def is_of_rewards(node: ast.AST) -> bool:
    """By a name, or by a key: `data["reward"]`."""
    keys = {str(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return any(REWARDS.search(one) for one in names_of(node) | keys)


def cuts_values(program: Program, node: ast.Assign) -> bool:
    """`delta = r + gamma * V[t + 1] * mask[t] - V[t]` beside it."""
    for name in [part for part in ast.walk(node.value) if isinstance(part, ast.Name)]:
        binding = program.names.given(name)
        made = binding.value if binding is not None and binding.how == "assigned" and binding.node is not node else None
        if made is not None and is_of_rewards(made) and any(GOES_ON.search(one) for one in names_of(made)):
            return True
    return False


def knows_of_ends(program: Program, function: ast.AST) -> bool:
    names = {each.id for each in program.nodes.below(function) if isinstance(each, ast.Name)}
    names |= {each.arg for each in program.nodes.below(function) if isinstance(each, ast.arg)}
    return not isinstance(function, ast.Module) and any(ENDS.search(name) for name in names)


class Kept(NamedTuple):
    """Where ends of episodes are put by: into a list of their own, or as a part of what a memory is given."""

    line: int
    name: str
    is_list: bool


def ends_kept(program: Program) -> Kept | None:
    """`dones.append(done)`, `memory.push(s, a, r, s2, done)`, `D[t] = done`."""
    for call in program.calls_to("append", "push", "add", "store", "put", "extend", "remember"):
        for each in call.args:
            ends = [name for name in names_of(each) if ENDS.search(name)]
            if ends and isinstance(call.func, ast.Attribute):
                alone = len(call.args) == 1 and not isinstance(each, (ast.Tuple, ast.Dict))
                return Kept(call.lineno, source_of(call.func.value) if alone else ends[0], alone)
    for node in program.nodes.of_kind(ast.Assign):
        assert isinstance(node, ast.Assign)
        for target in [part for each in node.targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]:
            if isinstance(target, ast.Subscript) and any(ENDS.search(name) for name in names_of(target.value)):
                return Kept(node.lineno, source_of(target.value), True)
    return None


def names_of(node: ast.AST) -> set[str]:
    return names_in(node) | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def asks_for_ends(program: Program) -> bool:
    """Ends are part of some calculation (`1 - done`, `~done`, `* mask`, torch.where), or choose what is calculated."""
    for node in program.nodes.of_kind(ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call, ast.Subscript, ast.If):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd)):
            continue  # terminated | truncated
        if isinstance(node, ast.If):
            # `if done: value = 0` calculates; `if done: break`, `obs = env.reset()` does not
            calculates = any(DISCOUNT.search(name) for each in node.body + node.orelse for name in names_of(each))
            parts: list[ast.AST] = [node.test] if calculates or sets_zero(node) else []
        elif isinstance(node, ast.Call):
            parts = list(node.args) if source_of(node.func).rsplit(".", 1)[-1] in CHOOSING else []
        elif isinstance(node, ast.Subscript):
            # next_value[done] = 0
            parts = [node.slice] if isinstance(node.ctx, ast.Store) and "value" in source_of(node.value).lower() else []
        else:
            parts = [node]
        names = {name for part in parts for name in names_of(part)}
        if any(ENDS.search(name) or GOES_ON.search(name) for name in names):
            return True
    return False


def is_read(program: Program, kept: str) -> bool:
    """A list (or tensor) of ends is asked anywhere, and not only filled."""
    named = [node for node in program.nodes.of_kind(ast.Name, ast.Attribute) if source_of(node) == kept]
    return any(not is_put(program, node) for node in named)


def is_put(program: Program, node: ast.AST) -> bool:
    """The place where the list is made, or where something is put into it."""
    statement = program.statement_of(node)
    if isinstance(statement, ast.Assign):
        return any(each is node for target in statement.targets for each in ast.walk(target))
    for parent in program.enclosing(node):
        if isinstance(parent, ast.Call):
            return source_of(parent.func).startswith(source_of(node) + ".") and source_of(parent.func).endswith(
                (".append", ".clear", ".extend", ".zero_")
            )
        if isinstance(parent, ast.stmt):
            break
    return False


def sets_zero(node: ast.If) -> bool:
    """`if done: next_value = 0.0`, `R = 0`: what is bootstrapped, not a count of steps."""
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Constant)
        and each.value.value in (0, 0.0)
        and re.search(r"val|next|boot|target|^(v|q|R|G|g|ret|gae|adv)", source_of(each.targets[0]))
        for each in node.body + node.orelse
    )


def bootstrapped(program: Program, node: ast.BinOp) -> ast.BinOp | None:
    """`gamma * V[t + 1]` of `r + gamma * V[t + 1]`. A return that is summed up backwards (`G = r + gamma * G`) is of one
    episode and none."""
    for side, other in ((node.right, node.left), (node.left, node.right)):
        if not isinstance(side, ast.BinOp) or not isinstance(side.op, ast.Mult):
            continue
        if not any(REWARDS.search(name) for name in names_of(other)):
            continue
        factors = factors_of(side)
        rest = [each for each in factors if not DISCOUNT.search(source_of(each))]
        if len(rest) == len(factors) or not rest:
            continue
        statement = program.statement_of(node)
        targets = {source_of(each) for each in statement.targets} if isinstance(statement, ast.Assign) else set()
        summed = any(source_of(each) in targets or "lam" in source_of(each).lower() for each in rest)
        cut = any(
            isinstance(each, ast.BinOp) and isinstance(each.op, ast.Sub) and source_of(each.left) in ("1", "1.0")
            for each in rest
        )
        if (
            not summed
            and not cut
            and not any(GOES_ON.search(name) or ENDS.search(name) for each in rest for name in names_of(each))
        ):
            return side
    return None


def factors_of(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*factors_of(node.left), *factors_of(node.right)]
    return [node]


# --- which step an end belongs to


class Stored(NamedTuple):
    """`dones[t] = done`: the end of transition k stands in place k + `shift`."""

    node: ast.AST
    name: str
    shift: int


@rule("code.ends-shifted")
def ends_shifted(program: Program) -> Iterator[Finding]:
    """Ends that are stored before the step (they say whether the observation begins an episode) are read as if they had
    been stored behind it, or the other way round: the value is cut one step beside the end."""
    for stored in stored_ends(program):
        for node in program.nodes.of_kind(ast.Subscript):
            if not isinstance(node.ctx, ast.Load):
                continue
            step = backward_step(program, node)
            if not step or not is_stored_in(program, node.value, stored.name):
                continue
            offset = offset_from(node.slice, step) if step else None
            if offset is None or offset == stored.shift or offset not in (0, 1) or not goes_on_in(program, node):
                continue
            held = source_of(node.value)
            right = f"{held}[{step} + 1]" if stored.shift else f"{held}[{step}]"
            corrected = program.line_text(node.lineno).replace(source_of(node), right, 1)
            kept = "begins behind the end" if stored.shift else "is the last of an episode"
            yield Finding(node.lineno, corrected, {"kept": stored.name, "says": kept}, also=[line_of(stored.node)])
            break


def is_stored_in(program: Program, node: ast.AST, name: str, depth: int = 0) -> bool:
    """The array itself, or a name that it has on the way: a parameter, an entry of a dictionary, stacked into a tensor."""
    if source_of(node) == name or depth > 8:
        return source_of(node) == name
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return name.endswith(f"[{node.slice.value!r}]")
    if isinstance(node, ast.Attribute):
        return name.endswith(f".{node.attr}")
    if isinstance(node, ast.Call):
        held = node.args[0] if name_called(node) in STACKING and node.args else None
        if held is None and isinstance(node.func, ast.Attribute) and name_called(node) in ("float", "to", "astype", "numpy"):
            held = node.func.value
        return held is not None and is_stored_in(program, held, name, depth + 1)
    binding = program.names.given(node) if isinstance(node, ast.Name) else None
    if binding is None:
        return False
    if binding.how == "parameter":
        given = program.names.values_of_parameter(binding)
        return bool(given) and all(is_stored_in(program, each, name, depth + 1) for each in given)
    if binding.how != "assigned" or binding.value is None:
        return False
    if not binding.path:
        return is_stored_in(program, binding.value, name, depth + 1)
    origins = program.names.origins(binding.value, binding.path)
    return len(origins) == 1 and not origins[0].path and is_stored_in(program, origins[0].node, name, depth + 1)


STACKING = (
    "stack",
    "cat",
    "tensor",
    "as_tensor",
    "array",
    "asarray",
    "from_numpy",
    "FloatTensor",
    "Tensor",
    "stop_gradient",
)


def stored_ends(program: Program) -> Iterator[Stored]:
    """Arrays that a loop with `env.step()` fills with what it said of the end, of this step or of the one before."""
    seen: set[str] = set()
    for call in program.calls_to("step"):
        loops = program.loops_of(call)
        statement = program.statement_of(call)
        if not loops or not call.args or not isinstance(statement, ast.Assign):
            continue
        for name, slot, value, node in stores_in(program, loops[0]):
            if name in seen or not isinstance(value, ast.Name) or not ENDS.search(value.id):
                continue
            shift = shift_of(program, value, statement, node)
            counter = source_of(loops[0].target) if isinstance(loops[0], ast.For) else ""
            place = offset_from(slot, counter) if slot is not None else 0
            if shift is not None and place in (0, 1) and (slot is None or counter):
                seen.add(name)
                yield Stored(node, name, shift + place)


def stores_in(program: Program, loop: ast.AST) -> Iterator[tuple[str, ast.expr | None, ast.expr, ast.AST]]:
    """`dones[t] = done` (of several at once too) and `dones.append(done)`: the array, the place, the value."""
    for node in program.own_nodes(loop):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts))
            for one, given in pairs:
                if isinstance(one, ast.Subscript):
                    yield source_of(one.value), one.slice, bare(given), node
        elif isinstance(node, ast.Call) and name_called(node) == "append" and len(node.args) == 1:
            if isinstance(node.func, ast.Attribute):
                yield source_of(node.func.value), None, bare(node.args[0]), node


def bare(node: ast.expr) -> ast.expr:
    """`done` of `torch.tensor(done)`, `done.float()`, `float(done)`."""
    for _ in range(6):
        if not isinstance(node, ast.Call):
            break
        if isinstance(node.func, ast.Attribute) and name_called(node) in ("float", "to", "astype", "cpu", "bool", "copy"):
            node = node.func.value
        elif node.args:
            node = node.args[0]
        else:
            break
    return node


def shift_of(program: Program, value: ast.Name, step: ast.Assign, store: ast.AST) -> int | None:
    """0 where the value was given by this step, 1 where by the one before; None where it was given by neither."""
    given = {name for target in step.targets for name in names_in(target)}
    loop = program.loops_of(step)[0]
    behind = [
        each
        for each in program.names.all_given(value)
        if each.how == "assigned" and program.nodes.encloses(loop, each.node) and each.value is not None
    ]
    from_step = [each for each in behind if each.node is step or names_in(each.value) & given]  # type: ignore[arg-type]
    if not from_step or len(from_step) != len(behind):
        return None
    place = program.nodes.place
    if all(place(store) > place(each.node) for each in from_step):
        return 0
    return 1 if all(place(store) < place(each.node) for each in from_step) and place(store) < place(step) else None


def backward_step(program: Program, node: ast.AST) -> str:
    """`t` of the loop around that goes back in time: `for t in reversed(range(T))`, `range(T - 1, -1, -1)`."""
    for loop in program.loops_of(node):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name) or not isinstance(loop.iter, ast.Call):
            continue
        back = name_called(loop.iter) == "range" and len(loop.iter.args) == 3 and source_of(loop.iter.args[2]) == "-1"
        if back or (name_called(loop.iter) == "reversed" and loop.iter.args and name_called(loop.iter.args[0]) == "range"):
            return loop.target.id
    return ""


def offset_from(slot: ast.expr, counter: str) -> int | None:
    """0 of `t`, 1 of `t + 1`; the first place of `[t, :]`."""
    slot = slot.elts[0] if isinstance(slot, ast.Tuple) and slot.elts else slot
    if source_of(slot) == counter:
        return 0
    if isinstance(slot, ast.BinOp) and isinstance(slot.op, ast.Add) and source_of(slot) == f"{counter} + 1":
        return 1
    return None


def goes_on_in(program: Program, node: ast.AST) -> bool:
    """`1 - dones[t]`, `~dones[t]`, `not dones[t]`: what says that the episode goes on."""
    for parent in program.enclosing(node):
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub):
            return source_of(parent.left) in ("1", "1.0")
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, (ast.Invert, ast.Not)):
            return True
        if not isinstance(parent, (ast.Call, ast.Attribute, ast.Subscript)):
            return False
    return False


@rule("code.truncated-for-terminated")
def truncated_for_terminated(program: Program) -> Iterator[Finding]:
    """`obs, reward, terminated, truncated, info = env.step(a)`, and the memory is given `truncated` alone: the end of an
    episode is bootstrapped through, and a time limit is not."""
    for call in program.calls_to("step"):
        statement = program.statement_of(call)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != 5 or not call.args:
            continue
        ended, cut = target.elts[2], target.elts[3]
        if not isinstance(ended, ast.Name) or not isinstance(cut, ast.Name) or "trunc" not in cut.id.lower():
            continue
        scope = program.names.scope_of(cut)
        loads = [
            each
            for each in program.nodes.of_kind(ast.Name)
            if isinstance(each.ctx, ast.Load) and program.names.scope_of(each) is scope
        ]
        kept = [each for each in loads if each.id == cut.id and is_kept_alone(program, each)]
        if kept and not any(each.id == ended.id and not only_tested(program, each) for each in loads):
            line = kept[0].lineno
            corrected = re.sub(rf"\b{re.escape(cut.id)}\b", ended.id, program.line_text(line))
            yield Finding(line, corrected, {"cut": cut.id, "ended": ended.id}, also=[call.lineno])
            return


def is_kept_alone(program: Program, node: ast.AST) -> bool:
    """The flag itself is put into a tuple, an array or a memory."""
    for parent in program.enclosing(node):
        if isinstance(parent, (ast.BoolOp, ast.Compare, ast.BinOp, ast.IfExp)):
            return False
        if isinstance(parent, ast.Call) and name_called(parent) in ("float", "int", "bool", "tensor", "as_tensor"):
            continue
        if isinstance(parent, ast.Call):
            return name_called(parent) in KEEPING
        if isinstance(parent, ast.Assign):
            holder = parent.targets[0]
            is_item = isinstance(parent.value, ast.Tuple) and isinstance(holder, ast.Name)
            return is_item or isinstance(holder, ast.Subscript)
        if isinstance(parent, ast.stmt):
            return False
    return False


KEEPING = ("append", "push", "add", "store", "put", "remember", "insert", "Transition")


def only_tested(program: Program, node: ast.AST) -> bool:
    """Of `if terminated or truncated`, `while not terminated`, `done = terminated or truncated`."""
    for parent in program.enclosing(node):
        if isinstance(parent, ast.BoolOp) or (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr)):
            return is_tested(program, parent)
        if isinstance(parent, (ast.If, ast.While)):
            return program.nodes.encloses(parent.test, node)
        if isinstance(parent, ast.stmt):
            return False
    return False


def is_tested(program: Program, node: ast.AST) -> bool:
    """An expression that a test is made of, or a name that only tests ask."""
    statement = program.statement_of(node)
    if isinstance(statement, (ast.If, ast.While)):
        return True
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    asked = [
        each
        for each in program.nodes.of_kind(ast.Name)
        if each.id == name and isinstance(each.ctx, ast.Load) and program.function_of(each) is program.function_of(node)
    ]
    return all(isinstance(program.statement_of(each), (ast.If, ast.While)) for each in asked)
