"""Rules about fine-tuning: adapters, new tokens, pairs of answers, completions, and what frameworks do with arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.names import Binding, Function, dotted, name_called, returns_of
from ...program.program import Program, keyword_of, line_of, names_in, receiver_of, source_of
from ..policies.preference import entries, preference_swapped
from ..policies.reward import reward_functions

SCORES = re.compile(r"scor|rating|reward|vote|likes|quality|preference|helpful|grade")


# --- adapters


@rule("code.factors-both-zero")
def factors_both_zero(program: Program) -> Iterator[Finding]:
    """Two weights that are only ever multiplied with each other both begin at 0: each one's gradient is the other, 0."""
    for owner in program.nodes.of_kind(ast.ClassDef):
        zero = zero_weights(program, owner)
        if len(zero) < 2:
            continue
        for function in owner.body:
            if not isinstance(function, Function) or function.name == "__init__":
                continue
            for node in program.own_nodes(function):
                pair = multiplied(node, set(zero)) if isinstance(node, (ast.BinOp, ast.Call)) else None
                if pair is not None:
                    first, second = sorted(pair, key=lambda each: zero[each])
                    yield Finding(
                        zero[first],
                        f"nn.init.kaiming_uniform_(self.{first}, a=math.sqrt(5))",
                        {"one": first, "other": second},
                        also=sorted({zero[second], line_of(node)} - {zero[first]}),
                    )
                    return


def zero_weights(program: Program, owner: ast.ClassDef) -> dict[str, int]:
    """Attributes that hold weights which begin at 0, with their lines."""
    found: dict[str, int] = {}
    others: set[str] = set()
    for node in program.nodes.below(owner):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name_called(node.value) == "Parameter":
            made = name_called(node.value.args[0]) if node.value.args else ""
            names = [target.attr for target in node.targets if isinstance(target, ast.Attribute)]
            found.update({name: node.lineno for name in names if made in ("zeros", "zeros_like", "new_zeros")})
        elif isinstance(node, ast.Call) and name_called(node).endswith("_"):
            name, is_zero = begun(program, node)
            if is_zero:
                found.setdefault(name, node.lineno)
            elif name:
                others.add(name)
    return {name: line for name, line in found.items() if name not in others}


def begun(program: Program, call: ast.Call) -> tuple[str, bool]:
    """The attribute whose first values a call sets, and whether they are 0: `nn.init.zeros_(self.up.weight)`,
    `self.A.normal_()`."""
    name = name_called(call)
    if program.name_of(call.func).startswith(("torch.nn.init.", "nn.init.", "init.")) and call.args:
        held = call.args[0]
        held = held.value if isinstance(held, ast.Attribute) and held.attr == "weight" else held
        is_zero = name == "zeros_" or (name == "constant_" and len(call.args) > 1 and program.values.of(call.args[1]) == 0)
        return (held.attr, is_zero) if isinstance(held, ast.Attribute) else ("", False)
    if isinstance(call.func, ast.Attribute) and name in ("normal_", "uniform_", "copy_", "fill_"):
        text = dotted(call.func.value).replace(".weight", "").replace(".data", "")
        return (text[5:], False) if text.startswith("self.") else ("", False)
    return "", False


def multiplied(node: ast.AST, names: set[str]) -> tuple[str, str] | None:
    """Two of the weights of one product: `x @ self.A @ self.B`, `F.linear(F.linear(x, self.A), self.B)`,
    `self.B(self.A(x))`."""
    held = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and each.attr in names}
    if len(held) != 2:
        return None
    one, other = sorted(held)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        sums = any(isinstance(each, ast.BinOp) and isinstance(each.op, (ast.Add, ast.Sub)) for each in ast.walk(node))
        return None if sums else (one, other)
    if isinstance(node, ast.Call):
        sums = any(isinstance(each, ast.BinOp) and isinstance(each.op, (ast.Add, ast.Sub)) for each in ast.walk(node))
        factors = node.args[:2] if name_called(node) in ("linear", "matmul", "mm", "bmm") else node.args
        apart = [attributes_in(each) & held for each in factors]
        is_product = (
            name_called(node) in ("linear", "matmul", "mm", "bmm", "einsum") and sum(1 for each in apart if each) >= 2
        )
        nested = (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in held
            and any(held - {node.func.attr} <= each for each in apart)
        )
        return (one, other) if (is_product or nested) and not sums else None
    return None


