"""Rules about models that make things: latents and their divergence, noise schedules, opponents, codes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form, Product, product, terms
from ...program.gradients import directions, is_quiet, losses_of, name_of_call, reaching
from ...program.program import Program
from ...program.syntax import keyword_of, line_of, name_called, source_of

LOG_VARIANCE = re.compile(r"log_?var|log_?sigma_?(2|sq)|log_?variance|logv$|lv$")
LOG_DEVIATION = re.compile(r"log_?(std|sigma$|sd|scale|stddev)")
NOISE = ("randn_like", "randn", "normal", "normal_like", "standard_normal")
NOISE_WORDS = ("eps", "epsilon", "noise", "xi")


def is_noise(form: Form) -> bool:
    return name_of_call(form) in NOISE or form.called(*NOISE_WORDS)


# --- latents


@rule("code.variance-for-deviation")
def variance_for_deviation(program: Program) -> Iterator[Finding]:
    """Noise is scaled by exp(logvar), the variance, where the deviation exp(logvar / 2) is meant; or by the root of the
    deviation."""
    if not program.names_called & {*NOISE, "Normal"}:
        return
    structural = log_variances(program)
    places: list[ast.expr] = program.nodes.in_order(
        [*program.nodes.of_kind(ast.BinOp), *program.calls_to("Normal", "addcmul", "add", "mul")]
    )
    for node in places:
        form = (
            program.algebra.of(node) if not isinstance(node, ast.BinOp) or isinstance(node.op, (ast.Add, ast.Mult)) else None
        )
        if form is None or form.node is not node:
            continue
        scales: list[Form] = []
        if (
            isinstance(node, ast.Call)
            and form.op == "call"
            and name_of_call(form) == "normal"
            and form.name.rsplit(".", 1)[-1] == "Normal"
        ):
            scales = list(form.parts[1:2])
        elif form.op == "add":
            for _, each in terms(form):
                held = product(each)
                if any(is_noise(one) for one in held.factors):
                    scales += [one for one in held.factors if not is_noise(one)]
        for scale in scales:
            wrong = wrong_scale(scale, structural)
            if wrong:
                yield Finding(
                    line_of(node),
                    "",
                    {"scale": source_of(scale.node)[:60], "is": wrong},
                    also=sorted({scale.line} - {line_of(node), 0}),
                )
                break


def wrong_scale(scale: Form, structural: set[str]) -> str:
    """What the scale is, where it is no deviation."""
    if scale.op == "exp":
        held = product(scale.parts[0])
        if len(held.factors) != 1:
            return ""
        inner = held.factors[0]
        if held.coefficient == 1.0 and (any(LOG_VARIANCE.search(word) for word in inner.words) or inner.key in structural):
            return "the variance"
        if (
            held.coefficient == 0.5
            and any(LOG_DEVIATION.search(word) for word in inner.words)
            and not any(LOG_VARIANCE.search(word) for word in inner.words)
        ):
            return "the root of the deviation"
    if scale.op in ("name", "call", "index", "key", "slice"):
        if any(LOG_VARIANCE.search(word) for word in scale.words) or scale.key in structural:
            return "the logarithm of the variance"
        if any(LOG_DEVIATION.search(word) for word in scale.words):
            return "the logarithm of the deviation"
    return ""


def log_variances(program: Program) -> set[str]:
    """X of `1 + X - mu^2 - exp(X)`."""
    found = set()
    for _, form in divergences(program):
        exps = [each.parts[0] for _, each in terms(form) if each.op == "exp"]
        singles = {each.key for _, each in terms(form) if each.op not in ("exp", "square", "number")}
        found |= {each.key for each in exps if each.key in singles}
    return found


def divergences(program: Program) -> Iterator[tuple[ast.AST, Form]]:
    """Sums that hold a square, exp(X) and X: a divergence of Gaussians."""
    if "exp" not in program.names_called:
        return
    for node in program.nodes.of_kind(ast.BinOp):
        if (
            not isinstance(node.op, (ast.Add, ast.Sub))
            or isinstance(program.nodes.parents.get(node), ast.BinOp)
            and is_sum(program.nodes.parents[node])
        ):
            continue
        form = program.algebra.of(node)
        found = terms(form)
        exps = [each.parts[0].key for _, each in found if each.op == "exp"]
        if (
            3 <= len(found) <= 5
            and any(each.op == "square" for _, each in found)
            and any(each.key in exps for _, each in found)
        ):
            yield node, form


def is_sum(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))


@rule("code.divergence-formula")
def divergence_formula(program: Program) -> Iterator[Finding]:
    """A term of `-0.5 * (1 + logvar - mu^2 - exp(logvar))` has the wrong sign."""
    for node, form in divergences(program):
        found = terms(form)
        exponents = [each.parts[0].key for _, each in found if each.op == "exp"]
        square = next(sign for sign, each in found if each.op == "square")
        variance = next(sign for sign, each in found if each.op == "exp")
        logarithm = next(sign for sign, each in found if each.key in exponents)
        if square != variance or logarithm == square:
            yield Finding(
                line_of(node), "kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(-1)", {"sum": source_of(node)[:80]}
            )


# --- noise schedules


@rule("code.noise-not-cumulative")
def noise_not_cumulative(program: Program) -> Iterator[Finding]:
    """`sqrt(a[t]) * x0 + sqrt(1 - a[t]) * eps` with the factor of one step instead of the product of all steps."""
    if not program.names_called & {"sqrt"}:
        return
    places: list[ast.expr] = program.nodes.in_order([*program.nodes.of_kind(ast.BinOp), *program.calls_to("addcmul", "add")])
    for node in places:
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add):
            continue
        form = program.algebra.of(node)
        if form.op != "add" or form.node is not node:
            continue
        held = [product(each) for _, each in terms(form)]
        if len(held) != 2 or any(each.divisors for each in held):
            continue
        roots = [[one.parts[0] for one in each.factors if one.op == "sqrt"] for each in held]
        if [len(each) for each in roots] != [1, 1] or not any(is_noise(one) for each in held for one in each.factors):
            continue
        one, other = roots[0][0], roots[1][0]
        kept = one if is_complement(other, one) else other if is_complement(one, other) else None
        if kept is None or not any(each.op == "index" for each in kept.below()):
            continue
        base = next(each for each in kept.below() if each.op == "index").parts[0]
        if is_one_step(base) and not refers_to_itself(program, node, held):
            yield Finding(
                line_of(node),
                "alphas_cumprod = torch.cumprod(1 - betas, dim=0)",
                {"factor": source_of(kept.node)[:60]},
                also=sorted({kept.line} - {line_of(node), 0}),
            )


@rule("code.noise-spread-not-rooted")
def noise_spread_not_rooted(program: Program) -> Iterator[Finding]:
    """`sqrt(a) * x0 + (1 - a) * eps`: one share is a root and the other is not, so the variances do not add up to 1."""
    if not program.names_called & {"sqrt", "pow"} or not program.names_called & {*NOISE, "Normal"}:
        return
    places: list[ast.expr] = program.nodes.in_order([*program.nodes.of_kind(ast.BinOp), *program.calls_to("addcmul", "add")])
    for node in places:
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Add):
            continue
        form = program.algebra.of(node)
        held = [product(each) for _, each in terms(form)] if form.op == "add" and form.node is node else []
        if len(held) != 2 or any(each.divisors or len(each.factors) != 2 for each in held):
            continue
        noisy = [any(is_noise(one) for one in each.factors) for each in held]
        if noisy[0] == noisy[1]:
            continue
        shares = [next((one for one in each.factors if not is_noise(one)), None) for each in held]
        scale = shares[noisy.index(True)]
        factors = held[noisy.index(False)].factors
        if scale is not None and any(is_half_rooted(each, scale) for each in factors):
            yield Finding(line_of(node), "a.sqrt() * x0 + (1 - a).sqrt() * noise", {"scale": source_of(scale.node)[:60]})


def is_half_rooted(kept: Form, scale: Form) -> bool:
    """sqrt(a) beside 1 - a, or a beside sqrt(1 - a)."""
    if kept.op == "sqrt" and scale.op != "sqrt":
        return is_complement(scale, kept.parts[0])
    return kept.op != "sqrt" and scale.op == "sqrt" and is_complement(scale.parts[0], kept)


def is_complement(one: Form, other: Form) -> bool:
    """one = 1 - other."""
    return one.op == "sub" and one.parts[0].value == 1.0 and one.parts[1].key == other.key


def is_one_step(base: Form) -> bool:
    """1 - beta, or beta itself, with no product over the steps."""
    if any(
        each.op in ("cumprod", "cos", "sigmoid", "exp") or name_of_call(each) in ("cumprod", "prod", "accumulate")
        for each in base.below()
    ):
        return False
    is_beta = base.mentions("beta", "betas") or any(name_of_call(each) == "linspace" for each in base.below())
    made = (base.op == "sub" and base.parts[0].value == 1.0) or name_of_call(base) == "linspace"
    return is_beta and made


def refers_to_itself(program: Program, node: ast.AST, held: list[Product]) -> bool:
    """`x = sqrt(a) * x + ...`: one step after the other."""
    statement = program.statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return bool(names & {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}) and bool(held)


@rule("code.velocity-reversed")
def velocity_reversed(program: Program) -> Iterator[Finding]:
    """Flow matching: the path goes from one end to the other with t, and the target velocity goes back."""
    if not program.names_called & {"backward", "manual_backward"} or not program.names_called & {"rand", "lerp", "sigmoid"}:
        return
    paths = list(paths_of(program))
    for loss in losses_of(program):
        for target in compared(loss.form):
            ends = (target.parts[0].key, target.parts[1].key) if target.op == "sub" else ("", "")
            for start, end, _ in paths:
                if ends == (start.key, end.key) and start.key != end.key:
                    corrected = f"target = {source_of(end.node)} - {source_of(start.node)}"
                    yield Finding(target.line, corrected, also=sorted({loss.line} - {target.line}))
                    return


def compared(form: Form) -> Iterator[Form]:
    """Both sides of every squared difference in a loss."""
    for each in form.below():
        if each.op == "square" and each.parts[0].op == "sub":
            yield from each.parts[0].parts
        elif name_of_call(each) == "mse_loss" and len(each.parts) > 1:
            yield from each.parts[:2]


def paths_of(program: Program) -> Iterator[tuple[Form, Form, Form]]:
    """start, end and t of every interpolation."""
    places: list[ast.expr] = [*program.nodes.of_kind(ast.BinOp), *program.calls_to("lerp")]
    for node in places:
        form = program.algebra.of(node)
        if form.op == "call" and name_of_call(form) == "lerp" and len(form.parts) == 3:
            yield form.parts[0], form.parts[1], form.parts[2]
        elif form.op == "add":
            yield from interpolations(form)


def interpolations(form: Form) -> Iterator[tuple[Form, Form, Form]]:
    """start, end and t of `(1 - t) * start + t * end`."""
    held = [product(each) for sign, each in terms(form) if sign > 0]
    if len(held) != 2 or any(len(each.factors) != 2 or each.divisors for each in held):
        return
    for one, other in (held, held[::-1]):
        for at in (0, 1):
            rest = one.factors[at]
            for place in (0, 1):
                if is_complement(rest, other.factors[place]):
                    yield one.factors[1 - at], other.factors[1 - place], other.factors[place]
                    return


# --- opponents


def is_judge(form: Form) -> bool:
    name = name_of_call(form)
    return form.op == "call" and (
        any(word in name for word in ("critic", "disc", "netd")) or name in ("d", "dis", "adversary")
    )


def is_made(form: Form) -> bool:
    """What a generator made."""
    return any(
        each.called("fake", "fakes", "generated", "gen_imgs", "fake_imgs", "samples_fake", "x_fake")
        or name_of_call(each) in ("g", "gen", "netg", "generator")
        for each in form.below()
    )


@rule("code.opponents-agree")
def opponents_agree(program: Program) -> Iterator[Finding]:
    """The generator's loss pulls the discriminator's answer to what is made in the direction in which the discriminator's
    own loss pulls it, or the discriminator's loss pulls real and made the same way."""
    own: dict[str, set[int]] = {"fake": set(), "real": set()}
    others: list[tuple[int, Form]] = []
    for loss in losses_of(program):
        found = list(directions(loss.form, is_judge))
        real = [(sign, each) for sign, each in found if not any(is_made(part) for part in each.parts)]
        fake = [(sign, each) for sign, each in found if any(is_made(part) for part in each.parts)]
        if real and fake:
            own["fake"] |= {sign for sign, _ in fake}
            own["real"] |= {sign for sign, _ in real}
            if len(own["fake"]) == 1 and own["fake"] == own["real"]:
                yield Finding(
                    fake[0][1].line,
                    "",
                    {"what": "the discriminator's answers to real and to made samples"},
                    also=sorted({loss.line} - {fake[0][1].line}),
                )
                return
        elif fake:
            others += [each for each in fake if has_generator_gradient(program, each[1])]
    if len(own["fake"]) == 1 and others and {sign for sign, _ in others} == own["fake"]:
        yield Finding(others[0][1].line, "", {"what": "the discriminator's answer to what the generator makes"})


