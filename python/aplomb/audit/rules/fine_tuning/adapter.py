"""Rules about adapters and the heads that stand beside them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, source_of

#: Model classes whose head is drawn anew, with the task type under which peft trains and saves it.
HEADS = {
    "AutoModelForSequenceClassification": "SEQ_CLS",
    "AutoModelForTokenClassification": "TOKEN_CLS",
    "RobertaForSequenceClassification": "SEQ_CLS",
    "BertForSequenceClassification": "SEQ_CLS",
    "DistilBertForSequenceClassification": "SEQ_CLS",
    "DebertaV2ForSequenceClassification": "SEQ_CLS",
    "LlamaForSequenceClassification": "SEQ_CLS",
    "BertForTokenClassification": "TOKEN_CLS",
    "RobertaForTokenClassification": "TOKEN_CLS",
    "AutoModelForImageClassification": "",
    "ViTForImageClassification": "",
    "AutoModelForAudioClassification": "",
    "AutoModelForSemanticSegmentation": "",
}


@rule("code.head-left-frozen")
def head_left_frozen(program: Program) -> Iterator[Finding]:
    """LoRA on a model with a new head, and neither a task type nor modules_to_save: peft freezes the head as it was drawn,
    and does not save it."""
    made = program.calls_to("from_pretrained")
    classes = {last_name(call.func.value): call for call in made if isinstance(call.func, ast.Attribute)}
    head = next((name for name in HEADS if name in classes), "")
    others = {name for name in classes if name.startswith("AutoModel") or "For" in name}
    if not head or others - set(HEADS) or thaws_something(program):
        return
    for call in program.calls_to("LoraConfig", "IA3Config", "AdaLoraConfig", "LoHaConfig", "LoKrConfig"):
        if any(each.arg is None for each in call.keywords) or keyword_of(call, "modules_to_save") is not None:
            continue
        task = keyword_of(call, "task_type") or (call.args[0] if call.args else None)
        if task is not None and (HEADS[head] or program.values.text(task) != "None"):
            continue
        if is_put_on(program, call):
            right = f"task_type=TaskType.{HEADS[head]}" if HEADS[head] else 'modules_to_save=["classifier"]'
            yield Finding(call.lineno, source_of(call)[:-1] + f", {right})", {"model": head}, also=[classes[head].lineno])


def is_put_on(program: Program, config: ast.Call) -> bool:
    """get_peft_model(model, config), or the peft_config of a trainer."""
    for call in program.calls_to("get_peft_model"):
        given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "peft_config")]
        if any(program.makers.call_of(each) is config or each is config for each in given):
            return True
    for call in program.calls:
        value = keyword_of(call, "peft_config")
        if value is not None and (value is config or program.makers.call_of(value) is config):
            return True
    return False


def thaws_something(program: Program) -> bool:
    """`p.requires_grad = True`, `model.score.requires_grad_(True)`."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and not program.values.is_false(node.value):
            return True
    return any(not (call.args and program.values.is_false(call.args[0])) for call in program.calls_to("requires_grad_"))
