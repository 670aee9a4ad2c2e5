"""Rules about values that are changed where they lie, although something still needs them as they were."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import Function, FunctionNode, keyword_of, last_name, name_called, source_of

ACTIVATIONS = ("ReLU", "LeakyReLU", "ELU", "SiLU", "ReLU6", "Hardswish", "CELU", "SELU", "Hardtanh", "Mish")
CALLS = ("relu", "leaky_relu", "elu", "silu", "relu6", "hardswish", "celu", "selu", "relu_", "hardtanh", "mish")
#: What keeps its result for the backward pass.
KEEPS_RESULT = ("sigmoid", "tanh", "exp", "softmax", "log_softmax", "relu", "sqrt", "rsqrt", "Sigmoid", "Tanh", "Softmax",
                "ReLU", "LogSoftmax")  # fmt: skip
CHANGES = ("add_", "sub_", "mul_", "div_", "clamp_", "masked_fill_", "relu_", "pow_", "sigmoid_", "tanh_", "neg_", "zero_")


def forwards(program: Program) -> Iterator[FunctionNode]:
    for function in program.functions:
        owner = program.nodes.parents.get(function)
        if isinstance(owner, ast.ClassDef) and program.makers.is_module_class(owner) and function.name == "forward":
            yield function


@rule("code.changed-before-residual")
def changed_before_residual(program: Program) -> Iterator[Finding]:
    """`x + conv(relu(x))` with a ReLU that works in place: the x that is added is the one without its negative part."""
    for function in forwards(program):
        for call in program.calls_in(function):
            held = call.args[0] if call.args else None
            if not isinstance(held, ast.Name) or not works_in_place(program, call):
                continue
            user = added_later(program, function, call, held.id)
            if user is not None:
                corrected = program.line_text(call.lineno).replace("inplace=True", "inplace=False")
                values = {"value": held.id, "call": source_of(call.func)}
                yield Finding(call.lineno, corrected, values, also=sorted({user.lineno} - {call.lineno}))
                break


def works_in_place(program: Program, call: ast.Call) -> bool:
    """`F.relu(x, inplace=True)`, `self.act(x)` of `nn.ReLU(inplace=True)`, a Sequential that begins with one."""
    if name_called(call) in CALLS and program.name_of(call.func).startswith("torch."):
        return is_in_place(program, call) or name_called(call).endswith("_")
    made = program.makers.call_of(call.func)
    for _ in range(3):
        if made is None:
            return False
        name = program.makers.class_name(made)
        if name in ACTIVATIONS:
            return program.makers.is_layer(made) and is_in_place(program, made)
        first = made.args[0] if name == "Sequential" and made.args else None
        if first is None or isinstance(first, ast.Starred):
            return False
        made = program.makers.call_of(first)
    return False


def is_in_place(program: Program, call: ast.Call) -> bool:
    given = keyword_of(call, "inplace")
    alone = call.args[0] if name_called(call) in ("ReLU", "SiLU", "ReLU6", "Mish") and call.args else None
    return program.values.is_true(given) if given is not None else alone is not None and program.values.is_true(alone)


def is_given_again(program: Program, call: ast.AST, name: str) -> bool:
    """`x = relu(x)`, `x = conv(relu(x))`: nothing has the old value any more; nor where the name has another one too."""
    statement = program.statement_of(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(each, ast.Name) and each.id == name for target in targets for each in ast.walk(target))


def added_later(program: Program, function: FunctionNode, call: ast.Call, name: str) -> ast.expr | None:
    """Where the same value is added to something, in the same statement or behind it, before it is given another."""
    place = program.nodes.place(program.statement_of(call))
    given = [program.nodes.place(each) for each in program.nodes.below(function)
             if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)]  # fmt: skip
    end = min([each for each in given if each > place], default=len(program.nodes.nodes))
    again = is_given_again(program, call, name)
    for node in program.nodes.below(function):
        if not isinstance(node, (ast.BinOp, ast.AugAssign)) or not isinstance(node.op, ast.Add):
            continue
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        here = [each for each in sides if isinstance(each, ast.Name) and each.id == name]
        if not here or program.is_conditional(call, function):
            continue
        behind = place < program.nodes.place(node) < end and program.nodes.place(node) > program.nodes.place(call)
        if program.nodes.encloses(node, call) or (behind and not again):
            return here[0]
    return None


@rule("code.saved-value-changed")
def saved_value_changed(program: Program) -> Iterator[Finding]:
    """`h = torch.sigmoid(a); h += x`: sigmoid() keeps its result for the backward pass, which raises then."""
    for function in forwards(program):
        for block in blocks_of(function):
            for first, second in followed(block):
                made = first.value if isinstance(first, ast.Assign) and len(first.targets) == 1 else None
                name = last_name(first.targets[0]) if isinstance(first, ast.Assign) else ""
                if not isinstance(made, ast.Call) or not isinstance(getattr(first, "targets", [None])[0], ast.Name):
                    continue
                if keeps_result(program, made) and changes(second, name) and has_gradient(program, made):
                    values = {"value": name, "function": source_of(made.func)}
                    yield Finding(second.lineno, apart(second, name), values, also=[first.lineno])


def blocks_of(function: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and (node is function or not isinstance(node, (*Function, ast.ClassDef))):
                yield block


def followed(block: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Each assignment of one name with what stands behind it, until the name is given another value."""
    for at, first in enumerate(block):
        name = last_name(first.targets[0]) if isinstance(first, ast.Assign) else ""
        for second in block[at + 1 :] if name else ():
            yield first, second
            targets = second.targets if isinstance(second, ast.Assign) else []
            if any(last_name(part) == name for each in targets for part in ast.walk(each)):
                break


def keeps_result(program: Program, call: ast.Call) -> bool:
    if program.name_of(call.func).startswith("torch."):
        return name_called(call) in KEEPS_RESULT
    made = program.makers.call_of(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
    return made is not None and program.makers.is_layer(made) and program.makers.class_name(made) in KEEPS_RESULT


def changes(statement: ast.stmt, name: str) -> bool:
    """`h += x`, `h.mul_(2)`, `h[:, 0] = 0`."""
    if isinstance(statement, ast.AugAssign):
        return is_or_is_part_of(statement.target, name)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        return is_or_is_part_of(statement.targets[0], name)
    call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr in CHANGES and isinstance(call.func.value, ast.Name) and call.func.value.id == name


def is_or_is_part_of(node: ast.expr, name: str) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def has_gradient(program: Program, call: ast.Call) -> bool:
    """It is given what a layer of the module made."""
    given = call.args[0] if call.args else None
    made = program.names.origin(given).node if given is not None else None
    return (
        isinstance(made, ast.Call)
        and program.makers.call_of(made.func) is not None
        and program.makers.is_layer(program.makers.call_of(made.func) or made)
    )


def apart(statement: ast.stmt, name: str) -> str:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}.get(type(statement.op), "+")
        return f"{name} = {name} {sign} {source_of(statement.value)}"
    if isinstance(statement, ast.AugAssign):
        return f"{name} = {name}.clone()  # before it"
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        return f"{name} = {name}.clone()  # before it"
    return source_of(statement).replace("_(", "(")