def has_generator_gradient(program: Program, judged: Form) -> bool:
    """What is judged was made with a gradient: not detached, not under no_grad()."""
    found = [each for part in judged.parts for each in reaching(part)]
    return any(
        name_of_call(each) in ("g", "gen", "netg", "generator") and not is_quiet(program, each.node) for each in found
    )


# --- codes


@rule("code.no-straight-through")
def no_straight_through(program: Program) -> Iterator[Finding]:
    """A quantiser gives its codes to the decoder as they are: the choice of the nearest has no gradient, and the encoder
    gets none from the reconstruction."""
    for function in program.functions:
        owner = program.names.class_of(function)
        title = (function.name + " " + (owner.name if owner is not None else "")).lower()
        if not ("quant" in title or "codebook" in title or "vq" in title) or function.name == "__init__":
            continue
        for value in program.returns_of(function):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
            for part in parts[:2]:
                form = program.algebra.of(part)
                if is_chosen_code(program, form) and uses_commitment(program, function):
                    made = next(
                        (each.line for each in form.below() if is_lookup(program, each) and each.line), line_of(part)
                    )
                    name = source_of(part)
                    yield Finding(
                        line_of(part),
                        f"{name} = z + ({name} - z).detach()",
                        {"code": name[:40]},
                        also=sorted({made} - {line_of(part)}),
                    )
                    return


