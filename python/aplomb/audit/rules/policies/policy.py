"""Rules about reinforcement learning: returns past the end of an episode, ratios, entropies, and what an actor climbs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form, averaged, product, terms
from ...program.gradients import Loss, attached, directions, is_forward, is_quiet, losses_of, name_of_call
from ...program.names import Binding
from ...program.program import Program
from ...program.syntax import Function, name_called, receiver_of, source_of, words_in
from .control import ends_not_cut

VALUES = re.compile(
    r"(^|_)(v|vs|val|vals|value|values|q|next|nxt|following|last|bootstrap|q\d|qs|critic|v_next|next_v)(_|\d|$)"
)
ENDS = re.compile(
    r"(^|_)(done|dones|terminated|terminal|terminals|terminations|end|ends|over|truncated|finished|masks?|live|alive|cont|"
    r"continues?|nonterminal|nonterminals|notdone|not_done|running|b?d|nd|ended|not_end|stop|stops|dead)(_|\d|$)"
)
REWARDS = re.compile(r"(^|_)b?(r|rew|rews|reward|rewards|rs)(_|\d|$)")
KEPT_ENDS = re.compile(r"(^|_)(done|dones|terminated|terminal|terminals|terminations|ends|ended)(_|\d|$)")
CRITICS = ("critic", "critics", "q", "qf", "q1", "q2", "qf1", "qf2", "critic1", "critic2", "critic_1", "critic_2", "q_net",
           "qnet", "q_network", "twin")  # fmt: skip
VALUE_NAMES = (
    "value", "values", "v", "baseline", "val", "vals", "state_value", "state_values", "critic", "value_net", "value_fn",
)  # fmt: skip
ACTORS = ("actor", "policy", "pi", "policy_net", "actor_net")


def named(form: Form, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(each) for each in form.words | ({name_of_call(form)} if form.op == "call" else set()))


def anywhere(form: Form, pattern: re.Pattern[str]) -> bool:
    return any(named(each, pattern) for each in form.below())


def is_discount(form: Form) -> bool:
    if form.called("gamma", "discount", "gam"):
        return True
    return (
        form.op == "number"
        and form.value is not None
        and 0.9 <= form.value < 1
        and not form.called("lam", "lambda", "decay")
    )


# --- what lies behind the end of an episode


@rule("code.bootstrap-through-end")
def bootstrap_through_end(program: Program) -> Iterator[Finding]:
    """`r + gamma * V(next)` where the ends of episodes are at hand and do not cut it."""
    algebra = program.algebra
    if any(True for _ in ends_not_cut(program)):
        return
    if not any(REWARDS.search(each.id.lower()) for each in program.nodes.of_kind(ast.Name)) and not any(
        REWARDS.search(each.attr.lower()) for each in program.nodes.of_kind(ast.Attribute)
    ):
        return
    seen: set[ast.AST] = set()
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, (ast.Add, ast.Sub)) or isinstance(program.nodes.parents.get(node), ast.BinOp):
            continue
        function = program.function_of(node)
        if not isinstance(function, (*Function, ast.Module)) or not knows_ends(program, function):
            continue
        found = terms(algebra.of(node))
        if not any(sign > 0 and named_part(each, REWARDS) for sign, each in found):
            continue
        for sign, each in found:
            ahead = value_ahead(program, each) if sign > 0 else None
            if ahead is None or function in seen or is_carried(program, node, ahead):
                continue
            if is_masked(program, function, each, node):
                continue
            seen.add(function)
            text = source_of(ahead.node) if ahead.node is not node else "next_value"
            yield Finding(node.lineno, "", {"ahead": text[:60]})


def value_ahead(program: Program, form: Form) -> Form | None:
    """`V(next)` of `gamma * V(next)`. A discount that comes with each transition has the ends in it."""
    held = product(form)
    discounts = [each for each in held.factors if is_discount(each)]
    ahead = [each for each in held.factors if not is_discount(each)]
    if any(each.op != "number" and not each.called("gamma", "gam") for each in discounts):
        return None
    discounted = len(discounts) == 1 or 0.9 <= held.coefficient < 1
    if not discounted or len(ahead) != 1:
        return None
    chosen = ahead[0].parts if ahead[0].op == "choice" else (ahead[0],)  # `last if t == T - 1 else values[t + 1]`
    is_value = any(named_part(each, VALUES) for each in chosen)
    return ahead[0] if is_value or is_best_of_network(program, ahead[0]) else None


def is_best_of_network(program: Program, form: Form) -> bool:
    """`net(next).max(1).values`, `net(next).amax(-1)`."""
    while form.op == "index" and form.parts:  # `.gather(1, best)[:, 0]`
        form = form.parts[0]
    taken = name_of_call(form) in ("amax", "max", "gather") or form.op == "max"
    return taken and bool(form.parts) and is_forward(program, form.parts[0])


def named_part(form: Form, pattern: re.Pattern[str]) -> bool:
    return named(form, pattern) or (form.op in ("index", "key") and named(form.parts[0], pattern))


def knows_ends(program: Program, function: ast.AST) -> bool:
    """The function itself has the ends of episodes: as a parameter, a field, a name."""
    for each in program.nodes.below(function):
        name = (
            each.id
            if isinstance(each, ast.Name)
            else each.attr
            if isinstance(each, ast.Attribute)
            else getattr(each, "arg", "")
        )
        if isinstance(name, str) and KEPT_ENDS.search(name.lower()):
            return True
    return leaves_last_unread(program, function)


def leaves_last_unread(program: Program, function: ast.AST) -> bool:
    """`s, a, r, s2, over = batch`, and nothing reads the last one: the ends of a memory of transitions."""
    for node in program.own_nodes(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != 5 or not isinstance(target.elts[4], ast.Name):
            continue
        name = target.elts[4].id
        if not name.startswith("_") and name.lower() not in ("info", "infos", "extra", "weights", "idx", "index"):
            loaded = [one for one in program.nodes.below(function) if isinstance(one, ast.Name) and one.id == name]
            if not any(isinstance(one.ctx, ast.Load) for one in loaded):
                return True
    return False


def is_masked(program: Program, function: ast.AST, form: Form, sum_: ast.AST) -> bool:
    """Something of the ends is a factor of it, or the values are set to zero there."""
    parts = list(before_networks(program, form))
    if any(ENDS.search(word) for each in parts for word in each.words) or any(each.op == "invert" for each in parts):
        return True
    if any(each.op == "sub" and each.parts[0].value == 1.0 for each in parts):
        return True
    names = {each for one in parts for each in one.words}
    above = set(program.enclosing(sum_))
    for node in program.own_nodes(function):
        target = (
            node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AugAssign) else None
        )
        if isinstance(target, ast.Subscript) and words_in(target.value) & names and ends_in(target.slice):
            return True
        if isinstance(node, (ast.If, ast.IfExp)) and ends_in(node.test) and (node in above or decides(node, names)):
            return True
    return False


def decides(branch: ast.If | ast.IfExp, names: set[str]) -> bool:
    """The branch itself speaks of the values: `if done: following = 0.0`."""
    inside = branch.body + branch.orelse if isinstance(branch, ast.If) else [branch.body, branch.orelse]
    return any(words_in(each) & names for one in inside for each in ast.walk(one))


def before_networks(program: Program, form: Form) -> Iterator[Form]:
    """The form and its parts, what networks are given left out: observations know of ends, and mask nothing."""
    waiting = [form]
    for _ in range(2000):
        if not waiting:
            return
        each = waiting.pop()
        yield each
        if not is_forward(program, each):
            waiting += each.parts


def ends_in(node: ast.AST) -> bool:
    names = (each.id if isinstance(each, ast.Name) else getattr(each, "attr", "") for each in ast.walk(node))
    return any(ENDS.search(each.lower()) for each in names if isinstance(each, str))


def is_carried(program: Program, node: ast.AST, ahead: Form) -> bool:
    """`R = r + gamma * R`: the return of one episode, whose end is the end of the sum."""
    statement = program.statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(source_of(each) == source_of(ahead.node) for each in targets)


# --- ratios of the new policy to the old one


@rule("code.old-policy-recomputed")
def old_policy_recomputed(program: Program) -> Iterator[Finding]:
    """The log-probabilities of the old policy are taken from the current one, in each pass over the same rollout."""
    for call in program.calls_to("exp"):
        form = program.algebra.of(call)
        inner = form.parts[0] if form.op == "exp" else form
        if inner.op != "sub" or not inner.parts[0].holds("call"):
            continue
        if is_own_twin(inner) and program.names_called & {"clamp", "clip"} and repeats_pass(program, call):
            yield Finding(inner.parts[1].line or call.lineno, "", {"name": twin_name(inner)},
                          also=sorted({call.lineno} - {inner.parts[1].line}))  # fmt: skip
            return
        place = asked_twice(program, call, inner)
        if place is not None:
            yield Finding(place.line, "", {"name": place.name}, also=[call.lineno])
            return
        for each in ast.walk(call):
            binding = program.names.given(each) if isinstance(each, ast.Name) else None
            if binding is None or binding.how != "assigned" or binding.value is None:
                continue
            old = program.algebra.of(binding.value, binding.path)
            loops = program.loops_of(binding.node)
            mine = program.loops_of(call)
            is_old = is_quiet(program, binding.node) or old.holds("detach")
            if not loops or not is_old or loops[0] not in mine or not calls_probability(old) or loops[0] is mine[0]:
                continue
            loop = loops[0]
            fresh = {"step", "sample", "reset", "rollout", "collect", "generate"}
            inside = {
                name
                for one in program.calls_in(loop)
                if (name := name_called(one)) in fresh and not is_optimizer_step(program, one)
            }
            counted = isinstance(loop, ast.For) and source_of(loop.iter).startswith("range(")
            if inside or not counted or len(program.loops_of(loop)) == 0:
                continue
            yield Finding(binding.line, "", {"name": binding.name}, also=[call.lineno])
            return


def asked_twice(program: Program, call: ast.Call, inner: Form) -> Binding | None:
    """`old` of `exp(logp - old)`, taken without gradients in the very loop that takes logp, from the same weights: it is
    always equal. Passes over the same data are counted around that loop."""
    loops = program.loops_of(call)
    outer = loops[1] if len(loops) > 1 else None
    counted = isinstance(outer, ast.For) and source_of(outer.iter).startswith("range(")
    fresh = {"sample", "reset", "rollout", "collect", "generate", "act"}
    if not counted or outer is None or any(name_called(each) in fresh for each in program.calls_in(outer)):
        return None
    for each in ast.walk(call):
        binding = program.names.given(each) if isinstance(each, ast.Name) else None
        if binding is None or binding.how != "assigned" or binding.value is None or not is_quiet(program, binding.node):
            continue
        old = program.algebra.of(binding.value, binding.path)
        same = program.loops_of(binding.node)[:1] == loops[:1]
        if same and calls_probability(old) and bare(inner.parts[0]) == bare(old):
            return binding
    return None


def bare(form: Form) -> str:
    """The form's key, detaching left out."""
    while form.op == "detach":
        form = form.parts[0]
    return form.key


