"""Rules about what is held out: fitted or multiplied before the split, the same data twice, the answer among the inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import data_of, is_of_held_out
from ...program.gradients import is_quiet
from ...program.program import Program
from ...program.syntax import (
    argument_given,
    keyword_of,
    last_name,
    line_of,
    name_called,
    names_in,
    parameters_of,
    receiver_of,
    source_of,
)

SPLITS = ("train_test_split", "random_split", "KFold", "StratifiedKFold", "cross_val_score")
FITTING = (
    "StandardScaler", "MinMaxScaler", "RobustScaler", "PCA", "SelectKBest", "TfidfVectorizer", "CountVectorizer",
    "QuantileTransformer", "PowerTransformer", "SimpleImputer", "KNNImputer", "TargetEncoder", "SelectFromModel",
    "TruncatedSVD", "MaxAbsScaler",
)  # fmt: skip


AUGMENTING = ("augment", "noise", "flip", "jitter", "perturb", "paraphrase", "copy", "shift", "rotate")


def splits(program: Program) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """Calls that part data into what trains and what is held out, with the data."""
    for call in program.calls_to("train_test_split", "random_split"):
        held: list[ast.expr] = [
            each for each in call.args if isinstance(each, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        ]
        if not held and isinstance(call.func, ast.Attribute):
            held = [call.func.value]  # of datasets
        yield call, held
    yield from splits_by_hand(program)
    yield from splits_by_order(program)
    yield from splits_in_place(program)


def splits_by_order(program: Program) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """`order = permutation(n)`, then `x[order[:cut]]` and `x[order[cut:]]`."""
    for call in program.calls_to("permutation", "randperm"):
        holder = program.statement_of(call)
        if not isinstance(holder, ast.Assign) or len(holder.targets) != 1:
            continue
        names = [each for each in names_of_targets(holder) if program.names.given(each) is not None]
        if names:
            held = parted_data(program, names[0])
            if held:
                yield call, held


def names_of_targets(holder: ast.Assign) -> list[ast.Name]:
    target = holder.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [each for each in parts if isinstance(each, ast.Name)]


def parted_data(program: Program, order: ast.Name) -> list[ast.expr]:
    """What is looked up by the first part of an order, and also by its rest."""
    asked: dict[str, list[ast.expr]] = {"first": [], "rest": []}
    for node in program.nodes.of_kind(ast.Subscript):
        side = side_of_cut(program, node.slice, order)
        if side and isinstance(node.ctx, ast.Load):
            asked[side].append(node.value)
    for call in program.calls_to("Subset", "select", "iloc", "take"):
        held = call.args[0] if name_called(call) == "Subset" and len(call.args) > 1 else receiver_of(call)
        side = side_of_cut(program, call.args[-1], order) if call.args else ""
        if side:
            asked[side].append(held)
    for made in program.nodes.of_kind(ast.ListComp):  # `[rows[i] for i in order[:cut]]`
        item = made.elt
        side = side_of_cut(program, made.generators[0].iter, order)
        if side and isinstance(item, ast.Subscript) and source_of(item.slice) == source_of(made.generators[0].target):
            asked[side].append(item.value)
    rest = {source_of(each) for each in asked["rest"]}
    return [each for each in asked["first"] if source_of(each) in rest]


def side_of_cut(program: Program, node: ast.AST, order: ast.Name) -> str:
    """`first` of `order[:cut]`, `rest` of `order[cut:]`, through names; empty for anything else."""
    cut = program.names.origin(node).node if isinstance(node, ast.Name) else node
    if not isinstance(cut, ast.Subscript) or not isinstance(cut.slice, ast.Slice) or not isinstance(cut.value, ast.Name):
        return ""
    if cut.value.id != order.id or program.names.scope_of(cut) is not program.names.scope_of(order):
        return ""
    if (cut.slice.lower is None) == (cut.slice.upper is None):
        return ""
    return "first" if cut.slice.lower is None else "rest"


def splits_in_place(program: Program) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """`random.shuffle(rows)`, then `rows[:cut]` and `rows[cut:]`."""
    for call in program.calls_to("shuffle"):
        rows = call.args[0] if len(call.args) == 1 else None
        if not isinstance(rows, ast.Name) or program.loops_of(call):
            continue
        parts = [
            each.slice
            for each in program.nodes.of_kind(ast.Subscript)
            if isinstance(each.value, ast.Name)
            and each.value.id == rows.id
            and isinstance(each.slice, ast.Slice)
            and program.names.scope_of(each) is program.names.scope_of(rows)
        ]
        if any(each.lower is None and each.upper is not None for each in parts) and any(
            each.lower is not None and each.upper is None for each in parts
        ):
            yield call, [rows]


def splits_by_hand(program: Program) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """`train, val = partition(table)`: a function of this file that permutes what it is given and cuts it."""
    for node in program.nodes.of_kind(ast.Assign):
        call, target = node.value, node.targets[0]
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple) or not call.args:
            continue
        names = [source_of(each).lower() for each in target.elts]
        parts = any("train" in each for each in names) and any(
            word in each for each in names for word in ("val", "test", "dev")
        )
        function = program.names.function_called(call) if parts else None
        if function is not None and {name_called(each) for each in program.calls_in(function)} & {
            "permutation",
            "randperm",
            "shuffle",
        }:
            yield call, [each for each in call.args[:1] if isinstance(each, (ast.Name, ast.Attribute, ast.Call))]


@rule("code.fitted-before-split")
def fitted_before_split(program: Program) -> Iterator[Finding]:
    """A scaler, a selection or a vocabulary is fitted to all data, and then they are split."""
    for call, held in [*splits(program), *cuts_in_order(program)]:
        for data in held:
            fit = fit_on_the_way(program, data, 0)
            if fit is not None:
                corrected = (
                    "scaler.fit(train); train, test = scaler.transform(train), scaler.transform(test)  # behind the split"
                )
                yield Finding(fit.lineno, corrected, {"what": source_of(fit.func)}, also=[line_of(call)])
                break


def cuts_in_order(program: Program) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """`values[:cut]` and `values[cut:]` under the names of what trains and what is held out: a series that is split in
    time."""
    begun: dict[tuple[ast.AST, str, str], ast.Subscript] = {}
    for node in program.nodes.of_kind(ast.Subscript):
        cut = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        if not isinstance(node.ctx, ast.Load) or not isinstance(cut, ast.Slice) or cut.step is not None:
            continue
        if not isinstance(node.value, (ast.Name, ast.Attribute)):
            continue
        where = (program.function_of(node), source_of(node.value))
        if cut.lower is None and cut.upper is not None:
            begun.setdefault((*where, source_of(cut.upper)), node)
            continue
        first = begun.pop((*where, cut_without_context(cut.lower)), None) if cut.lower is not None else None
        if first is not None and {"train", "held"} <= sides_named(program, first) | sides_named(program, node):
            yield first, [first.value]


def cut_without_context(node: ast.expr) -> str:
    """`cut` of `series[cut - lookback:]`: the held-out part begins with what its first window looks back on."""
    return source_of(node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else node)


def sides_named(program: Program, node: ast.AST) -> set[str]:
    """`train`, `held`: what the statement around a part calls it, by its targets, keys and arguments."""
    statement = program.statement_of(node)
    texts: list[str] = []
    for each in program.nodes.below(statement):
        if isinstance(each, ast.Name):
            texts.append(each.id)
        elif isinstance(each, ast.Attribute):
            texts.append(each.attr)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            texts.append(each.value)
        elif isinstance(each, ast.keyword) and each.arg:
            texts.append(each.arg)
    words = {word for text in texts for word in text.lower().split("_")}
    found = {"train"} if any(each in ("train", "tr", "training") or each.startswith("train") for each in words) else set()
    return found | ({"held"} if any(is_of_held_out(each) for each in words) else set())


def fit_on_the_way(program: Program, node: ast.AST, depth: int) -> ast.Call | None:
    """The fit_transform() (or transform() of something fitted) that the data went through."""
    if depth > 5:
        return None
    origin = program.names.origin(node).node
    for each in ast.walk(origin):
        scaled = scaled_by_itself(program, each)
        if scaled is not None:
            return scaled
        if (
            isinstance(each, ast.Call)
            and name_called(each) in ("fit_transform", "transform")
            and isinstance(each.func, ast.Attribute)
        ):
            made = program.makers.call_of(each.func.value)
            if made is not None and program.makers.class_name(made) in FITTING and not fitted_to_a_part(program, each):
                return each
        if isinstance(each, ast.Name) and each is not origin and isinstance(each.ctx, ast.Load):
            inner = program.names.origin(each).node
            if inner is not each and inner is not origin and (found := fit_on_the_way(program, each, depth + 1)) is not None:
                return found
    return None


def fitted_to_a_part(program: Program, call: ast.Call) -> bool:
    """`scaler.fit(values[:cut])` before `scaler.transform(values)`: all of them are brought to the scale of a part."""
    held = program.objects.identity(receiver_of(call))
    for fit in program.calls_to("fit", "fit_transform") if name_called(call) == "transform" else []:
        if not fit.args or not isinstance(fit.func, ast.Attribute) or not program.objects.identity(fit.func.value) & held:
            continue
        given = program.names.origin(fit.args[0], through_calls=False)
        text = f"{source_of(fit.args[0])} {source_of(given.node)}".lower()
        if given.path or isinstance(given.node, ast.Subscript) or "train" in text or "[:" in text:
            return True
    return False


def scaled_by_itself(program: Program, node: ast.AST) -> ast.Call | None:
    """The `x.mean(0)` of `(x - x.mean(0)) / x.std(0)`: over the samples, and of all of them."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Sub, ast.Div)):
        return None
    taken = program.algebra.of(node.right)
    whole = program.algebra.of(node.left)
    while whole.op in ("sub", "div") and whole.parts:
        whole = whole.parts[0]
    for each in taken.below():
        if each.op not in ("mean", "std") or not isinstance(each.node, ast.Call) or each.parts[0].key != whole.key:
            continue
        call = each.node
        library = program.name_of(call.func).startswith(("torch.", "numpy."))
        given = call.args[1:] if library else call.args
        axis = keyword_of(call, "axis") or keyword_of(call, "dim") or (given[0] if given else None)
        over = program.values.of(axis) if axis is not None else None
        if over == 0 or (isinstance(over, (list, tuple)) and 0 in over):
            return call
    return None


