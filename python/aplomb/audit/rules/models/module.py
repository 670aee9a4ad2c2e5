"""Rules about modules: layers that nobody registers or that share weights, how they begin, dropout."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.makers import LINEAR
from ...program.program import Program
from ...program.syntax import Function, keyword_of, last_name, line_of, name_called, names_in, receiver_of, source_of

KEEPERS = ("ModuleList", "ModuleDict", "Sequential", "ParameterList")
WEIGHTED = (
    *LINEAR, "LSTM", "GRU", "RNN", "TransformerEncoderLayer", "TransformerDecoderLayer", "MultiheadAttention",
    "LayerNorm", "BatchNorm1d", "BatchNorm2d",
)  # fmt: skip


def module_classes(program: Program) -> list[ast.ClassDef]:
    return [each for each in program.nodes.of_kind(ast.ClassDef) if program.makers.is_module_class(each)]


@rule("code.modules-in-list")
def modules_in_list(program: Program) -> Iterator[Finding]:
    """`self.layers = [nn.Linear(...), ...]`: the weights are in no parameters()."""
    for owner in module_classes(program):
        init = program.makers.method(owner, "__init__")
        if init is None:
            continue
        for node in program.own_nodes(init):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
                continue
            name = source_of(node.targets[0])
            held = layers_held(program, node.value) or appended(program, init, name, node.value)
            if held is None or is_registered(program, owner, name) or not is_used(program, owner, name):
                continue
            yield Finding(line_of(node), f"{name} = nn.ModuleList({source_of(node.value)})", {"name": name})


def layers_held(program: Program, value: ast.AST) -> ast.AST | None:
    """The layer in a plain list, dictionary or comprehension."""
    parts: list[ast.AST] = []
    if isinstance(value, (ast.List, ast.Tuple)):
        parts = list(value.elts)
    elif isinstance(value, ast.ListComp):
        parts = [value.elt]
    elif isinstance(value, ast.Dict):
        parts = list(value.values)
    elif isinstance(value, ast.DictComp):
        parts = [value.value]
    return next((each for each in parts if program.makers.makes_layer(each) and has_weights(program, each)), None)


def has_weights(program: Program, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    calls = [node, *(program.makers.parts_of(node) or [])]
    return any(name_called(each) in WEIGHTED for each in calls)


def appended(program: Program, init: ast.AST, name: str, value: ast.AST) -> ast.AST | None:
    """`self.layers = []` ... `self.layers.append(nn.Linear(...))`."""
    if not isinstance(value, ast.List) or value.elts:
        return None
    for call in program.own_nodes(init):
        if (
            (
                isinstance(call, ast.Call)
                and name_called(call) == "append"
                and source_of(call.func) == f"{name}.append"
                and call.args
            )
            and program.makers.makes_layer(call.args[0])
            and has_weights(program, call.args[0])
        ):
            return call.args[0]
    return None


def is_registered(program: Program, owner: ast.AST, name: str) -> bool:
    for call in program.calls_in(owner):
        keeps = name_called(call) in (*KEEPERS, "add_module", "register_module", "setattr", "__setattr__")
        if keeps and any(name in source_of(each) for each in [*call.args, *(one.value for one in call.keywords)]):
            return True
        if keeps and name_called(call) in ("add_module", "register_module", "setattr"):
            return True  # the layers may go that way too
    return False


def is_used(program: Program, owner: ast.ClassDef, name: str) -> bool:
    forward = program.makers.method(owner, "forward")
    return forward is None or name in source_of(forward)


@rule("code.layer-repeated")
def layer_repeated(program: Program) -> Iterator[Finding]:
    """`nn.Sequential(*[layer] * 6)`: one layer, six times."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Mult) or not isinstance(node.left, (ast.List, ast.Tuple)) or not node.left.elts:
            continue
        first = program.names.origin(node.left.elts[0]).node
        if program.makers.makes_layer(first) and has_weights(program, first):
            corrected = f"[{source_of(first)} for _ in range({source_of(node.right)})]"
            yield Finding(line_of(node), corrected, {"count": source_of(node.right)})