def is_chosen_code(program: Program, form: Form) -> bool:
    """A row of the book by the index of the nearest, and nothing of the input added."""
    if form.holds("detach", "add", "sub"):
        lookups = [each for each in form.below() if is_lookup(program, each)]
        return (
            bool(lookups) and form.op not in ("add", "sub") and not any(each.op in ("add",) for each in [form, *form.parts])
        )
    return any(is_lookup(program, each) for each in form.below())


def is_lookup(program: Program, form: Form) -> bool:
    if form.op not in ("call", "index", "matmul"):
        return False
    return any(
        each.op in ("argmin",) or (each.op == "argmax" and name_of_call(form) in ("embedding",))
        for part in form.parts
        for each in part.below()
    ) and not any(each.op in ("mean", "sum") for each in [form])


def uses_commitment(program: Program, function: ast.AST) -> bool:
    """A loss between the code and the input, one of them detached, is taken here."""
    return any(each.attr == "detach" for each in program.nodes.below(function) if isinstance(each, ast.Attribute))


@rule("code.straight-through-reversed")
def straight_through_reversed(program: Program) -> Iterator[Finding]:
    """`zq + (z - zq).detach()`: forward it is z, not quantised, and backward the codes get the gradient of the encoder."""
    for node in program.nodes.of_kind(ast.BinOp):
        call = node.right
        if not isinstance(node.op, ast.Add) or name_called(call) != "detach" or not isinstance(call, ast.Call):
            continue
        inner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Sub):
            continue
        if source_of(inner.right) != source_of(node.left) or source_of(inner.left) == source_of(node.left):
            continue
        code, given = program.algebra.of(node.left), program.algebra.of(inner.left)
        if looks_up(program, code) and not looks_up(program, given):
            one, other = source_of(inner.left), source_of(node.left)
            yield Finding(node.lineno, f"{one} + ({other} - {one}).detach()", {"code": other, "given": one})