def is_own_twin(form: Form) -> bool:
    """`logp - logp.detach()`: nothing but 0, at every pass."""
    new, old = form.parts
    return old.op == "detach" and old.parts[0].key == new.key and calls_probability(new)


def twin_name(form: Form) -> str:
    return next(iter(sorted(form.parts[1].words)), "") or source_of(form.parts[1].node)[:40]


def repeats_pass(program: Program, call: ast.Call) -> bool:
    """In a loop that counts passes over the same data."""
    return (
        any(
            isinstance(each, ast.For) and source_of(each.iter).startswith("range(") and len(each.iter.args) == 1  # type: ignore
            for each in program.loops_of(call)[:1]
        )
        and bool(program.calls_to("backward"))
    )


def is_optimizer_step(program: Program, call: ast.Call) -> bool:
    return program.objects.event_of(call)[0] in ("step", "schedule", "scaler_update")


def calls_probability(form: Form) -> bool:
    return any(each.op == "call" and "log_prob" in each.name for each in form.below()) or form.called(
        "log_prob", "logp", "logprob"
    )


@rule("code.ratio-inverted")
def ratio_inverted(program: Program) -> Iterator[Finding]:
    """exp(old - new): the clip and the gradient go the wrong way."""
    if not program.names_called & {"clamp", "clip"}:
        return
    for call in program.calls_to("exp"):
        form = program.algebra.of(call)
        if form.op != "exp" or form.parts[0].op != "sub" or not named_ratio(program, call):
            continue
        first, second = form.parts[0].parts
        old = ("old", "behavior", "behaviour", "mu_logp", "old_logp", "sampled")
        if (
            is_old(first, old)
            and not is_old(second, old)
            and (second.mentions("new", "logp", "log_prob", "log_probs", "curr") or calls_probability(second))
        ) or (taken_now(program, second) and is_kept(first)):
            yield Finding(call.lineno, "ratio = (new_log_prob - old_log_prob).exp()")
    yield from quotient_inverted(program)