@rule("code.multiplied-before-split")
def multiplied_before_split(program: Program) -> Iterator[Finding]:
    """Samples are repeated, oversampled or augmented, and then split: copies of one sample stand on both sides."""
    for call, held in splits(program):
        for data in held:
            place = multiplied(program, data, 0)
            if place is not None:
                yield Finding(getattr(place, "lineno", call.lineno), "", {"what": source_of(place)[:60]}, also=[call.lineno])
                break


def multiplied(program: Program, node: ast.AST, depth: int) -> ast.AST | None:
    if depth > 4:
        return None
    value = rows_behind(program, node)
    if name_called(value) in ("fit_resample", "fit_sample"):
        return value
    if is_repeated(program, value) or (isinstance(value, ast.ListComp) and makes_several(program, value)):
        return value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) and isinstance(value.right, (ast.ListComp, ast.Name)):
        copies = program.names.origin(value.right).node
        if isinstance(copies, ast.ListComp) and augments(copies) and is_over(program, copies, value.left):
            return value
    if (
        name_called(value) in ("concat", "vstack", "concatenate", "cat", "concatenate_datasets")
        and isinstance(value, ast.Call)
        and value.args
    ):
        parts = value.args[0].elts if isinstance(value.args[0], (ast.List, ast.Tuple)) else []
        texts = [source_of(each) for each in parts]
        if any(is_drawn_again(program, each) for each in parts):
            return value
        if len(texts) != len(set(texts)) or any("augment" in each.lower() or "flip" in each.lower() for each in texts[1:]):
            return value
    if (
        isinstance(value, ast.Call)
        and name_called(value) in ("from_list", "TensorDataset", "array", "tensor", "Dataset")
        and value.args
    ):
        return multiplied(program, value.args[0], depth + 1)
    added = extended(program, node)
    return added