def attributes_in(node: ast.AST) -> set[str]:
    return {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


@rule("code.new-tokens-frozen")
def new_tokens_frozen(program: Program) -> Iterator[Finding]:
    """Tokens are added, and an adapter is put on that leaves the embedding frozen: their rows stay random."""
    grown = program.calls_to("resize_token_embeddings")
    if not grown or not adds_tokens(program):
        return
    for call in program.calls_to("LoraConfig"):
        if any(each.arg is None for each in call.keywords):
            continue
        keeps = keyword_of(call, "modules_to_save") or keyword_of(call, "trainable_token_indices")
        aims = keyword_of(call, "target_modules")
        text = source_of(aims) if aims is not None else ""
        constant = str(program.values.of(aims)) if aims is not None else ""
        if keeps is not None or any(word in text + constant for word in ("embed", "lm_head", "wte")):
            continue
        if unfreezes_embedding(program):
            continue
        yield Finding(
            call.lineno, source_of(call)[:-1] + ', modules_to_save=["embed_tokens", "lm_head"])', also=[grown[0].lineno]
        )


def adds_tokens(program: Program) -> bool:
    """More than a padding token."""
    for call in program.calls_to("add_tokens"):
        return bool(call.args)
    for call in program.calls_to("add_special_tokens"):
        given = program.names.origin(call.args[0]).node if call.args else None
        if isinstance(given, ast.Dict):
            keys = {each.value for each in given.keys if isinstance(each, ast.Constant)}
            if keys & {"additional_special_tokens", "extra_special_tokens"}:
                return True
    return False


def unfreezes_embedding(program: Program) -> bool:
    texts = [source_of(each) for each in program.calls_to("requires_grad_")]
    texts += [
        source_of(each.targets[0])
        for each in program.nodes.of_kind(ast.Assign)
        if "requires_grad" in source_of(each.targets[0])
    ]
    return any("embed" in each for each in texts)


# --- pairs of answers


@rule("code.preference-by-rank")
def preference_by_rank(program: Program) -> Iterator[Finding]:
    """The answer that is called chosen is the one with the lower score, by the order in which the answers stand."""
    if any(True for _ in preference_swapped(program)):
        return
    for _, chosen, rejected in entries(program):
        pairs = {"chosen": chosen, "rejected": rejected}
        ranks = [rank_of(program, pairs[each], 0) for each in ("chosen", "rejected")]
        if ranks == [-1, 1]:
            yield Finding(
                pairs["chosen"].lineno,
                "# chosen: the answer with the higher score",
                {"chosen": source_of(pairs["chosen"])[:60]},
                also=sorted({pairs["rejected"].lineno, *order_lines(program, pairs["chosen"])} - {pairs["chosen"].lineno}),
            )
            return


def order_lines(program: Program, node: ast.expr) -> list[int]:
    return [each.lineno for each in program.calls_to("sorted", "sort")][:2]


def rank_of(program: Program, node: ast.AST, depth: int) -> int:
    """1 where the value is the best of some answers by their score, -1 where it is the worst (or the worse of two), 0 where
    it cannot be told."""
    if depth > 10:
        return 0
    if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
        parts = node.values if isinstance(node, ast.Dict) else node.elts
        return next((found for each in parts if (found := rank_of(program, each, depth + 1))), 0)
    if isinstance(node, ast.Subscript):
        order = order_of(program, node.value, depth + 1)
        index = program.values.of(node.slice)
        if order and type(index) is int:
            return (-order if index >= 0 else order) if index in (0, -1) else 0
        return rank_of(program, node.value, depth + 1)
    if isinstance(node, ast.Attribute):
        return rank_of(program, node.value, depth + 1)
    if isinstance(node, (ast.BinOp, ast.JoinedStr)):  # `prompt + ranked[0]["text"]`, f"{best['text']}"
        sides = (
            [node.left, node.right]
            if isinstance(node, ast.BinOp)
            else [each.value for each in node.values if isinstance(each, ast.FormattedValue)]
        )
        ranks = {rank for each in sides if (rank := rank_of(program, each, depth + 1))}
        return ranks.pop() if len(ranks) == 1 else 0
    if isinstance(node, ast.Call):
        return rank_of_call(program, node, depth)
    binding = program.names.given(node) if isinstance(node, ast.Name) else None
    return rank_of_binding(program, binding, depth + 1) if binding is not None else 0


def rank_of_call(program: Program, node: ast.Call, depth: int) -> int:
    """Of `max(answers, key=...)`, and of `answer.strip()` what the answer has."""
    key = keyword_of(node, "key")
    if name_called(node) in ("min", "max") and key is not None and by_score(key):
        return (1 if name_called(node) == "max" else -1) * by_score(key)
    if isinstance(node.func, ast.Attribute) and not node.args:
        return rank_of(program, node.func.value, depth + 1)
    return 0


def rank_of_binding(program: Program, binding: Binding, depth: int) -> int:
    if binding.value is None:
        return 0
    if binding.how == "assigned" and not binding.path:
        return rank_of(program, binding.value, depth)
    place = binding.path[0] if binding.path else None
    if binding.how == "assigned" and place is not None:
        order = order_of(program, binding.value, depth)
        return 0 if not order else (-order if place == 0 else order)
    if binding.how == "loop" and place in (0, 1) and len(binding.path) == 1:
        order = order_of_pairs(program, binding.value, depth)
        return 0 if not order else (-order if place == 0 else order)
    return 0


def order_of_pairs(program: Program, node: ast.AST, depth: int) -> int:
    """Of `combinations(ranked, 2)`, `zip(ranked, ranked[1:])`, sliced, filtered: the order of the two in a pair."""
    if depth > 10:
        return 0
    if isinstance(node, ast.Subscript):
        return order_of_pairs(program, node.value, depth + 1)
    if isinstance(node, ast.Name):
        binding = program.names.given(node)
        return (
            order_of_pairs(program, binding.value, depth + 1)
            if binding is not None and binding.how == "assigned" and binding.value is not None and not binding.path
            else 0
        )
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        target = node.generators[0].target
        if isinstance(node.elt, ast.Tuple) and isinstance(target, ast.Tuple) and source_of(node.elt) == source_of(target):
            return order_of_pairs(program, node.generators[0].iter, depth + 1)
        return 0
    if isinstance(node, ast.Call):
        name = name_called(node)
        if name in ("combinations", "pairwise") and node.args:
            return order_of(program, node.args[0], depth + 1)
        if name == "zip" and len(node.args) == 2 and source_of(node.args[1]).startswith(source_of(node.args[0]) + "[1"):
            return order_of(program, node.args[0], depth + 1)
        if name in ("list", "tuple") and node.args:
            return order_of_pairs(program, node.args[0], depth + 1)
    return 0


def order_of(program: Program, node: ast.AST, depth: int) -> int:
    """1 where something stands from the lowest score to the highest, -1 from the highest; 0 where it cannot be told."""
    if depth > 10:
        return 0
    if isinstance(node, ast.Name):
        for call in program.calls_to("sort"):
            if source_of(receiver_of(call)) == node.id and program.function_of(call) is program.function_of(node):
                return direction(program, call)
        binding = program.names.given(node)
        if binding is None or binding.how != "assigned" or binding.value is None or binding.path:
            return 0
        return order_of(program, binding.value, depth + 1)
    if isinstance(node, ast.Attribute) and node.attr in ("iloc", "values"):
        return order_of(program, node.value, depth + 1)
    if isinstance(node, ast.Call):
        return order_of_call(program, node, depth)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        step = program.values.of(node.slice.step) if node.slice.step is not None else 1
        order = order_of(program, node.value, depth + 1)
        return -order if step == -1 else order if step == 1 else 0
    return 0


def order_of_call(program: Program, call: ast.Call, depth: int) -> int:
    name = name_called(call)
    if name == "sorted":
        return direction(program, call)
    if name in ("sort_values", "nlargest", "nsmallest"):
        return order_of_table(program, call)
    same = name in ("reset_index", "to_dict", "to_list", "head", "copy") and isinstance(call.func, ast.Attribute)
    return order_of(program, receiver_of(call), depth + 1) if same else 0


def order_of_table(program: Program, call: ast.Call) -> int:
    """Of `table.sort_values("score", ascending=False)`, `table.nlargest(4, "score")`."""
    by = keyword_of(call, "by") or keyword_of(call, "columns") or (call.args[-1] if call.args else None)
    column = program.values.of(by) if by is not None else ""
    column = column[0] if isinstance(column, list) and len(column) == 1 else column
    if not isinstance(column, str) or not SCORES.search(column.lower()) or "rank" in column.lower():
        return 0
    if name_called(call) != "sort_values":
        return -1 if name_called(call) == "nlargest" else 1
    ascending = keyword_of(call, "ascending")
    value = program.values.of(ascending) if ascending is not None else True
    return 1 if value is True else -1 if value is False else 0


def direction(program: Program, call: ast.Call) -> int:
    key = keyword_of(call, "key")
    sign = by_score(key) if key is not None else 0
    reverse = keyword_of(call, "reverse")
    if reverse is None:
        return sign
    value = program.values.of(reverse)
    return -sign if value is True else sign if value is False else 0


def by_score(key: ast.expr) -> int:
    """1 of `lambda a: a["rating"]`, -1 of its negative, 0 of other keys."""
    body = key.body if isinstance(key, ast.Lambda) else key
    sign = 1
    if isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub):
        sign, body = -1, body.operand
    return sign if SCORES.search(source_of(body).lower()) and "rank" not in source_of(body).lower() else 0


