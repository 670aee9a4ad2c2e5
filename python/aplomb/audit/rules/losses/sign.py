"""Rules about the terms of a loss: what is made small or large, how much each counts, and what is summed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import Loss, directions, losses_of, passes
from ...program.losses import Term
from ...program.objects import PROPORTIONAL
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, receiver_of, source_of
from ...program.timeline import Cycle, Event
from .numeric import seen_through

#: Where a loss is made large on purpose: an opponent, an attack, unlearning.
OPPONENTS = (
    "adv", "attack", "gen", "generator", "disc", "discriminator", "domain", "critic", "fool", "gan", "minimax",
    "perturb", "forget", "unlearn", "confus", "fgsm", "pgd", "ascent", "saliency", "heatmap", "trigger", "fake",
    "grl",
)  # fmt: skip
#: Made small by every framework; kl_div has a rule of its own.
MINIMISED = (
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "ctc_loss", "gaussian_nll_loss", "triplet_margin_loss",
)  # fmt: skip
LOG_PROBABILITIES = ("log_prob", "logp", "logprob", "log_probs", "logps", "logprobs", "log_pi", "logpi", "log_p")
ADVANTAGES = (
    "adv", "advantage", "advantages", "advs", "return", "returns", "reward", "rewards", "ret", "rets", "td_error",
    "delta", "g", "gt", "discounted_rewards", "a_t",
)  # fmt: skip


def maximises(program: Program, cycle: Cycle) -> bool:
    """The optimizer is told to go uphill."""
    for step in cycle.of("step"):
        call = program.makers.call_of(receiver_of(step.node)) if isinstance(step.node, ast.Call) else None
        if call is not None and program.values.is_true(keyword_of(call, "maximize")):
            return True
    return False


def has_opponents(program: Program, node: ast.AST) -> bool:
    """The function, the names around a loss, or a second optimizer speak of a game."""
    if len(program.objects.optimizers_made()) > 1:
        return True
    function = program.function_of(node)
    words = source_of(program.statement_of(node)).lower() + " " + getattr(function, "name", "").lower()
    parts = "".join(each if each.isalnum() else " " for each in words).split()
    return any(part.startswith(word) for part in parts for word in OPPONENTS if len(word) > 3 or part == word)


@rule("code.loss-maximised")
def loss_maximised(program: Program) -> Iterator[Finding]:
    for cycle, event, terms in passes(program):
        flipped = maximises(program, cycle)
        signs = {(-term.sign if flipped else term.sign) for term in terms}
        losses = [term for term in terms if is_minimised(program, term) and (-term.sign if flipped else term.sign) < 0]
        if signs != {-1} or not losses or any(has_opponents(program, term.node) for term in losses):
            continue
        if has_opponents(program, event.node):
            continue
        line = getattr(losses[0].node, "lineno", event.line)
        yield Finding(line, "", {"loss": source_of(losses[0].node)}, also=sorted({event.line} - {line}))


def is_minimised(program: Program, term: Term) -> bool:
    node = term.node
    if isinstance(node, ast.Attribute) and node.attr == "loss":
        return True
    criterion = program.losses.criterion(node) if isinstance(node, ast.Call) else None
    return criterion is not None and criterion.kind in MINIMISED and criterion.reduction != "none"


# --- rewards, entropy, divergence


def words_of(name: str) -> set[str]:
    return {name, *name.split("_")}


def mentions(program: Program, node: ast.AST, wanted: tuple[str, ...]) -> bool:
    """A name, attribute or call below the node is called so."""
    for each in ast.walk(node):
        name = each.attr if isinstance(each, ast.Attribute) else each.id if isinstance(each, ast.Name) else ""
        if name and (name.lower() in wanted or any(name.lower().endswith("_" + word) for word in wanted)):
            return True
    return False


@rule("code.policy-gradient-sign")
def policy_gradient_sign(program: Program) -> Iterator[Finding]:
    """`(log_prob * advantage).mean()` or the clipped surrogate go into the loss with a plus: the policy learns to lose."""
    for cycle, _, terms in passes(program):
        if maximises(program, cycle):
            continue
        for term in terms:
            if term.sign > 0 and is_surrogate(program, term.node, 0) > 0:
                line = getattr(term.node, "lineno", 0)
                also = sorted({each for each in term.lines if each} - {line})
                yield Finding(line, f"loss = -({source_of(term.node)})  # and its mean", also=also)


def is_surrogate(program: Program, node: ast.AST, depth: int) -> int:
    """1 where the expression is a policy's objective (log-probability or ratio times advantage), -1 where it is its
    negative, 0 where it is something else."""
    if depth > 6:
        return 0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -is_surrogate(program, node.operand, depth + 1)
    if isinstance(node, (ast.Name, ast.Attribute)):
        origin = program.names.origin(node)
        return is_surrogate(program, origin.node, depth + 1) if origin.node is not node and not origin.path else 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return of_product(program, node)
    if isinstance(node, ast.Call):
        if name_called(node) in ("min", "minimum") and len(node.args) == 2:
            signs = {is_surrogate(program, each, depth + 1) for each in node.args}
            return signs.pop() if len(signs) == 1 else 0
        if name_called(node) in ("mean", "sum", "squeeze", "view"):
            held = node.args[0] if program.name_of(node.func).startswith("torch.") and node.args else receiver_of(node)
            return is_surrogate(program, held, depth + 1) if held is not node.func else 0
    return 0


def of_product(program: Program, node: ast.BinOp) -> int:
    sign = 1
    sides = []
    for side in (node.left, node.right):
        while isinstance(side, ast.UnaryOp) and isinstance(side.op, ast.USub):
            side, sign = side.operand, -sign
        origin = program.names.origin(side).node if isinstance(side, ast.Name) else side
        while isinstance(origin, ast.UnaryOp) and isinstance(origin.op, ast.USub):
            origin, sign = origin.operand, -sign
        sides.append((side, origin))
    for (one, one_origin), (other, _) in (sides, sides[::-1]):
        probability = mentions(program, one, LOG_PROBABILITIES) or name_called(one_origin) == "log_prob"
        probability = (
            probability
            or mentions(program, one, ("ratio", "ratios"))
            or (
                name_called(one_origin) in ("exp", "clamp", "clip")
                and mentions(program, one_origin, (*LOG_PROBABILITIES, "ratio"))
            )
        )
        if probability and (mentions(program, other, ADVANTAGES) or made_of_advantages(program, other)):
            return sign
    return 0


def made_of_advantages(program: Program, node: ast.AST) -> bool:
    """By the names that the value had on its way: `a = adv[index]`."""
    words = {word for each in program.algebra.of(node).below() for word in each.words}
    return any(word in ADVANTAGES or word.startswith(("adv_", "advantage")) for word in words)


@rule("code.entropy-sign")
def entropy_sign(program: Program) -> Iterator[Finding]:
    """The entropy bonus is added to the loss: the policy is driven to one action."""
    found = list(entropies_added(program))
    yield from found or entropies_pulled_down(program)


def entropies_added(program: Program) -> Iterator[Finding]:
    if not program.names_called & {"log_prob", "Categorical", "Normal", "entropy"}:
        return
    for cycle, _, terms in passes(program):
        if maximises(program, cycle) or len(terms) < 2:
            continue
        for term in terms:
            made = name_called(term.node) == "entropy" or holds_entropies(program, term.node)
            named = isinstance(term.node, (ast.Name, ast.Attribute)) and "entropy" in source_of(term.node).lower()
            if not (made or named) or term.sign < 0 or "cross" in source_of(term.node).lower():
                continue
            line = next(
                (each for each in term.lines[1:] if "ntropy" in program.line_text(each)), getattr(term.node, "lineno", 0)
            )
            yield Finding(line, "", {"entropy": source_of(term.node)}, sure=made)


def entropies_pulled_down(program: Program) -> Iterator[Finding]:
    """The same through means over masks, functions and lists: what the loss rises with."""
    for loss in losses_of(program):
        found = list(directions(loss.form, is_entropy))
        others = any(form.op in ("exp", "mul") and form.mentions(*LOG_PROBABILITIES, "ratio") for form in loss.form.below())
        if not found or not others or any(sign < 0 for sign, _ in found) or loss.form.op not in ("add", "sub"):
            continue
        form = found[0][1]
        line = loss_line(program, loss)
        yield Finding(line, "", {"entropy": source_of(form.node)[:40]}, also=sorted({loss.line, form.line} - {line, 0}))


def loss_line(program: Program, loss: Loss) -> int:
    """Where the sum is written: its own line, else that of the backward pass."""
    return loss.form.line or loss.line


def is_entropy(form: Form) -> bool:
    if form.op in ("number", "text") or (form.op == "call" and "cross" in form.name):
        return False
    named = any(word in ("ent", "entropy", "entropies", "ents") or word.endswith("_entropy") for word in form.words)
    called = form.op == "call" and form.name.rsplit(".", 1)[-1] == "entropy"
    return called or (
        named
        and form.op in ("name", "list", "key", "index")
        and not any("cross" in word or "target" in word for word in form.words)
    )


def holds_entropies(program: Program, node: ast.AST) -> bool:
    """`torch.stack(entropies)`, and nothing but `dist.entropy()` was appended to them."""
    if name_called(node) not in ("stack", "cat") or not isinstance(node, ast.Call) or not node.args:
        return False
    text = source_of(node.args[0])
    added = [each for each in program.calls_to("append") if source_of(receiver_of(each)) == text and each.args]
    return bool(added) and all(
        any(name_called(one) == "entropy" for one in ast.walk(program.names.origin(each.args[0]).node)) for each in added
    )


@rule("code.kl-sign")
def kl_sign(program: Program) -> Iterator[Finding]:
    """The divergence is subtracted from the loss: distance is rewarded."""
    for cycle, _, terms in passes(program):
        goes_down = any(term.sign > 0 or is_surrogate(program, term.node, 0) for term in terms)
        if maximises(program, cycle) or len(terms) < 2 or not goes_down:
            continue
        for term in terms:
            sure = is_divergence(program, term) or rises_with_distance(program, term, terms)
            named = isinstance(term.node, (ast.Name, ast.Attribute)) and is_named_divergence(source_of(term.node))
            if term.sign > 0 or not (sure or named):
                continue
            line = next(
                (each for each in term.lines[1:] if "kl" in program.line_text(each).lower()), getattr(term.node, "lineno", 0)
            )
            yield Finding(line, "", {"divergence": source_of(term.node)}, sure=sure)
            break


def is_named_divergence(text: str) -> bool:
    words = text.lower().replace(".", "_").split("_")
    return any(word in ("kl", "kld", "kldiv", "divergence") for word in words)


def is_divergence(program: Program, term: Term) -> bool:
    if not isinstance(term.node, ast.Call):
        return False
    criterion = program.losses.criterion(term.node)
    return name_called(term.node) == "kl_divergence" or (criterion is not None and criterion.kind == "kl_div")


def rises_with_distance(program: Program, term: Term, terms: list[Term]) -> bool:
    """exp(x) beside -x of the same x, as in the divergence of two normal distributions and in the k3 estimate."""
    inner = exponent_of(term.node)
    if inner is None:
        return False
    text, origin = source_of(inner), program.names.origin(inner)
    return any(
        other.sign == -term.sign
        and other.reductions == term.reductions
        and (source_of(other.node) == text or (other.node, other.path) == tuple(origin))
        for other in terms
        if other is not term
    )


def exponent_of(node: ast.AST) -> ast.expr | None:
    if name_called(node) != "exp" or not isinstance(node, ast.Call):
        return None
    return node.args[0] if node.args else receiver_of(node)


@rule("code.kl-outweighs")
def kl_outweighs(program: Program) -> Iterator[Finding]:
    """A reconstruction averaged over all its elements beside a divergence that is summed over the latents."""
    for _, event, terms in passes(program):
        averaged = [term for term in terms if is_averaged_reconstruction(program, term)]
        divergences = [term for term in terms if term.sign > 0 and rises_with_distance(program, term, terms)]
        for term in divergences if averaged else []:
            summed = any(each.startswith("sum") for each in term.reductions)
            # -0.5 * (1 + log_var - mu^2 - var) has a weight of 0.5 by itself
            small = term.scaled or term.divided or term.weight is None or term.weight < 0.05
            if summed and not small:
                line = getattr(term.node, "lineno", event.line)
                yield Finding(
                    line, "", sure=has_wide_output(program), also=[getattr(averaged[0].node, "lineno", event.line)]
                )
                break


def is_averaged_reconstruction(program: Program, term: Term) -> bool:
    criterion = program.losses.criterion(term.node) if isinstance(term.node, ast.Call) else None
    kinds = ("binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss")
    plain = criterion is not None and criterion.kind in kinds and criterion.reduction == "mean" and not term.reductions
    return plain and term.weight == 1.0 and not term.scaled


def has_wide_output(program: Program) -> bool:
    """A layer of the program gives 64 numbers or more, so that an average over them is that much smaller than their sum."""
    for call in program.calls_to("Linear", "ConvTranspose2d"):
        size = program.values.number(call.args[1]) if len(call.args) > 1 else None
        if name_called(call) == "ConvTranspose2d" or (size is not None and size >= 64):
            return True
    return False


# --- sums where a mean is meant


@rule("code.sum-reduction")
def sum_reduction(program: Program) -> Iterator[Finding]:
    """A loss summed over the batch, stepped by plain gradient descent at the rate of a mean."""
    for cycle, event, terms in passes(program):
        optimizer = next((made for step in cycle.of("step") if (made := optimizer_made(program, step)) is not None), None)
        if optimizer is None or program.makers.class_name(optimizer) not in PROPORTIONAL:
            continue  # an adaptive step does not grow with the gradient
        rate = program.values.number(keyword_of(optimizer, "lr") or (optimizer.args[1] if len(optimizer.args) > 1 else None))
        if rate is not None and rate < 1e-3:
            continue  # the rate is that of a sum
        for term in terms:
            if is_summed(program, term) and not term.scaled and term.weight == 1.0:
                line = getattr(term.node, "lineno", event.line)
                clipped = any(each.kind == "clip" for each in cycle.events)
                yield Finding(line, "", sure=rate is not None and not clipped, also=[optimizer.lineno])
                break


@rule("code.reductions-mixed")
def reductions_mixed(program: Program) -> Iterator[Finding]:
    """One term of a loss is summed over the batch and another is its mean: their balance moves with the batch's size."""
    for _, _, found in passes(program):
        summed = [each for each in found if is_summed(program, each) and each.weight == 1.0 and not each.divided]
        summed = [each for each in summed if not each.scaled and "mean" not in each.reductions]
        averaged = [each for each in found if each.reductions[:1] == ("mean",) or is_mean(program, each)]
        if summed and averaged:
            line = getattr(summed[0].node, "lineno", 0)
            yield Finding(
                line,
                f"{source_of(summed[0].node)} / x.size(0)",
                {"sum": source_of(summed[0].node)[:60], "mean": source_of(averaged[0].node)[:60]},
                also=sorted({getattr(averaged[0].node, "lineno", line)} - {line}),
            )