def rows_behind(program: Program, node: ast.AST) -> ast.AST:
    """What gives the rows of a table: functions of the file are followed, orders and choices of columns looked through."""
    value = program.names.origin(node).node
    for _ in range(6):
        same = with_the_same_rows(program, value)
        if same is None:
            break
        value = program.names.origin(same).node
    return value


def with_the_same_rows(program: Program, value: ast.AST) -> ast.expr | None:
    """`table` of `table.sample(frac=1)`, `shuffle(table)`, `table.reset_index()`, `table["x"]`, `table.drop(columns="y")`:
    the order and the columns change, the rows do not."""
    if isinstance(value, ast.Attribute) and value.attr == "values":
        return value.value
    if isinstance(value, ast.Subscript):
        asked = program.values.of(value.slice)
        columns = asked if isinstance(asked, list) else [asked]
        return value.value if columns and all(isinstance(each, str) for each in columns) else None
    if not isinstance(value, ast.Call):
        return None
    name = name_called(value)
    if name == "shuffle" and program.name_of(value.func).startswith("sklearn.") and len(value.args) == 1:
        return value.args[0]
    if not isinstance(value.func, ast.Attribute):
        return None
    share, replace, axis = (keyword_of(value, each) for each in ("frac", "replace", "axis"))
    whole = name == "sample" and share is not None and program.values.of(share) == 1
    columns_only = name == "drop" and (keyword_of(value, "columns") is not None or program.values.of(axis) in (1, "columns"))
    if (whole and not program.values.is_true(replace)) or columns_only or name in ("reset_index", "to_numpy"):
        return value.func.value
    return None


def is_drawn_again(program: Program, node: ast.AST) -> bool:
    """`rare.sample(n, replace=True)`, `resample(rare)`, `np.repeat(rare, 5)`, `rare.loc[rng.choice(rare.index, n)]`."""
    call = program.names.origin(node).node
    if isinstance(call, ast.Subscript):
        return draws_with_replacement(program, call.slice)
    if not isinstance(call, ast.Call):
        return False
    replace = keyword_of(call, "replace")
    if name_called(call) == "sample":
        return replace is not None and program.values.is_true(replace)
    return name_called(call) == "resample" and (replace is None or not program.values.is_false(replace))


def draws_with_replacement(program: Program, node: ast.AST) -> bool:
    """`rng.choice(index, size=n)` of NumPy, which draws with replacement unless it is told not to."""
    call = program.names.origin(node).node
    if not isinstance(call, ast.Call) or name_called(call) != "choice":
        return False
    several = len(call.args) > 1 or keyword_of(call, "size") is not None
    replace = keyword_of(call, "replace") or (call.args[2] if len(call.args) > 2 else None)
    return several and (replace is None or program.values.is_true(replace))


