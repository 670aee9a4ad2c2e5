"""Rules about axes and masks: which axis is the batch, how heads are cut, what a mask is true for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.algebra import Form
from ...program.constants import is_number
from ...program.layout import (
    SEQUENCE_LAYERS,
    Axis,
    axes_of,
    axis_asked,
    is_batch_first,
    layer_made,
    moves_axes,
    polarity,
    source_of_layout,
)
from ...program.program import Program
from ...program.syntax import (
    Function,
    dotted,
    keyword_of,
    last_name,
    line_of,
    name_called,
    names_in,
    receiver_of,
    source_of,
)


@rule("code.time-and-batch-exchanged")
def time_and_batch_exchanged(program: Program) -> Iterator[Finding]:
    """A layer that takes (time, batch, features) is given (batch, time, features): it mixes the samples of a batch."""
    for call in program.calls:
        if not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        made = layer_made(program, call.func)
        if made is None or is_batch_first(program, made) is not False or made.lineno == call.lineno:
            continue
        given = program.algebra.of(call.args[0])
        if moves_axes(given) or moves_in(program, call.args[0]):
            continue
        shown = pooled_over_second(program, call)
        if shown is not None:
            corrected = f"{source_of(made)[:-1]}, batch_first=True)"
            yield Finding(
                made.lineno,
                corrected,
                {"layer": program.makers.class_name(made)},
                also=sorted({call.lineno, line_of(shown)} - {made.lineno}),
            )
            return


def moves_in(program: Program, node: ast.AST) -> bool:
    """The value was transposed by a name that the algebra looks through, or comes from a function that may do so."""
    origin = program.names.origin(node).node
    return any(
        name_called(each)
        in ("transpose", "permute", "rearrange", "swapaxes", "t", "pad_packed_sequence", "pack_padded_sequence", "movedim")
        for one in (node, origin)
        for each in ast.walk(one)
    )


def pooled_over_second(program: Program, call: ast.Call) -> ast.AST | None:
    """Where the layer's output is read at one place of its second axis, or averaged over it."""
    function = program.function_of(call)
    for node in program.nodes.below(function):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) in (2, 3):
            first, second = node.slice.elts[:2]
            whole = isinstance(first, ast.Slice) and first.lower is None and first.upper is None
            if whole and source_of(second) in ("-1", "0") and comes_from(program, node.value, call):
                return node
        if (
            isinstance(node, ast.Call)
            and name_called(node) in ("mean", "amax", "max", "sum")
            and isinstance(node.func, ast.Attribute)
        ):
            dim = node.args[0] if len(node.args) == 1 else keyword_of(node, "dim")
            if dim is not None and source_of(dim) == "1" and comes_from(program, node.func.value, call):
                return node
    return None


def comes_from(program: Program, node: ast.AST, call: ast.Call) -> bool:
    """The value is the first output of the call as it is, or normalised."""
    for _ in range(6):
        if node is call:
            return True
        if isinstance(node, ast.Name):
            binding = program.names.given(node)
            if binding is None or binding.value is None or binding.how != "assigned" or binding.path not in ((), (0,)):
                return False
            node = binding.value
        elif isinstance(node, ast.Subscript) and source_of(node.slice) == "0" and node.value is call:
            return True
        elif isinstance(node, ast.Call) and program.makers.made_by(node.func) in ("LayerNorm", "Dropout") and node.args:
            node = node.args[0]
        else:
            return False
    return False


@rule("code.padded-time-first")
def padded_time_first(program: Program) -> Iterator[Finding]:
    """pad_sequence() gives (time, batch) to a program all of whose layers take (batch, time)."""
    layers = [
        each for each in program.calls_to(*SEQUENCE_LAYERS) if program.name_of(each.func).startswith(("torch.nn.", "nn."))
    ]
    packs = program.calls_to("pack_padded_sequence")
    said = [is_batch_first(program, each) for each in layers] + [
        program.values.is_true(keyword_of(each, "batch_first")) for each in packs
    ]
    if not said or not all(each is True for each in said):
        return
    for call in program.calls_to("pad_sequence"):
        first = keyword_of(call, "batch_first") or (call.args[1] if len(call.args) > 1 else None)
        parent = program.nodes.parents.get(call)
        moved = isinstance(parent, ast.Attribute) and parent.attr in ("transpose", "t", "permute", "T", "mT")
        if (
            (first is None or program.values.is_false(first))
            and not moved
            and not program.names_called & {"transpose", "permute", "swapaxes"}
        ):
            yield Finding(
                call.lineno, source_of(call)[:-1] + ", batch_first=True)", also=[each.lineno for each in layers[:1]]
            )


