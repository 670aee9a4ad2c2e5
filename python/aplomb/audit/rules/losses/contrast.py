"""Rules about losses that compare representations: their temperature, and what must not follow the gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.gradients import attached, is_quiet, name_of_call, passes
from ...program.program import Program
from ...program.syntax import Function, keyword_of, name_called, receiver_of, source_of

TEMPERATURES = ("temperature", "temp", "tau")
MOST_WRITTEN = 0.5  # a number without a name that is taken for a temperature (judgement: 0.05 to 0.5 are in use)


@rule("code.temperature-multiplied")
def temperature_multiplied(program: Program) -> Iterator[Finding]:
    """`F.cross_entropy(z @ z.T * temperature, targets)` with a temperature below 1: it has to divide."""
    asked = [(each.call, each.given) for each in program.losses.all_criteria if each.kind == "cross_entropy"]
    asked += [(call, call.args[0]) for call in program.calls_to("log_softmax", "logsumexp") if call.args]
    for call, given in asked:
        if given is None:
            continue
        for origin in program.names.origins(given):
            product = scaled_similarity(program, origin.node)
            if product is not None:
                left, right = product
                line = getattr(origin.node, "lineno", call.lineno)
                values = {"temperature": source_of(right)}
                yield Finding(line, f"{source_of(left)} / {source_of(right)}", values, also=[call.lineno])


def scaled_similarity(program: Program, node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The similarities and the temperature of `a @ b.T * temperature`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    for one, other in ((node.left, node.right), (node.right, node.left)):
        is_written = isinstance(other, ast.Constant) and (program.values.number(other) or 1.0) <= MOST_WRITTEN
        named = isinstance(other, (ast.Name, ast.Attribute, ast.Subscript))
        if not (named or is_written) or not is_similarity(program, one):
            continue
        size = program.values.number(other) if is_written else temperature_of(program, other)
        if size is not None and 0 < size < 1:
            return one, other
    return None


def is_similarity(program: Program, node: ast.AST) -> bool:
    """`a @ b.T` of what was brought to length 1; cosine similarities."""
    value = program.names.origin(node).node
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult):
        return bool(program.names_called & {"normalize", "cosine_similarity", "norm"})
    return name_called(value) in ("cosine_similarity", "CosineSimilarity") or (
        name_called(value) in ("matmul", "mm", "einsum") and "normalize" in program.names_called
    )


def temperature_of(program: Program, node: ast.expr) -> float | None:
    """Its number, where it is called a temperature: here, or where the function is called."""
    called_so = is_temperature(source_of(node))
    binding = program.names.given(node)
    if not called_so and binding is not None and binding.how == "parameter":
        called_so = any(is_temperature(source_of(each)) for each in program.names.values_of_parameter(binding))
    return program.values.number(node) if called_so else None


def is_temperature(text: str) -> bool:
    words = "".join(each if each.isalnum() else " " for each in text.lower()).split()
    return any(word in TEMPERATURES for word in words)


@rule("code.no-stop-gradient")
def no_stop_gradient(program: Program) -> Iterator[Finding]:
    """The similarity of a prediction to a target of the same encoder, both with gradients and nothing that pushes apart:
    all outputs alike are the best answer."""
    found = list(in_backward_passes(program)) or list(in_modules(program))
    yield from found[:1]


def in_modules(program: Program) -> Iterator[Finding]:
    """Of a loss that a module (or a function) works out by itself: one side went through the predictor, and the other has a
    gradient too."""
    if "cosine_similarity" not in program.names_called:
        return
    if program.names_called & {"cross_entropy", "logsumexp", "CrossEntropyLoss", "var", "cov", "off_diagonal"} - lone_probes(
        program
    ):
        return
    for call in program.calls:
        if is_quiet(program, call):
            continue
        form = program.algebra.of(call)
        for each in [form, *form.below()]:
            if each.op != "call" or name_of_call(each) != "cosine_similarity" or len(each.parts) < 2:
                continue
            for prediction, target in (each.parts[:2], each.parts[1::-1]):
                other = [name_of_call(one) for one in target.below()]
                words = {word for one in target.below() for word in one.words}
                slow = any(
                    word in text for text in [*other, *words] for word in ("target", "teacher", "ema", "momentum", "slow")
                )
                if not any("predict" in name_of_call(one) for one in prediction.below()) or any(
                    "predict" in one for one in other
                ):
                    continue
                if not slow and list(attached(program, target)) and not is_quiet(program, target.node):
                    corrected = program.line_text(each.line)
                    yield Finding(
                        each.line,
                        f"{corrected}  # of target.detach()",
                        {"target": source_of(target.node)[:40]},
                        also=sorted({call.lineno} - {each.line}),
                    )
                    return


def lone_probes(program: Program) -> set[str]:
    """A cross-entropy that stands in a function of its own, which evaluates the representation."""
    calls = program.calls_to("cross_entropy", "CrossEntropyLoss")
    probes = [
        each
        for each in calls
        if any(word in getattr(program.function_of(each), "name", "") for word in ("probe", "eval", "linear", "knn"))
    ]
    return {"cross_entropy", "CrossEntropyLoss"} if calls and len(probes) == len(calls) else set()


def in_backward_passes(program: Program) -> Iterator[Finding]:
    if (
        "detach" in program.names_called
        or program.names_called & {"var", "std", "off_diagonal", "cov"}
        and regularises(program)
    ):
        return
    for _, event, terms in passes(program):
        similar = [term for term in terms if term.sign < 0 and is_cosine(program, term.node)]
        if not similar or len(similar) != len(terms):
            continue
        held = program.objects.trained()
        for term in similar:
            sides = term.node.args[:2] if isinstance(term.node, ast.Call) else []
            names = " ".join(source_of(each).lower() for each in sides)
            if len(sides) == 2 and has_predictor(program) and held and "target" not in names:
                line = getattr(term.node, "lineno", event.line)
                corrected = program.line_text(line).replace(source_of(sides[1]), f"{source_of(sides[1])}.detach()", 1)
                yield Finding(line, corrected, {"target": source_of(sides[1])}, also=[event.line])
                return


def regularises(program: Program) -> bool:
    """A spread or a covariance of the outputs is part of a loss, outside of what is evaluated without gradients."""
    for call in program.calls_to("var", "std", "cov", "off_diagonal"):
        function = program.function_of(call)
        decorated = isinstance(function, Function) and any("no_grad" in source_of(each) for each in function.decorator_list)
        quiet = any(isinstance(each, ast.With) and "no_grad" in source_of(each.items[0]) for each in program.enclosing(call))
        if not decorated and not quiet:
            return True
    return False


def is_cosine(program: Program, node: ast.AST) -> bool:
    return name_called(node) == "cosine_similarity" and isinstance(node, ast.Call) and len(node.args) >= 2


def has_predictor(program: Program) -> bool:
    """One side goes through a head of its own that is called a predictor."""
    texts = [each.attr for each in program.nodes.of_kind(ast.Attribute)]
    texts += [each.id for each in program.nodes.of_kind(ast.Name)]
    return any("predictor" in each.lower() for each in texts)


# --- attention


#: What puts a mask on attention, or makes a model causal by itself.
MASKING = (
    "tril", "triu", "masked_fill", "masked_fill_", "generate_square_subsequent_mask", "where", "flash_attn_func",
    "create_causal_mask", "create_block_mask", "flex_attention", "memory_efficient_attention",
)  # fmt: skip
RECURRENT = ("LSTM", "GRU", "RNN", "Mamba", "LSTMCell", "GRUCell")


@rule("code.no-causal-mask")
def no_causal_mask(program: Program) -> Iterator[Finding]:
    """A model learns the next token, and its attention sees that token."""
    if program.names_called & set(MASKING) or not learns_next(program):
        return
    if any(word in line for line in program.lines for word in ("is_causal", "attn_mask", "-inf", "causal", "finfo")):
        return
    for call in program.calls_to("scaled_dot_product_attention"):
        if len(call.args) <= 3:
            yield Finding(call.lineno, source_of(call)[:-1] + ", is_causal=True)")
            return
    for call in program.calls_to("softmax", "Softmax"):
        scores = scores_of(program, call)
        if scores is not None:
            text = source_of(scores)
            mask = f"torch.ones_like({text}, dtype=torch.bool).triu(1)"
            yield Finding(call.lineno, f'{text}.masked_fill({mask}, float("-inf")).softmax(-1)')
            return
    for call in program.calls_to("TransformerEncoder", "TransformerEncoderLayer", "MultiheadAttention"):
        masked = any(keyword_of(each, word) is not None for each in program.calls for word in ("mask", "src_mask"))
        if not masked and program.name_of(call.func).startswith(("torch.nn", "nn.")):
            yield Finding(call.lineno, "nn.Transformer.generate_square_subsequent_mask(length)  # given as mask=")
            return


def scores_of(program: Program, call: ast.Call) -> ast.expr | None:
    """What a softmax is taken of, where it is a product of queries and keys."""
    given = call.args[0] if program.name_of(call.func).startswith("torch.") and call.args else receiver_of(call)
    function = program.function_of(call)
    if not isinstance(function, Function) or not isinstance(given, ast.expr):
        return None
    inner: ast.AST = given
    for _ in range(6):
        inner = program.names.origin(inner).node
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Div, ast.Mult)):
            inner = inner.left
        else:
            break
    is_product = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.MatMult)
    is_product = is_product or name_called(inner) in ("matmul", "einsum", "bmm")
    text = source_of(inner).lower()
    return (
        given
        if is_product and "transpose" in text + ".t" and any(one in text for one in ("k.", "key", "k,", "k)"))
        else None
    )


def learns_next(program: Program) -> bool:
    """Labels are the inputs one place later: `x[:, :-1]` and `x[:, 1:]`, `data[i : i + n]` and `data[i + 1 : i + 1 + n]`."""
    if not program.trains or program.names_called & set(RECURRENT):
        return False
    if not program.names_called & {"cross_entropy", "CrossEntropyLoss"}:
        return False
    return any(shifts(one, other) for one, other in neighbours(program))


def neighbours(program: Program) -> Iterator[tuple[ast.Subscript, ast.Subscript]]:
    """Pairs of parts of one sequence in one statement, or in two that follow each other."""
    parts: dict[tuple[ast.AST, str], list[ast.Subscript]] = {}
    for node in program.nodes.of_kind(ast.Subscript):
        if last_slice(node) is not None and isinstance(node.ctx, ast.Load):
            parts.setdefault((program.function_of(node), source_of(node.value)), []).append(node)
    for found in parts.values():
        for one in found[:20]:
            for other in found[:20]:
                if one is not other and abs(one.lineno - other.lineno) <= 3:
                    yield one, other


def last_slice(node: ast.Subscript) -> ast.Slice | None:
    part = node.slice
    if isinstance(part, ast.Tuple) and len(part.elts) == 2:
        part = part.elts[1]
    return part if isinstance(part, ast.Slice) else None


def shifts(one: ast.Subscript, other: ast.Subscript) -> bool:
    first, second = last_slice(one), last_slice(other)
    if first is None or second is None:
        return False
    if first.upper is None or second.lower is None:
        return False
    if first.lower is None or second.upper is None:
        return first.lower is second.upper and source_of(first.upper) == "-1" and source_of(second.lower) == "1"
    begin = source_of(first.lower)
    return source_of(second.lower) in (f"{begin} + 1", f"1 + {begin}")


@rule("code.own-similarity-counted")
def own_similarity_counted(program: Program) -> Iterator[Finding]:
    """`cross_entropy(z @ z.T / t, partner)`: each row's largest similarity is the one to itself."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != "cross_entropy" or criterion.given is None:
            continue
        form = program.algebra.of(criterion.given)
        while form.op in ("div", "mul") and form.parts:
            form = next((each for each in form.parts if each.op in ("matmul", "div", "mul")), form.parts[0])
        if form.op != "matmul" or is_diagonal_hidden(program, criterion.call):
            continue
        one, other = form.parts[0], unturned(form.parts[1])
        if one.node is other.node:  # one value, not two views by the same words
            yield Finding(
                criterion.call.lineno,
                'logits.fill_diagonal_(float("-inf"))  # before the loss',
                {"rows": source_of(one.node)[:60]},
                also=sorted({form.line} - {criterion.call.lineno, 0}),
            )


def unturned(form: Form) -> Form:
    """`z` of `z.t()`, `z.T`, `z.transpose(0, 1)`."""
    name = form.name.rsplit(".", 1)[-1]
    if form.op == "transposed" or (form.op == "call" and name in ("t", "transpose", "permute", "swapaxes")):
        return form.parts[0]
    return form


def is_diagonal_hidden(program: Program, call: ast.Call) -> bool:
    text = source_of(program.function_of(call))
    return any(mark in text for mark in ("fill_diagonal", "eye(", "diag", "masked_fill", "-inf", "1e9", "mask"))