def is_repeated(program: Program, value: ast.AST) -> bool:
    """`rows * 5`."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return False
    times = program.values.of(value.right)
    return type(times) is int and times >= 2 and is_list(program, value.left)


def makes_several(program: Program, made: ast.ListComp) -> bool:
    """`[copy for row in rows for copy in [row, augment(row)]]`, `[augment(row) for row in rows for _ in range(5)]`."""
    if len(made.generators) != 2:
        return False
    row, copies = made.generators
    of_row = names_in(row.target)
    if name_called(copies.iter) == "range":
        return augments(made) and bool(of_row & names_in(made.elt)) and name_called(row.iter) != "range"
    if name_called(row.iter) == "range":  # [augment(row) for _ in range(5) for row in rows]
        return augments(made) and bool(names_in(copies.target) & names_in(made.elt))
    text = source_of(copies.iter).lower()
    several = isinstance(copies.iter, (ast.List, ast.BinOp, ast.ListComp)) or "augment" in text
    return several and bool(of_row & names_in(copies.iter)) and any(word in text for word in AUGMENTING)


def extended(program: Program, node: ast.AST) -> ast.AST | None:
    """`rows += [augment(r) for r in rows]`, `rows.extend(augment(r) for r in rows)`; `rows.append(augment(row))` in a loop
    inside one over what rows are made of."""
    for call in program.calls_to("append"):
        loops = program.loops_of(call)
        if source_of(receiver_of(call)) != source_of(node) or len(loops) < 2 or not call.args:
            continue
        inner, outer = loops[0], loops[1]
        counted = isinstance(inner, ast.For) and name_called(inner.iter) == "range" and isinstance(outer, ast.For)
        if counted and isinstance(outer, ast.For) and name_called(outer.iter) != "range":
            text = source_of(program.names.origin(call.args[0]).node).lower()
            if any(word in text for word in AUGMENTING) and not is_split_loop(program, call):
                return call
    for binding in program.names.all_given(node):
        value = binding.value
        made = value if isinstance(value, (ast.ListComp, ast.GeneratorExp)) else None
        if binding.how == "added" and made is not None and augments(made) and is_over(program, made, node):
            return binding.node
        if binding.how == "added" and isinstance(value, ast.Name) and source_of(value) == source_of(node):
            return binding.node
    return None


def is_list(program: Program, node: ast.AST) -> bool:
    value = program.names.origin(node).node
    return isinstance(value, (ast.ListComp, ast.List)) or name_called(value) in ("list", "readlines", "load", "sample_rows")


def augments(node: ast.ListComp | ast.GeneratorExp) -> bool:
    text = source_of(node.elt).lower()
    return any(word in text for word in AUGMENTING)


def is_split_loop(program: Program, call: ast.Call) -> bool:
    """What the loop goes over is the training part already."""
    return any(isinstance(each, ast.For) and "train" in source_of(each.iter).lower() for each in program.loops_of(call))


def is_over(program: Program, comprehension: ast.ListComp | ast.GeneratorExp, node: ast.AST) -> bool:
    return any(source_of(each.iter) == source_of(node) for each in comprehension.generators)


@rule("code.windows-split-at-random")
def windows_split_at_random(program: Program) -> Iterator[Finding]:
    """Windows that overlap are split at random: the neighbours of each held-out window were trained on."""
    for call, held in splits(program):
        shuffle = keyword_of(call, "shuffle")
        if shuffle is not None and program.values.is_false(shuffle):
            continue
        for data in held:
            window = windows_in(program, data, 0)
            if window is not None:
                corrected = "cut = int(0.8 * len(series))  # split in time, before the windows are taken"
                yield Finding(
                    call.lineno, corrected, {"window": source_of(window)[:60]}, also=[getattr(window, "lineno", 0)]
                )
                break


def windows_in(program: Program, node: ast.AST, depth: int) -> ast.AST | None:
    """`series[i : i + 48]` for every i, on the way to the data."""
    if depth > 5:
        return None
    if isinstance(node, ast.Name) and (window := appended_window(program, node)) is not None:
        return window
    origin = program.names.origin(node).node
    for each in ast.walk(origin):
        if isinstance(each, (ast.ListComp, ast.GeneratorExp)) and (window := window_of(program, each)) is not None:
            return window
        if name_called(each) == "sliding_window_view" or is_unfold_by_one(program, each):
            return each
        if isinstance(each, ast.Call) and (window := window_of_sample(program, each)) is not None:
            return window
        for inner in made_elsewhere(program, each, origin):
            if (window := windows_in(program, inner, depth + 1)) is not None:
                return window
    return None


def window_of_sample(program: Program, call: ast.Call) -> ast.AST | None:
    """`self.series[i : i + 48]` of a data set's __getitem__(i), whose next sample begins one further."""
    owner = program.makers.class_made(call)
    get = program.makers.method(owner, "__getitem__") if owner is not None else None
    if get is None or len(get.args.args) < 2:
        return None
    asked = {get.args.args[1].arg} | begins_listed(program, call, owner, get)
    return next((each for each in program.own_nodes(get) if is_window(each, asked)), None)


