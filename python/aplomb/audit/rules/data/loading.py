"""Rules about the data on their way to a batch: order, pairs that part, workers, what is read for each sample."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import data_of, is_of_held_out, training_loaders
from ...program.program import Program
from ...program.syntax import Function, keyword_of, last_name, name_called, names_in, receiver_of, source_of

PAIRING = ("zip", "TensorDataset", "from_dict", "train_test_split", "DataFrame", "from_tensor_slices", "fit", "StackDataset")


# --- pairs that part


@rule("code.shuffled-apart")
def shuffled_apart(program: Program) -> Iterator[Finding]:
    """Two sequences that belong together, and one is put into another order without the other."""
    yield from columns_apart(program)
    done: set[frozenset[str]] = set()
    for statement, name, order in reorderings(program):
        for other in partners(program, name, statement):
            same = same_order(program, statement, name, other, order)
            if same or frozenset((name, other)) in done:
                continue
            done.add(frozenset((name, other)))
            corrected = f"order = torch.randperm(len({name})).tolist()  # one order for both: {name}, {other}"
            yield Finding(statement.lineno, corrected, {"one": name, "other": other})


def is_reordered(program: Program, node: ast.AST) -> str:
    """The table of `table["text"].sample(frac=1).tolist()`: one column in an order of its own; empty where it is none."""
    while isinstance(node, ast.Call) and name_called(node) in (
        "tolist",
        "to_numpy",
        "to_list",
        "reset_index",
        "list",
        "array",
    ):
        node = node.args[0] if isinstance(node.func, ast.Name) and node.args else receiver_of(node)
    node = node.value if isinstance(node, ast.Attribute) and node.attr == "values" else node
    if name_called(node) != "sample" or not isinstance(node, ast.Call) or keyword_of(node, "frac") is None:
        return ""
    return table_of(receiver_of(node))


def table_of(node: ast.AST) -> str:
    """`table` of `table["text"]`."""
    is_column = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return source_of(node.value) if is_column and isinstance(node.slice.value, str) else ""  # type: ignore[attr-defined]


def takes_column(node: ast.AST) -> str:
    """`table` of `table["label"].tolist()`."""
    while isinstance(node, ast.Call) and name_called(node) in ("tolist", "to_numpy", "to_list", "list", "array", "astype"):
        node = node.args[0] if isinstance(node.func, ast.Name) and node.args else receiver_of(node)
    node = node.value if isinstance(node, ast.Attribute) and node.attr == "values" else node
    return table_of(node)


def columns_apart(program: Program) -> Iterator[Finding]:
    """`texts = df["text"].sample(frac=1).tolist(); labels = df["label"].tolist()`."""
    made = [node for node in program.nodes.of_kind(ast.Assign) if isinstance(node.targets[0], ast.Name)]
    whole = {text for node in made if (text := is_reordered(program, node.value))}
    for node in made:
        table = is_reordered(program, node.value)
        for other in made if table else ():
            if takes_column(other.value) != table or is_reordered(program, other.value) or table not in whole:
                continue
            one, two = source_of(node.targets[0]), source_of(other.targets[0])
            if are_paired(program, one, two):
                corrected = (
                    f"{table} = {table}.sample(frac=1).reset_index(drop=True)  # whole rows, before columns are taken"
                )
                yield Finding(node.lineno, corrected, {"one": one, "other": two}, also=[other.lineno])
                break


def are_paired(program: Program, one: str, other: str) -> bool:
    """Both go into one zip(), one data set or one split, whole or in parts."""
    for call in program.calls_to(*PAIRING):
        given = [*call.args, *(each.value for each in call.keywords)]
        names = set().union(*(names_in(each) for each in given)) if given else set()
        if {one, other} <= names:
            return True
    return False


def reorderings(program: Program) -> Iterator[tuple[ast.stmt, str, str]]:
    """Statements that put a named sequence into another order in place, or give the name its own values in another order:
    (statement, name, the text of the order where it has a name)."""
    for call in program.calls_to("shuffle"):
        statement = program.statement_of(call)
        if (
            len(call.args) != 1
            or not isinstance(statement, ast.Expr)
            or not isinstance(call.args[0], (ast.Name, ast.Attribute))
        ):
            continue
        if isinstance(call.func, ast.Attribute):
            yield statement, source_of(call.args[0]), ""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
            pairs = list(zip(target.elts, node.value.elts))
        for one, value in pairs:
            order = order_of(program, one, value)
            if order is not None:
                yield node, source_of(one), order


def order_of(program: Program, target: ast.AST, value: ast.AST) -> str | None:
    """Of `x = x[torch.randperm(n)]`, `x = x[perm]`, `x = random.sample(x, len(x))`, `x = sorted(x)`: the order's name, empty
    where it is drawn in place; None where the statement is none of these."""
    name = source_of(target)
    if isinstance(value, ast.Subscript) and source_of(value.value) == name:
        if is_drawn_order(value.slice):
            return ""
        if isinstance(value.slice, ast.Name):
            made = program.names.origin(value.slice).node
            return value.slice.id if is_drawn_order(made) else None
    if isinstance(value, ast.Call) and value.args and source_of(value.args[0]) == name:
        full = program.name_of(value.func)
        if name_called(value) in ("permutation", "sample") and full.startswith(("random.", "numpy.")):
            return ""
        if full == "sklearn.utils.shuffle" and len(value.args) == 1 and keyword_of(value, "random_state") is None:
            return ""
    return None


def is_drawn_order(node: ast.AST) -> bool:
    return any(name_called(each) in ("randperm", "permutation", "argsort_random") for each in ast.walk(node))


def partners(program: Program, name: str, near: ast.stmt) -> list[str]:
    """The sequences that the program pairs with this one, behind the statement, and that it had before."""
    found: list[str] = []
    place = program.nodes.place(near)
    for call in program.calls_to(*PAIRING):
        if program.nodes.place(call) < place:
            continue
        texts = [source_of(each) for each in paired_parts(call)]
        if name in texts:
            found += [each for each in texts if each != name and is_made_before(program, each, near, name)]
    by_index: dict[str, set[str]] = {}
    for node in program.nodes.of_kind(ast.Subscript):
        if (
            program.nodes.place(node) > place
            and isinstance(node.slice, (ast.Name, ast.Slice))
            and isinstance(node.ctx, ast.Load)
        ):
            by_index.setdefault(source_of(node.slice), set()).add(source_of(node.value))
    for texts_here in by_index.values():
        if name in texts_here and len(texts_here) <= 4:
            named_so = [each for each in texts_here if each != name and looks_paired(name, each)]
            found += [each for each in named_so if is_made_before(program, each, near, name)]
    return sorted(set(found))


def looks_paired(one: str, other: str) -> bool:
    """`X` and `y`, `images` and `labels`, `train_x` and `train_y`."""
    labels = ("y", "label", "labels", "target", "targets", "classes", "t")
    last = [each.lower().rsplit(".", 1)[-1].split("_") for each in (one, other)]
    is_label = [any(word in labels for word in words) or words[-1] in ("y", "ytr", "yva") for words in last]
    return is_label[0] != is_label[1]


def paired_parts(call: ast.Call) -> list[ast.expr]:
    parts: list[ast.expr] = []
    for each in [*call.args, *(keyword.value for keyword in call.keywords)]:
        if isinstance(each, ast.Dict):
            parts += [value for value in each.values if value is not None]
        elif not isinstance(each, ast.Starred):
            parts.append(each)
    if name_called(call) == "fit" and len(call.args) < 2:
        return []
    return [each for each in parts if isinstance(each, (ast.Name, ast.Attribute))]


def is_made_before(program: Program, other: str, near: ast.stmt, name: str) -> bool:
    """The partner has its values before the other is reordered, and not from it."""
    node = next((each for each in program.nodes.of_kind(ast.Name) if each.id == other.split(".")[0]), None)
    if node is None:
        return False
    found = [each for each in program.names.all_given(node) if "." not in other]
    place = program.nodes.place(near)
    behind = [each for each in found if program.nodes.place(each.node) > place]
    if any(each.value is not None and name in names_in(each.value) for each in behind):
        return False
    return any(program.nodes.place(each.node) < place or each.node is near for each in found)


def same_order(program: Program, statement: ast.stmt, name: str, other: str, order: str) -> bool:
    """The partner is put into the same order: by the same named order, in one call, or from the same seed."""
    for each, text, another in reorderings(program):
        if text != other:
            continue
        if order and another == order:
            return True
        if not order and not another and seeded_alike(program, statement, each):
            return True
    if order:
        for node in program.nodes.of_kind(ast.Subscript):
            if source_of(node.value) == other and source_of(node.slice) == order:
                return True
    return False


def seeded_alike(program: Program, one: ast.stmt, other: ast.stmt) -> bool:
    """The generator is set to the same seed before each of the two."""
    first, second = sorted((one, other), key=program.nodes.place)
    if first is second:
        return "seed" in source_of(first)
    seeds = [
        call
        for call in program.calls_to("seed", "manual_seed", "set_state", "setstate", "set_rng_state")
        if program.nodes.place(call) < program.nodes.place(second)
    ]
    between = [call for call in seeds if program.nodes.place(call) > program.nodes.place(first)]
    before = [call for call in seeds if program.nodes.place(call) < program.nodes.place(first)]
    return bool(between and before) or ("seed" in source_of(first) and "seed" in source_of(second))


# --- order


def is_shuffled(program: Program, call: ast.Call) -> bool:
    shuffle = keyword_of(call, "shuffle") or (call.args[2] if len(call.args) > 2 else None)
    if any(keyword_of(call, each) is not None for each in ("sampler", "batch_sampler")) and shuffle is None:
        return True
    return shuffle is not None and not program.values.is_false(shuffle) or any(each.arg is None for each in call.keywords)


def data_class(program: Program, node: ast.AST | None) -> ast.ClassDef | None:
    call = program.makers.call_of(node) if node is not None else None
    return program.makers.class_made(call) if call is not None else None


def is_iterable(program: Program, node: ast.AST | None) -> bool:
    owner = data_class(program, node)
    if owner is None:
        text = source_of(node).lower() if node is not None else ""
        return "stream" in text or "iter" in text
    names = [program.name_of(base).rsplit(".", 1)[-1] for base in owner.bases]
    return "IterableDataset" in names or program.makers.method(owner, "__iter__") is not None


@rule("code.sorted-not-shuffled")
def sorted_not_shuffled(program: Program) -> Iterator[Finding]:
    """The samples stand class by class, and the loader keeps their order."""
    for call, _ in training_loaders(program):
        data = data_of(call)
        if is_shuffled(program, call) or data is None or is_iterable(program, data) or draws_samples(program, data):
            continue
        line = class_by_class(program, data, 0)
        if line:
            yield Finding(call.lineno, source_of(call)[:-1] + ", shuffle=True)", also=[line])


@rule("code.held-out-of-one-class")
def held_out_of_one_class(program: Program) -> Iterator[Finding]:
    """Keras takes the last rows for `validation_split`, before it shuffles: of rows that stand class by class, one class."""
    if any(each in MIXING for each in program.names_called):
        return
    for call in program.calls_to("fit"):
        share = keyword_of(call, "validation_split")
        labels = keyword_of(call, "y") or (call.args[1] if len(call.args) > 1 else None)
        if share is None or labels is None or not program.values.number(share):
            continue
        line = class_by_class(program, labels, 0)
        if line:
            corrected = "order = np.random.permutation(len(y)); x, y = x[order], y[order]  # before fit()"
            yield Finding(call.lineno, corrected, {"labels": source_of(labels)}, also=[line])
            return


#: What mixes rows, or parts them by itself.
MIXING = ("shuffle", "permutation", "randperm", "train_test_split", "permuted", "sample", "StratifiedShuffleSplit", "choice")


def draws_samples(program: Program, data: ast.AST) -> bool:
    """A data set of this file whose __getitem__(i) never asks for i: it draws, and the order of the loader says nothing."""
    owner = data_class(program, data)
    get = program.makers.method(owner, "__getitem__") if owner is not None else None
    if get is None or len(get.args.args) < 2:
        return False
    index = get.args.args[1].arg
    return not any(isinstance(each, ast.Name) and each.id == index for each in program.nodes.below(get))


def class_by_class(program: Program, node: ast.AST, depth: int) -> int:
    """The line on which data are sorted by their label, or labels are laid out one class behind the other."""
    origin = program.names.origin(node).node
    if depth > 4:
        return 0
    shuffles = program.calls_to("shuffle", "randperm", "permutation")
    if isinstance(node, ast.Name) and not any(is_mixed_up(program, node, call) for call in shuffles):
        if isinstance(origin, ast.List) and not origin.elts and (line := appended_by_class(program, node)):
            return line
    elif isinstance(node, ast.Name):
        return 0
    for each in ast.walk(origin):
        if is_sorted_by_label(each) or is_laid_out(program, each):
            return getattr(each, "lineno", 0)
        if isinstance(each, ast.Name) and each is not node and isinstance(each.ctx, ast.Load):
            if any(is_mixed_up(program, each, call) for call in shuffles):
                return 0
            inner = program.names.origin(each).node
            if inner is not each and inner is not origin and (line := class_by_class(program, inner, depth + 1)):
                return line
    return 0


def is_mixed_up(program: Program, name: ast.Name, call: ast.Call) -> bool:
    return any(name.id in names_in(each) for each in call.args)


def is_sorted_by_label(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or name_called(node) not in ("sorted", "sort_values", "sort"):
        return False
    text = source_of(node).lower()
    return any(word in text for word in ("label", "target", "class", "['y']", "'y'", '"y"'))


def is_laid_out(program: Program, node: ast.AST) -> bool:
    """`[0] * n + [1] * n`, `np.repeat(np.arange(k), n)`, `arange(k).repeat_interleave(n)`, `cat([zeros(n), ones(n)])`."""
    if isinstance(node, ast.ListComp):
        return is_class_by_class(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = (node.left, node.right)
        return all(isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mult) and is_one_label(each) for each in sides)
    if name_called(node) == "repeat_interleave" and isinstance(node, ast.Call):
        return name_called(receiver_of(node)) == "arange" or bool(node.args and name_called(node.args[0]) == "arange")
    if name_called(node) == "repeat" and isinstance(node, ast.Call) and program.name_of(node.func).startswith("numpy."):
        return bool(node.args and name_called(node.args[0]) == "arange")
    if name_called(node) in ("cat", "concatenate", "hstack") and isinstance(node, ast.Call) and node.args:
        parts = node.args[0].elts if isinstance(node.args[0], (ast.List, ast.Tuple)) else []
        return len(parts) > 1 and [name_called(each) for each in parts[:2]] == ["zeros", "ones"]
    return False


def is_class_by_class(node: ast.ListComp) -> bool:
    """`[(draw(k), k) for k in range(4) for _ in range(500)]`: the outer loop goes over what is the label."""
    if len(node.generators) != 2 or not isinstance(node.elt, (ast.Tuple, ast.Dict)):
        return False
    labels = names_in(node.generators[0].target)
    parts = node.elt.elts if isinstance(node.elt, ast.Tuple) else [each for each in node.elt.values if each is not None]
    alone = any(isinstance(each, ast.Name) and each.id in labels for each in parts[1:])
    return alone and name_called(node.generators[0].iter) in ("range", "enumerate", "items")


def appended_by_class(program: Program, node: ast.AST) -> int:
    """The line of `rows.append((path, label))` in a loop over the samples inside one over the labels."""
    text = source_of(node)
    for call in program.calls_to("append"):
        if not call.args or source_of(receiver_of(call)) != text or not isinstance(call.args[0], ast.Tuple):
            continue
        loops = [each for each in program.loops_of(call) if isinstance(each, ast.For)]
        if len(loops) != 2 or name_called(loops[1].iter) not in ("range", "enumerate", "items"):
            continue
        labels = names_in(loops[1].target)
        if any(isinstance(each, ast.Name) and each.id in labels for each in call.args[0].elts[1:]):
            return call.lineno
    return 0


def is_one_label(node: ast.BinOp) -> bool:
    return isinstance(node.left, ast.List) and len(node.left.elts) == 1 and isinstance(node.left.elts[0], ast.Constant)


@rule("code.train-not-shuffled")
def train_not_shuffled(program: Program) -> Iterator[Finding]:
    """The training loader gives the samples in the same order in every pass."""
    for call, loop in training_loaders(program):
        data = data_of(call)
        explicit = keyword_of(call, "shuffle") is not None
        if is_shuffled(program, call) or explicit or is_iterable(program, data) or not program.loops_of(loop):
            continue
        if keyword_of(call, "collate_fn") is not None or (data is not None and class_by_class(program, data, 0)):
            continue  # another rule says more
        if data is not None and not is_of_held_out(last_name(data)):
            yield Finding(call.lineno, source_of(call)[:-1] + ", shuffle=True)")


# --- workers


def workers_of(program: Program, call: ast.Call) -> float:
    return program.values.number(keyword_of(call, "num_workers")) or 0


@rule("code.workers-repeat-data")
def workers_repeat_data(program: Program) -> Iterator[Finding]:
    """Every worker of a loader goes through the whole of an IterableDataset."""
    for call in program.calls_to("DataLoader"):
        owner = data_class(program, data_of(call))
        if owner is None or workers_of(program, call) < 2 or keyword_of(call, "worker_init_fn") is not None:
            continue
        bases = [program.name_of(base).rsplit(".", 1)[-1] for base in owner.bases]
        if "IterableDataset" not in bases or "worker" in source_of(owner).lower():
            continue
        iterate = program.makers.method(owner, "__iter__")
        if iterate is not None and not draws_at_random(program, owner, iterate):
            yield Finding(
                iterate.lineno,
                "info = torch.utils.data.get_worker_info()  # in __iter__",
                {"name": owner.name},
                also=[call.lineno],
            )


def draws_at_random(program: Program, owner: ast.ClassDef, function: ast.AST) -> bool:
    """Samples that are made up: each worker draws its own. What is read is read by every worker, in whatever order."""
    methods = methods_reached(program, owner, function)
    nodes = [each for method in methods for each in program.nodes.below(method)]
    reads = any(
        isinstance(each, ast.For) and isinstance(program.names.origin(each.iter).node, ast.Attribute) for each in nodes
    ) or any(isinstance(each, ast.Attribute) and re.search(r"files|shards|paths|urls|lines", each.attr) for each in nodes)
    return not reads and any(
        program.name_of(call.func).startswith(("random.", "torch.rand", "numpy.random"))
        for method in methods
        for call in program.calls_in(method)
    )


def methods_reached(program: Program, owner: ast.ClassDef, start: ast.AST | None) -> list[ast.AST]:
    """A method and those of its class that it calls, and that they call."""
    found: list[ast.AST] = [start] if start is not None else []
    for method in found:
        for call in program.calls_in(method):
            own = isinstance(call.func, ast.Attribute) and source_of(call.func.value) == "self"
            inner = program.makers.method(owner, name_called(call)) if own else None
            if inner is not None and inner not in found:
                found.append(inner)
    return found


#: What makes a generator of random numbers.
GENERATORS = ("default_rng", "RandomState", "Random", "Generator", "manual_seed")


@rule("code.workers-draw-alike")
def workers_draw_alike(program: Program) -> Iterator[Finding]:
    """A generator of the data set (or of a transform that it is given) that every worker copies: all of them draw the same
    numbers."""
    seen = set()
    for call in program.calls_to("DataLoader"):
        data = data_of(call)
        owner = data_class(program, data)
        if owner is None or workers_of(program, call) < 2 or keyword_of(call, "worker_init_fn") is not None:
            continue
        drawing = [(owner, "__getitem__"), *((each, "__call__") for each in transforms_given(program, data))]
        for each, method in drawing:
            for node, name in generators_kept(program, each, method):
                if node not in seen:
                    seen.add(node)
                    corrected = f"{name} = None  # made in {method}, from get_worker_info().seed"
                    yield Finding(node.lineno, corrected, {"name": name}, also=[call.lineno])


def transforms_given(program: Program, data: ast.AST | None) -> list[ast.ClassDef]:
    """The classes of this file of which an object is given to the data set: `Views(images, transform=Crop())`."""
    made = program.makers.call_of(data) if data is not None else None
    given = [*made.args, *(each.value for each in made.keywords)] if made is not None else []
    for each in list(given):
        composed = program.makers.call_of(each)
        if composed is not None and program.makers.class_name(composed) == "Compose" and composed.args:
            given += composed.args[0].elts if isinstance(composed.args[0], ast.List) else []
    found = [data_class(program, each) for each in given if not isinstance(each, ast.Starred)]
    return [each for each in found if each is not None]


def generators_kept(program: Program, owner: ast.ClassDef, method: str) -> Iterator[tuple[ast.Assign, str]]:
    """`self.rng = np.random.default_rng(0)` of __init__ that a method draws from, and that nothing else gives a value."""
    init, start = program.makers.method(owner, "__init__"), program.makers.method(owner, method)
    for node in program.own_nodes(init) if init is not None and start is not None else []:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Attribute):
            continue
        name = source_of(node.targets[0])
        if len(program.names.all_given(node.targets[0])) > 1:
            continue
        if name_called(program.names.origin(node.value).node) not in GENERATORS:
            continue
        if any(name in source_of(each) for each in methods_reached(program, owner, start)):
            yield node, name


# --- what a sample costs


LOADERS = (
    "load", "loads", "read_csv", "read_parquet", "read_json", "loadtxt", "genfromtxt", "read", "readlines",
    "read_text", "decompress", "load_workbook", "read_excel", "loadmat",
)  # fmt: skip


@rule("code.file-read-per-sample")
def file_read_per_sample(program: Program) -> Iterator[Finding]:
    """__getitem__ reads the same whole file for every sample."""
    for owner in program.nodes.of_kind(ast.ClassDef):
        get = program.makers.method(owner, "__getitem__")
        if get is None or len(get.args.args) < 2:
            continue
        index = get.args.args[1].arg
        for call in reached(program, owner, get):
            if reads_all_of_one(program, call, index, owner):
                yield Finding(
                    call.lineno, "# once, in __init__, and kept: self.rows = ...", {"name": owner.name}, also=[get.lineno]
                )
                break


def reached(program: Program, owner: ast.ClassDef, function: ast.AST, depth: int = 0) -> Iterator[ast.Call]:
    """The calls of a method, and of those methods of its class that it calls without arguments (which know no index)."""
    for call in program.own_nodes(function):
        if not isinstance(call, ast.Call):
            continue
        yield call
        if (
            isinstance(call.func, ast.Attribute)
            and source_of(call.func.value) in ("self", "s")
            and not call.args
            and depth < 3
        ):
            inner = program.makers.method(owner, call.func.attr)
            if inner is not None and not any("cache" in source_of(each) for each in inner.decorator_list):
                yield from reached(program, owner, inner, depth + 1)


def reads_all_of_one(program: Program, call: ast.Call, index: str, owner: ast.ClassDef) -> bool:
    """A whole file is read whose path is an attribute of the data set: `np.load(self.path)`, `open(self.path).read()`."""
    name = name_called(call)
    full = program.name_of(call.func)
    if name == "open" and isinstance(call.func, ast.Name):
        around = program.function_of(call)
        text = source_of(around)
        whole = any(
            each in text for each in (".read()", "readlines()", "json.load(", "pickle.load(", "csv.reader", ".load(")
        )
        if not whole or ".seek(" in text or is_kept(program, call):
            return False
    elif name in ("load", "read_csv", "read_parquet", "loadtxt", "genfromtxt", "read_excel", "loadmat", "read_json"):
        if (
            not full.startswith(("numpy.", "torch.", "pandas.", "joblib.", "scipy."))
            or keyword_of(call, "mmap_mode") is not None
        ):
            return False
        if keyword_of(call, "mmap") is not None or is_kept(program, call):
            return False
    else:
        return False
    path = call.args[0] if call.args else None
    if isinstance(path, ast.Name) and is_shared_by_samples(program, path):
        return True
    if not isinstance(path, ast.Attribute) or source_of(path.value) not in ("self", "s"):
        return False
    return index not in names_in(path)


def is_shared_by_samples(program: Program, path: ast.Name) -> bool:
    """`path, start = self.index[i]` of `self.index = [(f, k) for f in files for k in range(n)]`: n samples of each file."""
    binding = program.names.given(path)
    if binding is None or binding.how != "assigned" or len(binding.path) != 1:
        return False
    if not isinstance(binding.value, ast.Subscript):
        return False
    made = program.names.origin(binding.value.value, through_calls=False).node
    if not isinstance(made, ast.ListComp) or len(made.generators) < 2 or not isinstance(made.elt, ast.Tuple):
        return False
    place = binding.path[0]
    if not 0 <= place < len(made.elt.elts):
        return False
    inner = names_in(made.generators[-1].target)
    return not inner & names_in(made.elt.elts[place])


def is_kept(program: Program, call: ast.Call) -> bool:
    """Read once and kept: under `if self.rows is None`, or assigned to an attribute."""
    for parent in program.enclosing(call):
        if isinstance(parent, ast.If) and ("None" in source_of(parent.test) or "not " in source_of(parent.test)):
            return True
        if isinstance(parent, ast.Assign) and any(isinstance(each, ast.Attribute) for each in parent.targets):
            return True
        if isinstance(parent, Function):
            return False
    return False


# --- statistics


@rule("code.statistics-swapped")
def statistics_swapped(program: Program) -> Iterator[Finding]:
    """`(x - x.std()) / x.mean()`; Normalize() with the deviations of ImageNet for its means."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.BinOp) or not isinstance(node.left.op, ast.Sub):
            continue
        if meaning(program, node.left.right) == "std" and meaning(program, node.right) == "mean":
            yield Finding(node.lineno, "(x - mean) / std")
    for call in program.calls_to("Normalize"):
        mean = program.values.of(keyword_of(call, "mean") or (call.args[0] if call.args else None))
        spread = program.values.of(keyword_of(call, "std") or (call.args[1] if len(call.args) > 1 else None))
        if isinstance(mean, list) and isinstance(spread, list) and mean[:1] == [0.229] and spread[:1] == [0.485]:
            yield Finding(call.lineno, "transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])")


