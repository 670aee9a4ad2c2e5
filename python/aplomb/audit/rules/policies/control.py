"""Rules about reinforcement learning that is written by hand: where an episode ends, and what is learnt of later."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import names_in, source_of

REWARDS = re.compile(r"^(r|R|rs|rews?|rwd)$|reward", re.IGNORECASE)
DISCOUNT = re.compile(r"(^|[._])(gamma|discount|GAMMA|DISCOUNT)$")
ENDS = re.compile(r"(^|_)(done|dones|term|terms|terminal|terminals|terminated|truncated|dw)($|_)", re.IGNORECASE)
#: What stands for "the episode goes on" under another name.
GOES_ON = re.compile(r"mask|alive|cont(inue)?(s|ation)?$|not_?done|non_?(final|terminal)|valid|live", re.IGNORECASE)

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