def quotient_inverted(program: Program) -> Iterator[Finding]:
    """`ratio = old_probs / probs`."""
    for node in program.nodes.of_kind(ast.Assign):
        if not isinstance(node.value, ast.BinOp) or "ratio" not in source_of(node.targets[0]).lower():
            continue
        form = program.algebra.of(node.value)
        if form.op != "div" or form.node is not node.value:
            continue
        first, second = form.parts
        kept, new = ("old", "behavior", "behaviour"), ("prob", "probs", "pi", "new", "p")
        if is_old(first, kept) and not is_old(second, kept) and (second.mentions(*new) or calls_probability(second)):
            yield Finding(node.lineno, f"{source_of(node.targets[0])} = new_prob / old_prob")


def taken_now(program: Program, form: Form) -> bool:
    """A log-probability that is computed here, with gradients."""
    return any(
        each.op == "call" and "log_prob" in each.name and not is_quiet(program, each.node) for each in form.below()
    )


def is_kept(form: Form) -> bool:
    """A log-probability out of the rollout: looked up, and nothing is computed for it here."""
    named = form.mentions("logp", "log_prob", "log_probs", "logprob")
    return form.op in ("index", "key") and named and not form.holds("call")


def is_old(form: Form, words: tuple[str, ...]) -> bool:
    return any(part in words for word in form.words for part in word.split("_")) or any(
        word.startswith("old") for word in form.words
    )


