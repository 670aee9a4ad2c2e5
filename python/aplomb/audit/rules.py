"""The rules, and a program held against all of them."""

from __future__ import annotations

import time

from . import (
    adapter_rules,
    alias_rules,
    average_rules,
    axis_rules,
    contrast_rules,
    control_rules,
    data_rules,
    depth_rules,
    detection_rules,
    generative_rules,
    intake_rules,
    label_rules,
    layout_rules,
    logit_rules,
    loop_rules,
    loss_rules,
    mask_rules,
    metric_rules,
    mode_rules,
    module_rules,
    numeric_rules,
    optimizer_rules,
    policy_rules,
    precision_rules,
    preference_rules,
    rank_rules,
    repetition_rules,
    restore_rules,
    resume_rules,
    reward_rules,
    sample_rules,
    schedule_rules,
    selection_rules,
    shape_rules,
    sign_rules,
    slip_rules,
    split_rules,
    state_rules,
    step_rules,
    stream_rules,
    token_rules,
    trainer_rules,
    tuning_rules,
    weighing_rules,
)
from .findings import RULES, Finding
from .program import Program

MODULES = (
    step_rules,
    mode_rules,
    loss_rules,
    sign_rules,
    logit_rules,
    label_rules,
    token_rules,
    shape_rules,
    layout_rules,
    contrast_rules,
    generative_rules,
    policy_rules,
    numeric_rules,
    precision_rules,
    module_rules,
    optimizer_rules,
    schedule_rules,
    loop_rules,
    data_rules,
    split_rules,
    trainer_rules,
    preference_rules,
    reward_rules,
    control_rules,
    rank_rules,
    restore_rules,
    resume_rules,
    alias_rules,
    average_rules,
    selection_rules,
    stream_rules,
    tuning_rules,
    repetition_rules,
    weighing_rules,
    slip_rules,
    metric_rules,
    adapter_rules,
    detection_rules,
    mask_rules,
    axis_rules,
    intake_rules,
    state_rules,
    sample_rules,
    depth_rules,
)


def audit_program(program: Program, deadline: float | None = None) -> list[Finding]:
    """Findings in the order of the lines; one of a rule on a line. A rule that fails on a program (or comes behind the
    deadline of time.monotonic()) is left out, and the program's `troubles` say so."""
    found: dict[tuple[int, str], Finding] = {}
    for name, rule in RULES.items():
        if deadline is not None and time.monotonic() > deadline:
            program.troubles.append(f"there was no time for {name} and the rules behind it")
            break
        try:
            findings = list(rule(program))
        except Exception as error:  # one rule's mistake is not the others'
            program.troubles.append(f"{name} could not judge it ({type(error).__name__})")
            continue
        for finding in findings:
            finding.rule = name
            if not finding.file:
                finding.text = finding.text or program.line_text(finding.line)
            found.setdefault((finding.line, name), finding)
    return [found[key] for key in sorted(found)]


def audit_source(source: str, path: str = "<source>") -> list[Finding]:
    """Raises SyntaxError where the source is no Python of this interpreter's version."""
    return audit_program(Program(source, path))


__all__ = ["MODULES", "RULES", "Finding", "Program", "audit_program", "audit_source"]
