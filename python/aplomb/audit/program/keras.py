"""Keras: which layer a model ends in, and which losses ask for probabilities.

Of a model that ends in a softmax Keras takes the logits by itself, whatever a loss is told; the other way round it does not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .program import Program
from .syntax import Function, keyword_of, last, source_of

#: Losses of classes, which take probabilities unless they are told `from_logits=True`; the class's and the short name.
LOSSES = {
    "SparseCategoricalCrossentropy": "softmax",
    "CategoricalCrossentropy": "softmax",
    "BinaryCrossentropy": "sigmoid",
    "sparse_categorical_crossentropy": "softmax",
    "categorical_crossentropy": "softmax",
    "binary_crossentropy": "sigmoid",
}
MODELS = ("Model", "Functional")


def losses_of_probabilities(program: Program) -> Iterator[tuple[ast.expr, ast.expr, str]]:
    """`model.compile(loss=...)` and `loss_fn(labels, model(x))` with a loss that is not told of logits: the loss, the model,
    and the activation that the loss asks for."""
    for call in program.calls_to("compile"):
        given = keyword_of(call, "loss") or (call.args[1] if len(call.args) > 1 else None)
        asked = activation_asked(program, given) if given is not None else ""
        if given is not None and asked and isinstance(call.func, ast.Attribute):
            yield given, call.func.value, asked
    for call in program.calls:
        held = program.makers.call_of(call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
        asked = activation_asked(program, held) if held is not None and len(call.args) > 1 else ""
        made = program.names.origin(call.args[1]).node if asked else None
        if held is not None and isinstance(made, ast.Call):
            yield held, made.func, asked


def activation_asked(program: Program, node: ast.expr) -> str:
    """The activation behind which a loss stands; empty of other losses, and of one that takes logits or may."""
    value = program.names.origin(node).node
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return LOSSES.get(value.value, "")
    if not isinstance(value, ast.Call) or any(each.arg is None for each in value.keywords):
        return ""
    full = program.name_of(value.func)
    told = keyword_of(value, "from_logits") or (value.args[0] if value.args else None)
    takes_logits = told is not None and not program.values.is_false(told)
    return "" if takes_logits or "keras" not in full else LOSSES.get(last(full), "")


def last_layer(program: Program, model: ast.expr) -> ast.Call | None:
    """The call that makes the layer which a model's output comes from; None where it is not seen."""
    made = program.makers.call_of(model)
    if made is None:
        return None
    owner = program.makers.class_made(made)
    if owner is not None:
        return layer_of_class(program, owner)
    name = program.makers.class_name(made)
    if name == "Sequential":
        return layer_of_list(program, made)
    if name in MODELS:
        given = keyword_of(made, "outputs") or (made.args[1] if len(made.args) > 1 else None)
        return layer_called(program, given) if given is not None else None
    return None


def layer_of_class(program: Program, owner: ast.ClassDef) -> ast.Call | None:
    """Of what the call() of a class of models returns."""
    run = program.makers.method(owner, "call")
    returned = program.returns_of(run) if isinstance(run, Function) else []
    return layer_called(program, returned[0]) if len(returned) == 1 else None


def layer_of_list(program: Program, made: ast.Call) -> ast.Call | None:
    """The last of `Sequential([...])`, and of what is added to it."""
    statement = program.statement_of(made)
    names = {source_of(each) for each in statement.targets} if isinstance(statement, ast.Assign) else set()
    added = [
        call
        for call in program.calls_to("add")
        if isinstance(call.func, ast.Attribute)
        and source_of(call.func.value) in names
        and program.function_of(call) is program.function_of(made)
    ]
    if added:
        return None if not added[-1].args else program.makers.call_of(added[-1].args[0])
    layers = program.names.origin(made.args[0]).node if made.args else None
    if not isinstance(layers, ast.List) or not layers.elts or isinstance(layers.elts[-1], ast.Starred):
        return None
    return program.makers.call_of(layers.elts[-1])


def layer_called(program: Program, node: ast.expr) -> ast.Call | None:
    """`Dense(10)` of `Dense(10)(x)`, `self.head(x)`."""
    value = program.names.origin(node).node
    if not isinstance(value, ast.Call):
        return None
    return value.func if isinstance(value.func, ast.Call) else program.makers.call_of(value.func)


def is_without_activation(program: Program, layer: ast.Call) -> bool:
    if program.makers.class_name(layer) != "Dense" or any(each.arg is None for each in layer.keywords):
        return False
    given = keyword_of(layer, "activation") or (layer.args[1] if len(layer.args) > 1 else None)
    return given is None or program.values.of(given) in (None, "linear")
