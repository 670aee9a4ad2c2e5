"""Rules about samplers: what they exclude, and in which order they give the samples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import data_of, is_of_held_out, training_loaders
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, name_called, source_of


@rule("code.shuffle-beside-sampler")
def shuffle_beside_sampler(program: Program) -> Iterator[Finding]:
    """DataLoader(sampler=..., shuffle=True) raises: the sampler says the order."""
    for call in program.calls_to("DataLoader"):
        given, shuffle = keyword_of(call, "sampler"), keyword_of(call, "shuffle")
        if given is None or shuffle is None or not program.values.is_true(shuffle):
            continue
        origins = [each.node for each in program.names.origins(given)]
        if all(isinstance(each, ast.Call) and name_called(each).endswith("Sampler") for each in origins):
            yield Finding(call.lineno, source_of(call).replace(", shuffle=True", ""), {"sampler": source_of(given)})


@rule("code.sampler-not-shuffled")
def sampler_not_shuffled(program: Program) -> Iterator[Finding]:
    """DistributedSampler(shuffle=False) for the data that are trained on: the same order in every pass."""
    for call, loop in training_loaders(program):
        given, data = keyword_of(call, "sampler"), data_of(call)
        made = program.names.origin(given).node if given is not None else None
        if not isinstance(made, ast.Call) or name_called(made) != "DistributedSampler" or not program.loops_of(loop):
            continue
        shuffle = keyword_of(made, "shuffle")
        held_out = data is not None and is_of_held_out(last_name(data))
        if shuffle is not None and program.values.is_false(shuffle) and not held_out:
            corrected = source_of(made).replace("shuffle=False", "shuffle=True")
            yield Finding(made.lineno, corrected, also=sorted({call.lineno} - {made.lineno}))
            return