@rule("code.positions-by-batch")
def positions_by_batch(program: Program) -> Iterator[Finding]:
    """Positions are looked up by the size of the first axis, which is the batch: all places of a row get the same one."""
    layers = [
        each for each in program.calls_to(*SEQUENCE_LAYERS) if program.name_of(each.func).startswith(("torch.nn.", "nn."))
    ]
    if not layers or not all(is_batch_first(program, each) is True for each in layers):
        return
    for node in program.nodes.of_kind(ast.Subscript):
        if not isinstance(node.slice, ast.Slice) or node.slice.upper is None or node.slice.lower is not None:
            continue
        name = last_name(node.value).lower()
        table = name in (
            "pe",
            "pos",
            "pos_emb",
            "pos_embed",
            "positional",
            "position",
            "positions",
            "pos_enc",
            "pos_encoding",
            "positional_encoding",
            "encoding",
            "table",
        )
        upper = node.slice.upper
        by_first = (
            isinstance(upper, ast.Call)
            and name_called(upper) == "size"
            and [source_of(each) for each in upper.args] == ["0"]
        )
        by_first = by_first or (
            isinstance(upper, ast.Subscript) and source_of(upper.slice) == "0" and source_of(upper.value).endswith(".shape")
        )
        if (
            table
            and by_first
            and isinstance(node.value, ast.Attribute)
            and not program.names_called & {"transpose", "permute", "swapaxes"}
        ):
            yield Finding(node.lineno, "x + self.pe[:, : x.size(1)]  # with a table of shape (1, length, features)")


# --- views that are no transposes


@rule("code.view-scrambles-axes")
def view_scrambles_axes(program: Program) -> Iterator[Finding]:
    """`x.view(B, heads, T, d)` of (B, T, C): a view keeps the order of the numbers, so positions and channels are mixed."""
    yield from classes_moved_by_view(program)
    for function in program.functions:
        axes = axes_of(program, function)
        for call in program.own_nodes(function):
            if (
                not isinstance(call, ast.Call)
                or name_called(call) not in ("view", "reshape")
                or not isinstance(call.func, ast.Attribute)
            ):
                continue
            sizes = (
                call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], (ast.Tuple, ast.List)) else call.args
            )
            asked = {source_of(each): one for each in sizes if (one := axis_asked(each)) is not None}
            wrong = disorder(sizes, {**axes, **asked}) if axes or asked else None
            if wrong is None or program.name_of(call.func).startswith("torch."):
                continue
            source = source_of_layout(program, call.func.value)
            holder = {**axes, **asked}[wrong].holder
            if source is None or not isinstance(holder, ast.Name):
                continue
            if program.names.given(holder) is not source and source_of_layout(program, holder) is not source:
                continue
            order = ", ".join(source_of(each) for each in sizes)
            yield Finding(call.lineno, "view in the order of the axes, then .transpose(1, 2)", {"sizes": order[:60]})
            break


def disorder(sizes: list[ast.expr], axes: dict[str, Axis]) -> str | None:
    """The name of an axis that stands where a view cannot bring it."""
    last, between = -1, 0
    holder = ""
    present = [axes[source_of(each)] for each in sizes if source_of(each) in axes]
    named, count = len(present), present[0].count if present else 0
    for each in sizes:
        axis = axes.get(source_of(each))
        if axis is None:
            between += 0 if source_of(each) in ("1", "-1") and (source_of(each) == "1" or count in (0, named)) else 1
            continue
        text = source_of(axis.holder)
        if holder and text != holder:
            return None
        holder = text
        place = axis.place
        if place < last or (between and place == last + 1 and last >= 0):
            return source_of(each)
        last, between = place, 0
    return None


