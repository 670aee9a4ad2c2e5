"""Rules about the graph of a loss: where it is cut, and where nothing has a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import attached, is_quiet, losses_of, reaching
from ...program.makers import LINEAR
from ...program.objects import is_optimizer_class
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, line_of, name_called, names_in, receiver_of, source_of

MAKERS = ("tensor", "as_tensor", "Tensor", "FloatTensor", "from_numpy", "Variable")
DEEP = 20  # assignments that a value is followed through
CUTS = ("item", "tolist", "numpy", "detach")


@rule("code.loss-rebuilt")
def loss_rebuilt(program: Program) -> Iterator[Finding]:
    """`loss = torch.tensor(loss.item(), requires_grad=True)` on its way to backward()."""
    for loop in program.training_loops:
        losses = {name for _, name in program.backward_calls(loop)} - {""}
        for node in program.nodes.below(loop):
            if not isinstance(node, ast.Assign) or not losses & target_names(node):
                continue
            inner = what_is_remade(node.value)
            if inner is None:
                continue
            yield Finding(line_of(node), mended(node, inner))
    yield from cut_on_the_way(program)


def cut_on_the_way(program: Program) -> Iterator[Finding]:
    """`loss = loss_of(x).detach()` ... `loss.backward()`: no term of the loss has a graph."""
    for timeline in program.timelines:
        for event in timeline.of("backward"):
            terms = program.losses.terms(event.node) if isinstance(event.node, ast.Call) else []
            cuts = [term.cut for term in terms]
            first = cuts[0] if cuts else None
            if first is None or any(cut is None for cut in cuts):
                continue
            held = first.func.value if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) else None
            held = first.value if isinstance(first, ast.Attribute) else held
            corrected = (
                program.line_text(line_of(first)).replace(source_of(first), source_of(held)) if held is not None else ""
            )
            yield Finding(line_of(first), corrected, also=[event.line])


def mended(node: ast.Assign, inner: ast.AST) -> str:
    name, value = source_of(node.targets[0]), source_of(inner)
    return f"{name}.backward()  # the line above it goes" if name == value else f"{name} = {value}"


def target_names(node: ast.Assign) -> set[str]:
    return {name for target in node.targets for name in names_in(target)}


def what_is_remade(value: ast.AST) -> ast.expr | None:
    """`x` of `torch.tensor(x.item())`, `x.detach().requires_grad_()`."""
    if not isinstance(value, ast.Call):
        return None
    if name_called(value) in MAKERS and value.args:
        return next((cut for each in ast.walk(value.args[0]) if (cut := cut_off(each)) is not None), None)
    if name_called(value) == "requires_grad_" and isinstance(value.func, ast.Attribute):
        return cut_off(value.func.value) or what_is_remade(value.func.value)
    return None


def cut_off(node: ast.AST) -> ast.expr | None:
    """`x` of `x.detach()`, `x.item()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CUTS:
        return node.func.value
    return None


@rule("code.detached")
def hidden_detached(program: Program) -> Iterator[Finding]:
    """`h = model.body(x).detach(); loss = ...(model.head(h))` while the optimizer is given all of `model`: nothing but
    the head learns. A probe whose optimizer has the head alone, a discriminator's `D(fake.detach())` and a recurrent
    state that is carried on are right."""
    yield from cut_in_forward(program)
    trained = roots_of_optimizers(program)
    if not trained:
        return
    for loop in program.training_loops:
        flow = Flow(program, loop)
        for call, loss in program.backward_calls(loop):
            cut = flow.cut_between(loss, call.lineno, trained)
            if cut is not None:
                yield Finding(line_of(cut), program.line_text(cut.lineno).replace(".detach()", ""))


def cut_in_forward(program: Program) -> Iterator[Finding]:
    """`return self.head(h).detach()` in forward(): no loss of what it returns has a gradient."""
    for criterion in program.losses.all_criteria:
        if criterion.given is None or is_quiet(program, criterion.call):
            continue
        for origin in program.names.origins(criterion.given):
            call = origin.node
            forward = program.makers.forward_run(call) if isinstance(call, ast.Call) else None
            if forward is None or is_quiet(program, call) or not learns(program, criterion.call):
                continue
            for value in program.returns_of(forward):
                part = value
                for place in origin.path:
                    inside = isinstance(part, (ast.Tuple, ast.List)) and 0 <= place < len(part.elts)
                    part = part.elts[place] if inside else part  # type: ignore[attr-defined]
                cut = cut_off(part)
                if cut is not None:
                    yield Finding(
                        value.lineno,
                        program.line_text(value.lineno).replace(".detach()", "").replace(".data", ""),
                        also=sorted({criterion.call.lineno} - {value.lineno}),
                    )


def learns(program: Program, call: ast.Call) -> bool:
    """The loss stands where a gradient is asked for: in a training loop, or in a step of Lightning or of a Trainer."""
    function = program.function_of(call)
    name = getattr(function, "name", "")
    return is_stepped(program, call) or name in ("training_step", "compute_loss")


def roots_of_optimizers(program: Program) -> set[str]:
    """`model` of `AdamW(model.parameters(), ...)`."""
    found = set()
    for call in program.calls_to("parameters"):
        taker = program.nodes.parents.get(call)
        if not isinstance(taker, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if is_optimizer_class(program.name_of(taker.func)):
            found.add(source_of(call.func.value))
    return found


class Flow:
    """What a loss of a loop is made of, name by name, up to the calls of a model."""

    def __init__(self, program: Program, loop: ast.AST):
        self.assigned: dict[str, list[ast.Assign]] = {}
        for node in program.nodes.below(loop):
            if isinstance(node, ast.Assign):
                for name in target_names(node):
                    self.assigned.setdefault(name, []).append(node)

    def cut_between(self, loss: str, line: int, roots: set[str]) -> ast.Call | None:
        """The detach() between two calls on the layers of one trained model, if every way from `loss` to a trained model
        passes such a one."""
        walk = Walk(self, roots)
        for made in self.before(loss, line):
            walk.through(made.value, made.lineno, "", 0)
        return walk.cut if not walk.is_whole else None

    def before(self, name: str, line: int) -> list[ast.Assign]:
        """The last assignment above the line."""
        return [node for node in self.assigned.get(name, []) if node.lineno < line][-1:]


class Walk:
    """One way back from a loss."""

    def __init__(self, flow: Flow, roots: set[str]):
        self.flow = flow
        self.roots = roots
        self.cut: ast.Call | None = None
        self.is_whole = False  # some way meets a trained model that nothing is cut off from

    def through(self, node: ast.AST, line: int, user: str, depth: int) -> bool:
        """`user`: the model whose layers take this value. True where the value is cut off from that same model."""
        if depth > DEEP or self.is_whole:
            return False
        tensor = cut_off(node)
        if tensor is not None and isinstance(node, ast.Call):
            is_own = bool(user) and self.comes_from(user, tensor, line, depth)
            if is_own:
                self.cut = self.cut or node
            return is_own
        if isinstance(node, ast.Call) and root_of(node.func) in self.roots:
            given = [*node.args, *(each.value for each in node.keywords)]
            if not any([self.through(each, line, root_of(node.func), depth + 1) for each in given]):
                self.is_whole = True
            return False
        parts: list[tuple[ast.AST, int]] = [(child, line) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Name):
            parts = [(made.value, made.lineno) for made in self.flow.before(node.id, line)]
        return any([self.through(part, at, user, depth + 1) for part, at in parts])

    def comes_from(self, root: str, node: ast.AST, line: int, depth: int) -> bool:
        if depth > DEEP:
            return False
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and root_of(each.func) == root:
                return True
            made = self.flow.before(each.id, line) if isinstance(each, ast.Name) else []
            if any(self.comes_from(root, one.value, one.lineno, depth + 1) for one in made):
                return True
        return False


def root_of(node: ast.AST) -> str:
    """`model` of `model.lm_head` and of `model`; `self.model` of `self.model.head`."""
    parts = source_of(node).split(".")
    return ".".join(parts[:2]) if parts[0] == "self" else parts[0]


@rule("code.argmax-in-loss")
def argmax_in_loss(program: Program) -> Iterator[Finding]:
    """`criterion(model(x).argmax(1).float(), y)`: what is chosen or rounded has no gradient."""
    if not program.trains:
        return
    for criterion in program.losses.all_criteria:
        if criterion.given is None or not is_stepped(program, criterion.call):
            continue
        chosen = chosen_in(program, criterion.given, 0)
        if chosen is not None:
            yield Finding(chosen.lineno, "", {"function": name_called(chosen)}, also=[criterion.call.lineno])
    yield from chosen_before_another(program)
    yield from chosen_in_a_module(program)


def chosen_before_another(program: Program) -> Iterator[Finding]:
    """`emb(gen(x).argmax(-1))`: a trained model whose choice alone reaches the losses, through another model."""
    losses = list(losses_of(program))
    reached = {one for loss in losses for form in attached(program, loss.form) for one in made_of(program, form)}
    for loss in losses:
        for form in loss.form.below():
            if form.op != "argmax" or is_quiet(program, form.node):
                continue
            for each in attached(program, form.parts[0]):
                models = made_of(program, each)
                if models and models <= program.objects.trained() - reached:
                    yield Finding(form.line, "", {"function": "argmax"}, also=sorted({loss.line} - {form.line}))
                    return


def made_of(program: Program, form: Form) -> frozenset[str]:
    return program.objects.identity(form.node.func) if isinstance(form.node, ast.Call) else frozenset()


def chosen_in_a_module(program: Program) -> Iterator[Finding]:
    """A layer of which forward() uses the choice alone: `self.codes(self.router(x).argmax(-1))`."""
    for function in program.functions:
        owner = program.nodes.parents.get(function)
        if function.name != "forward" or not isinstance(owner, ast.ClassDef) or not program.makers.is_module_class(owner):
            continue
        returned = [program.algebra.of(each) for each in program.returns_of(function)]
        with_gradient = {each.node for form in returned for each in reaching(form)}
        for chosen in [each for form in returned for each in form.below() if each.op == "argmax" and each is not form]:
            for each in chosen.parts[0].below():
                call = each.node
                is_hidden = isinstance(call, ast.Call) and call not in with_gradient and is_only_use(program, call)
                if is_hidden and program.trains and not program.is_conditional(chosen.node, function):
                    yield Finding(chosen.line, "", {"function": "argmax"}, also=sorted({each.line} - {chosen.line}))
                    return


def is_only_use(program: Program, call: ast.Call) -> bool:
    """`self.router(x)` of a dense layer that nothing else asks."""
    made = program.makers.call_of(call.func) if isinstance(call.func, ast.Attribute) else None
    if made is None or program.makers.class_name(made) not in LINEAR:
        return False
    name = last_name(call.func)
    return sum(each.attr == name for each in program.nodes.of_kind(ast.Attribute)) == 2  # where it is made, and here


def is_stepped(program: Program, call: ast.Call) -> bool:
    """Whether some backward pass goes through the loss."""
    for timeline in program.timelines:
        for event in timeline.of("backward"):
            if isinstance(event.node, ast.Call) and any(term.node is call for term in program.losses.terms(event.node)):
                return True
    return False


def chosen_in(program: Program, node: ast.AST, depth: int) -> ast.Call | None:
    """argmax(), round() or sign() on the way from a model to its loss."""
    origin = program.names.origin(node).node
    if not isinstance(origin, ast.Call) or depth > 6:
        return None
    name = name_called(origin)
    of_torch = program.name_of(origin.func).startswith("torch.")
    held = origin.args[0] if of_torch and origin.args else receiver_of(origin)
    if name in ("argmax", "round", "sign", "heaviside", "bool", "long", "int") and held is not origin.func:
        return origin if comes_from_model(program, held, 0) else None
    if name in ("float", "to", "squeeze", "unsqueeze", "view", "reshape", "type", "double", "requires_grad_", "flatten"):
        return chosen_in(program, held, depth + 1)
    return None


def comes_from_model(program: Program, node: ast.AST, depth: int) -> bool:
    origin = program.names.origin(node).node
    for each in ast.walk(origin):
        if isinstance(each, ast.Call) and program.objects.event_of(each)[0] == "forward":
            return True
        if isinstance(each, ast.Name) and each is not origin and depth < 4 and comes_from_model(program, each, depth + 1):
            return True
    return False


@rule("code.smoothing-over-padding")
def smoothing_over_padding(program: Program) -> Iterator[Finding]:
    """Labels smoothed by hand: the part of the label leaves padding out, and the part of all classes counts it."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != "nll_loss" or criterion.given is None or keyword_of(criterion.maker, "ignore_index") is None:
            continue
        given = program.algebra.of(criterion.given)
        function = program.function_of(criterion.call)
        for call in program.calls_in(function):
            form = program.algebra.of(call)
            inner = form.parts[0] if form.op in ("mean", "sum") and form.parts else None
            if form.node is not call or inner is None or inner.op not in ("mean", "sum") or inner.parts[0].key != given.key:
                continue
            yield Finding(
                call.lineno, "F.cross_entropy(logits, target, ignore_index=pad, label_smoothing=0.1)",
                also=sorted({criterion.call.lineno} - {call.lineno}),
            )  # fmt: skip
            return
