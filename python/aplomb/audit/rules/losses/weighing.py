"""Rules about how terms of a loss are weighed, and about quotients and distributions that are written out by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form, product, terms
from ...program.gradients import directions, is_quiet, losses_of, name_of_call
from ...program.program import Program
from ...program.syntax import dotted, keyword_of, last_name, name_called, source_of, words_in

COUNTS = ("bincount", "value_counts", "unique_counts")
COUNT_WORDS = ("counts", "count", "freq", "freqs", "frequency", "frequencies", "class_counts", "n_per_class", "label_counts")
SCORES = re.compile(
    r"(^|_)(dice|iou|miou|accuracy|acc|ssim|psnr|f1|similarity|cos_sim|cosine_sim|auc|overlap|jaccard)(_(score|coef|coeff|coefficient|sim))?$"
)


# --- weights of classes


@rule("code.class-weights-inverted")
def class_weights_inverted(program: Program) -> Iterator[Finding]:
    """Classes are weighed by how often they are, where the rare ones should weigh more."""
    for call in program.calls:
        weight = (
            keyword_of(call, "weight")
            if name_called(call) in ("CrossEntropyLoss", "NLLLoss", "cross_entropy", "nll_loss")
            else None
        )
        positive = keyword_of(call, "pos_weight")
        if weight is not None and grows_with_counts(unwrapped(program.algebra.of(weight))):
            yield Finding(
                call.lineno,
                "weight = counts.sum() / (len(counts) * counts)",
                {"weight": source_of(weight)},
                also=place_of(program, weight, call),
            )
        if positive is not None and is_positives_over_negatives(unwrapped(program.algebra.of(positive))):
            yield Finding(
                call.lineno,
                "pos_weight = negatives / positives",
                {"weight": source_of(positive)},
                also=place_of(program, positive, call),
            )


def unwrapped(form: Form) -> Form:
    """The number or list that a tensor is made of."""
    while name_of_call(form) in ("tensor", "floattensor") and form.parts:
        form = form.parts[0]
    return form.parts[0] if form.op == "list" and len(form.parts) == 1 else form


def place_of(program: Program, node: ast.expr, call: ast.Call) -> list[int]:
    line = program.algebra.of(node).line
    return [line] if line and line != call.lineno else []


def grows_with_counts(form: Form) -> bool:
    """`counts / counts.sum()`, counts themselves."""
    held = product(form)
    up = [each for each in held.factors if is_count(each)]
    down = [each for each in held.divisors if is_count(each)]
    return bool(up) and not down


def is_count(form: Form) -> bool:
    if form.op in ("sum", "max", "mean"):
        return False
    inner = form
    while inner.op in ("list", "index", "detach") and inner.parts:
        inner = inner.parts[0]
    if name_of_call(inner) == "tensor" and inner.parts:
        return is_count(inner.parts[0])
    return name_of_call(inner) in COUNTS or any(word in COUNT_WORDS for word in form.words | inner.words)


def is_positives_over_negatives(form: Form) -> bool:
    held = product(form)
    up = [word for each in held.factors for word in words_below(each)]
    down = [word for each in held.divisors for word in words_below(each)]
    positive = ("pos", "n_pos", "num_pos", "positives", "npos", "n_positive", "num_positive")
    negative = ("neg", "n_neg", "num_neg", "negatives", "nneg", "n_negative", "num_negative")
    return any(word in positive for word in up) and any(word in negative for word in down)


def words_below(form: Form) -> set[str]:
    return set(form.words) if form.words else {word for each in form.parts for word in words_below(each)}


# --- weights of samples

PER_SAMPLE = re.compile(r"(^|_)(weights|masks?|is_weights|sample_weights?|importance|ips|propensity|valid|keep)(_|$)")


@rule("code.mean-before-weights")
def mean_before_weights(program: Program) -> Iterator[Finding]:
    """`(weights * F.cross_entropy(out, y)).mean()`: the loss is one number already, and every sample weighs the same."""
    for call in program.calls_to("sum", "mean"):
        form = program.algebra.of(call)
        if form.op not in ("sum", "mean") or form.parts[0].op != "mul":
            continue
        factors = product(form.parts[0]).factors
        whole = [each for each in factors if is_one_number(program, each)]
        weights = [each for each in factors if each not in whole and weighs_samples(program, each, call)]
        if whole and weights:
            made = whole[0].node
            text = source_of(made)
            corrected = f'{text[:-1]}, reduction="none")' if program.losses.criterion(made) is not None else ""  # type: ignore
            line = getattr(made, "lineno", call.lineno)
            values = {"weights": source_of(weights[0].node)[:60], "loss": text[:60]}
            yield Finding(
                line, corrected or "# without the mean over the samples", values, also=sorted({call.lineno} - {line})
            )
            return


def is_one_number(program: Program, form: Form) -> bool:
    """A known loss that averages or sums by itself, `outputs.loss`, a mean over everything."""
    node = form.node
    if not isinstance(node, ast.Call):
        return form.op == "key" and form.name == "loss"
    criterion = program.losses.criterion(node)
    if criterion is not None:
        return criterion.reduction in ("mean", "sum")
    full = form.op == "mean" and not node.keywords
    library = program.name_of(node.func).startswith(("torch.", "jax.", "numpy."))
    return full and len(node.args) == (1 if library else 0) and any(each.op == "call" for each in form.below())


def weighs_samples(program: Program, form: Form, call: ast.Call) -> bool:
    """One weight a sample: so called, made by a test or looked up by a tensor, of a known shape, or what the sum is divided
    by the sum of."""
    node = form.node
    if form.op in ("eq", "ne", "lt", "gt", "le", "ge", "index", "bool") or name_of_call(form) in ("where", "gather"):
        return True
    inner = form
    while name_of_call(inner) in ("clamp", "clip", "minimum") and inner.parts:
        inner = inner.parts[0]
    if inner is not form:
        return weighs_samples(program, inner, call)
    if any(PER_SAMPLE.search(word) for word in form.words) and form.op != "number":
        return True
    if (program.shapes.rank(node) or 0) > 0:
        return True
    parent = program.nodes.parents.get(call)
    divisor = program.algebra.of(parent.right) if isinstance(parent, ast.BinOp) and parent.left is call else None
    return divisor is not None and any(each.op == "sum" and each.parts[0].key == form.key for each in divisor.below())


# --- scores as losses


@rule("code.score-minimised")
def score_minimised(program: Program) -> Iterator[Finding]:
    """A score that grows as things get better is made small: `loss = dice(pred, mask)`."""
    for loss in losses_of(program):
        found = list(directions(loss.form, lambda form: is_score(program, form)))
        if found and any(sign > 0 for sign, _ in found) and all(sign > 0 for sign, _ in found):
            form = found[0][1]
            yield Finding(
                form.line or loss.line,
                f"loss = 1 - {source_of(form.node)}",
                {"score": source_of(form.node)[:60]},
                also=sorted({loss.line} - {form.line}),
            )
            return


def is_score(program: Program, form: Form) -> bool:
    """By the name of the function of this file that gives it, whose value is no distance, or by torch's similarity."""
    if form.op == "number":
        return False
    named = any(
        SCORES.search(word) for word in form.words if not word.endswith(("loss", "err", "error", "dist", "distance"))
    )
    called = name_of_call(form)
    is_torch = called == "cosine_similarity" and form.op == "call"
    quotient = form.op in ("div", "mean", "sum") and any(each.op == "div" for each in [form, *form.parts])
    return (named and quotient and not is_complement_inside(form)) or (is_torch and named)


