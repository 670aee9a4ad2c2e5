"""Rules about reward functions: what earns a reward by mistake, and what never does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from ...findings import Finding, rule
from ...program.constants import is_number
from ...program.program import Program
from ...program.syntax import (
    Comprehension,
    Function,
    is_constant,
    keyword_of,
    last_name,
    line_of,
    name_called,
    names_in,
    source_of,
)
from ...program.trainers import REWARD_WORDS, reward_functions, trainers

CATCH_ALL = ("Exception", "BaseException", "TypeError", "KeyError", "IndexError", "AttributeError")


@rule("code.reward-swallows-errors")
def reward_swallows_errors(program: Program) -> Iterator[Finding]:
    """`except Exception: return 0`: a mistake in the reward function looks like an answer that earned nothing."""
    for function, handler in catching(program):
        yield Finding(handler.lineno, "except ValueError:  # only what a wrong answer can raise", {"name": function.name})


def catching(program: Program) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, ast.ExceptHandler]]:
    """Handlers of everything in a reward function that give a constant for it."""
    for function in reward_functions(program):
        for node in program.own_nodes(function):
            if isinstance(node, ast.ExceptHandler) and catches_all(node) and gives_constant(program, node):
                yield function, node


def catches_all(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(source_of(each) in CATCH_ALL for each in kinds)


def gives_constant(program: Program, handler: ast.ExceptHandler) -> bool:
    values: list[ast.expr | None] = []
    for each in handler.body:
        if isinstance(each, ast.Return):
            values.append(each.value)
        elif isinstance(each, ast.Expr) and name_called(each.value) == "append" and isinstance(each.value, ast.Call):
            values += each.value.args
        elif isinstance(each, ast.Assign):
            values.append(each.value)
        elif isinstance(each, (ast.Pass, ast.Continue)):
            return True
        elif isinstance(each, ast.Raise) or (
            isinstance(each, ast.Expr) and "log" in source_of(each) and len(handler.body) == 1
        ):
            return False
    return bool(values) and all(is_number(program.values.of(each)) for each in values if each is not None)


@rule("code.reward-reads-turns")
def reward_reads_turns(program: Program) -> Iterator[Finding]:
    """`completion[0]["content"]` where the prompts are plain texts: completions are texts then, and have no turns."""
    texts = [each.value for each in program.nodes.of_kind(ast.Constant) if isinstance(each.value, str)]
    if "role" in texts or "load_dataset" in program.names_called or "apply_chat_template" in program.names_called:
        return
    if not any(text == "prompt" for text in texts):
        return
    for function in reward_functions(program):
        for node in program.own_nodes(function):
            if not isinstance(node, ast.Subscript) or not is_constant_text(node.slice, "content"):
                continue
            inner = node.value
            if isinstance(inner, ast.Subscript) and isinstance(inner.slice, (ast.Constant, ast.UnaryOp)):
                yield Finding(node.lineno, f"text = {source_of(inner.value)}", {"name": function.name}, sure=True)
                break


def is_constant_text(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


@rule("code.reward-constant")
def reward_constant(program: Program) -> Iterator[Finding]:
    """Every answer earns the same."""
    for function in reward_functions(program):
        returned = program.returns_of(function)
        values = {constant_reward(program, each) for each in returned}
        if returned and len(values) == 1 and None not in values:
            yield Finding(returned[0].lineno, "", {"name": function.name, "value": f"{values.pop():g}"})


@rule("code.reward-shared-by-batch")
def reward_shared_by_batch(program: Program) -> Iterator[Finding]:
    """`return [accuracy] * len(completions)`: one number for all answers, whatever each of them is."""
    for function in reward_functions(program):
        returned = program.returns_of(function)
        values = [repeated_value(program, each) for each in returned]
        shared = [each for each, one in zip(returned, values) if one is not None and is_measured(program, one)]
        if len(shared) != len(returned) or not shared:
            continue
        if all(program.is_conditional(each, function) for each in shared):
            continue
        one = repeated_value(program, shared[-1])
        if one is not None:
            yield Finding(shared[-1].lineno, "", {"name": function.name, "value": source_of(one)[:60]})


@rule("code.reward-holds-first-answer")
def reward_holds_first_answer(program: Program) -> Iterator[Finding]:
    """`target = answer[0]` of a column, and every completion of the batch is held against it."""
    for function in reward_functions(program):
        texts = {"completions", "completion", "responses", "prompts", "self", "kwargs"}
        columns = [each.arg for each in (*function.args.args, *function.args.kwonlyargs) if each.arg not in texts]
        for name in columns:
            read = [
                each
                for each in program.nodes.below(function)
                if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
            ]
            first = [each for each in (first_item(program, one) for one in read) if each is not None]
            kept = [each for each in first if not is_shown(program, each)]
            if kept and len(first) == len(read) and goes_over_several(program, function):
                yield Finding(
                    kept[0].lineno,
                    f"for completion, one in zip(completions, {name}):",
                    {"name": function.name, "column": name},
                )


def first_item(program: Program, name: ast.AST) -> ast.Subscript | None:
    above = program.nodes.parents.get(name)
    if not isinstance(above, ast.Subscript) or above.value is not name:
        return None
    return above if program.values.of(above.slice) == 0 else None


def is_shown(program: Program, node: ast.AST) -> bool:
    """Printed or logged, and nothing else."""
    return any(
        isinstance(each, ast.Call) and name_called(each) in ("print", "info", "debug", "warning", "log", "write")
        for each in program.enclosing(node)
    )


def goes_over_several(program: Program, function: ast.AST) -> bool:
    """A loop over the completions, or over what is made of them, gives the rewards."""
    for each in program.nodes.below(function):
        over = each.iter if isinstance(each, (ast.For, ast.comprehension)) else None
        if over is not None and any("completion" in one or "response" in one for one in names_reached(program, over)):
            return True
    return False


def names_reached(program: Program, node: ast.AST) -> set[str]:
    """The names in an expression, and in what they were given."""
    found = names_in(node)
    for each in ast.walk(node):
        binding = program.names.given(each) if isinstance(each, ast.Name) else None
        if binding is not None and binding.value is not None:
            found |= names_in(binding.value)
    return found


def repeated_value(program: Program, node: ast.expr) -> ast.expr | None:
    """The one value of `[x] * n`, `[x for _ in completions]`, `torch.full((n,), x)`, `np.repeat(x, n)`, names followed."""
    value = program.names.origin(node, through_calls=False).node
    if isinstance(value, ast.Call) and name_called(value) in ("tolist", "list") and not value.keywords:
        value = value.func.value if isinstance(value.func, ast.Attribute) else value.args[0] if value.args else value
        value = program.names.origin(value, through_calls=False).node
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        for held in (value.left, value.right):
            if isinstance(held, ast.List) and len(held.elts) == 1:
                return held.elts[0]
    if isinstance(value, ast.ListComp) and len(value.generators) == 1:
        drawn = names_in(value.generators[0].target)
        calls = any(isinstance(each, (ast.Call, ast.Await, ast.NamedExpr)) for each in ast.walk(value.elt))
        return None if drawn & names_in(value.elt) or calls else value.elt
    full = program.name_of(value.func) if isinstance(value, ast.Call) else ""
    if isinstance(value, ast.Call) and full in ("torch.full", "numpy.full") and len(value.args) > 1:
        return value.args[1]
    if isinstance(value, ast.Call) and full == "numpy.repeat" and len(value.args) > 1:
        return value.args[0]
    return None


def is_measured(program: Program, node: ast.expr) -> bool:
    """Neither a constant (another rule says more) nor something of the call's own, such as what it was given."""
    if isinstance(node, ast.Constant) or is_number(program.values.of(node)):
        return False
    return bool(names_in(node))