def looks_up(program: Program, form: Form) -> bool:
    return any(is_lookup(program, each) for each in form.below())


# --- gradients of gradients


@rule("code.penalty-has-no-gradient")
def penalty_has_no_gradient(program: Program) -> Iterator[Finding]:
    """A loss holds what autograd.grad() gave without create_graph=True: a constant to the backward pass."""
    seen = set()
    for loss in losses_of(program):
        for form in reaching(loss.form):
            if (
                form.op != "call"
                or form.name.split("[")[0].rsplit(".", 2)[-2:] != ["autograd", "grad"]
                or not isinstance(form.node, ast.Call)
            ):
                continue
            keep = keyword_of(form.node, "create_graph")
            if len(form.node.args) > 4 or (keep is not None and not program.values.is_false(keep)) or form.node in seen:
                continue
            if any(each.arg is None for each in form.node.keywords):
                continue
            seen.add(form.node)
            yield Finding(
                form.line, source_of(form.node)[:-1] + ", create_graph=True)", also=sorted({loss.line} - {form.line})
            )


@rule("code.opponent-in-optimizer")
def opponent_in_optimizer(program: Program) -> Iterator[Finding]:
    """The optimizer of one network holds its opponent too: each of its steps trains the opponent to give in."""
    made = [(call, program.objects.held(call)) for call, _ in program.objects.optimizers_made()]
    for call, held in made:
        for other, others in made:
            shared = held & others
            if other is call or not shared or not held - others or others - held:
                continue
            judged = judges(program, shared, held - shared)
            if judged is not None:
                holders = program.objects.parameters_in(call)
                names = [source_of(each) for each in holders if program.objects.identity(each) & shared]
                lines = {each.lineno for each in ast.walk(call) if isinstance(each, ast.expr)} - {call.lineno}
                yield Finding(
                    call.lineno, "", {"opponent": names[0] if names else "the opponent"}, also=sorted(lines)[:2]
                )
                return


def judges(program: Program, judge: frozenset[str], maker: frozenset[str]) -> ast.Call | None:
    """A forward pass of the one over what the other has made."""
    for call in program.calls:
        kind, subjects = program.objects.event_of(call)
        if kind != "forward" or not subjects & judge:
            continue
        for given in call.args:
            for each in program.algebra.of(given).below():
                if isinstance(each.node, ast.Call) and program.objects.event_of(each.node)[1] & maker:
                    return call
    return None
