"""Rules about compiled steps: what is compiled anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import Function, FunctionNode, keyword_of, last_name, name_called, names_in, parameters_of, source_of

PADDERS = ("pad_sequence", "zeros", "full", "pad", "ones", "empty", "new_zeros", "new_full", "pad_packed_sequence")
LONGEST = (True, "longest")
#: Modes of torch.compile that record a CUDA graph for each shape.
RECORDING = ("reduce-overhead", "max-autotune")


@rule("code.shapes-compiled-anew")
def shapes_compiled_anew(program: Program) -> Iterator[Finding]:
    """Batches are padded to their own longest sample, and go into what is compiled for each shape by itself."""
    yield from by_jax(program)
    yield from by_torch(program)


def by_jax(program: Program) -> Iterator[Finding]:
    """A function under jax.jit is given, in a loop, what a padding function has made of the samples of one batch."""
    jitted = functions_jitted(program)
    for call in program.calls if jitted else []:
        if last_name(call.func) not in jitted or not program.loops_of(call):
            continue
        for given in call.args:
            origin = program.names.origin(given, through_calls=False).node
            made = [origin] if isinstance(origin, ast.Call) else []
            inner = [each for one in made for each in program.calls_in(one)]
            for each in [*made, *inner]:
                function = program.objects.function_run(each)
                line = pads_to_longest(program, function) if function is not None else None
                if line is not None:
                    corrected = "width = -(-longest // 64) * 64  # a few widths: as many compilations"
                    values = {"compiled": last_name(call.func), "how": "jax.jit"}
                    yield Finding(line, corrected, values, also=[call.lineno])
                    return


def functions_jitted(program: Program) -> set[str]:
    """Names of what stands under @jax.jit (or a partial of it), and of what jax.jit() gives."""
    found = {
        function.name
        for function in program.functions
        if any(is_jit(program, one) for each in function.decorator_list for one in ast.walk(each))
    }
    for node in program.nodes.of_kind(ast.Assign):
        if isinstance(node.value, ast.Call) and is_jit(program, node.value.func):
            found |= {last_name(each) for each in node.targets}
    return found - {""}


def is_jit(program: Program, node: ast.AST) -> bool:
    return program.name_of(node) in ("jax.jit", "jax.pmap", "flax.nnx.jit", "nnx.jit", "equinox.filter_jit")


def pads_to_longest(program: Program, function: FunctionNode) -> int | None:
    """The line of `max(len(x) for x in batch)`, of samples that the function is given, where arrays are made by it. What is
    rounded up to a multiple, or bounded by a constant, has few shapes."""
    own = {each.arg for each, _ in parameters_of(function)}
    text = source_of(function)
    if "//" in text or "%" in text or "bucket" in text.lower() or "multiple" in text or "round" in text or "ceil" in text:
        return None
    for node in program.nodes.below(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        width = node.targets[0].id
        longest = name_called(node.value) == "max" and "len" in source_of(node.value) and bool(names_in(node.value) & own)
        made = [each for each in program.calls_in(function) if name_called(each) in PADDERS and width in names_in(each)]
        if longest and made and not any(name_called(each) == "max" and width in names_in(each) for each in made):
            return node.lineno
    return None


def by_torch(program: Program) -> Iterator[Finding]:
    """torch.compile marks what changes as dynamic by itself, unless it is told not to or records graphs."""
    for call in program.calls_to("compile"):
        if program.name_of(call.func) != "torch.compile":
            continue
        fixed = program.values.is_false(keyword_of(call, "dynamic"))
        mode = program.values.text(keyword_of(call, "mode"))
        line = padded_by_loader(program) if fixed or mode in RECORDING else None
        if line is not None:
            how = "torch.compile(dynamic=False)" if fixed else f"torch.compile(mode={mode!r})"
            yield Finding(line, "pad_to_multiple_of=64  # a few widths: as many compilations",
                          {"compiled": "the model", "how": how}, also=[call.lineno])  # fmt: skip
            return


def padded_by_loader(program: Program) -> int | None:
    """Where the collate function of a loader pads to the longest sample of its batch."""
    for loader in program.calls_to("DataLoader"):
        given = keyword_of(loader, "collate_fn")
        made = program.names.given(given) if isinstance(given, ast.Name) else None
        function = made.node if made is not None and isinstance(made.node, Function) else None
        if function is None:
            continue
        padding = [each for each in program.calls_in(function) if name_called(each) == "pad_sequence"]
        padding += [
            each
            for each in program.calls_in(function)
            if program.values.of(keyword_of(each, "padding")) in LONGEST and keyword_of(each, "pad_to_multiple_of") is None
        ]
        line = pads_to_longest(program, function)
        cut = any(word in source_of(function) for word in ("//", "%", "F.pad", "functional.pad"))
        if line is not None or (padding and not cut):
            return line if line is not None else padding[0].lineno
    return None
