"""Rules about what a policy learns from: samples that are no samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule, where_set
from ...program.constants import is_number
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, receiver_of, source_of

#: Settings of TRL's trainers that compare several answers to one prompt.
GROUPED = ("GRPOConfig", "RLOOConfig", "OnlineDPOConfig", "NashMDConfig", "XPOConfig", "GSPOConfig")
#: Judgement: logits differ by 1 and more between likely tokens, so at 0.05 the best one has a lead of e^20.
COLD = 0.05
#: Judgement: a nucleus of 5 % holds one token wherever the model is not very unsure.
NARROW = 0.05


@rule("code.rollouts-greedy")
def rollouts_greedy(program: Program) -> Iterator[Finding]:
    """Answers of a group are compared with each other, and the sampling is set so that all of them are the same."""
    for call in program.calls_to(*GROUPED):
        found = greedy_setting(program, call, True)
        if found is not None:
            name, value = found
            line = getattr(value, "lineno", call.lineno)
            values = {"setting": f"{name}={source_of(value)}"}
            finding = Finding(line, "temperature=1.0, top_k=0, top_p=1.0", values, also=sorted({call.lineno} - {line}))
            yield where_set(program, finding, value)
            return
    yield from drawn_by_hand(program)


def greedy_setting(program: Program, call: ast.Call, nested: bool) -> tuple[str, ast.expr] | None:
    """The setting that leaves one token only: top_k=1, a temperature of about 0, do_sample=False."""
    pairs = [(each.arg or "", each.value) for each in call.keywords]
    for name, value in list(pairs):
        held = program.names.origin(value).node
        if nested and name in ("generation_kwargs", "generation_config", "sampling_params"):
            if isinstance(held, ast.Dict):
                keys = [key.value if isinstance(key, ast.Constant) else "" for key in held.keys]
                pairs += [(str(key), each) for key, each in zip(keys, held.values)]
            elif isinstance(held, ast.Call):
                pairs += [(each.arg or "", each.value) for each in held.keywords]
    for name, value in pairs:
        constant = program.values.of(value)
        if name == "do_sample" and constant is False:
            return name, value
        if not is_number(constant):
            continue
        if name == "top_k" and constant == 1:
            return name, value
        if (name == "temperature" and 0 <= constant <= COLD) or (name == "top_p" and 0 < constant <= NARROW):
            return name, value
    return None


def drawn_by_hand(program: Program) -> Iterator[Finding]:
    """`model.generate(..., num_return_sequences=8, top_k=1)`, `SamplingParams(n=8, top_k=1)` in a program that goes back
    through a loss."""
    if not program.trains:
        return
    for call in program.calls_to("generate", "SamplingParams", "GenerationConfig"):
        count = keyword_of(call, "num_return_sequences") or keyword_of(call, "n") or keyword_of(call, "num_generations")
        if count is None or program.values.of(count) == 1 or program.values.is_true(keyword_of(call, "use_beam_search")):
            continue
        beams = keyword_of(call, "num_beams")
        found = greedy_setting(program, call, True)
        if found is not None and (beams is None or program.values.of(beams) == 1):
            name, value = found
            line = getattr(value, "lineno", call.lineno)
            values = {"setting": f"{name}={source_of(value)}"}
            yield Finding(line, "do_sample=True, temperature=1.0, top_k=0", values, also=sorted({call.lineno} - {line}))
            return
    yield from best_action_taken(program)


def best_action_taken(program: Program) -> Iterator[Finding]:
    """`action = logits.argmax(-1)`, and the loss is made of `dist.log_prob(action)`: what the policy prefers is all that it
    ever sees."""
    for call in program.calls_to("log_prob"):
        action = program.names.origin(call.args[0]).node if len(call.args) == 1 else None
        if not isinstance(action, ast.Call) or name_called(action) != "argmax":
            continue
        dist = program.names.origin(receiver_of(call)).node
        scores = {source_of(each.value) for each in getattr(dist, "keywords", [])} | {
            source_of(each) for each in getattr(dist, "args", [])
        }
        of_torch = program.name_of(action.func).startswith("torch.")
        held = action.args[0] if of_torch and action.args else receiver_of(action)
        holder = receiver_of(call)
        same = source_of(held) in scores or source_of(held) in (f"{source_of(holder)}.probs", f"{source_of(holder)}.logits")
        if same and name_called(dist) in ("Categorical", "OneHotCategorical"):
            yield Finding(action.lineno, f"{source_of(holder)}.sample()", {"setting": source_of(action)}, also=[call.lineno])
            return