def is_complement_inside(form: Form) -> bool:
    return any(each.op == "sub" and each.parts[0].value == 1.0 for each in [form, *form.parts])


# --- one draw, used once


@rule("code.noise-drawn-twice")
def noise_drawn_twice(program: Program) -> Iterator[Finding]:
    """The network is asked for the noise, and the noise that it is compared with is another draw than what was added."""
    for loss in losses_of(program):
        for form in loss.form.below():
            if form.op == "square" and form.parts[0].op == "sub":
                sides = form.parts[0].parts
            elif name_of_call(form) in ("mse_loss", "l1_loss", "smooth_l1_loss") and len(form.parts) > 1:
                sides = form.parts[:2]
            else:
                continue
            for target, answer in (sides, sides[::-1]):
                if name_of_call(target) not in ("randn_like", "randn") or target.op != "call":
                    continue
                inside = {each.node for each in answer.below() if name_of_call(each) in ("randn_like", "randn")}
                if inside and target.node not in inside:
                    yield Finding(
                        target.line,
                        "noise = torch.randn_like(x)  # one draw, added and asked for",
                        also=sorted({loss.line} - {target.line}),
                    )
                    return


#: Of a value for each class these make another one for each class.
KEEPS_CLASSES = (
    "bincount", "value_counts", "compute_class_weight", "float", "double", "tensor", "as_tensor", "from_numpy", "array",
    "asarray", "clamp", "clip", "clamp_min", "maximum", "sqrt", "pow", "log", "reciprocal", "sum", "max", "min", "mean",
    "len", "DoubleTensor", "FloatTensor", "Tensor", "sort_index", "to_numpy", "astype", "tolist", "cpu", "numpy", "to",
    "int", "long", "list", "unique", "sorted",
)  # fmt: skip