def begins_listed(program: Program, call: ast.Call, owner: ast.ClassDef | None, get: ast.AST) -> set[str]:
    """`t` of `s, t = self.index[i]`, where __init__ lists every place of a series, one after the other."""
    init = program.makers.method(owner, "__init__") if owner is not None else None
    found: set[str] = set()
    for node in program.own_nodes(get):
        value = node.value if isinstance(node, ast.Assign) else None
        if init is None or not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Attribute):
            continue
        target = node.targets[0]  # type: ignore[attr-defined]
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        for place, part in enumerate(parts):
            step = step_listed(program, init, source_of(value.value), place if len(parts) > 1 else None)
            if isinstance(part, ast.Name) and step is not None and step_given(program, call, init, step) == 1:
                found.add(part.id)
    return found


def step_listed(program: Program, init: ast.AST, listed: str, place: int | None) -> ast.expr | None:
    """The step of the `range()` whose numbers `self.index.append((s, t))`, or a written list, keeps at a place."""
    kept: list[tuple[ast.expr, list[tuple[ast.expr, ast.expr]]]] = []
    for node in program.own_nodes(init):
        if (
            isinstance(node, ast.Call)
            and name_called(node) == "append"
            and source_of(receiver_of(node)) == listed
            and node.args
        ):
            loops = [(each.target, each.iter) for each in program.loops_of(node) if isinstance(each, ast.For)]
            kept.append((node.args[0], loops))
        elif isinstance(node, ast.Assign) and source_of(node.targets[0]) == listed and isinstance(node.value, ast.ListComp):
            kept.append((node.value.elt, [(each.target, each.iter) for each in node.value.generators]))
        elif isinstance(node, ast.Assign) and source_of(node.targets[0]) == listed and place is None:
            begins = node.value.args[0] if name_called(node.value) == "list" and node.value.args else node.value  # type: ignore
            kept.append((ast.Name("_", ast.Load()), [(ast.Name("_", ast.Load()), begins)]))
    for item, loops in kept:
        asked = item.elts[place] if place is not None and isinstance(item, ast.Tuple) and place < len(item.elts) else item
        for target, over in loops:
            counted = isinstance(over, ast.Call) and name_called(over) in ("range", "arange")
            if counted and isinstance(asked, ast.Name) and isinstance(target, ast.Name) and target.id == asked.id:
                return over.args[2] if len(over.args) == 3 else ast.Constant(1)  # type: ignore[attr-defined]
    return None


def step_given(
    program: Program, call: ast.Call, init: ast.FunctionDef | ast.AsyncFunctionDef, step: ast.expr
) -> float | None:
    """What a step is for the data set that this call makes: a parameter of __init__ has what it was given here."""
    if isinstance(step, ast.Constant):
        return step.value if isinstance(step.value, int) else None
    if isinstance(step, ast.Name):
        for each, default in parameters_of(init):
            if each.arg == step.id:
                given = argument_given(call, init, step.id, is_method=True)
                return program.values.number(given if given is not None else default)
    return program.values.number(step)


def is_unfold_by_one(program: Program, node: ast.AST) -> bool:
    """`series.unfold(0, size, 1)`: a step smaller than the window."""
    if name_called(node) != "unfold" or not isinstance(node, ast.Call) or len(node.args) != 3:
        return False
    size, step = program.values.number(node.args[1]), program.values.number(node.args[2])
    return step is not None and (step < size if size is not None else step == 1)


def made_elsewhere(program: Program, node: ast.AST, origin: ast.AST) -> list[ast.expr]:
    """What a name or a function of this file stands for in an expression."""
    if isinstance(node, ast.Call):
        return program.names.returned_by(node) if node is not origin else []
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node is not origin:
        return [node]
    return []


def window_of(program: Program, made: ast.ListComp | ast.GeneratorExp) -> ast.AST | None:
    if len(made.generators) != 1 or not goes_by_one(program, made.generators[0].iter):
        return None
    names = names_in(made.generators[0].target)
    return next((each for each in ast.walk(made.elt) if is_window(each, names)), None)


def appended_window(program: Program, name: ast.Name) -> ast.AST | None:
    """Of `for i in range(n - 48): xs.append(series[i : i + 48])`."""
    for call in program.calls_to("append"):
        if source_of(receiver_of(call)) != name.id or not call.args:
            continue
        for loop in program.loops_of(call)[:1]:
            if isinstance(loop, ast.For) and goes_by_one(program, loop.iter):
                names = names_in(loop.target)
                for each in ast.walk(program.names.origin(call.args[0]).node):
                    if is_window(each, names):
                        return each
    return None


def goes_by_one(program: Program, node: ast.AST) -> bool:
    call = program.names.origin(node).node
    return isinstance(call, ast.Call) and name_called(call) in ("range", "arange") and len(call.args) < 3


def is_window(node: ast.AST, names: set[str]) -> bool:
    """`x[i : i + w]`, `x[i - w : i]`."""
    part = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(part, ast.Tuple):
        part = next((each for each in part.elts if isinstance(each, ast.Slice) and each.lower is not None), None)
    if not isinstance(part, ast.Slice) or part.lower is None or part.upper is None:
        return False
    if any(isinstance(each, ast.Mult) for each in ast.walk(part.lower)):
        return False  # `x[i * w : (i + 1) * w]`: one behind the other
    return bool(names_in(part.lower) & names) and bool(names_in(part.upper) & names)