def meaning(program: Program, node: ast.AST) -> str:
    """`mean` or `std`, by the call or the name."""
    origin = program.names.origin(node).node
    name = name_called(origin) or (last_name(node).lower() if isinstance(node, (ast.Name, ast.Attribute)) else "")
    if name in ("mean", "mu", "avg", "nanmean"):
        return "mean"
    return "std" if name in ("std", "sd", "sigma", "stdev", "nanstd") else ""


@rule("code.own-statistics-for-eval")
def own_statistics_for_eval(program: Program) -> Iterator[Finding]:
    """Held-out data are standardised by their own mean and deviation, or a scaler is fitted to them."""
    for node in program.nodes.of_kind(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.left, ast.BinOp) or not isinstance(node.left.op, ast.Sub):
            continue
        name = source_of(node.left.left)
        by_itself = [spread_of(program, each) for each in (node.left.right, node.right)]
        if is_of_held_out(name) and by_itself == [name, name]:
            yield Finding(node.lineno, f"({name} - train_mean) / train_std", {"name": name})
    for call in program.calls_to("fit_transform"):
        if len(call.args) != 1 or not is_of_held_out(last_name(call.args[0])):
            continue
        scaler = source_of(receiver_of(call))
        others = [
            each
            for each in program.calls_to("fit_transform", "fit")
            if source_of(receiver_of(each)) == scaler and each is not call
        ]
        if others:
            corrected = source_of(call).replace("fit_transform", "transform")
            yield Finding(call.lineno, corrected, {"name": source_of(call.args[0])}, also=[others[0].lineno])