@rule("code.weights-per-class-drawn")
def weights_per_class_drawn(program: Program) -> Iterator[Finding]:
    """WeightedRandomSampler takes a weight for each sample, and is given one for each class: it draws the first samples
    only."""
    for call in program.calls_to("WeightedRandomSampler"):
        weights = keyword_of(call, "weights") or (call.args[0] if call.args else None)
        if weights is None:
            continue
        parts = expressions_of(program, weights)
        counts = [each for each in parts if name_called(each) in ("bincount", "value_counts", "compute_class_weight")]
        other = any(isinstance(each, ast.Call) and name_called(each) not in KEEPS_CLASSES for each in parts)
        if counts and not other and not any(is_per_sample(each) for each in parts):
            yield Finding(
                call.lineno, "WeightedRandomSampler(class_weights[targets], len(targets))", {"weights": source_of(weights)}
            )


def expressions_of(program: Program, node: ast.AST, depth: int = 0) -> list[ast.AST]:
    """Everything that a value is made of, names followed; of a name with several values all of them."""
    found: list[ast.AST] = []
    for each in ast.walk(node):
        found.append(each)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and depth < 5:
            for binding in program.names.all_given(each):
                if binding.value is not None and binding.how in ("assigned", "added"):
                    found += expressions_of(program, binding.value, depth + 1)
    return found


