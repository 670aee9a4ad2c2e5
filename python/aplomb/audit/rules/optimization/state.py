"""Rules about which weights move: what is frozen in name only, averages that are trained too, losses that do not reach the
weights which the step is for, and decay on the wrong ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import attached, is_forward, is_quiet, losses_of, reaching
from ...program.program import Program
from ...program.syntax import last_name, line_of, name_called, receiver_of, source_of

PARTS = (
    "fc","classifier", "features", "backbone", "encoder", "decoder", "head", "heads", "layer2", "layer3", "layer4",
    "base_model", "bert", "roberta", "distilbert", "conv1", "embeddings", "embedding", "lm_head", "vision_model", "trunk",
    "stem", "body",
)  # fmt: skip
CHANGES = ("mul_", "lerp_", "copy_", "add_")


@rule("code.module-switch-does-nothing")
def module_switch_does_nothing(program: Program) -> Iterator[Finding]:
    """`net.features.requires_grad = False`: an attribute of the module, which no weight asks."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Attribute) or target.attr != "requires_grad":
            continue
        value = program.values.of(node.value)
        held = target.value
        if (
            not isinstance(value, bool)
            or last_name(held) in ("weight", "bias", "data")
            or not is_module(program, held)
        ):
            continue
        corrected = f"{source_of(held)}.requires_grad_({value})"
        yield Finding(node.lineno, corrected, {"module": source_of(held), "value": str(value)})


def is_module(program: Program, node: ast.expr) -> bool:
    """Made as a layer or a model, or a part of a model that is always one."""
    made = program.makers.call_of(node)
    if made is not None:
        name = program.name_of(made.func)
        if name.startswith("torch.nn.") and name.rsplit(".", 1)[-1] not in ("Parameter", "Buffer"):
            return True
        owner = program.makers.class_made(made)
        if owner is not None:
            return program.makers.is_module_class(owner)
    if isinstance(node, ast.Attribute):
        return node.attr in PARTS and is_model_like(program, node.value)
    if not isinstance(node, ast.Name):
        return False
    binding = program.names.given(node)
    return binding is not None and binding.how == "assigned" and program.objects.is_model(node)


def is_model_like(program: Program, node: ast.expr) -> bool:
    if isinstance(node, ast.Name) and node.id == "self":
        return program.names.class_of(node) is not None
    return program.objects.is_model(node)


# --- averages


@rule("code.average-trained-too")
def average_trained_too(program: Program) -> Iterator[Finding]:
    """What follows the network as an average of it is given its own gradient as well."""
    averages = [each for each in averaged_modules(program) if not is_kept_still(program, each)]
    if not averages:
        return
    for loss in losses_of(program):
        for call in live_passes(program, loss.form):
            for each in averages:
                same = program.objects.identity(each) & program.objects.identity(call.func)
                if same and is_in_optimizer(program, each):
                    yield Finding(
                        call.lineno, f"with torch.no_grad(): {source_of(call)}", {"average": source_of(each)},
                        also=sorted({line_of(each)} - {call.lineno}),
                    )  # fmt: skip
                    return


def live_passes(program: Program, form: Form, depth: int = 0) -> Iterator[ast.Call]:
    """The forward passes that a value has a gradient for, those inside the forward() of the program's modules too."""
    for each in attached(program, form):
        if isinstance(each.node, ast.Call):
            yield each.node
            forward = program.makers.forward_run(each.node)
            if forward is not None and depth < 4:
                for value in program.returns_of(forward):
                    yield from live_passes(program, program.algebra.of(value), depth + 1)


def averaged_modules(program: Program) -> Iterator[ast.expr]:
    """`target` of `for o, t in zip(online.parameters(), target.parameters()): t.lerp_(o, 0.01)`."""
    for loop in program.nodes.of_kind(ast.For):
        over, target = loop.iter, loop.target
        if not isinstance(over, ast.Call) or name_called(over) != "zip" or not isinstance(target, ast.Tuple):
            continue
        changed = {
            last_name(receiver_of(call)) if source_of(receiver_of(call)).count(".") == 0
            else source_of(receiver_of(call)).split(".")[0]
            for call in program.calls_in(loop)
            if name_called(call) in CHANGES
        }  # fmt: skip
        for part, source in zip(target.elts, over.args):
            if isinstance(part, ast.Name) and part.id in changed and name_called(source) == "parameters":
                yield receiver_of(source)  # type: ignore[arg-type]


def is_kept_still(program: Program, node: ast.expr) -> bool:
    """Its weights are told to need no gradient, somewhere."""
    identity = program.objects.identity(node)
    origin = program.names.origin(node).node
    if any(name_called(each) == "requires_grad_" for each in ast.walk(origin)):
        return True
    for call in program.calls_to("requires_grad_"):
        if program.objects.identity(receiver_of(call)) & identity:
            return True
    for loop in program.nodes.of_kind(ast.For):
        if name_called(loop.iter) in ("parameters", "named_parameters") and isinstance(loop.iter, ast.Call):
            text = "".join(source_of(each) for each in loop.body)
            if "requires_grad" in text and program.objects.identity(receiver_of(loop.iter)) & identity:
                return True
    return False


def is_in_optimizer(program: Program, node: ast.expr) -> bool:
    """Some optimizer holds it, or the whole module that it is a part of."""
    if program.objects.identity(node) & program.objects.trained():
        return True
    owner = program.names.class_of(node) if source_of(node).startswith("self.") else None
    for call, _ in program.objects.optimizers_made():
        given = call.args[:1]
        for holder in program.objects.parameters_in(given[0]) if given else []:
            if (
                owner is not None
                and program.makers.definition(holder) is owner
                and "requires_grad" not in source_of(given[0])
            ):
                return True
    return False