# --- completions


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


@rule("code.completions-masked-when-cut")
def completions_masked_when_cut(program: Program) -> Iterator[Finding]:
    """Long reasoning is asked for, completions are short, and those that are cut have no loss: nothing is left to learn
    from."""
    for call in program.calls_to("GRPOConfig", "RLOOConfig"):
        masked = keyword_of(call, "mask_truncated_completions")
        length = keyword_of(call, "max_completion_length")
        budget = program.values.number(length) if length is not None else 256.0
        if budget is None or budget > 128 or not asks_for_reasoning(program):
            continue
        is_masked = masked is not None and program.values.is_true(masked)
        binding = program.names.given(length) if length is not None else None
        line = (length or call).lineno
        others = {binding.line} if binding is not None else set()
        if is_masked:
            yield Finding(line, "max_completion_length=1024", {"budget": f"{budget:g}"}, also=sorted(others - {line}))


def asks_for_reasoning(program: Program) -> bool:
    words = ("<think>", "step by step", "reasoning", "detailed plan", "chain of thought", "explain your")
    return any(
        isinstance(each.value, str) and any(word in each.value.lower() for word in words)
        for each in program.nodes.of_kind(ast.Constant)
    )


@rule("code.logits-kept-for-metrics")
def logits_kept_for_metrics(program: Program) -> Iterator[Finding]:
    """compute_metrics takes the argmax of a language model's logits, which the Trainer keeps for the whole evaluation."""
    language = any(
        word in line
        for line in program.lines
        for word in ("ForCausalLM", "ForMaskedLM", "LMHeadModel", "ForConditionalGeneration")
    )
    if not language or "predict_with_generate" in " ".join(program.lines):
        return
    for call in program.calls_to("Trainer", "SFTTrainer", "Seq2SeqTrainer"):
        metrics = keyword_of(call, "compute_metrics")
        if (
            metrics is None
            or keyword_of(call, "preprocess_logits_for_metrics") is not None
            or any(each.arg is None for each in call.keywords)
        ):
            continue
        binding = program.names.given(metrics)
        function = binding.node if binding is not None and isinstance(binding.node, Function) else None
        if function is None or not any(name_called(each) == "argmax" for each in program.calls_in(function)):
            continue
        yield Finding(
            metrics.lineno,
            "preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1)",
            {"metrics": function.name},
            also=[function.lineno],
        )