def is_per_sample(node: ast.AST) -> bool:
    """A look-up by the labels of samples, a comprehension, anything that gives a value to each sample."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
        return True
    if isinstance(node, ast.Subscript):
        return not (isinstance(node.slice, ast.Constant))
    words = ("gather", "index_select", "take", "map", "apply", "repeat", "repeat_interleave", "append", "choose", "where")
    return name_called(node) in words


@rule("code.views-are-one")
def views_are_one(program: Program) -> Iterator[Finding]:
    """Two views that are compared are one draw of the augmentation."""
    for node in program.nodes.of_kind(ast.Assign):
        names = [source_of(each).lower() for each in node.targets]
        if (
            len(names) == 2
            and all(VIEWS.match(each) for each in names)
            and isinstance(node.value, ast.Call)
            and AUGMENTS.search(source_of(node.value.func).lower())
        ):
            first, second = (source_of(each) for each in node.targets)
            yield Finding(
                node.lineno,
                f"{first}, {second} = {source_of(node.value)}, {source_of(node.value)}",
                {"views": f"{first}, {second}"},
            )
    yield from multiplied_views(program)
    for call in program.calls_to("stack", "cat"):
        parts = call.args[0].elts if call.args and isinstance(call.args[0], (ast.List, ast.Tuple)) else []
        if (
            len(parts) == 2
            and all(isinstance(each, ast.Name) for each in parts)
            and source_of(parts[0]) == source_of(parts[1])
        ):
            binding = program.names.given(parts[0])
            if (
                binding is not None
                and isinstance(binding.value, ast.Call)
                and AUGMENTS.search(source_of(binding.value.func).lower())
            ):
                yield Finding(
                    call.lineno, "torch.stack([augment(x), augment(x)])", {"views": source_of(parts[0])}, also=[binding.line]
                )


def multiplied_views(program: Program) -> Iterator[Finding]:
    """`[augment(x)] * 2`: one draw, held twice."""
    for node in program.nodes.of_kind(ast.BinOp):
        drawn = node.left.elts if isinstance(node.left, ast.List) else []
        if not isinstance(node.op, ast.Mult) or len(drawn) != 1 or not isinstance(drawn[0], ast.Call):
            continue
        if AUGMENTS.search(source_of(drawn[0].func).lower()):
            count = source_of(node.right)
            yield Finding(node.lineno, f"[{source_of(drawn[0])} for _ in range({count})]", {"views": source_of(node)})


VIEWS = re.compile(r"^(x|v|view|xi|aug|img|a|b|z)_?(1|2|i|j|a|b)$|^(a|b|view_a|view_b)$")
AUGMENTS = re.compile(r"(^|[._])(aug\w*|\w*transform|jitter|\w*_?crop|get_view|random_view|make_view)$")


@rule("code.triplet-order")
def triplet_order(program: Program) -> Iterator[Finding]:
    """TripletMarginLoss takes (anchor, positive, negative), and is given the negative before the positive."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != "triplet_margin_loss" or len(criterion.call.args) < 3:
            continue
        second, third = (source_of(each).lower() for each in criterion.call.args[1:3])
        if re.search(r"neg", second) and re.search(r"pos", third):
            first = [source_of(each) for each in criterion.call.args[:3]]
            yield Finding(criterion.call.lineno, f"{source_of(criterion.call.func)}({first[0]}, {first[2]}, {first[1]})")


# --- quotients and exponentials by hand


@rule("code.softmax-by-hand")
def softmax_by_hand(program: Program) -> Iterator[Finding]:
    """exp(x) / exp(x).sum() of a model's outputs: exp() overflows where the largest is not subtracted first."""
    # What is logged afterwards is to be log_softmax() at once: the logarithm of a probability of 0 is infinite.
    logs = (program.algebra.of(call) for call in program.calls_to("log"))
    logged = {form.parts[0].key for form in logs if form.op == "log"}
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        form = program.algebra.of(node)
        if form.op != "div" or form.parts[0].op != "exp" or form.parts[1].op != "sum" or form.parts[1].parts[0].op != "exp":
            continue
        inner = form.parts[0].parts[0]
        if product(inner).coefficient < 0:
            continue  # a kernel: exp() of what is below 0 anyway
        if inner.key != form.parts[1].parts[0].parts[0].key or not is_torch(program, form.parts[0].node):
            continue
        if not any(
            each.op == "sub" and any(name_of_call(one) in ("max", "amax") for one in each.below()) for each in inner.below()
        ):
            function = "log_softmax" if form.key in logged else "softmax"
            yield Finding(
                node.lineno, f"torch.{function}({source_of(inner.node)}, dim=-1)", {"given": source_of(inner.node)[:60]}
            )
    for call in program.calls_to("log"):
        form = program.algebra.of(call)
        if (
            form.op == "log"
            and form.parts[0].op == "sum"
            and form.parts[0].parts[0].op == "exp"
            and is_torch(program, form.parts[0].parts[0].node)
        ):
            inner = form.parts[0].parts[0].parts[0]
            if not any(
                each.op == "sub" and any(name_of_call(one) in ("max", "amax") for one in each.below())
                for each in inner.below()
            ):
                yield Finding(
                    call.lineno, f"torch.logsumexp({source_of(inner.node)}, dim=-1)", {"given": source_of(inner.node)[:60]}
                )


def is_torch(program: Program, node: ast.AST) -> bool:
    """An operation of torch, by its name, or by a method on what is no array of numpy."""
    if not isinstance(node, ast.Call):
        return False
    full = program.name_of(node.func)
    return full.startswith("torch.") or (
        isinstance(node.func, ast.Attribute) and not full.startswith(("numpy.", "math.", "np."))
    )