def classes_moved_by_view(program: Program) -> Iterator[Finding]:
    """`logits.reshape(B, n_classes, T)` of a linear layer's (B, T, n_classes): its width stands before the end."""
    for call in program.calls_to("view", "reshape"):
        if not isinstance(call.func, ast.Attribute) or program.name_of(call.func).startswith("torch."):
            continue
        sizes = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], (ast.Tuple, ast.List)) else call.args
        held = call.func.value
        if len(sizes) < 3 or any(isinstance(each, ast.Starred) for each in sizes):
            continue
        width = program.shapes.features(held)
        if width is None or program.shapes.rank(held) == 2:
            continue
        for place, each in enumerate(sizes[:-1]):
            behind = [one for one in sizes[place + 1 :] if program.values.of(one) != 1]
            if place > 0 and behind and not is_the_same(program, sizes[-1], width) and is_the_same(program, each, width):
                order = ", ".join(source_of(one) for one in sizes)
                corrected = f"{source_of(held)}.transpose(1, 2)" if len(sizes) == 3 else f"{source_of(held)}.movedim(-1, 1)"
                yield Finding(call.lineno, corrected, {"sizes": order[:60]})
                break


def is_the_same(program: Program, one: ast.expr, other: ast.expr) -> bool:
    """Both come from one place of the program, or are the same number."""
    first, second = program.values.number(one), program.values.number(other)
    if first is not None or second is not None:
        return first == second and first is not None and first > 1
    origins = program.names.origins(one), program.names.origins(other)
    return len(origins[0]) == 1 and origins[0] == origins[1]


@rule("code.heads-merged-in-place")
def heads_merged_in_place(program: Program) -> Iterator[Finding]:
    """(B, heads, T, d) is reshaped to (B, T, C) without moving the heads back: positions and channels are mixed."""
    for call in program.calls_to("view", "reshape"):
        if not isinstance(call.func, ast.Attribute):
            continue
        sizes = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], (ast.Tuple, ast.List)) else call.args
        if len(sizes) != 3:
            continue
        held = put_together(program, call.func.value)
        value: ast.AST | None = None
        if isinstance(held, ast.BinOp) and isinstance(held.op, ast.MatMult):
            value = held.right
        elif (
            name_called(held) in ("matmul", "scaled_dot_product_attention")
            and isinstance(held, ast.Call)
            and len(held.args) > 1
        ):
            value = (
                held.args[2] if name_called(held) == "scaled_dot_product_attention" and len(held.args) > 2 else held.args[-1]
            )
        if value is None or not splits_heads(program, value):
            continue
        yield Finding(
            call.lineno,
            ".transpose(1, 2).reshape(" + ", ".join(source_of(each) for each in sizes) + ")",
            also=sorted({line_of(held)} - {call.lineno}),
        )


def put_together(program: Program, held: ast.AST) -> ast.AST:
    """What a value was made by, moves of its numbers left out."""
    for _ in range(5):
        same = isinstance(held, ast.Call) and name_called(held) in ("contiguous", "dropout", "float", "to")
        if same and isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute):
            held = held.func.value
            continue
        binding = program.names.given(held) if isinstance(held, ast.Name) else None
        if binding is None or binding.value is None or binding.path or binding.how != "assigned":
            break
        held = binding.value
    return held


def splits_heads(program: Program, node: ast.AST) -> bool:
    """`v.view(B, T, h, d).transpose(1, 2)`."""
    origin = program.names.origin(node).node
    if name_called(origin) not in ("transpose", "permute") or not isinstance(origin, ast.Call):
        return False
    numbers = [source_of(each) for each in origin.args]
    cut = receiver_of(origin)
    is_view = name_called(cut) in ("view", "reshape", "unflatten") and isinstance(cut, ast.Call) and len(cut.args) in (1, 4)
    return is_view and numbers in (["1", "2"], ["0", "2", "1", "3"])


