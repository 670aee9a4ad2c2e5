"""Makers: which call made an object, and of what a module is made.

`model = DDP(Net().to(device))` was made by `Net()`; `Net` ends in a softmax where its forward() returns one.
"""

from __future__ import annotations

import ast

from .names import Names, Origin
from .source import Source
from .syntax import Function, name_called
from .values import Values

DEEP = 16
#: Methods that give the object itself, or the same values in another shape, place or format.
ITSELF = (
    "to", "cuda", "cpu", "half", "float", "double", "bfloat16", "train", "eval", "requires_grad_", "share_memory",
    "apply", "compile", "contiguous", "clone", "type", "long", "int", "numpy", "unwrap",
)  # fmt: skip
RESHAPES = (
    "view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "expand", "view_as", "reshape_as",
    "ravel",
)  # fmt: skip
WRAPPERS = (
    "DistributedDataParallel", "DDP", "DataParallel", "FSDP", "FullyShardedDataParallel", "compile", "setup",
    "script", "convert_sync_batchnorm", "unwrap_model", "setup_module", "prepare_model", "Variable", "freeze",
)  # fmt: skip
ADAPTERS = ("get_peft_model", "prepare_model_for_kbit_training", "PeftModel", "inject_adapter_in_model")
SQUASHES = {
    "softmax": "softmax",
    "Softmax": "softmax",
    "softmin": "softmax",
    "log_softmax": "log_softmax",
    "LogSoftmax": "log_softmax",
    "logsigmoid": "logsigmoid",
    "LogSigmoid": "logsigmoid",
    "sigmoid": "sigmoid",
    "sigmoid_": "sigmoid",
    "Sigmoid": "sigmoid",
    "tanh": "tanh",
    "Tanh": "tanh",
    "relu": "relu",
    "ReLU": "relu",
}
LINEAR = (
    "Linear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose2d",
    "ConvTranspose1d",
    "Embedding",
    "LazyLinear",
    "Bilinear",
)
#: What behaves differently in train() and eval().
MODAL = (
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
    "SyncBatchNorm", "LazyBatchNorm1d", "LazyBatchNorm2d", "DropPath",
)  # fmt: skip
#: What drops by itself unless it is told not to.
DROPPING = ("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer")