def spread_of(program: Program, node: ast.AST) -> str:
    """`x` of `x.mean(0)`, `x.std()`, `np.mean(x)`."""
    origin = program.names.origin(node).node
    if isinstance(origin, ast.BinOp):
        origin = origin.left  # + 1e-8
    if not isinstance(origin, ast.Call) or name_called(origin) not in ("mean", "std"):
        return ""
    of_library = program.name_of(origin.func).startswith(("numpy.", "torch."))
    return source_of(origin.args[0]) if of_library and origin.args else source_of(receiver_of(origin))


@rule("code.eval-not-normalised")
def eval_not_normalised(program: Program) -> Iterator[Finding]:
    """Normalize() for the training images and none for the others."""
    composed = []
    for call in program.calls_to("Compose"):
        holder = program.statement_of(call)
        name = last_name(holder.targets[0]) if isinstance(holder, ast.Assign) else ""
        composed.append((call, name, any(name_called(each) == "Normalize" for each in program.calls_in(call))))
    plain = [
        (call, name)
        for call, name, normal in composed
        if not normal and is_of_held_out(name.replace("transform", "data").strip("_"))
    ]
    trains = [call for call, name, normal in composed if normal and ("train" in name.lower())]
    for call, name in plain if trains else []:
        if not any(
            normal and is_of_held_out(other.replace("transform", "data").strip("_")) for _, other, normal in composed
        ):
            yield Finding(
                call.lineno, "transforms.Normalize(...)  # the same as for training", {"name": name}, also=[trains[0].lineno]
            )