@rule("code.scale-unbounded")
def scale_unbounded(program: Program) -> Iterator[Finding]:
    """The scale of a distribution is what a linear layer gives: it may be 0 or negative."""
    for call in program.calls_to("Normal", "Laplace", "Gamma", "LogNormal"):
        if not program.name_of(call.func).startswith("torch.distributions") and name_called(call) != "Normal":
            continue
        scale = keyword_of(call, "scale") or (call.args[1] if len(call.args) > 1 else None)
        if scale is None or not isinstance(scale, (ast.Name, ast.Call, ast.Attribute)):
            continue
        if program.makers.squash(scale) == "linear" and not any(
            each.op in ("exp", "softplus", "clamp", "abs", "square") for each in program.algebra.of(scale).below()
        ):
            first = source_of(call.args[0]) if call.args else "loc"
            corrected = f"{source_of(call.func)}({first}, F.softplus({source_of(scale)}) + 1e-5)"
            yield Finding(call.lineno, corrected, {"scale": source_of(scale)[:60]})


@rule("code.focal-weight-inverted")
def focal_weight_inverted(program: Program) -> Iterator[Finding]:
    """A focal loss that weighs by p ** gamma: what is easy counts most."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        held = product(program.algebra.of(node))
        powers = [each for each in held.factors if each.op == "pow" and each.parts[1].called("gamma", "focusing")]
        powers += [each for each in held.factors if each.op == "square" and each.parts[0].called("pt", "p_t")]
        for power in powers:
            base = power.parts[0]
            is_probability = base.called("pt", "p_t", "prob", "probs", "p") or (
                base.op == "exp" and base.parts[0].op == "neg"
            )
            if (
                is_probability
                and base.op != "sub"
                and not any(each.op == "sub" for each in [base, *base.parts])
                and not is_negated(base)
            ):
                yield Finding(node.lineno, "loss = (1 - pt) ** gamma * ce", {"weight": source_of(power.node)[:60]})
                return


def is_negated(form: Form) -> bool:
    return "1 -" in source_of(form.node)


@rule("code.log-probabilities-not-summed")
def log_probabilities_not_summed(program: Program) -> Iterator[Finding]:
    """A Normal over several actions gives a log-probability for each of them: the action's own is their sum."""
    if not program.names_called & {"backward", "training_step"} or program.names_called & {
        "Independent",
        "MultivariateNormal",
    }:
        return
    for loss in losses_of(program):
        for form in loss.form.below():
            if form.op not in ("mul", "exp"):
                continue
            parts = product(form).factors if form.op == "mul" else (form.parts[0],)
            for part in parts:
                for _, each in terms(part):
                    dist = each.parts[0] if each.op == "call" and each.name.endswith("log_prob") and each.parts else None
                    if dist is not None and name_of_call(dist) == "normal" and several_actions(program, dist):
                        yield Finding(
                            each.line,
                            f"{source_of(each.node)}.sum(-1)",
                            {"call": source_of(each.node)[:60]},
                            also=sorted({loss.line} - {each.line}),
                        )
                        return


def several_actions(program: Program, dist: Form) -> bool:
    """The mean has as many numbers as there are actions, by its width or the name of it."""
    mean = dist.parts[0] if dist.parts else None
    width = program.shapes.width(mean.node) if mean is not None else None
    return width is not None and width > 1


# --- networks that should not learn, or should follow


@rule("code.teacher-in-train-mode")
def teacher_in_train_mode(program: Program) -> Iterator[Finding]:
    """The teacher of a distillation is asked in train mode: dropout and batch statistics make its answers noisy."""
    turned = {word for call in program.calls_to("eval") for word in words_in(call)}
    turned |= {
        last_name(node.targets[0]).lower()
        for node in program.nodes.of_kind(ast.Assign)
        if ".eval()" in source_of(node.value)
    }
    for call in program.calls:
        name = last_name(call.func).lower()
        if "teacher" not in name or not call.args or program.makers.mode_matters(call.func) is not True:
            continue
        if not any("teacher" in each for each in turned) and (program.loops_of(call) or is_quiet(program, call)):
            yield Finding(
                call.lineno, f"{source_of(call.func)}.eval()  # once, before the loop", {"teacher": source_of(call.func)}
            )
            return