@rule("code.attention-over-queries")
def attention_over_queries(program: Program) -> Iterator[Finding]:
    """The softmax of attention scores runs over the queries: the weights of a query do not add up to 1."""
    for call in program.calls_to("softmax", "Softmax"):
        library = program.name_of(call.func).startswith("torch.")
        dim = keyword_of(call, "dim") or (
            call.args[1] if library and len(call.args) > 1 else call.args[0] if not library and call.args else None
        )
        axis = program.values.of(dim) if dim is not None else None
        scores = call.args[0] if library and call.args else receiver_of(call)
        if axis != -2 and (axis != 1 or program.shapes.rank(scores) not in (3, 4)):
            continue  # of two axes the second is the last
        form = program.algebra.of(scores)
        owner = program.names.class_of(call)
        if owner is not None and any(
            word in owner.name.lower() for word in ("slot", "routing", "capsule", "sinkhorn", "linear", "efficient", "agg")
        ):
            continue
        if is_scores(form):
            yield Finding(call.lineno, f"{source_of(scores)}.softmax(-1)", {"dim": str(axis)})


def is_scores(form: Form) -> bool:
    """queries @ keys^T, scaled and masked."""
    for _ in range(6):
        if form.op in ("div", "mul", "add") or (
            form.op == "call" and form.name.rsplit(".", 1)[-1] in ("masked_fill", "where")
        ):
            products = [each for each in form.parts if each.op in ("matmul", "div", "mul", "call", "add")]
            if not products:
                return False
            form = products[0]
        elif form.op == "matmul":
            return moves_axes(form.parts[1]) and any("k" in word for each in form.parts[1].below() for word in each.words)
        else:
            return False
    return False


# --- masks


@rule("code.padding-mask-inverted")
def padding_mask_inverted(program: Program) -> Iterator[Finding]:
    """A mask of what is real is given where a mask of what is ignored is asked for, or the other way round."""
    for call in program.calls:
        for keyword in call.keywords:
            name = keyword.arg or ""
            if name.endswith("key_padding_mask") and in_torch_layer(program, call):
                form = program.algebra.of(keyword.value)
                if polarity(form) == "real":
                    where = form.line or keyword.value.lineno
                    yield Finding(
                        keyword.value.lineno,
                        f"{name}=~({source_of(keyword.value)}).bool()",
                        {"name": name, "true": "the real tokens"},
                        also=sorted({where} - {keyword.value.lineno}),
                    )
            elif name == "attention_mask" and program.objects.event_of(call)[0] == "forward":
                form = program.algebra.of(keyword.value)
                if polarity(form) == "padding":
                    yield Finding(
                        keyword.value.lineno,
                        f"{name}=ids != pad_id",
                        {"name": name, "true": "the padding"},
                        also=sorted({form.line} - {keyword.value.lineno, 0}),
                    )


def in_torch_layer(program: Program, call: ast.Call) -> bool:
    """A layer of torch itself, or what nothing else is known of: a class of this file may use its own convention."""
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "super":
        return False
    owner = program.makers.definition(call.func)
    return owner is None and layer_made(program, call.func) is not None


@rule("code.mask-fills-real")
def mask_fills_real(program: Program) -> Iterator[Finding]:
    """Scores are filled with -inf where the mask says that a token is real, or past."""
    for call in program.calls_to("masked_fill", "masked_fill_"):
        if len(call.args) != 2 or not is_very_negative(program, call.args[1]):
            continue
        form = program.algebra.of(call.args[0])
        said = polarity(form) if is_told(form) else ""
        if said == "real" or (said == "past" and is_attention(program, receiver_of(call))):
            what = "real" if said == "real" else "past (and the token itself)"
            yield Finding(
                call.lineno,
                source_of(call).replace(source_of(call.args[0]), f"~({source_of(call.args[0])})", 1),
                {"what": what},
            )
    for call in program.calls_to("scaled_dot_product_attention"):
        mask = keyword_of(call, "attn_mask") or (call.args[3] if len(call.args) > 3 else None)
        said = polarity(program.algebra.of(mask)) if mask is not None else ""
        if mask is not None and said in ("padding", "future") and is_boolean(program.algebra.of(mask)):
            what = (
                "real, for True lets a place take part," if said == "padding" else "past, for True lets a place take part,"
            )
            made = sorted({program.algebra.of(mask).line} - {call.lineno, 0})
            yield Finding(call.lineno, f"attn_mask=~({source_of(mask)})", {"what": what}, also=made)


