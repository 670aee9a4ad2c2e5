"""Values: the constants of a program, through names, defaults of arguments and of dataclasses, dictionaries and the
configuration files that it reads from its own folder.

    program.values.of(node)      # 3e-4, "cosine", [0.9, 0.999], Symbol("torch.float16"), or UNKNOWN

Nothing is run: arithmetic on numbers is done here, on what is written.
"""

from __future__ import annotations

import ast
import math
import operator
import os
import string
from collections.abc import Callable
from functools import cached_property
from typing import Any, Optional

from .configuration import line_of_keys, only_configuration, read_configuration
from .constants import UNKNOWN, Symbol, is_number, known
from .launches import Given, arguments_given
from .names import Binding, Names
from .source import Source
from .syntax import Function, argument_given, name_called, parameters_of

DEEP = 24
MOST_RETURNS = 6  # of a function that is worked out
LONG = 1 << 16  # characters or items of a constant


ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "float": float,
    "int": int,
    "str": str,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
    "len": len,
    "sum": sum,
    "math.sqrt": math.sqrt,
    "math.log": math.log,
    "math.exp": math.exp,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.cos": math.cos,
    "math.pow": math.pow,
    "numpy.sqrt": math.sqrt,
    "numpy.log": math.log,
    "numpy.exp": math.exp,
}
#: Of Python's `string`: what vocabularies of characters are made of.
ALPHABETS = {
    f"string.{name}": getattr(string, name)
    for name in ("ascii_lowercase", "ascii_uppercase", "ascii_letters", "digits", "punctuation", "printable", "whitespace")
}
NAMESPACES = ("Namespace", "SimpleNamespace", "dict", "EasyDict", "edict", "AttrDict", "Munch", "Bunch", "ConfigDict")


#: The method that takes a kind of node.
KINDS: dict[type[ast.AST], str] = {
    ast.Name: "_name",
    ast.Attribute: "_attribute",
    ast.Subscript: "_subscript",
    ast.Dict: "_dictionary",
    ast.UnaryOp: "_unary",
    ast.BinOp: "_binary",
    ast.BoolOp: "_either",
    ast.Compare: "_comparison",
    ast.IfExp: "_choice",
    ast.Call: "_call",
}