# --- Accelerate, Lightning


@rule("code.accelerator-accumulates-nothing")
def accelerator_accumulates_nothing(program: Program) -> Iterator[Finding]:
    """Accelerator(gradient_accumulation_steps=k) divides every loss by k, and without accumulate() the optimizer steps each
    time."""
    for call in program.calls_to("Accelerator"):
        given = keyword_of(call, "gradient_accumulation_steps")
        count = program.values.number(given) if given is not None else None
        if count is None or count < 2 or "accumulate" in program.names_called or program.names_called & {"no_sync"}:
            continue
        steps = [each for each in program.calls_to("step") if program.objects.event_of(each)[0] == "step"]
        if steps and all(
            not program.is_conditional(each, program.loops_of(each)[0]) for each in steps if program.loops_of(each)
        ):
            yield Finding(
                given.lineno if given is not None else call.lineno,
                "with accelerator.accumulate(model):",
                {"count": f"{count:g}"},
                also=[each.lineno for each in steps[:1]],
            )


@rule("code.accumulation-divided-twice")
def accumulation_divided_twice(program: Program) -> Iterator[Finding]:
    """`accelerator.backward(loss / k)` with Accelerator(gradient_accumulation_steps=k), which divides by itself; the loss
    that training_step() gives to a Trainer of Lightning that accumulates."""
    for call in program.calls_to("Accelerator"):
        given = keyword_of(call, "gradient_accumulation_steps")
        if given is None or program.values.of(given) == 1 or "accumulate" not in program.names_called:
            continue
        for backward in program.calls_to("backward"):
            holder = receiver_of(backward)
            if not backward.args or program.makers.call_of(holder) is not call:
                continue
            division = division_by(program, backward.args[0], given)
            if division is not None:
                corrected = f"{source_of(holder)}.backward(loss)"
                yield Finding(division.lineno, corrected, {"count": source_of(given)}, also=[given.lineno])
    yield from divided_for_lightning(program)