def constant_reward(program: Program, node: ast.expr) -> float | None:
    """`1.0`, `[0.0] * n`, `[0.0 for _ in completions]`."""
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and isinstance(node.left, ast.List)
        and len(node.left.elts) == 1
    ):
        node = node.left.elts[0]
    elif isinstance(node, ast.ListComp):
        node = node.elt
    return program.values.number(node)


@rule("code.reward-pattern-misses")
def reward_pattern_misses(program: Program) -> Iterator[Finding]:
    """The pattern of a reward function does not fit the answers that the program itself writes, and would without their
    blanks."""
    samples = written_samples(program)
    for function in reward_functions(program):
        for call, pattern in patterns_of(program, function):
            try:
                compiled = re.compile(pattern)
            except (re.error, OverflowError, RecursionError):
                continue
            near = [each for each in samples if compiled.search(re.sub(r"\s+", "", each[0])) and len(each[0]) < 500]
            if near and not any(compiled.search(each[0]) for each in near):
                corrected = re.sub(
                    r"(?<=>)\(|\)(?=<)", lambda m: r"\s*" + m.group() if m.group() == "(" else m.group() + r"\s*", pattern
                )
                yield Finding(
                    call.lineno, f'r"{corrected}"', {"pattern": pattern, "sample": near[0][0][:80]}, also=[near[0][1]]
                )
                break