def named_ratio(program: Program, call: ast.Call) -> bool:
    statement = program.statement_of(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any("ratio" in source_of(each).lower() or source_of(each) in ("r", "rho") for each in targets)


@rule("code.clip-takes-better")
def clip_takes_better(program: Program) -> Iterator[Finding]:
    """The larger of the plain and the clipped objective is climbed: the clip never holds anything back."""
    for loss in losses_of(program):
        for sign, form in signed_calls(loss.form, ("max", "min")):
            if len(form.parts) != 2 or not all(is_policy_objective(each) for each in form.parts):
                continue
            negative = all(product(each).coefficient < 0 for each in form.parts)
            if not any(each.op == "call" and each.name.endswith("clamp") for part in form.parts for each in part.below()):
                continue
            wrong = (name_of_call(form) == "max" and sign < 0 and not negative) or (
                name_of_call(form) == "min" and sign > 0 and negative
            )
            if wrong:
                right = "min" if name_of_call(form) == "max" else "max"
                yield Finding(form.line, "", {"taken": name_of_call(form), "right": right})


def signed_calls(form: Form, names: tuple[str, ...], sign: int = 1) -> Iterator[tuple[int, Form]]:
    yield from directions(form, lambda each: each.op == "call" and name_of_call(each) in names, sign)


def is_policy_objective(form: Form) -> bool:
    held = product(form)
    return any(
        each.mentions("adv", "advantage", "advantages", "advs", "a_hat", "mb_adv", "mb_advantages") for each in held.factors
    ) and any(each.op == "exp" or name_of_call(each) == "clamp" or each.called("ratio", "r", "rho") for each in held.factors)


# --- what an actor climbs


def is_critic_of_actor(form: Form) -> bool:
    """`critic(state, actor(state))`."""
    if form.op != "call" or name_of_call(form) not in CRITICS:
        return False
    return any(name_of_call(inner) in (*ACTORS, "rsample") for each in form.parts for inner in each.below())


@rule("code.actor-descends-value")
def actor_descends_value(program: Program) -> Iterator[Finding]:
    """The actor's loss rises with the critic's value of its action: it learns the worst one."""
    for loss in losses_of(program):
        found = list(directions(loss.form, is_critic_of_actor))
        if found and all(sign > 0 for sign, _ in found) and not any(True for _ in target_side(loss)):
            form = found[0][1]
            yield Finding(
                form.line,
                "actor_loss = -critic(state, actor(state)).mean()",
                {"critic": source_of(form.node)[:60]},
                also=[loss.line],
            )


def target_side(loss: Loss) -> Iterator[Form]:
    """The critic's own loss: a squared difference."""
    for each in loss.form.below():
        compared = name_of_call(each) in ("mse_loss", "smooth_l1_loss", "huber_loss") or each.op == "square"
        if compared and any(name_of_call(one) in CRITICS for one in each.below()):
            yield each


@rule("code.temperature-sign")
def temperature_sign(program: Program) -> Iterator[Finding]:
    """SAC's temperature rises where the entropy is too high, and falls where it is too low."""
    for loss in losses_of(program):
        for sign, form in terms(loss.form):
            inner = averaged(form)
            while inner.op == "detach":
                inner = inner.parts[0]
            for inner_sign, part in terms(inner):
                held = product(part)
                alphas = [each for each in held.factors if is_temperature(each)]
                if len(alphas) != 1:
                    continue
                rest = [each for each in held.factors if each is not alphas[0]]
                coefficient = sign * inner_sign * (1 if held.coefficient > 0 else -1)
                target = sign_of_target(rest)
                if target and coefficient * target > 0:
                    yield Finding(
                        part.line or loss.line,
                        "",
                        {"loss": source_of(part.node)[:60]},
                        also=sorted({loss.line, alphas[0].line} - {part.line, 0}),
                    )
                    break


def is_temperature(form: Form) -> bool:
    inner = form.parts[0] if form.op == "exp" else form
    return any("alpha" in each or "temperature" in each for each in inner.words) and form.op in (
        "exp",
        "name",
        "call",
        "key",
        "index",
    )


def sign_of_target(rest: list[Form]) -> int:
    """The sign with which the target entropy stands in what the temperature is multiplied with; 0 where it does not."""
    if len(rest) != 1:
        return 0
    inner = averaged(rest[0])
    outer = 1
    while inner.op in ("detach", "neg", "mean", "sum"):
        outer = -outer if inner.op == "neg" else outer
        inner = inner.parts[0]
    return next((sign * outer for sign, each in terms(inner, 1, is_target_entropy) if is_target_entropy(each)), 0)


def is_target_entropy(form: Form) -> bool:
    return any("target" in word and "ent" in word for word in form.words)


@rule("code.entropy-against-value")
def entropy_against_value(program: Program) -> Iterator[Finding]:
    """SAC's soft value with the entropy on the wrong side: `min(q) + alpha * logp` as a target, `alpha * logp + q` as a
    loss."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, (ast.Add, ast.Sub)):
            continue
        found = terms(program.algebra.of(node))
        if len(found) != 2:
            continue
        soft = [sign for sign, each in found if is_soft(each)]
        value = [sign for sign, each in found if is_value_of_critic(each)]
        if len(soft) == 1 and len(value) == 1 and soft[0] * value[0] > 0:
            yield Finding(node.lineno, "", {"soft": source_of(node)[:60]})


def is_soft(form: Form) -> bool:
    factors = product(averaged(form)).factors
    return (
        len(factors) == 2
        and product(averaged(form)).coefficient > 0
        and any(is_temperature(each) or each.called("alpha") for each in factors)
        and any(
            each.called(
                "logp", "log_prob", "log_pi", "logpi", "log_probs", "logp2", "next_log_pi", "next_logp", "next_log_prob"
            )
            for each in factors
        )
    )


def is_value_of_critic(form: Form) -> bool:
    form = averaged(form)
    if name_of_call(form) in ("min", "minimum") and form.parts:
        form = form.parts[0]
    return name_of_call(form) in CRITICS or form.called(
        "q", "min_q", "q_min", "q_pi", "q1", "min_qf", "q_next", "next_q", "qf1"
    )


@rule("code.action-not-reparameterised")
def action_not_reparameterised(program: Program) -> Iterator[Finding]:
    """The actor's loss is the critic's value of a drawn action, and sample() has no gradient."""
    for loss in losses_of(program):
        if any(True for _ in target_side(loss)):
            continue
        for sign, form in directions(loss.form, lambda each: each.op == "call" and name_of_call(each) in CRITICS):
            calls = [each for part in form.parts for each in part.below() if each.op == "call" and each.parts]
            drawn = [each for each in calls if each.name == "sample" and is_distribution(program, each.parts[0])]
            either = any(each.name == "rsample" for each in calls)  # `rsample() if training else sample()`
            if sign < 0 and drawn and not either and not is_quiet_draw(program, drawn[0], form):
                line = drawn[0].line
                yield Finding(line, program.line_text(line).replace(".sample(", ".rsample("), also=[form.line])
                return


def is_quiet_draw(program: Program, drawn: Form, value: Form) -> bool:
    """Whether the action is drawn without gradients: where it is drawn, or where it is asked for."""
    given = value.node.args if isinstance(value.node, ast.Call) else []
    bindings = [program.names.given(each) for each in given if isinstance(each, (ast.Name, ast.Attribute))]
    places = [drawn.node, *(each.node for each in bindings if each is not None and each.how == "assigned")]
    return any(is_quiet(program, each) for each in places)


def is_distribution(program: Program, form: Form) -> bool:
    """A normal distribution, made here or in the forward() that is run: `self(obs)` of an actor."""
    for each in form.below():
        if is_normal(each):
            return True
        run = own_forward(program, each.node) if each.op == "call" and isinstance(each.node, ast.Call) else None
        returned = program.returns_of(run) if run is not None else []
        if returned and all(is_normal(program.algebra.of(one)) for one in returned):
            return True
    return False


def own_forward(program: Program, call: ast.Call) -> ast.AST | None:
    return program.makers.own_forward(call) or program.makers.forward_run(call)


def is_normal(form: Form) -> bool:
    return form.op == "call" and form.name.rsplit(".", 1)[-1] in (
        "Normal",
        "TanhNormal",
        "Independent",
        "MultivariateNormal",
        "TransformedDistribution",
    )


# --- gradients where none should be


@rule("code.advantage-has-gradient")
def advantage_has_gradient(program: Program) -> Iterator[Finding]:
    """The advantage that a log-probability is multiplied with has the critic's gradient: the policy's loss trains the
    critic to make advantages large."""
    for loss in losses_of(program):
        for form in loss.form.below():
            if form.op != "mul":
                continue
            held = product(form)
            if not any(calls_probability(each) for each in held.factors):
                continue
            for factor in held.factors:
                found = factor.parts[0] if factor.op == "div" else factor
                if found.op != "sub" or calls_probability(found):
                    continue
                value = found.parts[1]
                named_value = value.called(*VALUE_NAMES) or name_of_call(value) in VALUE_NAMES
                reached = list(attached(program, value))
                if named_value and reached and reached[0].node is not form.node:
                    yield Finding(
                        found.line, "", {"advantage": source_of(found.node)[:60]}, also=sorted({form.line} - {found.line})
                    )
                    return


@rule("code.target-has-gradient")
def target_has_gradient(program: Program) -> Iterator[Finding]:
    """The target of a temporal difference follows the gradient, and is moved instead of the estimate."""
    trained = program.objects.trained()
    for loss in losses_of(program):
        for form in loss.form.below():
            if (
                form.op == "call"
                and name_of_call(form) in ("mse_loss", "smooth_l1_loss", "huber_loss")
                and len(form.parts) > 1
            ):
                pairs = [(form.parts[0], form.parts[1])]
            elif form.op == "square" and form.parts[0].op == "sub":
                pairs = [tuple(form.parts[0].parts), tuple(reversed(form.parts[0].parts))]  # type: ignore[list-item]
            else:
                continue
            for estimate, target in pairs:
                discounted = next((each for each in bootstraps(target)), None)
                if discounted is None or any(True for _ in bootstraps(estimate)):
                    continue
                reached = [each for each in attached(program, discounted) if is_trained(program, each, trained)]
                if reached and any(True for _ in attached(program, estimate)):
                    line = reached[0].line
                    yield Finding(
                        line,
                        "with torch.no_grad():  # around the target",
                        {"target": source_of(reached[0].node)[:60]},
                        also=[form.line],
                    )
                    return


def is_trained(program: Program, form: Form, trained: frozenset[str]) -> bool:
    return isinstance(form.node, ast.Call) and bool(program.objects.event_of(form.node)[1] & trained)


def bootstraps(form: Form) -> Iterator[Form]:
    """`gamma * V(next)` among the terms."""
    if form.op == "detach":
        return
    for sign, each in terms(form):
        held = product(each)
        discounted = any(is_discount(one) for one in held.factors) or 0.9 <= held.coefficient < 1
        if sign > 0 and held.factors and discounted:
            yield each


@rule("code.returns-forward")
def returns_forward(program: Program) -> Iterator[Finding]:
    """`R = r + gamma * R` from the first step to the last: each step is credited with what came before it."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        loops = program.loops_of(node)
        if (
            not isinstance(target, ast.Name)
            or not loops
            or not isinstance(loops[0], ast.For)
            or not isinstance(node.value, ast.BinOp)
        ):
            continue
        found = terms(program.algebra.of(node.value))
        carried = [
            each
            for _, each in found
            if any(target.id.lower() in one.words for one in product(each).factors)
            and any(is_discount(one) for one in product(each).factors)
        ]
        rewards = [each for _, each in found if named_part(each, REWARDS)]
        if len(found) != 2 or not carried or not rewards:
            continue
        order = source_of(loops[0].iter)
        backwards = any(word in order for word in ("reversed", "::-1", "-1", "flip", "step"))
        stored = any(
            source_of(target) in source_of(each)
            for each in loops[0].body
            if isinstance(each, (ast.Expr, ast.Assign)) and each is not node
        )
        if (
            not backwards
            and stored
            and REWARDS.search(order.lower().split("(")[-1].rstrip(")").replace("self.", "").split(".")[-1])
            and "insert(0" not in source_of(loops[0])
        ):
            yield Finding(
                loops[0].lineno,
                f"for {source_of(loops[0].target)} in reversed({order}):",
                {"sum": source_of(node)[:60]},
                also=[node.lineno],
            )


@rule("code.returns-left-reversed")
def returns_left_reversed(program: Program) -> Iterator[Finding]:
    """Returns are summed from the last step back, appended, and never turned round: the first step gets the last one's."""
    for node in program.nodes.of_kind(ast.Assign):
        loops = program.loops_of(node)
        target = node.targets[0]
        if not loops or not isinstance(loops[0], ast.For) or not isinstance(target, ast.Name):
            continue
        order = source_of(loops[0].iter)
        if not ("reversed(" in order or "[::-1]" in order) or "range(" in order or "enumerate(" in order:
            continue
        if not isinstance(node.value, ast.BinOp) or target.id not in names_of(node.value):
            continue
        form = program.algebra.of(node.value)
        if not any(is_discount(one) for each in form.below() for one in product(each).factors):
            continue
        for call in program.calls_in(loops[0]):
            kept = receiver_of(call)
            if name_called(call) != "append" or not call.args or source_of(call.args[0]) != target.id:
                continue
            if not isinstance(kept, ast.Name) or is_turned_round(program, call, kept.id):
                continue
            yield Finding(
                call.lineno, f"{kept.id}.insert(0, {target.id})", {"list": kept.id}, also=[loops[0].lineno]
            )


def names_of(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def is_turned_round(program: Program, call: ast.Call, name: str) -> bool:
    """The list is put the right way round somewhere, where it is made or where the function is called."""
    function = program.function_of(call)
    users = [function]
    if isinstance(function, Function):
        users += [program.function_of(each) for each in program.calls_to(function.name)]
    text = "\n".join(source_of(each) for each in dict.fromkeys(users))
    loop = program.loops_of(call)[0]
    rest = text.replace(source_of(loop.iter), "") if isinstance(loop, ast.For) else text
    return any(mark in rest for mark in ("[::-1]", ".reverse(", "reversed(", "flip(", "flipud(", "appendleft", "insert(0"))