@rule("code.causal-mask-hides-past")
def causal_mask_hides_past(program: Program) -> Iterator[Finding]:
    """torch's attention layers leave out what a boolean mask is true for: True below the diagonal hides the past."""
    for call in program.calls:
        if not in_torch_layer(program, call):
            continue
        for keyword in call.keywords:
            if keyword.arg not in ("attn_mask", "mask", "src_mask", "tgt_mask"):
                continue
            form = program.algebra.of(keyword.value)
            if polarity(form) == "past" and is_boolean(form):
                yield Finding(
                    keyword.value.lineno,
                    f"{keyword.arg}=~({source_of(keyword.value)})",
                    {"name": keyword.arg},
                    also=sorted({form.line} - {keyword.value.lineno, 0}),
                )


def is_told(form: Form) -> bool:
    """By what the mask was made of, and not by its name alone: masks of one name are turned round on the way."""
    made = any(
        each.op in ("eq", "ne", "lt", "le", "gt", "ge") or (each.op == "call" and each.name.endswith(("tril", "triu")))
        for each in form.below()
    )
    return made and not any("attention_mask" in word for each in form.below() for word in each.words)


def is_attention(program: Program, node: ast.AST) -> bool:
    """Scores of attention, by what they were made of or are called."""
    words = source_of(node).lower()
    if "logits" in words:
        return False  # of pairs of places, as pointers are
    return is_scores(program.algebra.of(node)) or any(
        word in words for word in ("att", "score", "wei", "sim", "dots", "energy", "qk")
    )


def is_boolean(form: Form) -> bool:
    if form.op == "call" and form.name.rsplit(".", 1)[-1] in ("tril", "triu"):
        return any("bool" in source_of(each.node) for each in form.below())
    return form.op in ("bool", "eq", "ne", "lt", "gt", "le", "ge", "invert", "and", "or") or (
        form.op in ("index", "slice") and is_boolean(form.parts[0])
    )


def is_very_negative(program: Program, node: ast.expr) -> bool:
    value = program.values.of(node)
    if isinstance(value, (int, float)):
        return value <= -1e3
    text = source_of(node).replace('"', "'")
    return (
        "'-inf'" in text
        or "-float('inf')" in text
        or "-math.inf" in text
        or "finfo" in text
        or "-torch.inf" in text
        or "-np.inf" in text
    )


