"""Shapes: how many dimensions a tensor has, and how wide its last one is, as far as the source shows it.

program.shapes.rank(node)     # 1 of `torch.randn(n)`, 2 of `net(x)` with x of 2, None where it is not known
program.shapes.width(node)    # 1 of `nn.Sequential(..., nn.Linear(64, 1))(x)`
"""

from __future__ import annotations

import ast

from .makers import ITSELF, LINEAR, SQUASHES, Makers
from .names import Binding, Names, Origin
from .objects import Objects
from .source import Source
from .syntax import Function, last_name, name_called
from .values import Values

DEEP = 90
SIZED = ("randn", "rand", "zeros", "ones", "empty", "normal_tensor")
DRAWN = (
    "normal", "uniform", "lognormal", "gamma", "beta", "exponential", "poisson", "integers", "random",
    "standard_normal", "choice", "binomial", "laplace", "randint", "triangular", "permutation",
)  # fmt: skip
SAME = (
    *ITSELF, "astype", "copy", "abs", "exp", "log", "sqrt", "sin", "cos", "relu", "sigmoid", "tanh", "clamp", "clip",
    "pow", "square", "round", "detach", "softmax", "log_softmax", "requires_grad_", "to_numpy", "log1p", "sign",
    "neg", "values", "expm1", "zeros_like", "ones_like", "randn_like", "rand_like", "full_like", "sort", "cumsum",
    "roll", "floor", "ceil", "nan_to_num", "fillna", "gelu", "dropout", "layer_norm", "bool", "maximum", "minimum",
)  # fmt: skip
WRAPPING = (
    "tensor",
    "as_tensor",
    "from_numpy",
    "array",
    "asarray",
    "FloatTensor",
    "Tensor",
    "LongTensor",
    "list",
    "tuple",
    "Series",
)
REDUCING = (
    "sum",
    "mean",
    "argmax",
    "argmin",
    "std",
    "var",
    "prod",
    "amax",
    "amin",
    "norm",
    "any",
    "all",
    "median",
    "logsumexp",
)
TABLES = ("read_csv", "read_parquet", "read_json", "read_excel", "read_feather", "read_table", "read_pickle", "DataFrame")
#: Methods of a table that give a table with the same columns.
OF_ROWS = (
    "dropna", "fillna", "sample", "head", "tail", "reset_index", "sort_values", "sort_index", "copy", "drop_duplicates",
    "query", "astype", "ffill", "bfill",
)  # fmt: skip
#: Of NumPy: a number, or an array in another format.
FORMATS = ("float32", "float64", "int64", "int32", "float16")
FILLING = ("masked_fill", "masked_fill_", "index_fill", "add_", "mul_", "div_", "clamp_")
KEEPING_WIDTH = (
    "ReLU", "Sigmoid", "Tanh", "Dropout", "GELU", "SiLU", "LeakyReLU", "Softplus", "ELU", "LayerNorm", "BatchNorm1d",
    "Identity", "Softmax", "LogSoftmax",
)  # fmt: skip