class Values:
    def __init__(self, source: Source, names: Names):
        self.source = source
        self.names = names
        self._arguments: dict[str, ast.Call] | None = None
        self._files: dict[str, Any] = {}
        self._paths: dict[str, str] = {}  # of the files that were read
        self._read: dict[ast.AST, str] = {}  # calls that read them
        self._known: dict[ast.AST, Any] = {}

    # --- the question

    def of(self, node: Optional[ast.AST], bound: Optional[dict[str, Any]] = None, depth: int = 0) -> Any:  # noqa: UP045
        """The constant; `bound` gives names a value (of a lambda's parameter, say)."""
        if node is None or depth > DEEP:
            return UNKNOWN
        if bound:
            return self._worked_out(node, bound, depth)
        if node not in self._known:
            self._known[node] = UNKNOWN  # of what is made of itself, as in a function that calls itself
            self._known[node] = self._worked_out(node, {}, depth)
        return self._known[node]

    def _worked_out(self, node: ast.AST, bound: dict[str, Any], depth: int) -> Any:
        try:
            return self._of(node, bound, depth + 1)
        except (ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
            return UNKNOWN

    def possible(self, node: Optional[ast.AST], depth: int = 0) -> list[Any]:  # noqa: UP045
        """The constants that it may be: both of `"fp16" if torch.cuda.is_available() else "no"`."""
        if isinstance(node, (ast.Name, ast.Attribute)) and depth < 6:
            binding = self.names.given(node)
            if binding is not None and binding.how == "assigned" and not binding.path and binding.value is not None:
                return self.possible(binding.value, depth + 1)
        if isinstance(node, ast.IfExp) and not known(self.of(node.test)):
            return self.possible(node.body, depth + 1) + self.possible(node.orelse, depth + 1)
        value = self.of(node)
        return [value] if known(value) else []

    def number(self, node: Optional[ast.AST]) -> Optional[float]:  # noqa: UP045
        value = self.of(node)
        return float(value) if is_number(value) else None

    def text(self, node: Optional[ast.AST]) -> str:  # noqa: UP045
        value = self.of(node)
        return value if isinstance(value, str) else ""

    def is_true(self, node: Optional[ast.AST]) -> bool:  # noqa: UP045
        return self.of(node) is True

    def is_false(self, node: Optional[ast.AST]) -> bool:  # noqa: UP045
        return self.of(node) is False

    # --- kinds of nodes

    def _of(self, node: ast.AST, bound: dict[str, Any], depth: int) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in bound:
            return bound[node.id]
        if isinstance(node, (ast.Tuple, ast.List)):
            return [self.of(each, bound, depth) for each in node.elts[:LONG]]
        work = KINDS.get(node.__class__)
        return getattr(self, work)(node, bound, depth) if work is not None else UNKNOWN

    def _dictionary(self, node: ast.Dict, bound: dict[str, Any], depth: int) -> Any:
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                inner = self.of(value, bound, depth)
                if isinstance(inner, dict):
                    made.update(inner)
                continue
            name = self.of(key, bound, depth)
            if isinstance(name, (str, int, float)):
                made[name] = self.of(value, bound, depth)
        return made

    def _unary(self, node: ast.UnaryOp, bound: dict[str, Any], depth: int) -> Any:
        value = self.of(node.operand, bound, depth)
        if not known(value):
            return UNKNOWN
        if isinstance(node.op, ast.USub):
            return -value
        if isinstance(node.op, ast.Not):
            return not value
        return +value if isinstance(node.op, ast.UAdd) else UNKNOWN

    def _binary(self, node: ast.BinOp, bound: dict[str, Any], depth: int) -> Any:
        left, right = self.of(node.left, bound, depth), self.of(node.right, bound, depth)
        work = ARITHMETIC.get(type(node.op))
        if work is None or not known(left) or not known(right):
            return UNKNOWN
        if not is_number(left) or not is_number(right):  # texts and lists
            if isinstance(node.op, ast.Mult) and isinstance(left, (str, list)) and type(right) is int:
                return left * right if right >= 0 and len(left) * right < LONG else UNKNOWN
            plain = isinstance(node.op, ast.Add) and type(left) is type(right)
            return work(left, right) if plain and len(left) + len(right) < LONG else UNKNOWN
        if isinstance(node.op, ast.Pow) and (abs(right) > 64 or abs(left) > 1e6):
            return float(left) ** float(right)
        return work(left, right)

    def _either(self, node: ast.BoolOp, bound: dict[str, Any], depth: int) -> Any:
        """`args.lr or 1e-3`: the first that decides, as far as it is known."""
        for each in node.values:
            value = self.of(each, bound, depth)
            if not known(value):
                return UNKNOWN
            if bool(value) == isinstance(node.op, ast.Or):
                return value
        return value

    def _comparison(self, node: ast.Compare, bound: dict[str, Any], depth: int) -> Any:
        left, right = self.of(node.left, bound, depth), self.of(node.comparators[0], bound, depth)
        work = COMPARISONS.get(type(node.ops[0]))
        return work(left, right) if work and len(node.ops) == 1 and known(left) and known(right) else UNKNOWN

    def _choice(self, node: ast.IfExp, bound: dict[str, Any], depth: int) -> Any:
        test = self.of(node.test, bound, depth)
        if known(test):
            return self.of(node.body if test else node.orelse, bound, depth)
        one, other = self.of(node.body, bound, depth), self.of(node.orelse, bound, depth)
        return one if known(one) and one == other else UNKNOWN

    # --- names

    def _name(self, node: ast.Name, bound: dict[str, Any], depth: int) -> Any:
        binding = self.names.given(node)
        if binding is None:
            full = self.source.aliases.get(node.id, "")
            return Symbol(full) if full.startswith("torch.") else UNKNOWN
        return self._given(binding, node, bound, depth)

    def _given(self, binding: Binding, node: ast.AST, bound: dict[str, Any], depth: int) -> Any:
        if binding.how == "parameter":
            return self._of_parameter(binding, depth)
        if binding.how not in ("assigned", "with") or binding.value is None:
            return UNKNOWN
        if not self.names.is_sure(node):
            found = [each for each in self.names.all_given(node) if each.how == "assigned" and not each.path]
            if len(found) != len(self.names.all_given(node)):
                return UNKNOWN
            return self._agreed([self.of(each.value, None, depth) for each in found])
        value = self.of(binding.value, bound, depth)
        for place in binding.path:
            value = value[place] if isinstance(value, (list, tuple)) and 0 <= place < len(value) else UNKNOWN
        return value

    def _of_parameter(self, binding: Binding, depth: int) -> Any:
        """What all calls of this file agree on; `Net(**cfg["model"])` gives what the dictionary holds."""
        if isinstance(binding.scope, Function) and binding.scope.args.kwarg is binding.node:
            return self._of_the_rest(binding, binding.scope, depth)
        found = [self.of(each, None, depth) for each in self.names.values_of_parameter(binding)]
        for call in self.names.calls_of_parameter(binding):
            for spread in [each.value for each in call.keywords if each.arg is None]:
                held = self.of(spread, None, depth)
                if not isinstance(held, dict):
                    return UNKNOWN
                if binding.name in held:
                    found.append(held[binding.name])
        return self._agreed(found)

    def _of_the_rest(
        self, binding: Binding, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int
    ) -> Any:
        """`**cfg`: the keywords that all calls of this file give alike and no other parameter takes."""
        taken = {each.arg for each, _ in parameters_of(function)}
        found: list[dict[str, Any]] = []
        for call in self.names.calls_of_parameter(binding):
            given = self._keywords(call, {}, depth)
            for spread in [each.value for each in call.keywords if each.arg is None]:
                held = self.of(spread, None, depth)
                if not isinstance(held, dict):
                    return UNKNOWN
                given = {**held, **given}
            found.append(given)
        common = [name for name in (found[0] if found else {}) if name not in taken]
        agreed = {name: self._agreed([each.get(name, UNKNOWN) for each in found]) for name in common}
        return agreed if found else UNKNOWN

    @staticmethod
    def _agreed(found: list[Any]) -> Any:
        return found[0] if found and all(known(each) and each == found[0] for each in found) else UNKNOWN

    def _attribute(self, node: ast.Attribute, bound: dict[str, Any], depth: int) -> Any:
        full = self.source.name_of(node)
        if full.startswith("torch.") or full in ("math.pi", "numpy.pi"):
            return math.pi if full.endswith(".pi") else Symbol(full)
        if full in ALPHABETS:
            return ALPHABETS[full]
        binding = self.names.given(node)
        if binding is not None:
            return self._given(binding, node, bound, depth)
        held = self.names.origin(node.value).node  # `h = self.hparams`
        if isinstance(held, ast.Attribute) and held.attr in ("hparams", "hyperparams"):
            return self._hyperparameter(node, node.attr, depth)
        return self._field(node.value, node.attr, bound, depth)

    def _field(self, holder: ast.expr, field: str, bound: dict[str, Any], depth: int) -> Any:
        """`args.lr`, `cfg.lr`, `Config.lr`."""
        if depth > DEEP:
            return UNKNOWN
        origin = self.names.origin(holder)
        call = origin.node
        if isinstance(call, ast.Call):
            name = name_called(call)
            if name in ("parse_args", "parse_known_args", "parse_args_into_dataclasses"):
                return self._argument(field, depth)
            if name in NAMESPACES or name in ("create", "structured"):
                made = self._keywords(call, bound, depth) or self.of(call.args[0] if call.args else None, bound, depth)
                return made.get(field, UNKNOWN) if isinstance(made, dict) else UNKNOWN
            given = next((each.value for each in call.keywords if each.arg == field), None)
            if given is not None:
                return self.of(given, bound, depth)
            return self._class_field(name, field, depth)
        if isinstance(call, ast.Name):
            if (binding := self.names.given(call)) is not None and isinstance(binding.node, ast.ClassDef):
                return self._class_field(call.id, field, depth)
            if binding is not None and binding.how == "parameter":
                return self._field_of_parameter(binding, field, depth)
        if isinstance(call, ast.Name) and call.id in ("args", "opt", "flags", "hparams", "cfg", "config", "params"):
            return self._argument(field, depth)
        return UNKNOWN

    def _field_of_parameter(self, binding: Binding, field: str, depth: int) -> Any:
        """Of an object whose class is written beside the parameter: `def train(cfg: Config)`."""
        kind = binding.node.annotation if isinstance(binding.node, ast.arg) else None
        if isinstance(kind, ast.Name) and (found := self._class_field(kind.id, field, depth)) is not UNKNOWN:
            return found
        return self._argument(field, depth) if binding.name in ("args", "opt", "hparams", "cfg", "config") else UNKNOWN

    def _class_field(self, name: str, field: str, depth: int) -> Any:
        """The default of a dataclass's field, or a class's constant."""
        for each in self.source.nodes.of_kind(ast.ClassDef):
            if each.name != name:
                continue
            for node in each.body:
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                value = getattr(node, "value", None)
                if value is None or not any(isinstance(target, ast.Name) and target.id == field for target in targets):
                    continue
                if name_called(value) == "field":
                    value = next((one.value for one in value.keywords if one.arg == "default"), None)
                return self.of(value, None, depth)
        return UNKNOWN

    def _hyperparameter(self, near: ast.AST, field: str, depth: int) -> Any:
        """`self.hparams.lr`: what __init__ was given."""
        owner = self.names.class_of(near)
        for each in owner.body if owner is not None else []:
            if isinstance(each, Function) and each.name == "__init__":
                for binding in self.names.bindings(each, field):
                    if binding.how == "parameter":
                        return self._of_parameter(binding, depth)
        return UNKNOWN

    def _argument(self, field: str, depth: int) -> Any:
        """A command-line argument: as a script of the folder gives it, else its default."""
        if self._arguments is None:
            self._arguments = {}
            for call in self.source.calls_to("add_argument", "add_arg", "option"):
                for name in argument_names(call):
                    self._arguments.setdefault(name, call)
        given_at = self.launched.get(field)
        if given_at is not None:
            return given_at.value
        call = self._arguments.get(field)  # type: ignore[assignment]
        if call is None:
            return UNKNOWN
        given = {each.arg: each.value for each in call.keywords}
        action = self.of(given.get("action"), None, depth)
        if action in ("store_true", "store_false"):
            return UNKNOWN  # whoever starts it decides
        value = self.of(given.get("default"), None, depth)
        if isinstance(value, str) and isinstance(given.get("type"), ast.Name) and given["type"].id in ("float", "int"):  # type: ignore[attr-defined]
            return float(value)
        return value

    @cached_property
    def launched(self) -> dict[str, Given]:
        """What the shell scripts of the program's folders start it with."""
        return arguments_given(self.source.folders, self.source.path)

    def _keywords(self, call: ast.Call, bound: dict[str, Any], depth: int) -> dict[str, Any]:
        return {each.arg: self.of(each.value, bound, depth) for each in call.keywords if each.arg}

    # --- what is asked of dictionaries, and calls

    def _subscript(self, node: ast.Subscript, bound: dict[str, Any], depth: int) -> Any:
        binding = self.names.given(node)
        if binding is not None and binding.how == "assigned" and self.names.is_sure(node):
            return self._given(binding, node, bound, depth)
        holder = self.of(node.value, bound, depth)
        key = self.of(node.slice, bound, depth)
        if isinstance(holder, dict) and isinstance(key, (str, int)):
            return holder.get(key, UNKNOWN)
        if isinstance(holder, (list, str)) and type(key) is int and -len(holder) <= key < len(holder):
            return holder[key]
        return UNKNOWN

    def _call(self, node: ast.Call, bound: dict[str, Any], depth: int) -> Any:
        name = name_called(node)
        full = self.source.name_of(node.func)
        if full in FUNCTIONS and not node.keywords:
            given = [self.of(each, bound, depth) for each in node.args]
            if all(map(known, given)) and not any(isinstance(each, list) and not all(map(known, each)) for each in given):
                return FUNCTIONS[full](*given)
            return UNKNOWN
        if full in NAMESPACES:
            return self._keywords(node, bound, depth)
        if name in ("get", "pop") and isinstance(node.func, ast.Attribute) and node.args:
            holder = self.of(node.func.value, bound, depth)
            key = self.of(node.args[0], bound, depth)
            if isinstance(holder, dict) and isinstance(key, (str, int)):
                otherwise = self.of(node.args[1], bound, depth) if len(node.args) > 1 else None
                return holder.get(key, otherwise)
            return UNKNOWN
        if name in ("safe_load", "load", "full_load") and full.split(".")[0] in ("yaml", "json", "OmegaConf"):
            return self._file(node, bound, depth)
        if (
            name in ("strip", "lower", "upper", "rstrip", "lstrip")
            and isinstance(node.func, ast.Attribute)
            and not node.args
        ):
            text = self.of(node.func.value, bound, depth)
            return getattr(text, name)() if isinstance(text, str) else UNKNOWN
        returned = self.names.returned_by(node)
        if len(returned) == 1:
            return self._returned(node, returned[0], bound, depth)
        function = self.names.function_called(node) if 1 < len(returned) <= MOST_RETURNS else None
        return (
            self.result(function, self._given_to(node, function, bound, depth), depth) if function is not None else UNKNOWN
        )

    def result(self, function: ast.FunctionDef | ast.AsyncFunctionDef, bound: dict[str, Any], depth: int = 0) -> Any:
        """What a function of plain assignments, tests and returns gives for arguments that are known."""
        found = self._run(function.body, dict(bound), depth + 1)
        return UNKNOWN if found is None else found[0]

    def _run(self, statements: list[ast.stmt], bound: dict[str, Any], depth: int) -> tuple[Any] | None:
        """The value that is returned, in a tuple; None where the statements come to their end."""
        for each in statements:
            if isinstance(each, ast.Return):
                return (self.of(each.value, bound, depth),)
            if isinstance(each, ast.If):
                test = self.of(each.test, bound, depth)
                if not known(test):
                    return (UNKNOWN,)
                found = self._run(each.body if test else each.orelse, bound, depth)
                if found is not None:
                    return found
            elif isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
                bound[each.targets[0].id] = self.of(each.value, bound, depth)
            elif not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
                return (UNKNOWN,)
        return None

    def _returned(self, node: ast.Call, value: ast.expr, bound: dict[str, Any], depth: int) -> Any:
        function = self.names.function_called(node)
        return self.of(value, self._given_to(node, function, bound, depth), depth) if function is not None else UNKNOWN

    def _given_to(
        self, node: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef, bound: dict[str, Any], depth: int
    ) -> dict[str, Any]:
        """What a call gives the parameters of a function, as far as it is known."""
        inner = {}
        for each in (*function.args.posonlyargs, *function.args.args):
            given = argument_given(node, function, each.arg)
            constant = self.of(given, bound, depth) if given is not None else UNKNOWN
            if known(constant):
                inner[each.arg] = constant
        return inner

    def _file(self, call: ast.Call, bound: dict[str, Any], depth: int) -> Any:
        """`yaml.safe_load(open("config.yaml"))`: of a file in the program's own folder."""
        source = call.args[0] if call.args else None
        if isinstance(source, ast.Name):
            source = self.names.origin(source).node  # type: ignore[assignment]
        path = source
        if isinstance(source, ast.Call) and name_called(source) in ("read_text", "read", "open") and not source.args:
            path = source.func.value if isinstance(source.func, ast.Attribute) else None
        elif isinstance(source, ast.Call) and name_called(source) in ("open", "read_text", "read") and source.args:
            path = source.args[0]
        elif isinstance(source, ast.Name) and (binding := self.names.given(source)) is not None:
            opened = binding.value
            if isinstance(opened, ast.Call) and isinstance(opened.func, ast.Attribute) and not opened.args:
                path = opened.func.value
            else:
                path = opened.args[0] if isinstance(opened, ast.Call) and opened.args else None
        name = self._path(path, bound, depth)
        if not name and self.source.name_of(call.func).startswith("yaml."):
            name = only_configuration(self.source.folders)
        if not name or os.path.isabs(name) or ".." in name:
            return UNKNOWN
        if name not in self._files:
            places = [os.path.join(folder, name) for folder in self.source.folders]
            self._paths[name] = next((each for each in places if os.path.isfile(each)), "")
            self._files[name] = read_configuration(self._paths[name])
        self._read[call] = self._paths[name]
        return self._files[name]

    def written_at(self, node: ast.AST) -> tuple[str, int] | None:
        """The configuration and the line in which the value of `cfg["optim"]["lr"]` stands; None where it stands in the
        program."""
        keys: list[str] = []
        held: ast.AST = node
        for _ in range(DEEP):
            key = key_asked(held)
            if key is not None:
                keys.insert(0, key[1])
                held = key[0]
                continue
            if isinstance(held, ast.Attribute) and self.names.given(held) is None and held.attr in self.launched:
                return self.launched[held.attr].path, self.launched[held.attr].line
            if isinstance(held, ast.Call) and self._read.get(held):
                return line_of_keys(self._read[held], keys) if keys else None
            binding = self.names.given(held)
            if binding is None or binding.path:
                return None
            given = [binding.value] if binding.how == "assigned" else self.names.values_of_parameter(binding)
            if len(given) != 1 or given[0] is None:
                return None
            held = given[0]
        return None

    def _path(self, node: Optional[ast.AST], bound: dict[str, Any], depth: int) -> str:  # noqa: UP045
        """The text of a path; of `Path(__file__).parent / "config.yaml"` what stands behind the program's folder."""
        if node is None or depth > DEEP:
            return ""
        value = self.of(node, bound, depth)
        if isinstance(value, str):
            return value
        node = self.names.origin(node).node
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = self._path(node.left, bound, depth + 1), self._path(node.right, bound, depth + 1)
            return os.path.join(left, right) if right and (left or is_own_folder(node.left)) else ""
        if isinstance(node, ast.Call):
            name = name_called(node)
            if name in ("Path", "PurePath", "str", "abspath", "expanduser", "fspath") and len(node.args) == 1:
                return self._path(node.args[0], bound, depth + 1)
            if name == "join" and len(node.args) > 1:
                parts = [self._path(each, bound, depth + 1) for each in node.args]
                if all(parts[1:]) and (parts[0] or is_own_folder(node.args[0])):
                    return os.path.join(*parts)
        return ""


def key_asked(node: ast.AST) -> tuple[ast.AST, str] | None:
    """The holder and the key of `cfg["lr"]`, `cfg.get("lr", 1)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.value, node.slice.value
    if (
        name_called(node) in ("get", "pop")
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.args
    ):
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return node.func.value, first.value
    return None


def is_own_folder(node: ast.AST) -> bool:
    """`Path(__file__).parent`, `HERE` by its name."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return "__file__" in names or bool(names & {"HERE", "here", "ROOT", "BASE_DIR", "THIS_DIR"})


def argument_names(call: ast.Call) -> list[str]:
    """`--learning-rate` -> learning_rate."""
    dest = next((each.value for each in call.keywords if each.arg == "dest"), None)
    if isinstance(dest, ast.Constant) and isinstance(dest.value, str):
        return [dest.value]
    texts = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    long = [each for each in texts if each.startswith("--")] or texts
    return [each.lstrip("-").replace("-", "_") for each in long]