@rule("code.padding-scored")
def padding_scored(program: Program) -> Iterator[Finding]:
    """The loss of each token is multiplied with a mask that is true for padding."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        for one, other in ((node.left, node.right), (node.right, node.left)):
            form = program.algebra.of(other)
            if form.holds("ne", "eq") and polarity(form) == "padding" and is_loss(program, one):
                yield Finding(node.lineno, f"{source_of(one)} * ~({source_of(other)})")


def is_loss(program: Program, node: ast.AST) -> bool:
    origin = program.names.origin(node).node
    criterion = program.losses.criterion(origin) if isinstance(origin, ast.Call) else None
    return criterion is not None and criterion.reduction == "none"


# --- what is read at the end of a row


@rule("code.read-at-padding")
def read_at_padding(program: Program) -> Iterator[Finding]:
    """Rows are padded on the right, and the last place of each is read: in shorter rows that is padding."""
    padded = pads_right(program)
    if padded is None or any('"left"' in line or "'left'" in line for line in program.lines):
        return
    for node in program.nodes.of_kind(ast.Subscript):
        if not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) not in (2, 3) or not isinstance(node.ctx, ast.Load):
            continue
        first, second = node.slice.elts[:2]
        if not (isinstance(first, ast.Slice) and first.lower is None and first.upper is None and source_of(second) == "-1"):
            continue
        function = program.function_of(node)
        if not isinstance(function, Function) or any(
            word in function.name for word in ("generate", "sample", "decode", "translate", "greedy", "predict_next", "next")
        ):
            continue
        if is_hidden(program, node.value) and not appends_tokens(program, function):
            yield Finding(
                node.lineno,
                "h[torch.arange(len(h)), attention_mask.sum(1) - 1]",
                {"read": source_of(node)[:60]},
                also=[padded],
            )


def appends_tokens(program: Program, function: ast.AST) -> bool:
    return any(name_called(each) in ("multinomial", "argmax", "topk") for each in program.calls_in(function))


def pads_right(program: Program) -> int | None:
    """The line where rows of unequal length are filled up behind their end."""
    for call in program.calls_to("pad_sequence"):
        side = keyword_of(call, "padding_side")
        if side is None or program.values.text(side) != "left":
            return call.lineno
    for node in program.nodes.of_kind(ast.BinOp):
        if isinstance(node.op, ast.Add) and isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Mult):
            text = source_of(node.right).lower()
            if "len(" in text and isinstance(node.right.left, ast.List) and "pad" in text:
                return node.lineno
    return pads_right_by_tokenizer(program)


def pads_right_by_tokenizer(program: Program) -> int | None:
    """`tokenizer(texts, padding=True)` where the program says the right side, or nothing (what most tokenizers then do)."""
    said = any("padding_side" in line for line in program.lines)
    right = any("padding_side" in line and "right" in line for line in program.lines)
    for call in program.calls:
        padding = keyword_of(call, "padding")
        if padding is None or "tok" not in source_of(call.func).lower():
            continue
        if program.values.of(padding) in (True, "longest", "max_length") and (right or not said):
            return call.lineno
    return None


def is_hidden(program: Program, node: ast.AST) -> bool:
    """States or scores of a model for each token: `last_hidden_state`, the output of a recurrent layer."""
    origin = program.names.origins(node)[0]
    value = origin.node
    inner = behind_head(program, value)
    if inner is not None:
        return is_hidden(program, inner)
    if isinstance(value, ast.Attribute) and value.attr in ("last_hidden_state", "hidden_states"):
        return True
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Attribute) and value.value.attr == "hidden_states":
        return True
    call = value if isinstance(value, ast.Call) else None
    if call is None or not origin.path or origin.path[0] != 0:
        made = (
            layer_made(program, call.func) if call is not None and isinstance(call.func, (ast.Name, ast.Attribute)) else None
        )
        return made is not None
    made = layer_made(program, call.func) if isinstance(call.func, (ast.Name, ast.Attribute)) else None
    return made is not None or name_called(call) == "pad_packed_sequence"


def behind_head(program: Program, value: ast.AST) -> ast.AST | None:
    """`hidden` of `self.score(hidden).squeeze(-1)`: a linear layer and a change of form leave each token its place."""
    if not isinstance(value, ast.Call):
        return None
    if name_called(value) in ("squeeze", "float", "to", "contiguous") and isinstance(value.func, ast.Attribute):
        return value.func.value
    if program.makers.made_by(value.func) == "Linear" and len(value.args) == 1:
        return value.args[0]
    return None


# --- CTC


@rule("code.ctc-conventions")
def ctc_conventions(program: Program) -> Iterator[Finding]:
    """CTC's blank is another than the program's own, or its input is no log-probability, or lies batch first."""
    for criterion in program.losses.all_criteria:
        if criterion.kind != "ctc_loss":
            continue
        maker = criterion.maker
        blank = keyword_of(maker, "blank") or (maker.args[0] if maker is not criterion.call and maker.args else None)
        used = program.values.number(blank) if blank is not None else 0.0
        own = own_blank(program)
        if used is not None and own is not None and own[0] != used:
            yield Finding(
                maker.lineno,
                f"nn.CTCLoss(blank={own[1]})",
                {"what": f"The loss takes {used:g} for the blank, and the program {own[1]} = {own[0]:g}"},
                also=[own[2]],
            )
        letter = letter_for(program, int(used)) if used is not None and (own is None or own[0] == used) else None
        if letter is not None:
            yield Finding(
                letter[1],
                "{character: number for number, character in enumerate(alphabet, 1)}  # 0 is the blank",
                {"what": f"The loss takes {used:g} for the blank, and the program for {letter[0]!r}"},
                also=[maker.lineno],
            )
        ends = program.makers.squash(criterion.given) if criterion.given is not None else None
        if ends in ("linear", "softmax", "relu"):
            yield Finding(
                criterion.call.lineno,
                "criterion(logits.log_softmax(-1).transpose(0, 1), ...)",
                {"what": f"The loss takes logarithms of probabilities, and is given the output of a {ends} layer"},
            )


def letter_for(program: Program, number: int) -> tuple[str, int] | None:
    """The character that the program gives a number, where it is no blank: by `{c: i for i, c in enumerate(alphabet)}`, by
    `alphabet.index(c)` or `ord(c) - ord("a")` of each character of a text."""
    for made in program.nodes.of_kind(ast.DictComp):
        over = made.generators[0]
        pair = over.target.elts if isinstance(over.target, ast.Tuple) else []
        counted = over.iter if isinstance(over.iter, ast.Call) and name_called(over.iter) == "enumerate" else None
        if counted is None or not counted.args or len(pair) != 2:
            continue
        if [source_of(made.value), source_of(made.key)] != [source_of(each) for each in pair]:
            continue
        begin = keyword_of(counted, "start") or (counted.args[1] if len(counted.args) > 1 else None)
        first = program.values.number(begin) if begin is not None else 0.0
        letters = program.values.of(counted.args[0])
        if first is not None and is_letter(letters, number - int(first)) and not is_moved(program, made):
            return letters[number - int(first)], made.lineno
    for listed in program.nodes.of_kind(ast.ListComp):
        item = listed.elt
        drawn = names_in(listed.generators[-1].target)
        if name_called(item) == "index" and isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            letters = program.values.of(item.func.value)
            if len(item.args) == 1 and drawn & names_in(item.args[0]) and is_letter(letters, number):
                return letters[number], listed.lineno
        elif isinstance(item, ast.BinOp) and isinstance(item.op, ast.Sub) and name_called(item.left) == "ord":
            base = item.right
            code = program.values.of(base.args[0] if isinstance(base, ast.Call) and base.args else base)
            code = ord(code) if isinstance(code, str) and len(code) == 1 else code
            letter = chr(code + number) if type(code) is int and 0 < code + number < 128 else ""
            if letter.isalnum() and drawn & names_in(item.left):
                return letter, listed.lineno
    return None


def is_letter(letters: object, place: int) -> bool:
    if not isinstance(letters, (str, list)) or not 0 <= place < len(letters):
        return False
    held = letters[place]
    return isinstance(held, str) and len(held) == 1 and held.isalnum()


def is_moved(program: Program, made: ast.DictComp) -> bool:
    """`numbers[c] + 1`: what is looked up is moved."""
    holder = program.statement_of(made)
    target = source_of(holder.targets[0]) if isinstance(holder, ast.Assign) else ""
    for node in program.nodes.of_kind(ast.BinOp):
        if isinstance(node.op, ast.Add) and target and is_number(program.values.of(node.right)):
            asked = node.left.func if isinstance(node.left, ast.Call) else node.left
            if isinstance(asked, (ast.Subscript, ast.Attribute)) and source_of(asked.value) == target:
                return True
    return False


def own_blank(program: Program) -> tuple[float, str, int] | None:
    """The number that the program itself calls blank."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if isinstance(target, (ast.Name, ast.Attribute)) and last_name(target).lower() in (
            "blank",
            "blank_id",
            "blank_idx",
            "blank_index",
            "blank_token",
            "ctc_blank",
        ):
            value = program.values.number(node.value)
            if value is not None:
                return value, dotted(target), node.lineno
    return None