@rule("code.list-shared")
def list_shared(program: Program) -> Iterator[Finding]:
    """`[[]] * n`, `dict.fromkeys(names, [])`: one list under several places, and something is put into it."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Mult) or not isinstance(node.left, ast.List) or len(node.left.elts) != 1:
            continue
        inner = node.left.elts[0]
        repeated = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult) and isinstance(inner.left, ast.List)
        mutable = (
            repeated
            or isinstance(inner, (ast.List, ast.Dict))
            or name_called(inner) in ("list", "dict", "deque", "defaultdict")
        )
        holder = program.nodes.parents.get(node)
        if mutable and isinstance(holder, ast.Assign) and is_filled(program, holder.targets[0]):
            yield Finding(line_of(node), f"[{source_of(inner)} for _ in range({source_of(node.right)})]")
    for call in program.calls_to("fromkeys"):
        value = call.args[1] if len(call.args) > 1 else None
        holder = program.nodes.parents.get(call)
        if (
            isinstance(value, (ast.List, ast.Dict))
            and isinstance(holder, ast.Assign)
            and is_filled(program, holder.targets[0])
        ):
            yield Finding(call.lineno, f"{{key: {source_of(value)} for key in {source_of(call.args[0])}}}")


def is_filled(program: Program, target: ast.AST) -> bool:
    """`x[i].append(...)`, `x[i][j] = ...`."""
    name = source_of(target)
    for call in program.calls_to("append", "extend", "add", "update", "insert"):
        holder = call.func.value if isinstance(call.func, ast.Attribute) else None
        if isinstance(holder, ast.Subscript) and source_of(holder.value) == name:
            return True
    for node in program.nodes.of_kind(ast.Assign, ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
        for each in targets:
            if (
                isinstance(each, ast.Subscript)
                and isinstance(each.value, ast.Subscript)
                and source_of(each.value.value) == name
            ):
                return True
    return False


# --- how weights begin


@rule("code.init-constant")
def init_constant(program: Program) -> Iterator[Finding]:
    """Every linear layer begins with equal weights: all its units stay equal."""
    for node, call, kind in initialisations(program):
        if kind in ("zeros_", "ones_", "constant_", "zero_", "fill_"):
            yield Finding(line_of(node), "nn.init.kaiming_normal_(m.weight)", {"call": source_of(call)})


@rule("code.init-too-wide")
def init_too_wide(program: Program) -> Iterator[Finding]:
    """Weights of spread 0.5 and more: a layer of n inputs multiplies what goes through it by half of sqrt(n)."""
    for node, call, kind in initialisations(program):
        if kind == "normal_":
            given = keyword_of(call, "std")
            place = 2 if program.name_of(call.func).startswith("torch.nn.init") else 1
            given = given if given is not None else (call.args[place] if len(call.args) > place else None)
            spread = 1.0 if given is None else program.values.number(given)
        elif kind == "uniform_":
            place = 1 if program.name_of(call.func).startswith("torch.nn.init") else 0
            ends = [program.values.number(each) for each in call.args[place : place + 2]]
            if len(ends) == 1 or any(each is None for each in ends):
                continue
            low, high = (0.0, 1.0) if not ends else (ends[0] or 0.0, ends[1] or 0.0)
            spread = max(abs(low), abs(high)) / 3**0.5
        else:
            continue
        if spread is not None and spread >= 0.5 and not is_frozen_there(program, call):
            yield Finding(line_of(node), "nn.init.kaiming_normal_(m.weight)", {"spread": f"{spread:.2g}"})


def is_frozen_there(program: Program, call: ast.Call) -> bool:
    """The same function freezes the model whose weights it draws: a world to learn from, and nothing that learns."""
    loops = program.loops_of(call)
    drawn = names_in(loops[0].iter) if loops and isinstance(loops[0], ast.For) else set()
    return any(
        bool(each.args) and program.values.is_false(each.args[0]) and source_of(receiver_of(each)) in drawn
        for each in program.nodes.within(program.function_of(call), program.calls_to("requires_grad_"))
    )


def initialisations(program: Program) -> Iterator[tuple[ast.AST, ast.Call, str]]:
    """Calls that set the weights of all linear or convolutional layers: under `isinstance(m, nn.Linear)`, or of every
    parameter of more than one dimension."""
    kinds = ("zeros_", "ones_", "constant_", "zero_", "fill_", "normal_", "uniform_")
    for call in program.calls_to(*kinds):
        kind = name_called(call)
        of_init = program.name_of(call.func).startswith(("torch.nn.init", "nn.init", "init."))
        held = call.args[0] if of_init and call.args else getattr(call.func, "value", None)
        text = source_of(held) if held is not None else ""
        if "bias" in text or "grad" in text:
            continue
        test = nearest_test(program, call)
        if (
            text.split(".data")[0].endswith(".weight")
            and test is not None
            and tests_for_layer(program, test)
            or of_every_parameter(program, call, text.split(".data")[0])
            and test is None
        ):
            yield call, call, kind


def nearest_test(program: Program, node: ast.AST) -> ast.AST | None:
    child = node
    for parent in program.enclosing(node):
        if isinstance(parent, ast.If) and child in parent.body:
            return parent.test
        if isinstance(parent, (*Function, ast.Module)):
            return None
        child = parent
    return None


def tests_for_layer(program: Program, test: ast.AST) -> bool:
    """`isinstance(m, (nn.Linear, nn.Conv2d))`, `classname.find("Conv") != -1`."""
    text = source_of(test)
    layer = any(name in text for name in ("Linear", "Conv"))
    return layer and not any(name in text for name in ("Norm", "Embedding", " name", "not isinstance"))


def of_every_parameter(program: Program, call: ast.Call, text: str) -> bool:
    """`for p in model.parameters(): nn.init.zeros_(p)` of a model that is trained from there."""
    for parent in program.enclosing(call):
        if isinstance(parent, ast.For):
            over = name_called(parent.iter) == "parameters"
            return (
                over and isinstance(parent.target, ast.Name) and text == parent.target.id and is_plain(program, parent.iter)
            )
        if isinstance(parent, (*Function, ast.Module)):
            return False
    return False


def is_plain(program: Program, call: ast.AST) -> bool:
    holder = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    name = last_name(holder).lower() if holder is not None else ""
    return not any(word in name for word in ("ema", "target", "grad", "avg", "shadow", "last", "head", "out", "zero"))


# --- dropout


@rule("code.dropout-too-high")
def dropout_too_high(program: Program) -> Iterator[Finding]:
    """A rate of dropout of 0.8 and more, as where the share that is kept was meant."""
    for call in program.calls:
        for node in dropout_rates(program, call):
            rate = program.values.number(node)
            if rate is not None and 0.8 <= rate <= 1:
                kept = f"{1 - rate:.2g}"
                corrected = program.line_text(node.lineno).replace(source_of(node), kept, 1)
                yield Finding(line_of(node), corrected, {"rate": f"{rate:g}", "kept": kept}, sure=rate >= 0.9)


def dropout_rates(program: Program, call: ast.Call) -> Iterator[ast.expr]:
    name = name_called(call)
    if name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "dropout") and len(call.args) > (
        name == "dropout"
    ):
        yield call.args[1 if name == "dropout" else 0]
    for keyword in call.keywords:
        word = (keyword.arg or "").lower()
        named = "dropout" in word or word.endswith("pdrop") or word in ("drop_rate", "drop_prob", "drop")
        if named or (word == "p" and name.lower().startswith("dropout")):
            yield keyword.value


@rule("code.dropout-in-evaluation")
def dropout_in_evaluation(program: Program) -> Iterator[Finding]:
    """F.dropout() drops in evaluation too, unless it is told the mode."""
    for owner in module_classes(program):
        for call in program.calls_in(owner):
            full = program.name_of(call.func)
            if not full.startswith("torch.") or name_called(call) not in ("dropout", "dropout2d", "alpha_dropout"):
                continue
            if not full.startswith("torch.nn.functional") or len(call.args) > 2 or keyword_of(call, "training") is not None:
                continue
            if nearest_test(program, call) is None:
                yield Finding(call.lineno, source_of(call)[:-1] + ", training=self.training)")


@rule("code.batch-of-one-normalised")
def batch_of_one_normalised(program: Program) -> Iterator[Finding]:
    """Batch normalisation, and every batch that trains is one sample."""
    norms = program.calls_to("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
    if not norms or not program.trains:
        return
    frozen = {"track_running_stats", "convert_sync_batchnorm", "SyncBatchNorm"}
    if program.names_called & frozen:
        return
    ones: list[ast.Call] = []
    others: list[ast.Call] = []
    for call in program.calls_to("DataLoader"):
        size = keyword_of(call, "batch_size") or (call.args[1] if len(call.args) > 1 else None)
        shuffled = program.values.is_true(keyword_of(call, "shuffle"))
        value = program.values.of(size) if size is not None else 1
        (ones if value == 1 and shuffled else others).append(call)
    training = [each for each in others if program.values.is_true(keyword_of(each, "shuffle"))]
    if ones and not training:
        yield Finding(ones[0].lineno, "", {"layer": name_called(norms[0])}, also=[norms[0].lineno])
