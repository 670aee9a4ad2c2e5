"""Rules about what is held out: fitted or multiplied before the split, the same data twice, the answer among the inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .data_rules import data_of
from .findings import Finding, rule
from .mode_rules import is_of_held_out
from .names import name_called
from .program import Program, keyword_of, line_of, method_of, names_in, receiver_of, source_of

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
    for call, held in splits(program):
        for data in held:
            fit = fit_on_the_way(program, data, 0)
            if fit is not None:
                corrected = (
                    "scaler.fit(train); train, test = scaler.transform(train), scaler.transform(test)  # behind the split"
                )
                yield Finding(fit.lineno, corrected, {"what": source_of(fit.func)}, also=[call.lineno])
                break


def fit_on_the_way(program: Program, node: ast.AST, depth: int) -> ast.Call | None:
    """The fit_transform() (or transform() of something fitted) that the data went through."""
    if depth > 5:
        return None
    origin = program.names.origin(node).node
    for each in ast.walk(origin):
        if (
            isinstance(each, ast.Call)
            and method_of(each) in ("fit_transform", "transform")
            and isinstance(each.func, ast.Attribute)
        ):
            made = program.makers.call_of(each.func.value)
            if made is not None and program.makers.class_name(made) in FITTING:
                return each
        if isinstance(each, ast.Name) and each is not origin and isinstance(each.ctx, ast.Load):
            inner = program.names.origin(each).node
            if inner is not each and inner is not origin and (found := fit_on_the_way(program, each, depth + 1)) is not None:
                return found
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
    origin = program.names.origin(node)
    value = origin.node
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


def is_drawn_again(program: Program, node: ast.AST) -> bool:
    """`rare.sample(n, replace=True)`, `resample(rare)`, `np.repeat(rare, 5)`."""
    call = program.names.origin(node).node
    if not isinstance(call, ast.Call):
        return False
    replace = keyword_of(call, "replace")
    if name_called(call) == "sample":
        return replace is not None and program.values.is_true(replace)
    return name_called(call) == "resample" and (replace is None or not program.values.is_false(replace))


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
        for inner in made_elsewhere(program, each, origin):
            if (window := windows_in(program, inner, depth + 1)) is not None:
                return window
    return None


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
    return isinstance(call, ast.Call) and name_called(call) == "range" and len(call.args) < 3


def is_window(node: ast.AST, names: set[str]) -> bool:
    """`x[i : i + w]`, `x[i - w : i]`."""
    part = node.slice if isinstance(node, ast.Subscript) else None
    part = part.elts[0] if isinstance(part, ast.Tuple) and part.elts else part
    if not isinstance(part, ast.Slice) or part.lower is None or part.upper is None:
        return False
    return bool(names_in(part.lower) & names) and bool(names_in(part.upper) & names)


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


def named_pairs(program: Program) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """Of `train_loader = DataLoader(...)` and `val_loader = DataLoader(...)`."""
    named = []
    for call in program.calls_to("DataLoader"):
        holder = program.statement_of(call)
        data = data_of(call)
        if isinstance(holder, ast.Assign) and data is not None and len(holder.targets) == 1:
            named.append((call, program.last_name(holder.targets[0]), data))
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
    return program.last_name(node.targets[0]).lower().split("_")[0]


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
