"""Objects: which values are optimizers, schedules, models, scalers and loaders, and what a call does to them."""

from __future__ import annotations

import ast

from .makers import Makers
from .names import Names, Origin
from .source import Source
from .syntax import Function, dotted, last_name, name_called
from .values import Values

OPTIMIZERS = (
    "SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD",
    "SparseAdam", "LBFGS", "Adafactor", "Lion", "Muon", "AdamW8bit", "Adam8bit", "PagedAdamW", "PagedAdamW8bit",
    "FusedAdam", "Lamb", "LAMB", "LARS", "Sophia", "Shampoo", "SOAP", "Prodigy", "DAdaptAdam", "AdaBelief", "Ranger",
    "CPUAdam", "SGD8bit", "Novograd",
)  # fmt: skip
ADAPTIVE = (
    "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "AdamW8bit", "Adam8bit", "PagedAdamW", "PagedAdamW8bit",
    "FusedAdam", "CPUAdam", "AdaBelief", "Lamb", "LAMB",
)  # fmt: skip
#: Optimizers whose step grows with the gradient: a factor before it is a factor of the learning rate.
PROPORTIONAL = ("SGD", "ASGD", "LARS", "SGD8bit")
SCHEDULES = (
    "StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "CosineAnnealingLR", "ReduceLROnPlateau",
    "CyclicLR", "OneCycleLR", "CosineAnnealingWarmRestarts", "LambdaLR", "MultiplicativeLR", "PolynomialLR",
    "SequentialLR", "ChainedScheduler", "get_scheduler", "get_linear_schedule_with_warmup",
    "get_cosine_schedule_with_warmup", "get_constant_schedule_with_warmup", "get_constant_schedule",
    "get_polynomial_decay_schedule_with_warmup", "get_cosine_with_hard_restarts_schedule_with_warmup",
    "get_inverse_sqrt_schedule", "GradualWarmupScheduler", "CosineLRScheduler", "get_wsd_schedule",
)  # fmt: skip
CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_gradients", "clip_grads_with_norm_")
#: What a call of this name is, whatever it is called on.
PLAIN_EVENTS = {
    **dict.fromkeys(CLIPS, "clip"),
    "manual_backward": "backward",
    "backward": "backward",
    "unscale_": "unscale",
    "set_epoch": "set_epoch",
}
COLLECTIVES = (
    "barrier", "monitored_barrier", "all_reduce", "all_gather", "all_gather_object", "all_gather_into_tensor",
    "all_to_all", "broadcast", "broadcast_object_list", "reduce", "reduce_scatter", "gather", "gather_object",
    "scatter", "scatter_object_list", "reduce_scatter_tensor",
)  # fmt: skip
#: Of Accelerate and Fabric: every process has to call them.
COMMON = (
    "wait_for_everyone", "gather_for_metrics", "gather", "reduce", "save_state", "barrier", "all_reduce",
    "all_gather", "pad_across_processes", "broadcast",
)  # fmt: skip
#: Of FSDP and torch.distributed.checkpoint: every rank brings its part of the state.
GATHERING = (
    "full_optim_state_dict", "optim_state_dict", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "full_tensor", "sharded_optim_state_dict",
)  # fmt: skip
LAUNCHERS = ("accelerator", "fabric", "acc")
DEEP = 8  # copies of copies