#: What a row of a table is made of earlier or later rows by.
LAGGING = ("shift", "pct_change", "rolling", "diff", "ewm")
TABLES = ("read_csv", "read_parquet", "read_excel", "DataFrame", "read_feather", "read_table", "read_json", "read_pickle")


@rule("code.time-split-at-random")
def time_split_at_random(program: Program) -> Iterator[Finding]:
    """Rows that are made of the rows before them are split at random: what is held out lies between what was trained on."""
    if not program.names_called & set(LAGGING) or not program.names_called & set(TABLES):
        return
    for call, held in splits(program):
        shuffle = keyword_of(call, "shuffle")
        if shuffle is not None and program.values.is_false(shuffle):
            continue
        roots = {root_of(program, each, 0) for each in held} - {""}
        for lag in program.calls_to(*LAGGING):
            if isinstance(lag.func, ast.Attribute) and root_of(program, lag.func.value, 0) in roots:
                corrected = "cut = int(0.8 * len(rows)); train, test = rows[:cut], rows[cut:]  # in the order of time"
                yield Finding(
                    call.lineno, corrected, {"lag": source_of(lag)[:60]}, also=sorted({lag.lineno} - {call.lineno})
                )
                return


def root_of(program: Program, node: ast.AST, depth: int) -> str:
    """The table that a value was taken from, by its name: `df` of `df[["a"]].values`."""
    held: ast.AST = node
    while isinstance(held, (ast.Attribute, ast.Subscript, ast.Call)):
        held = held.func if isinstance(held, ast.Call) else held.value
        if isinstance(held, ast.Attribute) and held.attr in TABLES:
            return ""
    if not isinstance(held, ast.Name) or depth > 6:
        return ""
    made = [each for each in program.names.all_given(held) if each.value is not None]
    values = [each.value for each in made if each.value is not None]
    if any(name_called(part) in TABLES for value in values for part in ast.walk(value)):
        return held.id
    inner = {root_of(program, value, depth + 1) for value in values} - {""}
    return inner.pop() if len(inner) == 1 else ""


# --- the same data twice


@rule("code.same-data-for-eval")
def same_data_for_eval(program: Program) -> Iterator[Finding]:
    """What is evaluated on is what is trained on, or a part of it."""
    for place, train, evaluated in pairs(program):
        if is_same_data(program, train, evaluated):
            yield Finding(place.lineno, "", {"data": source_of(evaluated), "how": "the training set"})
        elif is_part_of(program, evaluated, train):
            yield Finding(place.lineno, "", {"data": source_of(evaluated), "how": "a part of the training set"})


def pairs(program: Program) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """(call, training data, held-out data) of a Trainer, a fit(), and of loaders whose names say what they are for."""
    for call in program.calls:
        train, evaluated = keyword_of(call, "train_dataset"), keyword_of(call, "eval_dataset")
        if train is not None and evaluated is not None:
            yield call, train, evaluated
    yield from fitted_pairs(program)
    yield from named_pairs(program)
    yield from pairs_of_methods(program)


def fitted_pairs(program: Program) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """Of `trainer.fit(model, loader, val_loader)`."""
    for call in program.calls_to("fit"):
        loaders = [keyword_of(call, "train_dataloaders"), keyword_of(call, "val_dataloaders")]
        if loaders[0] is None and len(call.args) == 3 and program.makers.made_by(receiver_of(call)) == "Trainer":
            loaders = [call.args[1], call.args[2]]
        if loaders[0] is not None and loaders[1] is not None:
            one, other = (program.makers.call_of(each) for each in loaders if each is not None)
            first = data_of(one) if one is not None and name_called(one) == "DataLoader" else loaders[0]
            second = data_of(other) if other is not None and name_called(other) == "DataLoader" else loaders[1]
            if first is not None and second is not None:
                yield call, first, second


def pairs_of_methods(program: Program) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """Of train_dataloader() and val_dataloader() of one class of Lightning."""
    found: dict[tuple[ast.AST | None, str], list[tuple[ast.Call, ast.expr]]] = {}
    for function in program.functions:
        if function.name in ("train_dataloader", "val_dataloader"):
            for call in program.calls_in(function):
                data = data_of(call) if name_called(call) == "DataLoader" else None
                if data is not None:
                    found.setdefault((program.names.class_of(function), function.name), []).append((call, data))
    for (owner, name), held in found.items():
        for _, train in found.get((owner, "train_dataloader"), []) if name == "val_dataloader" else ():
            for place, data in held:
                yield place, train, data


WRAPPING_LOADERS = ("prepare", "setup_dataloaders", "setup", "prepare_data_loader")


