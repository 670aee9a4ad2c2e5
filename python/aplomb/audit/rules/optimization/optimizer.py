"""Rules about what the optimizer was given: which weights, made when, and with which constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule, where_set
from ...program.constants import is_number
from ...program.launches import ENDINGS as SCRIPTS
from ...program.makers import WRAPPERS
from ...program.names import Binding
from ...program.objects import ADAPTIVE, OPTIMIZERS, PROPORTIONAL
from ...program.order import runs_before, where_they_meet
from ...program.program import Program
from ...program.syntax import Function, keyword_of, last_name, name_called, receiver_of, source_of
from ...program.timeline import Event

#: What leaves the weights where they are.
KEEPING = (
    *WRAPPERS,
    "to",
    "cuda",
    "cpu",
    "train",
    "eval",
    "prepare",
    "half",
    "float",
    "bfloat16",
    "requires_grad_",
    "setup",
    "initialize",
)
#: Methods that put other weights into a model.
CHANGING = ("resize_token_embeddings", "add_module", "reset_classifier", "add_adapter", "register_parameter")
ADAPTING = ("get_peft_model", "FSDP", "FullyShardedDataParallel", "fully_shard", "PeftModel")


def optimizers(program: Program) -> Iterator[ast.Call]:
    """Every call that makes an optimizer of a known class."""
    for name in OPTIMIZERS:
        if name in program.names_called:
            for call in program.calls_to(name):
                if program.makers.class_name(call) == name and (call.args or call.keywords):
                    yield call


# --- which weights


@rule("code.optimizer-before-model")
def optimizer_before_model(program: Program) -> Iterator[Finding]:
    """The optimizer is given weights that the model then no longer has."""
    tree = program.nodes
    for call, target in program.objects.optimizers_made():
        made = program.objects.identity(target)
        steps = [each for timeline in program.timelines for each in timeline.of("step") if each.subjects & made]
        if "add_param_group" in program.names_called or not steps:
            continue
        given = call.args[:1] or [each.value for each in call.keywords if each.arg == "params"]
        for holder in [each for one in given for each in program.objects.parameters_in(one)]:
            change = change_behind(program, holder, call)
            if change is None or program.names.scope_of(change) is not program.names.scope_of(call):
                continue
            later = [each for each in steps if runs_behind(program, each, change) or is_given_back(program, each, target)]
            remade = [
                one for one, other in program.objects.optimizers_made() if one is not call and is_same_target(other, target)
            ]
            if later and not any(tree.place(one) > tree.place(change) for one in remade):
                yield Finding(
                    call.lineno,
                    f"# behind line {change.lineno}:\n{program.line_text(call.lineno)}",
                    {"model": source_of(holder), "change": program.line_text(change.lineno)},
                    also=[change.lineno],
                )
    yield from made_by_a_function(program)
    yield from replaced_elsewhere(program)


def replaced_elsewhere(program: Program) -> Iterator[Finding]:
    """One function makes the optimizer, and another one, which runs later, gives the model a new layer:
    `net, opt = build(); adapt(net)`."""
    made = [call for call in program.calls if program.makers.class_name(call) in OPTIMIZERS]
    if "add_param_group" in program.names_called or not made:
        return
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Attribute) or not program.makers.makes_layer(node.value):
            continue
        changed = program.objects.identity(target.value)
        for call in made:
            given = call.args[:1] or [each.value for each in call.keywords if each.arg == "params"]
            held = [each for one in given for each in program.objects.parameters_in(one)]
            if program.function_of(call) is program.function_of(node) or not runs_before(program, call, node):
                continue
            if any(runs_before(program, node, other) for other in made if other is not call):
                continue
            holder = next((each for each in held if holds_part(program, each, changed, target.attr)), None)
            if holder is not None:
                corrected = f"# behind line {node.lineno}:\n{program.line_text(call.lineno)}"
                values = {"model": source_of(holder), "change": program.line_text(node.lineno)}
                where = getattr(where_they_meet(program, call, node)[1], "lineno", node.lineno)
                yield Finding(where, corrected, values, also=sorted({node.lineno, call.lineno} - {where}))
                return


def holds_part(program: Program, holder: ast.expr, changed: frozenset[str], attribute: str) -> bool:
    """`net`, or `net.fc`, of the model whose `fc` is made anew."""
    if program.objects.identity(holder) & changed:
        return True
    is_part = isinstance(holder, ast.Attribute) and holder.attr == attribute
    return is_part and isinstance(holder, ast.Attribute) and bool(program.objects.identity(holder.value) & changed)


def made_by_a_function(program: Program) -> Iterator[Finding]:
    """As above, where a function of the file makes the optimizer: `opt = make_optimizer(model.parameters())`, and the model
    gets its adapter, or another head, behind that line."""
    for call, _ in program.objects.optimizers_made():
        maker = program.function_of(call)
        if not isinstance(maker, Function) or not call.args or not isinstance(call.args[0], ast.Name):
            continue
        place = next((i for i, each in enumerate(maker.args.args) if each.arg == call.args[0].id), None)
        if place is None:
            continue
        sites = [each for each in program.calls_to(maker.name) if len(each.args) > place]
        for site in sites:
            for holder in program.objects.parameters_in(site.args[place]):
                change = change_behind(program, holder, site)
                if change is None or program.names.scope_of(change) is not program.names.scope_of(site):
                    continue
                if any(program.nodes.place(each) > program.nodes.place(site) for each in sites):
                    continue  # made anew, behind the change or for another stage
                corrected = f"# behind line {change.lineno}:\n{program.line_text(site.lineno)}"
                values = {"model": source_of(holder), "change": program.line_text(change.lineno)}
                yield Finding(site.lineno, corrected, values, also=[change.lineno])


def is_same_target(one: ast.AST, other: ast.AST) -> bool:
    return source_of(one) == source_of(other)


def runs_behind(program: Program, step: Event, change: ast.AST) -> bool:
    """A step comes after a statement: behind it in the same scope, or in another method of an object that was made there."""
    scope = program.names.scope_of(change)
    for call in (*step.at.callers, step.node):
        if program.names.scope_of(call) is scope:
            return program.nodes.place(call) > program.nodes.place(change)
    return isinstance(scope, Function) and scope.name in ("__init__", "setup", "build", "prepare")


def is_given_back(program: Program, step: Event, target: ast.AST) -> bool:
    """A function makes the optimizer and returns it, and the step is taken outside of it: behind all that it does."""
    scope = program.names.scope_of(target)
    inside = any(program.nodes.encloses(scope, each) for each in (*step.at.callers, step.node))
    returned = program.returns_of(scope) if isinstance(scope, Function) else []
    return not inside and any(source_of(target) == source_of(each) for one in returned for each in ast.walk(one))


def change_behind(program: Program, holder: ast.expr, call: ast.Call) -> ast.stmt | None:
    """The first statement behind the optimizer that gives the model other weights."""
    place = program.nodes.place(call)
    found: list[ast.stmt] = []
    for binding in program.names.all_given(holder):
        behind = program.nodes.place(binding.node) > place and isinstance(binding.node, ast.Assign)
        if behind and binding.value is not None and replaces(program, binding):
            found.append(binding.node)  # type: ignore[arg-type]
    identity = program.objects.identity(holder)
    for other in program.calls_to(*CHANGING, *ADAPTING):
        if program.nodes.place(other) <= place:
            continue
        changed = receiver_of(other) if name_called(other) in CHANGING else (other.args[0] if other.args else None)
        if changed is not None and changed is not other.func and program.objects.identity(changed) & identity:
            found.append(program.statement_of(other))  # type: ignore[arg-type]
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if (
            program.nodes.place(node) <= place
            or not isinstance(target, (ast.Attribute, ast.Subscript))
            or not program.makers.makes_layer(node.value)
        ):
            continue
        root: ast.expr = target.value
        while isinstance(root, (ast.Attribute, ast.Subscript)) and not program.objects.identity(root) & identity:
            root = root.value
        if program.objects.identity(root) & identity and program.names.scope_of(node) is program.names.scope_of(call):
            found.append(node)
    return min(found, key=program.nodes.place) if found else None


def replaces(program: Program, binding: Binding) -> bool:
    """The name is given a model of other weights: not the same one moved, wrapped or prepared."""
    value = binding.value
    if not isinstance(value, ast.Call) or binding.path and name_called(value) in KEEPING:
        return False
    name = name_called(value)
    if name in (*ADAPTING, "deepcopy") or program.name_of(value.func) == "torch.load":
        return True
    if name in KEEPING:
        held = value.args[0] if value.args and name not in ("to", "cuda", "train", "eval") else receiver_of(value)
        inner = held if held is not value.func else None
        return isinstance(inner, ast.Call) and program.makers.parts_of(inner) is not None
    return program.makers.makes_layer(value) or "from_pretrained" in source_of(value.func)


@rule("code.parameters-left-out")
def parameters_left_out(program: Program) -> Iterator[Finding]:
    """Two modules of the program make the loss, and the optimizer holds one of them."""
    made = program.objects.optimizers_made()
    trained = program.objects.trained()
    if not made or any(not program.objects.held(call) for call, _ in made) or "add_param_group" in program.names_called:
        return
    for cycle in program.cycles:
        passes = cycle.of("backward")
        for event in cycle.of("forward"):
            call = event.node
            if (
                not isinstance(call, ast.Call)
                or event.subjects & trained
                or any("grad" in each for each in event.at.contexts)
            ):
                continue
            if not any(each.loops == event.loops for each in passes) or event.at.callers:
                continue
            if (
                has_weights(program, call.func)
                and not is_kept_still(program, call.func)
                and reaches_loss(program, call, passes)
            ):
                line = made[0][0].lineno
                yield Finding(line, "", {"module": source_of(call.func)}, also=[event.line])
                return


def has_weights(program: Program, node: ast.AST) -> bool:
    parts = program.makers.parts_of(node) or []
    return any(
        name_called(each) in ("Linear", "Conv2d", "Conv1d", "Embedding", "LSTM", "GRU", "RNN", "Parameter") for each in parts
    )


def is_kept_still(program: Program, node: ast.AST) -> bool:
    """Frozen, in eval(), a copy or a teacher."""
    identity = program.objects.identity(node)
    name = last_name(node).lower()
    if any(
        word in name
        for word in ("teacher", "frozen", "ema", "target", "ref", "fixed", "old", "base", "pretrained", "perceptual")
    ):
        return True
    for call in program.calls_to("requires_grad_", "eval", "load_state_dict", "deepcopy", "freeze"):
        held = call.args[0] if name_called(call) in ("deepcopy", "freeze") and call.args else receiver_of(call)
        if held is not call.func and program.objects.identity(held) & identity:
            return True
    return any(
        program.objects.identity(receiver_of(call)) & identity
        for call in program.calls_to("parameters")
        if isinstance(program.nodes.parents.get(call), ast.For)
    )


def reaches_loss(program: Program, call: ast.Call, passes: list[Event]) -> bool:
    """Some backward pass goes through what the call gave."""
    for event in passes:
        if not isinstance(event.node, ast.Call):
            continue
        for term in program.losses.terms(event.node):
            if holds(program, term.node, call, 0):
                return True
    return False


def holds(program: Program, node: ast.AST, call: ast.Call, depth: int) -> bool:
    for each in ast.walk(node):
        if each is call:
            return True
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "detach":
            return False
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and depth < 6:
            binding = program.names.given(each)
            value = binding.value if binding is not None and binding.how == "assigned" else None
            if value is not None and value is not node and holds(program, value, call, depth + 1):
                return True
    return False


@rule("code.nothing-trains")
def nothing_trains(program: Program) -> Iterator[Finding]:
    """Every weight of the model that the optimizer holds is frozen, and nothing is put on it afterwards."""
    trained = program.objects.trained()
    for line, holder, place in freezes(program):
        identity = program.objects.identity(holder)
        if not trained or not identity & trained or isinstance(holder, ast.Attribute):
            continue  # the rest of the model may train
        again = [later for other, later in revivals(program) if program.objects.identity(other) & identity]
        if any(place < later for later in again) or (again and is_repeated(program, holder)):
            continue
        if any(place < program.nodes.place(call) for call in program.calls_to("setattr")):
            continue  # modules of the model are put in the place of others
        yield Finding(line, "", {"model": source_of(holder)})
    yield from part_frozen_with_the_rest(program)


def part_frozen_with_the_rest(program: Program) -> Iterator[Finding]:
    """The optimizer holds the new head alone, and the head was put on before all weights were frozen."""
    held = [
        holder
        for call, _ in program.objects.optimizers_made()
        for holder in program.objects.parameters_in(call.args[0] if call.args else call)
    ]
    if not held or not all(isinstance(each, ast.Attribute) for each in held):
        return
    for line, model, place in freezes(program):
        identity = program.objects.identity(model)
        parts = [each for each in held if program.objects.identity(each.value) & identity]  # type: ignore[attr-defined]
        later = [each for each in program.nodes.of_kind(ast.Assign) if place < program.nodes.place(each)]
        texts = {source_of(target) for each in later for target in each.targets}
        again = any(place < at and not isinstance(other, ast.Call) for other, at in revivals(program))
        again = again or any(source_of(each) in texts for each in parts)
        if len(parts) == len(held) and not again and not any(isinstance(each, ast.If) for each in program.enclosing(model)):
            yield Finding(line, "", {"model": source_of(model)}, also=sorted({parts[0].lineno} - {line}))
            return


def is_repeated(program: Program, node: ast.AST) -> bool:
    """It stands in a loop, other than one over the weights: what comes before it comes behind it as well."""
    above = program.nodes.parents.get(node)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
        over_weights = isinstance(above, ast.For) and name_called(above.iter) in ("parameters", "named_parameters")
        if isinstance(above, (ast.For, ast.While)) and not over_weights:
            return True
        above = program.nodes.parents.get(above)
    return False


def freezes(program: Program) -> Iterator[tuple[int, ast.expr, int]]:
    """`for p in model.parameters(): p.requires_grad = False`, without a test; `model.requires_grad_(False)`."""
    for loop in program.nodes.of_kind(ast.For):
        name = name_called(loop.iter)
        if name not in ("parameters", "named_parameters") or not isinstance(loop.iter, ast.Call):
            continue
        for each in loop.body:
            if isinstance(each, ast.Assign) and is_switch(each) and program.values.is_false(each.value):
                yield each.lineno, receiver_of(loop.iter), program.nodes.place(each)
            call = each.value if isinstance(each, ast.Expr) else None
            switched = (
                isinstance(call, ast.Call)
                and name_called(call) == "requires_grad_"
                and isinstance(receiver_of(call), ast.Name)
            )
            if switched and call.args and program.values.is_false(call.args[0]):  # type: ignore[union-attr]
                yield each.lineno, receiver_of(loop.iter), program.nodes.place(each)
    for call in program.calls_to("requires_grad_"):
        if not isinstance(call.func, ast.Attribute) or not call.args or not program.values.is_false(call.args[0]):
            continue
        if isinstance(call.func.value, (ast.Name, ast.Attribute)) and program.objects.is_model(call.func.value):
            yield call.lineno, call.func.value, program.nodes.place(call)


def is_switch(node: ast.AST) -> bool:
    """`p.requires_grad = ...`."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and node.targets[0].attr == "requires_grad"
    )