@rule("code.reward-reads-special-tokens")
def reward_reads_special_tokens(program: Program) -> Iterator[Finding]:
    """The reward looks for a mark that the tokenizer was told is special: TRL's trainers decode answers with
    skip_special_tokens=True, and the mark is never there."""
    marks = special_marks(program)
    if not marks or not trainers(program):
        return
    for function in reward_functions(program):
        texts = [*texts_in(program.nodes.below(function)), *patterns_asked(program, function)]
        for node, text in texts:
            mark = next((each for each in marks if each in text), None)
            if mark is not None:
                values = {"name": function.name, "mark": mark}
                corrected = f"tokenizer.add_tokens([{mark!r}])  # a plain token, which decoding keeps"
                yield Finding(line_of(node), corrected, values, also=[marks[mark]])
                break


def special_marks(program: Program) -> dict[str, int]:
    """What is registered as special beside the usual tokens, with the line."""
    found: dict[str, int] = {}
    for call in program.calls_to("add_special_tokens", "add_tokens", "from_pretrained"):
        given = [keyword_of(call, name) for name in ("additional_special_tokens", "extra_special_tokens")]
        if name_called(call) == "add_special_tokens" and call.args:
            held = program.names.origin(call.args[0]).node
            for key, value in zip(held.keys, held.values) if isinstance(held, ast.Dict) else ():
                if is_constant_text(key or value, "additional_special_tokens"):
                    given.append(value)
        elif name_called(call) == "add_tokens" and program.values.is_true(keyword_of(call, "special_tokens")):
            given += call.args[:1]
        for each in given:
            values = program.values.of(each) if each is not None else None
            for text in [values] if isinstance(values, str) else values if isinstance(values, list) else []:
                if isinstance(text, str) and len(text) > 2:
                    found.setdefault(text, call.lineno)
    return found


def texts_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    for each in nodes:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each, each.value