def divided_for_lightning(program: Program) -> Iterator[Finding]:
    given = next((each for call in program.calls if (each := keyword_of(call, "accumulate_grad_batches")) is not None), None)
    by_hand = any(
        isinstance(node.targets[0], ast.Attribute) and node.targets[0].attr == "automatic_optimization"
        for node in program.nodes.of_kind(ast.Assign)
    )
    if given is None or by_hand or program.values.of(given) == 1:
        return
    for function in program.functions:
        if function.name != "training_step" or "manual_backward" in program.names_called:
            continue
        for value in returns_of(program, function):
            inner = value
            if isinstance(value, ast.Dict):
                pairs = zip(value.keys, value.values)
                inner = next((each for key, each in pairs if isinstance(key, ast.Constant) and key.value == "loss"), value)
            division = division_by(program, inner, given)
            if division is not None:
                yield Finding(division.lineno, "return loss", {"count": source_of(given)}, also=sorted({given.lineno}))
                break


def division_by(program: Program, loss: ast.expr, count: ast.expr) -> ast.expr | ast.stmt | None:
    """Where a loss, or the name that holds it, is divided by a number of passes: by the same words, or by what is called
    so. A sum over a list of losses is none."""
    found: list[tuple[ast.expr | ast.stmt, ast.expr]] = []
    names = names_in(loss)
    for each in ast.walk(loss):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div):
            found.append((each, each.right))
    for node in program.own_nodes(program.function_of(loss)):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div) and source_of(node.target) in names:
            found.append((node, node.value))
        elif isinstance(node, ast.Assign) and source_of(node.targets[0]) in names and len(names) == 1:
            value = node.value
            if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
                found.append((value, value.right))
    for place, divisor in found:
        text = source_of(divisor).lower()
        same = source_of(divisor) == source_of(count)
        word = re.search(r"accum", text) is not None and not re.search(r"loss|total|running", text)
        if same and not isinstance(divisor, ast.Constant) or word:
            return place
        if isinstance(divisor, ast.Constant) and divisor.value == program.values.of(count):
            return place
    return None


@rule("code.accelerator-bypassed")
def accelerator_bypassed(program: Program) -> Iterator[Finding]:
    """The model is prepared by Accelerator, and loss.backward() goes past it: no loss scaling, no accumulation."""
    if "Accelerator" not in program.names_called or "prepare" not in program.names_called:
        return
    backwards = program.calls_to("backward")
    if any("acc" in source_of(each.func).lower() and each.args for each in backwards):
        return
    for call in backwards:
        if (
            not isinstance(call.func, ast.Attribute)
            or call.args
            or any("accelerator" in program.last_name(one).lower() for one in ast.walk(call.func))
        ):
            continue
        if program.loops_of(call) and "accelerator" not in source_of(call):
            yield Finding(call.lineno, f"accelerator.backward({source_of(call.func.value)})")
            return


@rule("code.manual-without-step")
def manual_without_step(program: Program) -> Iterator[Finding]:
    """automatic_optimization is off, and training_step() takes no step of its own."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if (
            not isinstance(target, ast.Attribute)
            or target.attr != "automatic_optimization"
            or not program.values.is_false(node.value)
        ):
            continue
        owner = program.names.class_of(node)
        if owner is None or not any(isinstance(each, Function) and each.name == "training_step" for each in owner.body):
            continue
        names = {name_called(each) for each in program.calls_in(owner)}
        if not names & {"step", "optimizer_step"}:
            training = next(each for each in owner.body if isinstance(each, Function) and each.name == "training_step")
            yield Finding(node.lineno, "self.manual_backward(loss); self.optimizers().step()", also=[training.lineno])