@rule("code.held-out-never-used")
def held_out_never_used(program: Program) -> Iterator[Finding]:
    """A held-out loader is made and never read, and what is evaluated on is the training loader."""
    unused = []
    for call in program.calls_to("DataLoader"):
        holder = program.statement_of(call)
        target = holder.targets[0] if isinstance(holder, ast.Assign) and len(holder.targets) == 1 else None
        if isinstance(target, ast.Name) and holder.value is call and is_of_held_out(target.id):  # type: ignore[attr-defined]
            read = any(each.id == target.id and isinstance(each.ctx, ast.Load) for each in program.nodes.of_kind(ast.Name))
            passed_on = is_only_renamed(program, target.id)
            if not read or passed_on:
                unused.append((target, call))
    trained = {source_of(loop.iter) for loop in program.training_loops if isinstance(loop, ast.For)}
    if not unused or not trained:
        return
    for loop in program.nodes.of_kind(ast.For):
        if loop in program.training_loops or source_of(loop.iter) not in trained:
            continue
        forwards = [each for each in program.calls_in(loop) if program.objects.event_of(each)[0] == "forward"]
        if forwards and is_quiet(program, forwards[0]):
            name = unused[0][0].id
            yield Finding(
                loop.lineno,
                f"for {source_of(loop.target)} in {name}:",
                {"data": source_of(loop.iter), "unused": name},
                also=[unused[0][1].lineno],
            )
            return