# --- what a step is for


@rule("code.loss-misses-its-weights")
def loss_misses_its_weights(program: Program) -> Iterator[Finding]:
    """A loss, then the step of an optimizer whose model stands in that loss behind detach() alone."""
    held = {identity: program.objects.held(call) for call, target in program.objects.optimizers_made()
            for identity in program.objects.identity(target)}  # fmt: skip
    forms = {loss.node: loss.form for loss in losses_of(program)}
    seen: set[ast.AST] = set()
    for cycle in program.cycles:
        events = cycle.of("backward", "step")
        for place, event in enumerate(events[:-1]):
            step = events[place + 1]
            form = forms.get(event.node)
            if event.kind != "backward" or step.kind != "step" or form is None or event.node in seen:
                continue
            models = frozenset().union(*(held.get(each, frozenset()) for each in step.subjects))
            place_cut = cut_pass(program, form, models) if models else None
            if place_cut is not None:
                seen.add(event.node)
                yield Finding(
                    line_of(place_cut), "", {"model": source_of(place_cut.func)[:40]},
                    also=sorted({event.line, step.line} - {line_of(place_cut)}),
                )  # fmt: skip


def cut_pass(program: Program, form: Form, models: frozenset[str]) -> ast.Call | None:
    """A forward pass of one of the models in a loss that has a gradient for none of them."""
    passes = [each.node for each in form.below() if is_forward(program, each) and isinstance(each.node, ast.Call)]
    own = [each for each in passes if program.objects.identity(each.func) & models]
    if not own or len(models) != 1:
        return None
    reached = {each.node for each in reaching(form) if not is_quiet(program, each.node)}
    live = [each for each in passes if each in reached]
    return own[0] if live and not any(each in reached for each in own) else None


# --- decay


SMALL = re.compile(r"ndim\s*(<|<=|==)\s*[12]|dim\(\)\s*(<|<=|==)\s*[12]|shape\)\s*(==|<=)\s*1")
SPARED = re.compile(r"bias|norm|\bln|no_decay|gamma|bn")


@rule("code.decay-on-wrong-weights")
def decay_on_wrong_weights(program: Program) -> Iterator[Finding]:
    """Biases and scales are decayed, and the matrices are not."""
    lists = {name: (small, node) for name, small, node in parted_weights(program)}
    groups = [(group_of(program, node), node) for node in program.nodes.of_kind(ast.Dict)]
    told = [(name, decay, node) for (name, decay), node in groups if name in lists or isinstance(name, bool)]
    wrong = [each for each in told if each[1] > 0 and is_small(lists, each[0])]
    spared = [each for each in told if each[1] == 0 and not is_small(lists, each[0])]
    if wrong and spared:
        yield Finding(
            wrong[0][2].lineno, "", {"decayed": "the biases and scales"},
            also=sorted({spared[0][2].lineno} - {wrong[0][2].lineno}),
        )  # fmt: skip


def is_small(lists: dict[str, tuple[bool, ast.AST]], name: str | bool) -> bool:
    return name if isinstance(name, bool) else lists[name][0]


def group_of(program: Program, node: ast.Dict) -> tuple[str | bool, float]:
    """(name of the list, decay) of `{"params": decay, "weight_decay": 0.1}`; where the list stands there itself, whether it
    is that of the small ones."""
    held = {key.value: value for key, value in zip(node.keys, node.values) if isinstance(key, ast.Constant)}
    params, decay = held.get("params"), held.get("weight_decay")
    if params is None or decay is None:
        return "", -1.0
    value = program.values.number(decay)
    size = value if value is not None else 1.0  # a setting: some decay
    small = chooses_small(params)
    return (small if small is not None else last_name(params)), size


def chooses_small(node: ast.AST) -> bool | None:
    """Whether `[p for n, p in ... if any(nd in n for nd in no_decay)]` takes biases and scales."""
    if not isinstance(node, (ast.ListComp, ast.GeneratorExp)) or len(node.generators) != 1:
        return None
    tests = node.generators[0].ifs
    return small_test(tests[0]) if len(tests) == 1 else None


def small_test(test: ast.AST) -> bool | None:
    """Whether a test holds for biases and scales; None where it cannot be told."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = small_test(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        found = {small_test(each) for each in test.values} - {None}
        return found.pop() if len(found) == 1 else None
    text = source_of(test)
    if SMALL.search(text):
        return True
    if re.search(r"(ndim|dim\(\))\s*>=?\s*[12]", text):
        return False
    named = isinstance(test, (ast.Call, ast.Compare)) and bool(SPARED.search(text.lower()))
    return "not in" not in text if named else None


def parted_weights(program: Program) -> Iterator[tuple[str, bool, ast.AST]]:
    """(list, whether it takes the biases and scales, place) of an `if` in a loop over named_parameters()."""
    for branch in program.nodes.of_kind(ast.If):
        loops = program.loops_of(branch)
        if not loops or not isinstance(loops[0], ast.For) or "parameters" not in source_of(loops[0].iter):
            continue
        small = small_test(branch.test)
        if small is None:
            continue
        for body, holds in ((branch.body, small), (branch.orelse, not small)):
            for each in body:
                call = each.value if isinstance(each, ast.Expr) else None
                if isinstance(call, ast.Call) and name_called(call) == "append":
                    yield last_name(receiver_of(call)), holds, branch