@rule("code.target-never-follows")
def target_never_follows(program: Program) -> Iterator[Finding]:
    """The target network is made once and never given the weights of the network that learns."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        name = last_name(target)
        if (
            not re.search(r"(^|_)target(_|$)", name.lower())
            or not isinstance(target, (ast.Name, ast.Attribute))
            or name_called(node.value) != "deepcopy"
        ):
            continue
        asked = [each for each in program.calls if last_name(each.func) == name and each.args and is_quiet(program, each)]
        if not asked or program.loops_of(node):
            continue
        touched = [
            each
            for each in [*program.nodes.of_kind(ast.Attribute), *program.nodes.of_kind(ast.Name)]
            if is_touched(program, each, name)
        ]
        if not touched and not handed_on(program, name, node):
            yield Finding(
                node.lineno,
                f"{dotted(target)}.load_state_dict(network.state_dict())  # every few hundred steps",
                {"target": dotted(target)},
                also=[asked[0].lineno],
            )
    yield from copied_once(program)


def copied_once(program: Program) -> Iterator[Finding]:
    """`target.load_state_dict(q.state_dict())` where the networks are made, and nowhere else, in a program that looks ahead
    with the target: `r + gamma * target(s2)`."""
    if not discounts(program):
        return
    for call in program.calls_to("load_state_dict"):
        holder = call.func.value if isinstance(call.func, ast.Attribute) else None
        name = last_name(holder) if holder is not None else ""
        if holder is None or not re.search(r"(^|_)target(s?)(_|$)|_(tgt|targ)$", name.lower()) or not call.args:
            continue
        made = [each for each in program.names.all_given(holder) if each.how == "assigned"]
        copies = name_called(program.names.origin(call.args[0]).node) == "state_dict"
        if len(made) != 1 or not copies or in_loop_of_steps(program, call):
            continue
        scope = program.function_of(made[0].node)
        named = [each for each in program.nodes.of_kind(ast.Attribute, ast.Name) if is_touched(program, each, name)]
        stays = all(program.function_of(each) is scope and not in_loop_of_steps(program, each) for each in named)
        runs_once = isinstance(scope, ast.Module) or getattr(scope, "name", "") in ("__init__", "main", "train", "run")
        asked = [each for each in program.calls if last_name(each.func) == name and each.args and is_quiet(program, each)]
        node = made[0].node
        if stays and runs_once and asked and isinstance(node, ast.Assign) and not handed_on(program, name, node):
            yield Finding(
                call.lineno,
                f"{program.line_text(call.lineno)}  # every few hundred steps as well",
                {"target": dotted(holder)},
                also=[asked[0].lineno],
            )


def discounts(program: Program) -> bool:
    """Something is multiplied with a discount."""
    numbers = any(isinstance(each.value, float) and 0.9 <= each.value < 1 for each in program.nodes.of_kind(ast.Constant))
    names = (last_name(each).lower() for each in program.nodes.of_kind(ast.Name, ast.Attribute))
    return numbers or any(each in ("gamma", "discount") for each in names)


def in_loop_of_steps(program: Program, node: ast.AST) -> bool:
    """In a loop, other than as what it goes over."""
    return any(
        not (isinstance(each, ast.For) and program.nodes.encloses(each.iter, node)) for each in program.loops_of(node)
    )


def is_touched(program: Program, node: ast.expr, name: str) -> bool:
    """Its weights are asked for: parameters(), state_dict(), load_state_dict()."""
    parent = program.nodes.parents.get(node)
    return (
        last_name(node) == name
        and isinstance(parent, ast.Attribute)
        and parent.attr in ("parameters", "named_parameters", "load_state_dict", "state_dict", "buffers")
    )


def handed_on(program: Program, name: str, made: ast.Assign) -> bool:
    """Given to a function, or made anew elsewhere."""
    given = any(
        last_name(each) == name
        for call in program.calls
        for each in [*call.args, *(one.value for one in call.keywords)]
        if isinstance(each, (ast.Name, ast.Attribute))
    )
    again = any(last_name(each.targets[0]) == name for each in program.nodes.of_kind(ast.Assign) if each is not made)
    return given or again