def is_only_renamed(program: Program, name: str) -> bool:
    """`model, loader, test_loader = accelerator.prepare(model, loader, test_loader)` is all that reads it."""
    for node in program.nodes.of_kind(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        parent = program.nodes.parents.get(node)
        statement = program.statement_of(node)
        same = isinstance(parent, ast.Call) and isinstance(statement, ast.Assign) and statement.value is parent
        if not same or not isinstance(parent, ast.Call) or name_called(parent) not in WRAPPING_LOADERS:
            return False
    return True


def named_pairs(program: Program) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """Of `train_loader = DataLoader(...)` and `val_loader = DataLoader(...)`."""
    named = []
    for call in program.calls_to("DataLoader"):
        holder = program.statement_of(call)
        data = data_of(call)
        if isinstance(holder, ast.Assign) and data is not None and len(holder.targets) == 1:
            named.append((call, last_name(holder.targets[0]), data))
    training = [data for _, name, data in named if "train" in name.lower() and not is_of_held_out(name)]
    for call, name, data in named:
        for train in training if is_of_held_out(name) else ():
            yield call, train, data


def is_same_data(program: Program, one: ast.expr, other: ast.expr) -> bool:
    """One object twice, or one split that is read twice; a function of the file may give others at each call."""
    first, second = (program.names.origin(each, through_calls=False) for each in (one, other))
    if first == second:
        return isinstance(first.node, (ast.Call, ast.Subscript, ast.ListComp, ast.Name))
    same_text = source_of(first.node) == source_of(second.node) and first.path == second.path
    return same_text and is_named_split(first.node) and not is_of_this_file(program, first.node)


def is_of_this_file(program: Program, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and program.objects.function_run(node) is not None


def is_named_split(node: ast.AST) -> bool:
    """`ds["train"]`, `load_dataset(name, split="train")`."""
    text = source_of(node)
    return "train" in text and (isinstance(node, ast.Subscript) or "split=" in text)


def is_part_of(program: Program, part: ast.expr, whole: ast.expr) -> bool:
    """`train.select(range(500))`, `train[:500]`, and the whole of `train` trains."""
    origin = program.names.origin(part).node
    held: ast.AST | None = None
    if (
        isinstance(origin, ast.Call)
        and name_called(origin) in ("select", "take", "Subset")
        and isinstance(origin.func, ast.Attribute)
    ):
        held = origin.func.value
    elif name_called(origin) == "Subset" and isinstance(origin, ast.Call) and origin.args:
        held = origin.args[0]
    elif isinstance(origin, ast.Subscript) and isinstance(origin.slice, ast.Slice):
        held = origin.value
    elif isinstance(origin, ast.Call) and name_called(origin) in ("random_split", "train_test_split") and origin.args:
        held = origin.args[0]
    if held is None:
        return False
    trained, source = (program.names.origin(each, through_calls=False) for each in (whole, held))
    return trained == source and isinstance(trained.node, (ast.Call, ast.ListComp, ast.Subscript)) and not trained.path


@rule("code.target-in-features")
def target_in_features(program: Program) -> Iterator[Finding]:
    """`X = df.values; y = df["price"]`, and nothing takes the column out."""
    for node in program.nodes.of_kind(ast.Assign):
        table, column = column_of(program, node.value)
        if not table or first_word(program, node) not in ("y", "target", "targets", "label", "labels"):
            continue
        for other in program.nodes.of_kind(ast.Assign):
            if other is node or first_word(program, other) not in ("x", "features", "inputs", "data"):
                continue
            same_place = program.names.scope_of(other) is program.names.scope_of(node)
            if same_place and is_whole_table(other.value, table) and not is_taken_out(program, table, column):
                corrected = f'{source_of(other.targets[0])} = {table}.drop(columns=["{column}"])'
                yield Finding(other.lineno, corrected, {"column": column}, also=[node.lineno])


def first_word(program: Program, node: ast.Assign) -> str:
    """`x` of `X_train = ...`."""
    return last_name(node.targets[0]).lower().split("_")[0]


def column_of(program: Program, node: ast.AST) -> tuple[str, str]:
    """`df`, `price` of `df["price"].values`."""
    for each in ast.walk(node):
        key = each.slice.value if isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Constant) else None
        if not isinstance(each, ast.Subscript) or not isinstance(key, str) or not isinstance(each.value, ast.Name):
            continue
        if program.makers.made_by(each.value) in ("read_csv", "DataFrame", "read_parquet"):
            return each.value.id, key
    return "", ""


def is_whole_table(node: ast.AST, table: str) -> bool:
    text = source_of(node).replace(" ", "")
    return text in (
        f"{table}.values",
        f"{table}.to_numpy()",
        table,
        f"{table}.copy()",
        f"np.array({table})",
        f"{table}.values.astype('float32')",
    )


def is_taken_out(program: Program, table: str, column: str) -> bool:
    for call in program.calls_to("pop", "drop"):
        if table in names_in(call.func) and column in source_of(call):
            return True
    return any(isinstance(each, ast.Subscript) and source_of(each.value) == table for each in deleted(program)) or any(
        binding.how == "assigned" and binding.value is not None and "drop" in source_of(binding.value)
        for binding in program.names.bindings(program.tree, table)
    )


def deleted(program: Program) -> list[ast.expr]:
    return [target for node in program.nodes.of_kind(ast.Delete) for target in node.targets]


#: Columns that say whose a row is; several rows of one stand on both sides of a split by rows.
OWNERS = (
    "patient", "subject", "customer", "user", "client", "speaker", "person", "device", "household", "session",
    "account", "player", "store", "author", "group", "participant", "machine", "sensor", "animal", "donor", "case",
)  # fmt: skip


@rule("code.split-by-row")
def split_by_row(program: Program) -> Iterator[Finding]:
    """Rows with an owner (a patient, a customer) are split one by one: the same owner stands on both sides."""
    grouped = {
        "GroupKFold",
        "GroupShuffleSplit",
        "StratifiedGroupKFold",
        "LeaveOneGroupOut",
        "unique",
        "isin",
        "groupby",
        "nunique",
    }
    if program.names_called & grouped:
        return
    owner = next(
        (each for each in program.nodes.of_kind(ast.Constant) if isinstance(each.value, str) and is_owner(each.value)), None
    )
    if owner is None or any(keyword_of(call, "groups") is not None for call in program.calls):
        return
    for call in row_splits(program):
        yield Finding(line_of(call), "GroupShuffleSplit(n_splits=1, test_size=0.2).split(rows, groups=rows[owner])",
                      {"column": str(owner.value)}, also=[owner.lineno])  # fmt: skip
        return


def is_owner(text: str) -> bool:
    words = text.lower().replace("-", "_").split("_")
    return (
        len(words) == 2
        and words[1] in ("id", "ids", "no", "nr")
        and words[0] in OWNERS
        or text.lower() in ("patientid", "userid")
    )


def row_splits(program: Program) -> list[ast.AST]:
    """train_test_split(), random_split(), and rows that are shuffled and cut at a place."""
    found: list[ast.AST] = [call for call, _ in splits(program)]
    for call in program.calls_to("sample"):
        share = keyword_of(call, "frac")
        if share is not None and program.values.of(share) == 1:
            found.append(call)
    return found


@rule("code.held-out-is-training-part")
def held_out_is_training_part(program: Program) -> Iterator[Finding]:
    """`test = CIFAR10(root, train=True)` beside the training set of the same class, and read as it is."""
    made = []
    for node in program.nodes.of_kind(ast.Assign):
        call, target = node.value, node.targets[0]
        if isinstance(call, ast.Call) and isinstance(target, ast.Name):
            part = keyword_of(call, "train")
            named = keyword_of(call, "split")
            if program.values.is_true(part) or program.values.text(named) == "train":
                made.append((target.id, call))
    for name, call in made:
        twin = [one for other, one in made if other != name and not is_of_held_out(other)]
        same = [each for each in twin if source_of(each.func) == source_of(call.func)]
        if not is_of_held_out(name) or not same or not is_read_whole(program, name):
            continue
        corrected = program.line_text(call.lineno).replace("train=True", "train=False")
        yield Finding(
            call.lineno,
            corrected.replace('split="train"', 'split="test"'),
            {"data": name},
            also=sorted({same[0].lineno} - {call.lineno}),
        )


def is_read_whole(program: Program, name: str) -> bool:
    """A loader is given it, without a sampler; nothing takes a part of it."""
    used = [each for each in program.nodes.of_kind(ast.Name) if each.id == name and isinstance(each.ctx, ast.Load)]
    loaders = [program.nodes.parents.get(each) for each in used]
    return bool(used) and all(
        isinstance(each, ast.Call) and name_called(each) == "DataLoader" and keyword_of(each, "sampler") is None
        for each in loaders
    )