class Objects:
    def __init__(self, source: Source, names: Names, values: Values, makers: Makers):
        self.source = source
        self.names = names
        self.values = values
        self.makers = makers
        self._events: dict[ast.AST, tuple[str, frozenset[str]]] = {}
        self._identities: dict[ast.AST, frozenset[str]] = {}
        self._trained: frozenset[str] | None = None
        self._run: dict[ast.AST, ast.FunctionDef | ast.AsyncFunctionDef | None] = {}

    # --- what something is

    def optimizer_class(self, node: ast.AST) -> str:
        """`AdamW`; empty where it is no optimizer of a known class."""
        name = self.makers.made_by(node)
        return name if name in OPTIMIZERS else ""

    def is_optimizer(self, node: ast.AST) -> bool:
        made = self.makers.made_by(node)
        if made:
            if made in OPTIMIZERS or "ptimizer" in made:
                return True
            if made in SCHEDULES or made.endswith(("LR", "Trainer")):
                return False
        return self.source.is_optimizer(node)

    def is_schedule(self, node: ast.AST) -> bool:
        made = self.makers.made_by(node)
        if made in SCHEDULES or made.endswith(("LR", "Scheduler", "_schedule")) or made.startswith("get_scheduler"):
            return True
        name = last_name(node).lower()
        return "sched" in name or name in ("lr_s", "warmup")

    def class_is_schedule(self, call: ast.Call) -> bool:
        """Whether a call makes a schedule."""
        name = self.makers.class_name(call)
        return name in SCHEDULES or name.endswith("LR") or name.startswith("get_scheduler")

    def optimizers_made(self) -> list[tuple[ast.Call, ast.AST]]:
        """Every call that makes an optimizer and is assigned, with what it is assigned to."""
        found: list[tuple[ast.Call, ast.AST]] = []
        for call in self.source.calls:
            if self.makers.class_name(call) not in OPTIMIZERS:
                continue
            holder = self.source.statement_of(call)
            if not isinstance(holder, ast.Assign):
                continue
            target = holder.targets[0]
            if holder.value is call:
                found.append((call, target))
            elif isinstance(target, ast.Tuple) and isinstance(holder.value, ast.Tuple):
                pairs = zip(target.elts, holder.value.elts) if len(target.elts) == len(holder.value.elts) else ()
                found += [(call, each) for each, value in pairs if value is call]
        return found

    def parameters_in(self, node: ast.AST, depth: int = 0) -> list[ast.expr]:
        """The receivers of `.parameters()` and `.named_parameters()` that an expression is made of, names followed."""
        found: list[ast.expr] = []
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and name_called(each) in (
                "parameters",
                "named_parameters",
                "trainable_parameters",
            ):
                if isinstance(each.func, ast.Attribute):
                    found.append(each.func.value)
            elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and depth < 4:
                for binding in self.names.all_given(each):
                    if binding.value is not None and binding.how in ("assigned", "added", "loop"):
                        found += self.parameters_in(binding.value, depth + 1) if not binding.path else []
        return found

    def held(self, optimizer: ast.Call) -> frozenset[str]:
        """The models whose parameters an optimizer was given, by who made them."""
        given = optimizer.args[:1] or [each.value for each in optimizer.keywords if each.arg in ("params", "model_params")]
        found: frozenset[str] = frozenset()
        for each in given:
            for holder in self.parameters_in(each):
                found |= self.identity(holder)
        return found

    def trained(self) -> frozenset[str]:
        """The models that some optimizer of this program holds."""
        if self._trained is None:
            held = [self.held(call) for call in self.source.calls if self.makers.class_name(call) in OPTIMIZERS]
            self._trained = frozenset().union(*held) if held else frozenset()
        return self._trained

    def somebody_steps(self) -> bool:
        """A framework, or some `.step()` whose receiver is not known, may take the steps."""
        frameworks = {"Trainer", "Accelerator", "Fabric", "initialize", "LightningModule", "fit"}
        if self.source.names_called & frameworks or any(name.endswith("Trainer") for name in self.source.names_called):
            return True
        return any(self.event_of(call)[0] != "schedule" for call in self.source.calls_to("step"))

    def is_scaler(self, node: ast.AST) -> bool:
        return self.makers.made_by(node) == "GradScaler" or self.source.is_scaler(node)

    def is_model(self, node: ast.AST, depth: int = 0) -> bool:
        """Made by a module's class, or called so."""
        call = self.makers.call_of(node)
        if call is not None:
            name = self.makers.class_name(call)
            full = self.source.name_of(call.func)
            if name == "deepcopy" and call.args and depth < DEEP:
                return self.is_model(call.args[0], depth + 1)
            if full.startswith("torch.nn.") and not full.startswith("torch.nn.functional") and not name.endswith("Loss"):
                return True
            owner = self.makers.class_made(call)
            if owner is not None:
                return self.makers.is_module_class(owner)
            if "from_pretrained" in full or name.startswith(("AutoModel", "PeftModel")):
                return "oken" not in name and "Config" not in name and "Processor" not in name
            if name.endswith(("Model", "ForCausalLM", "LMHeadModel", "ForSequenceClassification", "ForTokenClassification")):
                return True
            if (
                name in OPTIMIZERS
                or name in SCHEDULES
                or name.endswith(("Loader", "Trainer", "Tokenizer", "Config", "Dataset"))
            ):
                return False
        if isinstance(node, ast.Name) and self.names.given(node) is None and node.id in self.source.aliases:
            return False  # an imported function: get_model
        binding = self.names.given(node)
        return (binding is None or binding.how != "defined") and self.source.is_model(node)

    def identity(self, node: ast.AST) -> frozenset[str]:
        """Who made it, wraps and moves left out, in a word that is the same wherever it is used; several where several
        could have."""
        if node not in self._identities:
            self._identities[node] = frozenset()  # of what is made of itself
            found: set[str] = set()
            for origin in self.names.origins(node):
                inner = self.makers.prepared(origin) if origin.path else self.makers.unwrapped(origin.node)
                found |= (self.identity(inner) if inner is not None else None) or {self._identity(origin)}
            self._identities[node] = frozenset(found)
        return self._identities[node]

    def _identity(self, origin: Origin) -> str:
        node = origin.node
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            scope, name = (
                (self.names.home_of(node.id, node), node.id) if isinstance(node, ast.Name) else self.names.place_of(node)
            )
            return f"{name}@{self.source.nodes.place(scope)}"
        return f"#{self.source.nodes.place(node)}{list(origin.path) if origin.path else ''}"

    # --- what a call does

    def event_of(self, call: ast.Call) -> tuple[str, frozenset[str]]:
        """The kind of event that a call is, and to what; an empty kind where it is none."""
        held = self._events.get(call)
        if held is None:
            held = self._events[call] = self._event_of(call)
        return held

    def _event_of(self, call: ast.Call) -> tuple[str, frozenset[str]]:
        name = name_called(call)
        none: frozenset[str] = frozenset()
        if name in PLAIN_EVENTS and (isinstance(call.func, ast.Attribute) or name in CLIPS):
            return PLAIN_EVENTS[name], none
        if self._is_collective(call, name):
            return "collective", none
        if not isinstance(call.func, ast.Attribute):
            return ("forward", self.identity(call.func)) if self._is_forward(call) else ("", none)
        return self._event_of_method(call, name, call.func.value)

    def _event_of_method(self, call: ast.Call, name: str, holder: ast.expr) -> tuple[str, frozenset[str]]:
        none: frozenset[str] = frozenset()
        if name == "step":
            return self._step(call, holder)
        if name == "zero_grad":
            return "zero_grad", self.identity(holder) if self.is_optimizer(holder) else frozenset({"*"})
        if name == "update" and self.is_scaler(holder):
            return "scaler_update", none
        if name in ("eval", "train") and self._is_mode(call, holder):
            off = bool(call.args) and self.values.is_false(call.args[0])  # train(was_training) puts the mode back
            return ("eval" if name == "eval" or off else "train"), self.identity(holder)
        if name == "save" and self.source.name_of(call.func) == "torch.save":
            return "save", none
        if self._is_forward(call):
            return "forward", self.identity(call.func)
        return "", none

    def _step(self, call: ast.Call, holder: ast.expr) -> tuple[str, frozenset[str]]:
        if self.is_scaler(holder):
            return "step", self.identity(call.args[0]) if call.args else frozenset()
        if self.is_schedule(holder):
            return "schedule", self.identity(holder)
        if self.is_optimizer(holder):
            return "step", self.identity(holder)
        return "", frozenset()

    def _is_mode(self, call: ast.Call, holder: ast.expr) -> bool:
        name = name_called(call)
        if len(call.args) > 1 or call.keywords:
            return False
        if self.makers.made_by(holder).endswith("Trainer") or "trainer" in last_name(holder).lower():
            return False
        owner = self.makers.definition(holder)
        if owner is not None and self.makers.method(owner, name) is not None:
            return self.makers.is_module_class(owner)
        return self.is_model(holder) or not call.args

    def _is_forward(self, call: ast.Call) -> bool:
        return (
            isinstance(call.func, (ast.Name, ast.Attribute))
            and bool(call.args or call.keywords)
            and (self.is_model(call.func) or self._is_own_module(call.func))
        )

    def _is_own_module(self, node: ast.AST) -> bool:
        """`self` of `self(x)` in a class of modules that has a forward()."""
        owner = self.names.class_of(node) if isinstance(node, ast.Name) and node.id == "self" else None
        return owner is not None and self.makers.is_module_class(owner) and self.makers.method(owner, "forward") is not None

    def _is_collective(self, call: ast.Call, name: str) -> bool:
        full = self.source.name_of(call.func)
        if name in COLLECTIVES and (full.startswith("torch.distributed.") or full.startswith("dist.")):
            return True
        if name in GATHERING and (
            full.startswith("torch.distributed.") or "FSDP" in full or "FullyShardedDataParallel" in full
        ):
            return True
        if name == "state_dict" and isinstance(call.func, ast.Attribute):
            return self.is_sharded(call.func.value)
        if name in COMMON and isinstance(call.func, ast.Attribute):
            holder = call.func.value
            made = self.makers.made_by(holder)
            return made in ("Accelerator", "Fabric") or last_name(holder).lower() in LAUNCHERS
        return False

    def is_sharded(self, node: ast.AST) -> bool:
        """A model that FSDP has cut into parts, one a rank: its state_dict() gathers them from all ranks."""
        if "FullyShardedDataParallel" not in self.source.names_called:
            return False
        found = self.names.origins(node)
        return bool(found) and all(
            isinstance(each.node, ast.Call)
            and not each.path
            and self.source.name_of(each.node.func).rsplit(".", 1)[-1] == "FullyShardedDataParallel"
            for each in found
        )

    # --- what a call runs

    def function_run(self, call: ast.Call) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function or method of this file that a call runs; __init__ of a class that is no module."""
        if call not in self._run:
            self._run[call] = self._function_run(call)
        return self._run[call]

    def _function_run(self, call: ast.Call) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        if isinstance(call.func, ast.Name):
            binding = self.names.given(call.func)
            if binding is not None and isinstance(binding.node, Function):
                return binding.node
            owner = self.makers.class_made(call)
            if owner is not None and not self.makers.is_module_class(owner):
                return self.makers.method(owner, "__init__")
            return self.names.function_called(call)
        if not isinstance(call.func, ast.Attribute):
            return None
        owner = self.makers.definition(call.func.value)
        if owner is not None:
            return self.makers.method(owner, call.func.attr)
        if dotted(call.func.value) and not self.source.name_of(call.func).startswith("torch."):
            return self.names.function_called(call)
        return None


def is_optimizer_class(name: str) -> bool:
    tail = name.rsplit(".", 1)[-1]
    return "optim" in name.lower() or tail in ("Adam", "AdamW", "SGD", "Adafactor", "Lion", "Muon", "AdamW8bit", "RMSprop")