def patterns_asked(program: Program, function: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The texts that names of the function stand for: `PATTERN = re.compile("<answer>(.*)</answer>")`."""
    for node in program.nodes.below(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            made = program.names.origin(node).node
            held = texts_in(ast.walk(made)) if isinstance(made, (ast.Call, ast.Constant)) else ()
            yield from ((node, text) for _, text in held)


def patterns_of(program: Program, function: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Constant patterns that a function searches for, compiled before or on the spot."""
    for call in program.calls_in(function):
        if name_called(call) not in ("search", "match", "findall", "fullmatch", "finditer") or not isinstance(
            call.func, ast.Attribute
        ):
            continue
        of_module = program.name_of(call.func).startswith("re.")
        source: ast.AST | None = call.args[0] if of_module and call.args else None
        if source is None:
            made = program.names.origin(call.func.value).node
            source = made.args[0] if isinstance(made, ast.Call) and name_called(made) == "compile" and made.args else None
        text = program.values.of(source) if source is not None else None
        if isinstance(text, str) and "<" in text and len(text) < 300:
            yield call, text


def written_samples(program: Program) -> list[tuple[str, int]]:
    """Texts of the program that hold a tag, with what is filled in replaced by a number."""
    found = []
    for node in program.nodes.of_kind(ast.JoinedStr):
        text = "".join(str(each.value) if isinstance(each, ast.Constant) else "7" for each in node.values)
        if "</" in text:
            found.append((text, node.lineno))
    for constant in program.nodes.of_kind(ast.Constant):
        if (
            isinstance(constant.value, str)
            and "</" in constant.value
            and "(" not in constant.value
            and "\\" not in constant.value
        ):
            found.append((re.sub(r"\{[^{}]*\}", "7", constant.value), constant.lineno))
    return found


@rule("code.reward-by-length")
def reward_by_length(program: Program) -> Iterator[Finding]:
    """`0.1 * len(answer.split())` without a bound is added to what the answer earns: the longest answer wins."""
    for function in reward_functions(program):
        taken = {each.arg for each in function.args.args}
        for value in [*program.returns_of(function), *appended_to_returned(program, function)]:
            inner = value.elt if isinstance(value, ast.ListComp) else value
            counted = grows_with_length(program, inner, taken)
            if counted is not None:
                corrected = f"min({source_of(inner)}, 1.0)"
                values = {"name": function.name, "length": source_of(counted)}
                yield Finding(counted.lineno, corrected, values, sure=is_one_of_several(program, function.name))
                break


def appended_to_returned(program: Program, function: ast.AST) -> list[ast.expr]:
    """What is appended to the list that a function returns."""
    names = {source_of(each) for each in program.returns_of(function) if isinstance(each, ast.Name)}
    calls = [call for call in program.calls_in(function) if name_called(call) == "append" and len(call.args) == 1]
    return [call.args[0] for call in calls if isinstance(call.func, ast.Attribute) and source_of(call.func.value) in names]


def grows_with_length(program: Program, node: ast.AST, taken: set[str]) -> ast.Call | None:
    """The len() of an answer that a sum grows with, without a bound."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left = grows_with_length(program, node.left, taken)
        return left or (grows_with_length(program, node.right, taken) if isinstance(node.op, ast.Add) else None)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            size = program.values.number(factor)
            if size is not None and size > 0:
                return grows_with_length(program, other, taken)
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return grows_with_length(program, node.left, taken) if program.values.number(node.right) is not None else None
    if isinstance(node, ast.Call) and name_called(node) in ("float", "int", "log", "log1p", "sqrt") and node.args:
        return grows_with_length(program, node.args[0], taken)
    if name_called(node) == "len" and isinstance(node, ast.Call) and len(node.args) == 1:
        held = node.args[0]
        if isinstance(held, ast.Call) and name_called(held) == "split" and isinstance(held.func, ast.Attribute):
            held = held.func.value
        return node if is_answer(program, held, taken) else None
    return None


def is_answer(program: Program, node: ast.AST, taken: set[str]) -> bool:
    """A name that goes over the completions."""
    binding = program.names.given(node) if isinstance(node, ast.Name) else None
    if binding is None or binding.value is None or binding.how != "loop":
        return False
    words = names_in(binding.value) & taken
    return any(word.startswith(("completion", "response", "answer")) for word in words)


def is_one_of_several(program: Program, name: str) -> bool:
    """The Trainer is given other rewards beside it."""
    for call in trainers(program):
        given = keyword_of(call, "reward_funcs")
        value = program.names.origin(given).node if given is not None else None
        if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) > 1 and name in names_in(value):
            return True
    return False


@rule("code.reward-compares-kinds")
def reward_compares_kinds(program: Program) -> Iterator[Finding]:
    """`match.group(1) == answer` with a column of numbers: a text is never equal to a number."""
    for function in reward_functions(program):
        for node in program.own_nodes(function):
            if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq):
                continue
            for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
                if kind_of(program, one, 0) == "text" and column_kind(program, other) == "number":
                    values = {"name": function.name, "text": source_of(one), "number": source_of(other)}
                    corrected = f"{source_of(one)} == str({source_of(other)})"
                    yield Finding(node.lineno, corrected, values)
                    break


TEXTS = ("group", "strip", "lower", "upper", "join", "format", "replace", "rstrip", "lstrip", "str", "decode", "casefold")
NUMBERS = ("int", "float", "len", "randint", "randrange", "sum", "abs", "round", "max", "min")


def kind_of(program: Program, node: ast.AST, depth: int) -> str:
    """`text` or `number`, as far as the source shows it."""
    if depth > 8:
        return ""
    if isinstance(node, ast.JoinedStr):
        return "text"
    if isinstance(node, ast.Constant):
        is_number_ = isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
        return "text" if isinstance(node.value, str) else "number" if is_number_ else ""
    if isinstance(node, ast.BinOp):
        kinds = {kind_of(program, each, depth + 1) for each in (node.left, node.right)}
        return "number" if kinds == {"number"} else "text" if kinds == {"text"} else ""
    if isinstance(node, ast.Call):
        name = name_called(node)
        if name in ("max", "min") and node.args:
            return kind_of(program, node.args[0], depth + 1)
        return "text" if name in TEXTS else "number" if name in NUMBERS else ""
    if isinstance(node, ast.Subscript) and name_called(node.value) in ("split", "groups"):
        return "text"
    if isinstance(node, ast.Name):
        origin = program.names.origin(node)
        return kind_of(program, origin.node, depth + 1) if origin.node is not node and not origin.path else ""
    return ""


def column_kind(program: Program, node: ast.AST) -> str:
    """The kind of all values that the program gives the column which a name of a reward function goes over."""
    binding = program.names.given(node) if isinstance(node, ast.Name) else None
    if binding is None or binding.how != "loop" or binding.value is None or not isinstance(binding.value, ast.Name):
        return ""
    column = binding.value.id
    kinds = set()
    for each in program.nodes.of_kind(ast.Dict):
        for key, value in zip(each.keys, each.values):
            if isinstance(key, ast.Constant) and key.value == column:
                kinds.add(kind_of(program, value, 0))
    return kinds.pop() if len(kinds) == 1 else ""


@rule("code.reward-by-containment")
def reward_by_containment(program: Program) -> Iterator[Finding]:
    """`if truth in answer or answer in truth: reward = 1`: an empty answer is contained in everything."""
    for node in program.nodes.of_kind(ast.If):
        pair = contained_both_ways(node.test)
        if pair is None or not gives_reward(program, node):
            continue
        text = source_of(node.test)
        yield Finding(node.lineno, f"if answer.strip() and ({text}):  # or, better, equality after normalisation")


def contained_both_ways(test: ast.AST) -> tuple[str, str] | None:
    """The two texts of `a in b or b in a`, where nothing else is asked."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or) or len(test.values) != 2:
        return None
    sides = []
    for value in test.values:
        if not isinstance(value, ast.Compare) or len(value.ops) != 1 or not isinstance(value.ops[0], ast.In):
            return None
        sides.append((source_of(value.left), source_of(value.comparators[0])))
    return sides[0] if sides[0] == sides[1][::-1] else None


def gives_reward(program: Program, node: ast.If) -> bool:
    """A reward or score is set, added or returned under the test, and nothing asked whether the texts are empty."""
    function = program.function_of(node)
    named = isinstance(function, Function) and any(word in function.name.lower() for word in REWARD_WORDS)
    tested = {name for each in program.own_nodes(function) if isinstance(each, ast.If) for name in emptiness_of(each.test)}
    if tested & names_in(node.test):
        return False
    for each in node.body:
        for inner in program.nodes.below(each):
            if isinstance(inner, (ast.Assign, ast.AugAssign)):
                targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                words = [name.lower() for target in targets for name in names_in(target)]
                if any(word in name for name in words for word in REWARD_WORDS):
                    return not is_constant(inner.value, 0)
            if isinstance(inner, ast.Return) and named:
                return True
            if isinstance(inner, ast.Call) and name_called(inner) == "append":
                return any("reward" in name.lower() or "score" in name.lower() for name in names_in(inner.func))
    return False


def emptiness_of(test: ast.AST) -> set[str]:
    """Names that a test asks for being empty: `not x`, `x`, `len(x) == 0`, `x == ""`."""
    if isinstance(test, ast.BoolOp):
        return set().union(*map(emptiness_of, test.values))
    if isinstance(test, ast.UnaryOp):
        return names_in(test.operand)
    if isinstance(test, ast.Name):
        return {test.id}
    if isinstance(test, ast.Compare) and not any(isinstance(each, (ast.In, ast.NotIn)) for each in test.ops):
        return names_in(test)
    return names_in(test) if isinstance(test, ast.Call) else set()


@rule("code.reward-column-index")
def reward_column_index(program: Program) -> Iterator[Finding]:
    """`answer[i // num_generations]`: TRL repeats each column for every completion: these are answers of other rows."""
    for function in reward_functions(program):
        arguments = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
        if not {"completions", "completion"} & set(arguments):
            continue
        for node in program.own_nodes(function):
            if not isinstance(node, ast.Subscript) or last_name(node.value) not in columns_of(function, arguments):
                continue
            index = program.names.origin(node.slice).node
            if isinstance(index, ast.BinOp) and isinstance(index.op, (ast.FloorDiv, ast.Mod)):
                yield Finding(
                    node.lineno, f"{source_of(node.value)}[i]", {"column": source_of(node.value), "index": source_of(index)}
                )
                return


def columns_of(function: ast.FunctionDef | ast.AsyncFunctionDef, arguments: list[str]) -> set[str]:
    return {each for each in arguments if each not in ("completions", "completion", "completion_ids", "self")}


@rule("code.reward-compares-column")
def reward_compares_column(program: Program) -> Iterator[Finding]:
    """`pred == answer` for one completion after the other, where `answer` is the list of all rows."""
    for function in reward_functions(program):
        arguments = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
        if not {"completions", "prompts"} & set(arguments):
            continue
        for node, value, column in compared_columns(program, function, columns_of(function, arguments) - {"prompts"}):
            names = {"name": function.name, "column": column, "value": source_of(value)}
            yield Finding(node.lineno, f"for completion, truth in zip(completions, {column}):  # one row's {column}", names)
            break


def compared_columns(
    program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef, columns: set[str]
) -> Iterator[tuple[ast.Compare, ast.expr, str]]:
    """Comparisons of what is made of one completion with a whole column; the value of the one, the name of the other."""
    for node in program.own_nodes(function):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
            continue
        for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            binding = program.names.given(other) if isinstance(other, ast.Name) and other.id in columns else None
            whole = binding is not None and binding.how == "parameter" and binding.scope is function
            if whole and isinstance(other, ast.Name) and is_of_one_row(program, one, 0):
                yield node, one, other.id


def is_of_one_row(program: Program, node: ast.AST, depth: int) -> bool:
    """Whether an item of the completions is in it, names followed; a list of all of them is not meant."""
    if depth > 6 or any(isinstance(each, (ast.List, *Comprehension)) for each in ast.walk(node)):
        return False
    for each in [each for each in ast.walk(node) if isinstance(each, ast.Name)]:
        binding = program.names.given(each)
        if binding is None or binding.value is None:
            continue
        if binding.how == "loop" and is_of_completions(program, binding.value, depth):
            return True
        if binding.how == "assigned" and is_of_one_row(program, binding.value, depth + 1):
            return True
    return False


def is_of_completions(program: Program, node: ast.AST, depth: int) -> bool:
    """Whether a list is made of the completions, names followed."""
    if depth > 6 or any(name.startswith(("completion", "response")) for name in names_in(node)):
        return depth <= 6
    for each in [each for each in ast.walk(node) if isinstance(each, ast.Name)]:
        binding = program.names.given(each)
        value = binding.value if binding is not None and binding.how == "assigned" else None
        if value is not None and is_of_completions(program, value, depth + 1):
            return True
    return False


@rule("code.reward-reads-text")
def reward_reads_text(program: Program) -> Iterator[Finding]:
    """The prompts are conversations, so each completion is a list of messages, and the reward treats it as a text."""
    if not makes_conversations(program):
        return
    for function in reward_functions(program):
        given = next((each.arg for each in function.args.args if each.arg in ("completions", "completion", "responses")), "")
        place = text_use(program, function, given) if given else None
        if place is not None:
            yield Finding(place.lineno, 'text = completion[0]["content"]', {"name": function.name}, also=[function.lineno])


def makes_conversations(program: Program) -> bool:
    """Rows of the data have a "prompt" that is a list of messages, and nobody makes a text of it."""
    if "apply_chat_template" in program.names_called:
        return False
    for node in program.nodes.of_kind(ast.Dict):
        for key, value in zip(node.keys, node.values):
            if isinstance(key, ast.Constant) and key.value == "prompt":
                inner = program.names.origin(value).node
                if isinstance(inner, ast.List) and inner.elts and isinstance(inner.elts[-1], ast.Dict):
                    return any(isinstance(each, ast.Constant) and each.value == "role" for each in inner.elts[-1].keys)
    return False


def text_use(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef, given: str) -> ast.expr | None:
    """Where one of the completions is searched, split or measured as a text, here or in a function that it is handed to."""
    items: set[str] = set()
    for node in program.own_nodes(function):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(node, (ast.For, ast.comprehension)):
            pairs = [(node.target, node.iter)]
        for target, held in pairs:
            if (
                name_called(held) == "enumerate"
                and isinstance(held, ast.Call)
                and held.args
                and isinstance(target, ast.Tuple)
            ):
                target, held = target.elts[1], held.args[0]
            if name_called(held) == "zip" and isinstance(held, ast.Call) and isinstance(target, ast.Tuple):
                items |= {
                    source_of(one)
                    for one, each in zip(target.elts, held.args)
                    if source_of(each) == given and isinstance(one, ast.Name)
                }
            elif source_of(held) == given and isinstance(target, ast.Name):
                items.add(target.id)
    return next((found for name in items if (found := read_as_text(program, function, name, 0)) is not None), None)


def read_as_text(program: Program, function: ast.AST, name: str, depth: int) -> ast.expr | None:
    for node in program.own_nodes(function):
        if isinstance(node, ast.Subscript) and source_of(node.value) == name:
            return None  # its messages are asked for
        if isinstance(node, ast.Call) and name_called(node) == "isinstance" and name in names_in(node):
            return None
    for node in program.own_nodes(function):
        if not isinstance(node, ast.Call):
            continue
        plain = [each for each in node.args if isinstance(each, ast.Name) and each.id == name]
        if (
            isinstance(node.func, ast.Attribute)
            and source_of(node.func.value) == name
            and node.func.attr
            in ("strip", "split", "lower", "startswith", "endswith", "find", "replace", "upper", "splitlines")
        ):
            return node
        if plain and name_called(node) in ("search", "match", "fullmatch", "findall", "sub", "finditer"):
            return node
        called = program.names.function_called(node)
        if plain and called is not None and depth < 3 and len(node.args) <= len(called.args.args):
            inner = called.args.args[node.args.index(plain[0])].arg
            found = read_as_text(program, called, inner, depth + 1)
            if found is not None:
                return node if depth == 0 else found
    return None