def revivals(program: Program) -> Iterator[tuple[ast.expr, int]]:
    """What gives a model weights that train: a new head, an adapter, requires_grad switched on; of all or a part of it."""
    for node in program.nodes.of_kind(ast.Assign):
        if is_switch(node) and program.values.is_false(node.value):
            continue
        place = program.nodes.place(node)
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                yield from roots(target.value, place)
        loop = next((each for each in program.enclosing(node) if isinstance(each, ast.For)), None)
        for holder in program.objects.parameters_in(loop.iter) if is_switch(node) and loop is not None else ():
            yield from roots(holder, place)
    for call in program.calls_to("requires_grad_", "get_peft_model", "add_adapter", "unfreeze", "add_module"):
        if name_called(call) == "requires_grad_" and call.args and program.values.is_false(call.args[0]):
            continue
        held = call.args[0] if name_called(call) == "get_peft_model" and call.args else receiver_of(call)
        if held is not call.func:
            yield from roots(held, program.nodes.place(call))


def roots(node: ast.AST, place: int) -> Iterator[tuple[ast.expr, int]]:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.expr):
            yield node, place
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.expr):
        yield node, place


# --- constants


def option(program: Program, call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    value = keyword_of(call, name)
    return value if value is not None or place is None or len(call.args) <= place else call.args[place]


def holds_a_model(program: Program, call: ast.Call) -> bool:
    """The weights of a network, not an image or a vector that is optimized."""
    given = call.args[:1] or [each.value for each in call.keywords if each.arg == "params"]
    return any(program.objects.parameters_in(each) for each in given)


def holds_one_layer(program: Program, call: ast.Call) -> bool:
    """All that is trained is one linear layer: a probe on features, which has one minimum whatever it begins with."""
    given = call.args[:1] or [each.value for each in call.keywords if each.arg == "params"]
    held = [program.makers.call_of(holder) for each in given for holder in program.objects.parameters_in(each)]
    return bool(held) and all(
        made is not None and program.makers.is_layer(made) and program.makers.class_name(made) in ONE_LAYER for made in held
    )


def is_reset(program: Program, name: str) -> bool:
    """The program sets this option of the groups by itself: `group["lr"] = ...`."""
    return any(
        isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == name
        for node in program.nodes.of_kind(ast.Assign)
        for target in node.targets
    )


ONE_LAYER = ("Linear", "Bilinear", "LazyLinear", "Embedding")
#: Judgement: the weights of a layer on standardised features end at about 1 each, so steps of 1 cannot settle, and a fifth
#: of it is more than probes are usually given (0.001 to 0.1).
MOST_OF_ONE_LAYER, LIKELY_OF_ONE_LAYER = 1.0, 0.2


def shown(value: float) -> str:
    return f"{value:g}"


@rule("code.lr-too-high")
def rate_too_high(program: Program) -> Iterator[Finding]:
    """An adaptive step changes each weight by about the rate: from 0.1 on it replaces what layers of usual width begin
    with (uniform within 1/sqrt(inputs)); plain descent has no such measure below 10."""
    if is_reset(program, "lr"):
        return
    for call in optimizers(program):
        rate = program.values.number(option(program, call, "lr", 1))
        name = program.makers.class_name(call)
        if rate is None or not holds_a_model(program, call):
            continue
        if name in ADAPTIVE or name == "Lion":
            limit, likely = (0.1, 0.02) if name != "Lion" else (0.01, 0.002)
        elif name in PROPORTIONAL:
            limit, likely = 10.0, 10.0
        else:
            continue
        if holds_one_layer(program, call):
            limit, likely = max(limit, MOST_OF_ONE_LAYER), max(likely, LIKELY_OF_ONE_LAYER)
        if rate >= likely and not rises_to_it(program):
            finding = Finding(call.lineno, "", {"rate": shown(rate), "optimizer": name}, sure=rate >= limit)
            started = where_set(program, finding, option(program, call, "lr", 1))
            yield started if started.file.endswith(SCRIPTS) else finding


def rises_to_it(program: Program) -> bool:
    """A schedule that begins low and comes down again takes the rate for its peak."""
    return "OneCycleLR" in program.names_called


@rule("code.lr-zero")
def rate_of_nothing(program: Program) -> Iterator[Finding]:
    """A rate of 0, or one that Adam's steps of its size cannot move a weight of fp32 with (2^-24 of a weight of 0.1)."""
    if is_reset(program, "lr") or "OneCycleLR" in program.names_called:
        return
    for call in optimizers(program):
        rate = program.values.number(option(program, call, "lr", 1))
        if rate is not None and rate < 1e-8 and program.makers.class_name(call) in (*ADAPTIVE, *PROPORTIONAL):
            yield Finding(call.lineno, "", {"rate": shown(rate)}, sure=rate == 0)


@rule("code.lr-is-text")
def rate_is_text(program: Program) -> Iterator[Finding]:
    for call in optimizers(program):
        node = option(program, call, "lr", 1)
        value = program.values.of(node)
        if isinstance(value, str) and looks_like_number(value) and node is not None:
            yield Finding(call.lineno, source_of(call).replace(source_of(node), value, 1), {"rate": value})


def looks_like_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@rule("code.betas-swapped")
def betas_swapped(program: Program) -> Iterator[Finding]:
    for call in optimizers(program):
        betas = program.values.of(option(program, call, "betas"))
        if not isinstance(betas, list) or len(betas) != 2 or not all(map(is_number, betas)):
            continue
        if betas[0] > betas[1] and betas[0] >= 0.95:
            given = option(program, call, "betas")
            corrected = source_of(call).replace(source_of(given), f"({betas[1]:g}, {betas[0]:g})", 1) if given else ""
            finding = Finding(call.lineno, corrected, {"first": shown(betas[0]), "second": shown(betas[1])})
            parts = program.names.origin(given).node if given is not None else None
            yield where_set(program, finding, *(parts.elts if isinstance(parts, (ast.Tuple, ast.List)) else [given]))


@rule("code.momentum-too-high")
def momentum_too_high(program: Program) -> Iterator[Finding]:
    for call in optimizers(program):
        momentum = program.values.number(
            option(program, call, "momentum", 2 if program.makers.class_name(call) == "SGD" else None)
        )
        if momentum is not None and momentum >= 0.995:
            yield Finding(call.lineno, "", {"momentum": shown(momentum)}, sure=momentum >= 1)


@rule("code.epsilon-absurd")
def epsilon_absurd(program: Program) -> Iterator[Finding]:
    """0: a weight whose gradients are all 0 becomes 0/0. 1e-2 and more: the root of the second moment (about the size of a
    gradient) no longer decides, and the step is that of descent at lr/eps."""
    for call in optimizers(program):
        if program.makers.class_name(call) not in ADAPTIVE:
            continue
        epsilon = program.values.number(option(program, call, "eps", 3))
        if epsilon is not None and (epsilon == 0 or epsilon >= 1e-2):
            yield Finding(call.lineno, "", {"epsilon": shown(epsilon)}, sure=epsilon == 0)


@rule("code.weight-decay-too-high")
def weight_decay_too_high(program: Program) -> Iterator[Finding]:
    """Decoupled decay bounds a weight at 1/decay (each step adds at most lr and takes lr * decay of it away); decay that is
    added to the gradient is weighed against the loss itself, and of an adaptive optimizer decides the step wherever it is
    larger than the gradient: published runs with Adam's own have 1e-6 to 5e-4 (LightGCN 1e-4, GCN 5e-4)."""
    for call in optimizers(program):
        name = program.makers.class_name(call)
        decay = program.values.number(option(program, call, "weight_decay"))
        if decay is None:
            continue
        decoupled = "W" in name or name in ("Lion", "Muon", "Lamb", "LAMB")
        limit, likely = (10.0, 2.0) if decoupled else (0.5, 0.01 if name in ADAPTIVE else 0.1)
        if decay >= likely and holds_a_model(program, call):
            yield Finding(call.lineno, "", {"decay": shown(decay), "optimizer": name}, sure=decay >= limit)


@rule("code.optimizer-remade")
def optimizer_remade(program: Program) -> Iterator[Finding]:
    """The optimizer is made in the loop that steps it: moments and momentum begin anew each time."""
    for cycle in program.cycles:
        loops = cycle.of("step")[0].loops
        for step in cycle.of("step")[:1]:
            call = program.makers.call_of(receiver_of(step.node)) if isinstance(step.node, ast.Call) else None
            if call is None or program.makers.class_name(call) not in OPTIMIZERS or step.at.callers:
                continue
            around = [loop for loop in loops if program.nodes.encloses(loop, call)]
            if not around or models_made_in(program, around[-1], call):
                continue
            plain = program.makers.class_name(call) == "SGD" and not program.values.number(option(program, call, "momentum"))
            if plain:
                continue
            yield Finding(call.lineno, "", sure=around[-1] is loops[-1], also=[step.line])


def models_made_in(program: Program, loop: ast.AST, optimizer: ast.Call) -> bool:
    """The weights are made in the same loop: folds, trials, stages."""
    given = optimizer.args[:1] or [each.value for each in optimizer.keywords if each.arg == "params"]
    for holder in [each for one in given for each in program.objects.parameters_in(one)]:
        if any(program.nodes.encloses(loop, binding.node) for binding in program.names.all_given(holder)):
            return True
    text = source_of(loop).split(":", 1)[0].lower()
    return any(
        word in text
        for word in ("fold", "trial", "run", "seed", "stage", "phase", "task", "lr", "config", "client", "round")
    )


@rule("code.model-remade")
def model_remade(program: Program) -> Iterator[Finding]:
    """The model is made in the training loop, and the optimizer holds the first one."""
    for cycle in program.cycles:
        for step in cycle.of("step")[:1]:
            optimizer = program.makers.call_of(receiver_of(step.node)) if isinstance(step.node, ast.Call) else None
            if optimizer is None or step.at.callers or program.makers.class_name(optimizer) not in OPTIMIZERS:
                continue
            for holder in program.objects.parameters_in(optimizer):
                for binding in program.names.all_given(holder):
                    inside = [loop for loop in step.loops if program.nodes.encloses(loop, binding.node)]
                    if not inside or binding.value is None or program.nodes.encloses(inside[0], optimizer):
                        continue
                    if program.makers.makes_layer(binding.value):
                        yield Finding(binding.line, "", {"model": source_of(holder)}, also=[optimizer.lineno])