def is_mean(program: Program, term: Term) -> bool:
    criterion = program.losses.criterion(term.node) if isinstance(term.node, ast.Call) else None
    return criterion is not None and criterion.reduction == "mean"


def optimizer_made(program: Program, step: Event) -> ast.Call | None:
    return program.makers.call_of(receiver_of(step.node)) if isinstance(step.node, ast.Call) else None


def is_summed(program: Program, term: Term) -> bool:
    criterion = program.losses.criterion(term.node) if isinstance(term.node, ast.Call) else None
    if criterion is None:
        return False
    if criterion.reduction == "sum":
        return True
    return criterion.reduction == "none" and term.reductions[:1] == ("sum",)


@rule("code.z-loss-subtracted")
def z_loss_subtracted(program: Program) -> Iterator[Finding]:
    """`loss = ce - 1e-4 * (torch.logsumexp(logits, -1) ** 2).mean()`."""
    if "logsumexp" not in program.names_called or not program.trains:
        return
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Sub) or not squares_log_z(program, node.right):
            continue
        yield Finding(node.lineno, f"{source_of(node.left)} + {source_of(node.right)}")


def squares_log_z(program: Program, node: ast.AST) -> bool:
    for each in ast.walk(node):
        base = None
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Pow):
            base = each.left
        elif isinstance(each, ast.Call) and name_called(each) in ("square", "pow"):
            base = each.args[0] if program.name_of(each.func).startswith("torch.") and each.args else None
            base = base or (each.func.value if isinstance(each.func, ast.Attribute) else None)
        if base is not None and "logsumexp" in source_of(seen_through(program, base)):
            return True
    return False
