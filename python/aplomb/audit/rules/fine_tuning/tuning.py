"""Rules about fine-tuning: adapters, new tokens, completions, and what frameworks do with arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import Function, dotted, keyword_of, last_name, line_of, name_called, names_in, receiver_of, source_of

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


# --- completions


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
        for value in program.returns_of(function):
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
            or any("accelerator" in last_name(one).lower() for one in ast.walk(call.func))
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