class Makers:
    def __init__(self, source: Source, names: Names, values: Values):
        self.source = source
        self.names = names
        self.values = values
        self._calls: dict[ast.AST, ast.Call | None] = {}
        self._classes: dict[str, ast.ClassDef | None] | None = None
        self._modules: dict[ast.AST, bool] = {}

    # --- who made it

    def maker(self, node: ast.AST, depth: int = 0) -> Origin:
        """The expression that made the object, without wraps, casts and moves."""
        origin = self.names.origin(node)
        inner = self.unwrapped(origin.node)
        if inner is None or depth > DEEP:
            return origin
        return self.maker(inner, depth + 1)

    def unwrapped(self, node: ast.AST) -> ast.AST | None:
        """What a wrap or cast holds: `Net()` of `DDP(Net())`, of `Net().to(device)`, of `net.module`."""
        if isinstance(node, ast.Attribute) and node.attr == "module":
            return node.value
        if not isinstance(node, ast.Call):
            return None
        name = name_called(node)
        if name in WRAPPERS and node.args:
            return node.args[0]
        if name in ADAPTERS and node.args:
            return node.args[0]
        if (
            name in ITSELF
            and isinstance(node.func, ast.Attribute)
            and not self.source.name_of(node.func).startswith("torch.")
        ):
            return node.func.value
        return None

    def call_of(self, node: ast.AST) -> ast.Call | None:
        """The call that made it; None where none is known."""
        if node not in self._calls:
            self._calls[node] = None  # of what is made of itself
            self._calls[node] = self._call_of(node)
        return self._calls[node]

    def _call_of(self, node: ast.AST) -> ast.Call | None:
        origin = self.maker(node)
        if origin.path:
            if isinstance(origin.node, (ast.GeneratorExp, ast.ListComp)) and len(origin.path) == 1:
                return self.call_of(origin.node.elt)  # `q, k, v = (nn.Linear(d, d) for _ in range(3))`
            prepared = self.prepared(origin)
            return self.call_of(prepared) if prepared is not None else None
        return origin.node if isinstance(origin.node, ast.Call) else None

    @staticmethod
    def prepared(origin: Origin) -> ast.AST | None:
        """`x` of `a, b = accelerator.prepare(x, y)`."""
        call = origin.node
        if name_called(call) in ("prepare", "initialize", "setup") and isinstance(call, ast.Call) and len(origin.path) == 1:
            place = origin.path[0]
            if 0 <= place < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args):
                return call.args[place]
        return None

    def made_by(self, node: ast.AST) -> str:
        """The last name of the class or function that made it: `AdamW`; empty where none is known."""
        call = self.call_of(node)
        return self.class_name(call) if call is not None else ""

    def class_name(self, call: ast.Call) -> str:
        """`AdamW` of `optim.AdamW(...)`; of `AutoModel.from_pretrained(...)` the class."""
        full = self.source.name_of(call.func)
        parts = full.split(".")
        if len(parts) > 1 and parts[-1] in ("from_pretrained", "from_config", "from_name"):
            return parts[-2]
        return parts[-1] if full else name_called(call)

    def class_made(self, call: ast.Call) -> ast.ClassDef | None:
        """The class of this file that a call makes an object of."""
        if self._classes is None:
            self._classes = {}
            for each in self.source.nodes.of_kind(ast.ClassDef):
                self._classes[each.name] = None if each.name in self._classes else each
        return self._classes.get(call.func.id) if isinstance(call.func, ast.Name) else None

    # --- modules

    def definition(self, node: ast.AST, depth: int = 0) -> ast.ClassDef | None:
        """The class of this file that a model is of."""
        call = self.call_of(node)
        if call is not None:
            if self.class_name(call) == "deepcopy" and call.args:
                return self.definition(call.args[0], depth + 1) if depth < DEEP else None
            return self.class_made(call)
        if isinstance(node, ast.Name) and node.id in ("self", "s"):
            return self.names.class_of(node)
        item = self.item_made(node)
        return self.class_made(item) if item is not None else None

    def item_made(self, node: ast.AST) -> ast.Call | None:
        """The call that makes each of several modules: of `block` in `for block in self.blocks`, of `self.blocks[i]`."""
        holder: ast.AST | None = None
        if isinstance(node, ast.Name):
            binding = self.names.given(node)
            holder = binding.value if binding is not None and binding.how == "loop" and not binding.path else None
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            holder = node.value
        if holder is None:
            return None
        made = self.call_of(holder)
        held: ast.AST = self.names.origin(holder).node
        if made is not None and self.class_name(made) in ("ModuleList", "list", "Sequential") and made.args:
            held = made if self.class_name(made) == "Sequential" else self.names.origin(made.args[0]).node
        if isinstance(held, (ast.ListComp, ast.GeneratorExp)):
            return self.call_of(held.elt)
        items = held.args if isinstance(held, ast.Call) else getattr(held, "elts", [])
        calls = [self.call_of(each) for each in items if not isinstance(each, ast.Starred)]
        names = {self.class_name(each) if each is not None else "" for each in calls}
        return calls[0] if len(names) == 1 and len(calls) == len(items) and calls else None

    def forward_run(self, call: ast.Call) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The forward() of this file that a call of a module runs."""
        func = call.func
        if isinstance(func, ast.Call):  # `Net()(x)`
            owner = self.class_made(func)
        elif isinstance(func, ast.Attribute) and func.attr == "forward":
            owner = self.definition(func.value)
        elif isinstance(func, (ast.Name, ast.Attribute, ast.Subscript)):
            owner = self.definition(func)
        else:
            return None
        return self.method(owner, "forward") if owner is not None and self.is_module_class(owner) else None

    def is_module_class(self, each: ast.ClassDef) -> bool:
        if each not in self._modules:
            self._modules[each] = False  # of what is its own base
            self._modules[each] = self._is_module_class(each)
        return self._modules[each]

    def _is_module_class(self, each: ast.ClassDef) -> bool:
        bases = [self.source.name_of(base).rsplit(".", 1)[-1] for base in each.bases]
        return any(base in ("Module", "LightningModule", "PreTrainedModel", "Sequential") for base in bases) or any(
            isinstance(other, ast.ClassDef) and other is not each and other.name in bases and self.is_module_class(other)
            for other in self.source.nodes.of_kind(ast.ClassDef)
        )

    def method(self, owner: ast.ClassDef, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        return next((each for each in owner.body if isinstance(each, Function) and each.name == name), None)

    def parts_of(self, node: ast.AST, depth: int = 0) -> list[ast.Call] | None:
        """Every call that makes a part of a module, those of the classes and functions of this file included; None where the
        module is not known."""
        call = self.call_of(node)
        if call is None or depth > 6:
            return None
        owner = self.class_made(call)
        if owner is not None:
            return self._calls_below(owner, depth)
        if self.class_name(call) in ("Sequential", "ModuleList", "ModuleDict") or self.is_layer(call):
            return [call, *self._calls_below(call, depth)]
        function = self.names.function_called(call)
        return self._calls_below(function, depth) if function is not None else None

    def is_layer(self, call: ast.Call) -> bool:
        full = self.source.name_of(call.func)
        return full.startswith("torch.nn.") and not full.startswith("torch.nn.functional")

    def makes_layer(self, value: ast.AST) -> bool:
        """`nn.Linear(...)`, `Net()`, `nn.Sequential(...)`."""
        call = value
        moves = ("to", "cuda", "float")
        while isinstance(call, ast.Call) and name_called(call) in moves and isinstance(call.func, ast.Attribute):
            call = call.func.value
        if not isinstance(call, ast.Call):
            return False
        full = self.source.name_of(call.func)
        if full.startswith("torch.nn.") and not full.startswith(("torch.nn.functional", "torch.nn.init", "torch.nn.utils")):
            return not full.endswith("Loss")
        owner = self.class_made(call)
        return owner is not None and self.is_module_class(owner)

    def _calls_below(self, node: ast.AST, depth: int) -> list[ast.Call]:
        found = [each for each in self.source.calls_in(node) if each is not node]
        for call in list(found):
            inner: ast.AST | None = self.class_made(call) or self.names.function_called(call)
            if inner is not None and depth < 6 and not self.source.nodes.encloses(inner, call):
                found += self._calls_below(inner, depth + 1)
        return found

    def mode_matters(self, node: ast.AST) -> bool | None:
        """Whether train() and eval() differ: of a module that is written in this file, by its layers; None where unknown."""
        parts = self.parts_of(node)
        if parts is None:
            return None
        known = True
        for call in parts:
            name = name_called(call)
            if name in MODAL:
                rate = call.args[0] if call.args else next((each.value for each in call.keywords if each.arg == "p"), None)
                if "Drop" not in name or self.values.of(rate) != 0:
                    return True
            if name in DROPPING and not self._drops_nothing(call):
                return True
            known = known and name != "from_pretrained"
        return False if known else None

    def _drops_nothing(self, call: ast.Call) -> bool:
        place = 3 if name_called(call) != "Transformer" else 5
        rate = next((each.value for each in call.keywords if each.arg == "dropout"), None)
        rate = rate if rate is not None else (call.args[place] if len(call.args) > place else None)
        return bool(self.values.of(rate) == 0)

    # --- what a value ends in

    def squash(self, node: ast.AST, depth: int = 0) -> str | None:
        """What the value last went through: `softmax`, `sigmoid`, `log_softmax`, `linear`, ...; None where unknown."""
        if depth > DEEP:
            return None
        if isinstance(node, ast.Name) and self._may_differ(node):
            return None
        origins = self.names.origins(node)
        if len(origins) > 1:
            found = {self.squash_of_origin(each, depth + 1) for each in origins}
            return found.pop() if len(found) == 1 else None
        return self.squash_of_origin(origins[0], depth + 1)

    def _may_differ(self, node: ast.Name) -> bool:
        """The last of several places that give it a value is under an `if` of a loop: `if k + 1 < n: x = x.relu()`."""
        binding = self.names.given(node)
        if binding is None or binding.how != "assigned" or len(self.names.all_given(node)) < 2:
            return False
        loops = self.source.loops_of(binding.node)
        return bool(loops) and self.source.is_conditional(binding.node, loops[0])

    def squash_of_origin(self, origin: Origin, depth: int) -> str | None:
        node, path = origin
        if isinstance(node, ast.Attribute):
            return "linear" if node.attr == "logits" else None
        if isinstance(node, ast.Subscript):
            return self.squash(node.value, depth + 1)
        if not isinstance(node, ast.Call):
            return None
        name = name_called(node)
        if isinstance(node.func, ast.Attribute) and name in (*ITSELF, *RESHAPES):
            held = node.args[0] if self.source.name_of(node.func).startswith("torch.") and node.args else node.func.value
            return self.squash(held, depth + 1)
        if name in SQUASHES and not isinstance(node.func, ast.Call):
            is_maker = name[:1].isupper()
            return None if is_maker else SQUASHES[name]
        return self._squash_of_call(node, path, depth)

    def _squash_of_call(self, node: ast.Call, path: tuple[int, ...], depth: int) -> str | None:
        """Of `model(x)`, `self.head(x)`, `nn.Softmax(dim=1)(x)`."""
        made = node.func if isinstance(node.func, ast.Call) else self.call_of(node.func)
        if made is not None:
            return self.squash_of_module(made, path, depth + 1)
        forward = self.own_forward(node)
        return self._squash_of_returns(forward, path, depth + 1) if forward is not None else None

    def squash_of_module(self, made: ast.Call, path: tuple[int, ...], depth: int) -> str | None:
        """What a module's output last went through, by the call that makes the module."""
        if depth > DEEP:
            return None
        name = self.class_name(made)
        if name in SQUASHES:
            return SQUASHES[name]
        if name in LINEAR:
            return "linear"
        if name == "Sequential" and made.args:
            return self._squash_of_part(made.args[-1], depth)
        owner = self.class_made(made)
        forward = self.method(owner, "forward") if owner is not None else None
        if forward is not None:
            return self._squash_of_returns(forward, path, depth)
        function = self.names.function_called(made)
        if function is not None:
            returned = self.source.returns_of(function)
            call = self.call_of(returned[0]) if len(returned) == 1 else None
            return self.squash_of_module(call, path, depth + 1) if call is not None else None
        return None

    def own_forward(self, call: ast.Call) -> ast.AST | None:
        """The forward() that `self(x)`, or `self.forward(x)`, runs within a class of modules."""
        func = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "forward" else call.func
        owner = self.names.class_of(func) if isinstance(func, ast.Name) and func.id == "self" else None
        return self.method(owner, "forward") if owner is not None else None

    def _squash_of_part(self, last: ast.AST, depth: int) -> str | None:
        if isinstance(last, ast.Starred):
            return None
        call = self.call_of(last)
        return self.squash_of_module(call, (), depth + 1) if call is not None else None

    def _squash_of_returns(self, forward: ast.AST, path: tuple[int, ...], depth: int) -> str | None:
        found = set()
        for value in self.source.returns_of(forward):
            while path and isinstance(value, (ast.Tuple, ast.List)) and 0 <= path[0] < len(value.elts):
                value, path = value.elts[path[0]], path[1:]
            if isinstance(value, (ast.Tuple, ast.List)):
                if not value.elts:
                    return None
                value = value.elts[0]
            found.add(self.squash(value, depth + 1))
        return found.pop() if len(found) == 1 else None