class Shapes:
    def __init__(self, source: Source, names: Names, values: Values, makers: Makers, objects: Objects):
        self.source = source
        self.names = names
        self.values = values
        self.makers = makers
        self.objects = objects
        self._ranks: dict[tuple[ast.AST, tuple[int, ...]], int | None] = {}

    # --- how many dimensions

    def rank(self, node: ast.AST, path: tuple[int, ...] = (), depth: int = 0) -> int | None:
        key = (node, path)
        if key not in self._ranks:
            if depth > DEEP:
                return None
            self._ranks[key] = None  # of what is made of itself
            self._ranks[key] = self._rank(node, path, depth + 1)
        return self._ranks[key]

    def _rank(self, node: ast.AST, path: tuple[int, ...], depth: int) -> int | None:
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._rank_of_name(node, path, depth)
        if path:
            return self._rank_of_part(Origin(node, path), depth)
        if isinstance(node, ast.Constant):
            return 0 if isinstance(node.value, (int, float)) else None
        if isinstance(node, (ast.List, ast.Tuple)):
            inner = self.rank(node.elts[0], (), depth) if node.elts else None
            return None if inner is None else inner + 1
        if isinstance(node, ast.ListComp):
            inner = self.rank(node.elt, (), depth)
            return None if inner is None else inner + 1
        if isinstance(node, ast.UnaryOp):
            return self.rank(node.operand, (), depth)
        if isinstance(node, ast.Compare):
            return self.rank(node.left, (), depth)
        if isinstance(node, ast.BinOp):
            return self._rank_of_arithmetic(node, depth)
        if isinstance(node, ast.Subscript):
            return self._rank_of_item(node, depth)
        return self._rank_of_call(node, depth) if isinstance(node, ast.Call) else None

    def _rank_of_name(self, node: ast.AST, path: tuple[int, ...], depth: int) -> int | None:
        if isinstance(node, ast.Attribute) and node.attr in ("T", "values", "data", "real"):
            return self.rank(node.value, path, depth)
        binding = self.names.given(node)
        if binding is not None and binding.how == "loop":
            return self._rank_of_loop_item(binding, path, depth)
        if path and binding is not None and binding.how == "parameter":
            loader = self.loader_of_step(binding)
            if loader is not None:
                return self.rank_of_batch(loader, path, depth)
        if binding is not None and binding.how == "parameter" and getattr(binding.scope, "name", "") == "__getitem__":
            return 0  # the place of a sample
        if binding is not None and binding.how == "added":
            found = [each for each in self.names.all_given(node) if each.how == "assigned"]
            return (
                self.rank(found[-1].value, (*found[-1].path, *path), depth)
                if found and found[-1].value is not None
                else None
            )
        ranks = {self._rank_of_origin(each, node, depth) for each in self.names.origins(node, path)}
        return ranks.pop() if len(ranks) == 1 else None

    def _rank_of_origin(self, origin: Origin, asked: ast.AST, depth: int) -> int | None:
        if origin.node is asked:
            return None
        return self.rank(origin.node, origin.path, depth + 1)

    def _rank_of_part(self, origin: Origin, depth: int) -> int | None:
        """Of `x, y = batch`, `train, val = random_split(...)`, `a, b = f()`."""
        call, path = origin
        if name_called(call) == "train_test_split" and isinstance(call, ast.Call) and len(path) == 1:
            parts = [each for each in call.args if not isinstance(each, ast.Starred)]
            return self.rank(parts[path[0] // 2], (), depth + 1) if 0 <= path[0] < 2 * len(parts) else None
        found = self.names.origins(origin.node, origin.path)
        ranks = {self.rank(each.node, each.path, depth + 1) for each in found if each != origin}
        return ranks.pop() if len(ranks) == 1 else None

    def _rank_of_loop_item(self, binding: Binding, path: tuple[int, ...], depth: int) -> int | None:
        """Of an item of a list or tensor, or of a batch of a loader."""
        if binding.value is None:
            return None
        if name_called(binding.value) in ("range", "enumerate", "trange"):
            return 0
        place = (*binding.path, *path)
        batch = self.rank_of_batch(binding.value, place, depth)
        if batch is not None:
            return batch
        if place:
            made = self.makers.made_by(binding.value.func.value) if name_called(binding.value) == "split" else ""  # type: ignore[attr-defined]
            return 1 if made.endswith(("Fold", "Split", "ShuffleSplit")) else None  # places of rows
        whole = self.rank(binding.value, (), depth)
        if name_called(binding.value) in ("split", "chunk"):
            return self.rank(binding.value.func.value, (), depth)  # type: ignore[attr-defined]
        return None if whole is None or whole == 0 else whole - 1

    def loader_of_step(self, binding: Binding) -> ast.AST | None:
        """Of the batch that Lightning gives a training_step(): what train_dataloader() returns, or what fit() is given."""
        function = binding.scope
        if not isinstance(function, Function) or function.name != "training_step" or len(function.args.args) < 2:
            return None
        if function.args.args[1].arg != binding.name:
            return None
        makers = [each for each in self.source.functions if each.name == "train_dataloader"]
        made = [each for one in makers for each in self.source.returns_of(one)]
        if not made:
            for call in self.source.calls_to("fit"):
                given = call.args[1:2] or [each.value for each in call.keywords if each.arg == "train_dataloaders"]
                made += given
        return made[0] if len(made) == 1 else None

    def rank_of_batch(self, loader: ast.AST, place: tuple[int, ...], depth: int = 0) -> int | None:
        """Of a part of a batch: of the tensors of a TensorDataset, or one more than what __getitem__ gives."""
        part = self.part_of_batch(loader, place)
        if part is None:
            return None
        node, is_item = part
        rank = self.rank(node, (), depth + 1)
        return None if rank is None else rank + 1 if is_item else rank

    def part_of_batch(self, loader: ast.AST, place: tuple[int, ...]) -> tuple[ast.AST, bool] | None:
        """The expression that a part of a loader's batches is made of, and whether it is that of one sample."""
        call = self.makers.call_of(loader)
        if call is None or self.makers.class_name(call) != "DataLoader":
            return None
        given = call.args[0] if call.args else next((each.value for each in call.keywords if each.arg == "dataset"), None)
        return (
            None
            if given is None or any(each.arg == "collate_fn" for each in call.keywords)
            else self.part_of_data(given, place, 0)
        )

    def samples_of(self, node: ast.AST, path: tuple[int, ...] = (), depth: int = 0) -> list[tuple[ast.AST, bool]]:
        """What the part of a batch that an expression is was made of, one for each place that it may come from:
        `x, y = next(batches)`, `(t.to(device) for t in batch)`, a parameter, a loop over a loader."""
        if depth > 12:
            return []
        if isinstance(node, ast.Name):
            return self._samples_of_name(node, path, depth)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and type(node.slice.value) is int:
            return self.samples_of(node.value, (node.slice.value, *path), depth + 1)
        if isinstance(node, (ast.GeneratorExp, ast.ListComp)) and path and len(node.generators) == 1:
            held: ast.AST = node.elt
            while isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute) and name_called(held) in ITSELF:
                held = held.func.value
            over = node.generators[0]
            is_item = isinstance(held, ast.Name) and isinstance(over.target, ast.Name) and held.id == over.target.id
            return self.samples_of(over.iter, path, depth + 1) if is_item else []
        return self._samples_of_call(node, path, depth) if isinstance(node, ast.Call) else []

    def _samples_of_name(self, node: ast.Name, path: tuple[int, ...], depth: int) -> list[tuple[ast.AST, bool]]:
        binding = self.names.given(node)
        if binding is None or binding.how in ("defined", "imported", "with", "added"):
            return []
        if binding.how == "parameter":
            loader = self.loader_of_step(binding)
            part = self.part_of_batch(loader, path) if loader is not None else None
            given = self.names.values_of_parameter(binding) if part is None else []
            found = [each for one in given for each in self.samples_of(one, path, depth + 1)]
            return [part] if part is not None else found
        if binding.value is None:
            return []
        if binding.how == "loop":
            part = self.part_of_batch(binding.value, (*binding.path, *path))
            return [part] if part is not None else []
        return self.samples_of(binding.value, (*binding.path, *path), depth + 1)

    def _samples_of_call(self, node: ast.Call, path: tuple[int, ...], depth: int) -> list[tuple[ast.AST, bool]]:
        if name_called(node) == "next" and isinstance(node.func, ast.Name) and node.args:
            held = self.names.origin(node.args[0]).node
            if name_called(held) == "iter" and isinstance(held, ast.Call) and held.args:
                held = held.args[0]
            part = self.part_of_batch(held, path)
            return [part] if part is not None else []
        if isinstance(node.func, ast.Attribute) and name_called(node) in ITSELF:
            return self.samples_of(node.func.value, path, depth + 1)
        return []

    def part_of_data(self, data: ast.AST, place: tuple[int, ...], depth: int) -> tuple[ast.AST, bool] | None:
        origin = self.names.origin(data)
        call = origin.node
        if depth > 6 or not isinstance(call, ast.Call):
            return None
        name = self.makers.class_name(call)
        if name in ("random_split", "Subset") and call.args:
            return self.part_of_data(call.args[0], place, depth + 1)
        if name == "TensorDataset" and len(place) == 1:
            return self._of_tensors(call, place[0])
        owner = self.makers.class_made(call)
        get = self.makers.method(owner, "__getitem__") if owner is not None else None
        returned = self.source.returns_of(get) if get is not None else []
        walk = self.makers.method(owner, "__iter__") if owner is not None and get is None else None
        if walk is not None:
            returned = [
                each.value for each in self.source.own_nodes(walk) if isinstance(each, ast.Yield) and each.value is not None
            ]
        if len(returned) != 1:
            return None
        value = returned[0]
        for each in place:
            if not isinstance(value, ast.Tuple) or not 0 <= each < len(value.elts):
                return None
            value = value.elts[each]
        return value, True

    def _of_tensors(self, call: ast.Call, place: int) -> tuple[ast.AST, bool] | None:
        if len(call.args) == 1 and isinstance(call.args[0], ast.Starred):
            found = self.names.origins(call.args[0].value, (place,))
            return (found[0].node, False) if len(found) == 1 and not found[0].path else None
        return (call.args[place], False) if 0 <= place < len(call.args) else None

    def _rank_of_arithmetic(self, node: ast.BinOp, depth: int) -> int | None:
        left, right = self.rank(node.left, (), depth), self.rank(node.right, (), depth)
        if isinstance(node.op, ast.MatMult):
            return None if left is None or right is None else max(left + right - 2, 0)
        for one, other, value in ((left, right, node.right), (right, left, node.left)):
            if (
                one is None
                and other is not None
                and other >= 1
                and self._is_scalar(node.left if value is node.right else node.right)
            ):
                return other
        return None if left is None or right is None else max(left, right)

    def _is_scalar(self, node: ast.AST) -> bool:
        """A number, or what a reduction without dimensions gives."""
        if isinstance(self.values.of(node), (int, float)):
            return True
        return isinstance(node, ast.Call) and name_called(node) in REDUCING and not node.args

    def _rank_of_item(self, node: ast.Subscript, depth: int) -> int | None:
        key = self.values.of(node.slice)
        if isinstance(key, str):
            held = self._item_of_display(node.value, key)
            if held is not None:
                return self.rank(held, (), depth + 1)
            return 1 if self.is_table(node.value) else None
        names_columns = (
            isinstance(key, list) and isinstance(node.slice, ast.Name) and all(isinstance(each, str) for each in key)
        )
        if names_columns or isinstance(node.slice, ast.List):
            return 2 if self.is_table(node.value) else None
        rank = self.rank(node.value, (), depth)
        if rank is None:
            rank = self._rank_of_table(node)
        if rank is None:
            return None
        for each in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if isinstance(each, ast.Slice):
                continue
            if isinstance(each, ast.Constant):
                rank += 1 if each.value is None else -1 if type(each.value) is int else 0
                continue
            inner = self.rank(each, (), depth)
            if inner is None:
                return None
            rank += inner - 1
        return rank if rank >= 0 else None

    def _item_of_display(self, node: ast.AST, key: str) -> ast.expr | None:
        """What a dictionary that is written out, and never changed under that key, holds there."""
        origin = self.names.origin(node)
        if not isinstance(origin.node, ast.Dict) or origin.path:
            return None
        keys = [each.value if isinstance(each, ast.Constant) else None for each in origin.node.keys]
        return origin.node.values[keys.index(key)] if keys.count(key) == 1 else None

    def is_table(self, node: ast.AST, depth: int = 0) -> bool:
        """A table of pandas: what reads one, and rows or columns that were taken out of one."""
        found = self.names.origins(node)
        return depth < 12 and bool(found) and all(self._is_table(each, depth) for each in found)

    def _is_table(self, origin: Origin, depth: int) -> bool:
        node = origin.node
        if name_called(node) == "train_test_split" and isinstance(node, ast.Call) and len(origin.path) == 1:
            place = origin.path[0] // 2
            return 0 <= place < len(node.args) and self.is_table(node.args[place], depth + 1)
        if origin.path:
            return False
        if isinstance(node, ast.Call):
            name = name_called(node)
            if name in TABLES:
                return True
            return isinstance(node.func, ast.Attribute) and name in OF_ROWS and self.is_table(node.func.value, depth + 1)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr in ("iloc", "loc"):
            return not isinstance(node.slice, ast.Tuple) and self.is_table(node.value.value, depth + 1)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Compare, ast.UnaryOp, ast.BinOp, ast.Slice)):
            return self.is_table(node.value, depth + 1)  # rows that a test chooses
        return False

    def _rank_of_table(self, node: ast.Subscript) -> int | None:
        """`table[:, -1]` of what a data set is made of: a row a sample, a column a field."""
        owner = self.names.class_of(node)
        is_data = owner is not None and self.makers.method(owner, "__getitem__") is not None
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if not is_data or len(places) != 2 or not isinstance(node.value, ast.Name) or not isinstance(places[0], ast.Slice):
            return None
        binding = self.names.given(node.value)
        return 2 if binding is not None and binding.how == "parameter" else None

    def _rank_of_call(self, node: ast.Call, depth: int) -> int | None:
        name = name_called(node)
        full = self.source.name_of(node.func)
        library = full.startswith(("torch.", "numpy.", "pandas.", "F."))
        held = node.args[0] if library and node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
        if library and name in SIZED:
            return self._rank_of_size(node.args, depth)
        if library and name in ("arange", "linspace", "randperm", "logspace"):
            return 1
        if library and name in ("full", "randint") and name == "full":
            return self._rank_of_size(node.args[:1], depth)
        if name in DRAWN:
            return self._rank_of_draw(node, library, depth)
        if (name in WRAPPING or (library and name in FORMATS)) and node.args:
            return self.rank(node.args[0], (), depth)
        if library and name in ("stack", "cat", "concatenate", "concat", "vstack") and node.args:
            inner = self.rank(node.args[0], (), depth)
            return None if inner is None else inner if name == "stack" else inner - 1
        if library and name == "where" and len(node.args) == 3:
            ranks = [self.rank(each, (), depth) for each in node.args]
            return None if any(each is None for each in ranks) else max(each or 0 for each in ranks)
        if self.objects.event_of(node)[0] == "forward":
            return self._rank_of_output(node, depth)
        if held is None:
            return 0 if name in ("float", "int", "len") else self._rank_of_returned(node, depth)
        return self._rank_of_method(node, name, held, library, depth)

    def _rank_of_returned(self, node: ast.Call, depth: int) -> int | None:
        found = self.names.origins(node)
        ranks = {self.rank(each.node, each.path, depth + 1) for each in found if each.node is not node}
        return ranks.pop() if len(ranks) == 1 else None

    def _rank_of_size(self, sizes: list[ast.expr], depth: int) -> int | None:
        if len(sizes) == 1:
            if isinstance(sizes[0], (ast.Tuple, ast.List)):
                return len(sizes[0].elts)
            if isinstance(sizes[0], ast.Attribute) and sizes[0].attr == "shape":
                return self.rank(sizes[0].value, (), depth)
        return None if any(isinstance(each, ast.Starred) for each in sizes) else len(sizes)

    def _rank_of_draw(self, node: ast.Call, library: bool, depth: int) -> int | None:
        """`rng.normal(0, 1, n)`, `torch.randint(0, 5, (n,))`: the size is said by name, or stands last; a permutation is of
        a number, or of the rows of an array."""
        if name_called(node) == "permutation":
            return (self.rank(node.args[0], (), depth) or 1) if len(node.args) == 1 else None
        size = next((each.value for each in node.keywords if each.arg == "size"), None)
        if size is None and isinstance(node.func, ast.Attribute):
            least = {
                "random": 0,
                "standard_normal": 0,
                "exponential": 1,
                "poisson": 1,
                "choice": 1,
                "integers": 1,
                "randint": 1,
            }
            if len(node.args) > least.get(name_called(node), 2):
                size = node.args[-1]
        if size is None:
            return None
        if isinstance(size, (ast.Tuple, ast.List)):
            return len(size.elts)
        return 1 if not library or name_called(node) != "randint" else None

    def _rank_of_method(self, node: ast.Call, name: str, held: ast.expr, library: bool, depth: int) -> int | None:
        rest = node.args[1:] if library else node.args
        if name in ("view", "reshape"):
            sizes = rest[0].elts if len(rest) == 1 and isinstance(rest[0], ast.Tuple) else rest
            return None if any(isinstance(each, ast.Starred) for each in sizes) or not sizes else len(sizes)
        if name in ("flatten", "ravel") and not rest:
            return 1
        rank = self.rank(held, (), depth)
        if rank is None:
            return None
        if name in SAME:
            return rank
        if name == "unsqueeze":
            return rank + 1
        if name == "squeeze":
            return rank - 1 if rest and rank > 0 else None
        if name == "flatten" and len(rest) == 2:
            return rank - 1
        if name in REDUCING:
            keeps = any(each.arg in ("keepdim", "keepdims") for each in node.keywords)
            asked = rest or any(each.arg in ("dim", "axis") for each in node.keywords)
            return rank if keeps else max(rank - 1, 0) if asked else 0
        return None

    def _rank_of_output(self, node: ast.Call, depth: int) -> int | None:
        """Of a model that ends in a linear layer, that of its input: 2 at least where the input is not known."""
        if self.width(node) is None:
            return None
        return self.rank(node.args[0], (), depth) if node.args else None

    # --- how wide the last one is

    def width(self, node: ast.AST, depth: int = 0) -> int | None:
        """The size of the last dimension, where a layer or a reshape says it."""
        if depth > DEEP:
            return None
        found = self.names.origins(node)
        if len(found) > 1:
            widths = {self._width_of(each, depth) for each in found}
            return widths.pop() if len(widths) == 1 else None
        return self._width_of(found[0], depth)

    def _width_of(self, origin: Origin, depth: int) -> int | None:
        call = origin.node
        if isinstance(call, ast.BinOp) and isinstance(call.op, (ast.Mult, ast.Div)):
            return self._width_of_scaled(call, depth)
        if isinstance(call, ast.Subscript):
            places = call.slice.elts if isinstance(call.slice, ast.Tuple) else [call.slice]
            last = places[-1]
            return 1 if isinstance(last, ast.Constant) and last.value is None else None
        if not isinstance(call, ast.Call):
            return None
        name = name_called(call)
        if (
            isinstance(call.func, ast.Attribute)
            and name in (*SAME, *SQUASHES, *FILLING)
            and not self.source.name_of(call.func).startswith("nn.")
        ):
            held = call.args[0] if self.source.name_of(call.func).startswith("torch.") and call.args else call.func.value
            return self.width(held, depth + 1)
        if name in ("view", "reshape") and call.args:
            last = call.args[-1].elts[-1] if isinstance(call.args[-1], ast.Tuple) and call.args[-1].elts else call.args[-1]
            size = self.values.of(last)
            return size if size == 1 and len(call.args) > 1 or isinstance(call.args[-1], ast.Tuple) and size == 1 else None
        if name == "unsqueeze" and call.args and self.values.of(call.args[-1]) in (1, -1):
            return 1
        if isinstance(call.func, ast.Call) and self.makers.class_name(call.func) in ("Dense", "Linear", "DenseGeneral"):
            return self._width_of_dense(call.func)
        if self.objects.event_of(call)[0] != "forward":
            return None
        own = self.makers.own_forward(call)
        if own is not None:
            returned = self.source.returns_of(own)
            return self.width(returned[0], depth + 1) if len(returned) == 1 and not origin.path else None
        made = call.func if isinstance(call.func, ast.Call) else self.makers.call_of(call.func)
        return self.width_of_module(made, origin.path, depth + 1) if made is not None else None

    def _width_of_dense(self, made: ast.Call) -> int | None:
        """Of `nn.Dense(1)(x)` of Flax and Keras, `nn.Linear(64, 1)(x)`."""
        place = 1 if self.makers.class_name(made) == "Linear" else 0
        named = (each.value for each in made.keywords if each.arg in ("features", "out_features", "units"))
        given = made.args[place] if len(made.args) > place else next(named, None)
        size = self.values.number(given)
        return int(size) if size is not None else None

    def _width_of_scaled(self, node: ast.BinOp, depth: int) -> int | None:
        """Of what is multiplied with, or divided by, a number: `scores / math.sqrt(d)`, `a / self.temperature`."""
        for held, factor in ((node.left, node.right), (node.right, node.left)):
            is_scale = self._is_scalar(factor) or name_called(factor) == "sqrt" or isinstance(factor, ast.Constant)
            is_scale = is_scale or last_name(factor).lower() in ("temperature", "temp", "tau", "t", "scale", "scaling")
            if is_scale and (held is node.left or isinstance(node.op, ast.Mult)):
                return self.width(held, depth + 1)
        return None

    def features(self, node: ast.AST, depth: int = 0) -> ast.expr | None:
        """What says how wide the linear layer is that a value came out of last, as it was: `n_tags` of
        `nn.Linear(hidden, n_tags)(x)`."""
        origin = self.names.origin(node)
        call = origin.node
        if depth > DEEP or origin.path or not isinstance(call, ast.Call):
            return None
        if isinstance(call.func, ast.Attribute) and name_called(call) in ITSELF:
            return self.features(call.func.value, depth + 1)
        if self.objects.event_of(call)[0] != "forward":
            return None
        own = self.makers.own_forward(call)
        if own is not None:
            returned = self.source.returns_of(own)
            return self.features(returned[0], depth + 1) if len(returned) == 1 else None
        made = self.makers.call_of(call.func)
        return self._features_of_module(made, depth + 1) if made is not None else None

    def _features_of_module(self, made: ast.Call, depth: int) -> ast.expr | None:
        name = self.makers.class_name(made)
        if name == "Linear":
            found = (each.value for each in made.keywords if each.arg == "out_features")
            return made.args[1] if len(made.args) > 1 else next(found, None)
        if name == "Sequential" and depth < DEEP:
            for part in reversed(made.args):
                call = self.makers.call_of(part) if not isinstance(part, ast.Starred) else None
                if call is None or self.makers.class_name(call) not in KEEPING_WIDTH:
                    return self._features_of_module(call, depth + 1) if call is not None else None
            return None
        owner = self.makers.class_made(made)
        forward = self.makers.method(owner, "forward") if owner is not None else None
        returned = self.source.returns_of(forward) if forward is not None else []
        return self.features(returned[0], depth + 1) if len(returned) == 1 else None

    def width_of_module(self, made: ast.Call, path: tuple[int, ...], depth: int) -> int | None:
        name = self.makers.class_name(made)
        if depth > DEEP or path:
            return None
        if name in LINEAR:
            given = (
                made.args[1]
                if len(made.args) > 1
                else next((each.value for each in made.keywords if each.arg in ("out_features", "out_channels")), None)
            )
            size = self.values.number(given)
            return int(size) if size is not None and name == "Linear" else None
        if name == "Sequential":
            for part in reversed(made.args):
                call = self.makers.call_of(part) if not isinstance(part, ast.Starred) else None
                if call is None:
                    return None
                if self.makers.class_name(call) not in KEEPING_WIDTH:
                    return self.width_of_module(call, (), depth + 1)
            return None
        owner = self.makers.class_made(made)
        forward = self.makers.method(owner, "forward") if owner is not None else None
        returned = self.source.returns_of(forward) if forward is not None else []
        return self.width(returned[0], depth + 1) if len(returned) == 1 else None
