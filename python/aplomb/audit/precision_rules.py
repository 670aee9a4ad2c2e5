"""Rules about number formats: casts of the model, autocast, loss scaling, TF32."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .findings import Finding
from .program import Program, is_constant, keyword_of, method_of, receiver_of, source_of

HALF = {"torch.float16": "fp16", "torch.half": "fp16", "torch.bfloat16": "bf16"}


def half_format(program: Program, call: ast.Call) -> str:
    """`fp16` or `bf16` where the call casts to it: `.half()`, `.bfloat16()`, `.to(torch.float16)`."""
    method = method_of(call)
    if method == "half" and not call.args:
        return "fp16"
    if method == "bfloat16" and not call.args:
        return "bf16"
    if method != "to":
        return ""
    values = [*call.args, *(each.value for each in call.keywords if each.arg == "dtype")]
    return next((HALF[name] for name in map(program.name_of, values) if name in HALF), "")


def full_name(form: str) -> str:
    return "float16" if form == "fp16" else "bfloat16"


def optimized_names(program: Program) -> set[str]:
    """Names whose `.parameters()` an optimizer of this program takes, or that a Trainer trains."""
    names = set()
    for call in [each for name in program.names_called if name.endswith("Trainer") for each in program.calls_to(name)]:
        value = keyword_of(call, "model") or (call.args[0] if call.args else None)
        names.add(program.last_name(value) if value is not None else "")
    for call in program.calls_to("parameters", "named_parameters"):
        if isinstance(call.func, ast.Attribute):
            holders = list(program.enclosing(call))[:6]
            made_by = [program.name_of(each.func) for each in holders if isinstance(each, ast.Call)]
            if any(is_optimizer_class(name) for name in made_by):
                names.add(program.last_name(call.func.value))
    names.discard("")
    return names


def is_optimizer_class(name: str) -> bool:
    tail = name.rsplit(".", 1)[-1]
    return "optim" in name.lower() or tail in ("Adam", "AdamW", "SGD", "Adafactor", "Lion", "Muon", "AdamW8bit", "RMSprop")


def model_cast(program: Program) -> Iterator[Finding]:
    if program.names_called & {"get_peft_model", "LoraConfig", "prepare_model_for_kbit_training"}:
        return  # the base is frozen and may be stored in half; PEFT keeps the adapter in fp32
    optimized = optimized_names(program)
    for call in program.calls_to("half", "bfloat16", "to"):
        form = half_format(program, call)
        if not form or not isinstance(call.func, ast.Attribute):
            continue
        names = cast_names(program, call)
        if not names & optimized:
            continue
        plain = source_of(call.func.value)
        yield Finding(
            "",
            "unstable" if form == "fp16" else "warning",
            call.lineno,
            f"The weights that the optimizer updates are cast to {form}",
            "In fp16 Adam's epsilon is 0 and gradients overflow at 65504; keep the weights in fp32 and let autocast "
            "compute in half."
            if form == "fp16"
            else "bf16 keeps 8 significant bits: an update below 1/256 of a weight is rounded away, and normalisation "
            "weights do not move at all at usual learning rates. Keep the weights in fp32 and let autocast compute in bf16.",
            f'{plain}.float()  # and: with torch.autocast("cuda", dtype=torch.{full_name(form)}): ...',
            leads_to=["nan.pure-half-optimizer"] if form == "fp16" else ["stall.bf16-update-underflow"],
        )


def clip_in_half(program: Program) -> Iterator[Finding]:
    """`clip.load()` of OpenAI's package gives fp16 weights on a GPU; what is said to be on the CPU, or cast, is fp32."""
    if program.names_called & {"float", "convert_weights", "convert_models_to_fp32"}:
        return
    optimized = optimized_names(program)
    for call in program.calls_to("load"):
        holder = program.nodes.parents.get(call)
        if program.name_of(call.func) != "clip.load" or not isinstance(holder, ast.Assign):
            continue
        device = keyword_of(call, "device") or (call.args[1] if len(call.args) > 1 else None)
        first = holder.targets[0].elts[0] if isinstance(holder.targets[0], ast.Tuple) else holder.targets[0]
        if program.last_name(first) not in optimized or isinstance(device, ast.Constant) and device.value == "cpu":
            continue
        yield Finding(
            "",
            "unstable",
            call.lineno,
            "clip.load() gives the optimizer fp16 weights",
            "It converts the weights on a GPU. Adam's epsilon of 1e-8 is 0 in fp16: the first update divides by zero and "
            "every output after it is NaN.",
            f"{program.line_text(call.lineno)}\n{source_of(first)}.float()",
            leads_to=["nan.pure-half-optimizer"],
        )


def cast_names(program: Program, call: ast.Call) -> set[str]:
    """The names that hold what was cast: the receiver, and what the result is assigned to."""
    names = set()
    value = receiver_of(call)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value  # model.cuda().half()
    names.add(program.last_name(value))
    statement = program.statement_of(call)
    if isinstance(statement, ast.Assign):
        chain = statement.value
        while chain is not call and isinstance(chain, ast.Call) and isinstance(chain.func, ast.Attribute):
            chain = chain.func.value
        if chain is call:  # not an argument of something else
            names |= {program.last_name(target) for target in statement.targets}
    names.discard("")
    return names


def clip_before_unscale(program: Program) -> Iterator[Finding]:
    if "clip_grad_norm_" not in program.names_called and "clip_grad_value_" not in program.names_called:
        return
    unscalers = program.functions_that_call("unscale_")
    for function in functions_of(program):
        nodes = [each for each in program.own_nodes(function) if isinstance(each, ast.Call)]
        scaled = [each for each in nodes if method_of(each) == "scale" and on_scaler(program, each)]
        steps = [each for each in nodes if method_of(each) == "step" and on_scaler(program, each)]
        clips = [each for each in nodes if method_of(each) in ("clip_grad_norm_", "clip_grad_value_")]
        unscales = [each.lineno for each in nodes if method_of(each) == "unscale_"]
        if not scaled or not steps:
            continue
        for clip in clips:
            before = [each.lineno for each in scaled if each.lineno < clip.lineno]
            after = [each for each in steps if each.lineno > clip.lineno]
            if not before or not after or any(line <= clip.lineno for line in unscales):
                continue
            if any(method_of(each) in unscalers and each.lineno <= clip.lineno for each in nodes):
                continue  # by a function of this file
            scaler = source_of(receiver_of(after[0]))
            optimizer = source_of(after[0].args[0]) if after[0].args else "optimizer"
            yield Finding(
                "",
                "unstable",
                clip.lineno,
                "Gradients are clipped while they are still scaled",
                "They are multiplied by the loss scale (65536 at first), so the threshold cuts every step to almost "
                "nothing. Unscale first.",
                f"{scaler}.unscale_({optimizer})\n{program.line_text(clip.lineno)}",
                leads_to=["diverge.mixed-precision-loss", "stall.fp16-grad-underflow", "diverge.no-grad-clip"],
            )


def on_scaler(program: Program, call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and program.is_scaler(call.func.value)


def functions_of(program: Program) -> list[ast.AST]:
    return [program.tree, *program.functions]


def is_autocast(program: Program, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and program.name_of(node.func).rsplit(".", 1)[-1] in ("autocast", "auto_cast")


def backward_in_autocast(program: Program) -> Iterator[Finding]:
    for call, _ in program.backward_calls(program.tree):
        for parent in program.enclosing(call):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                break
            if isinstance(parent, ast.With) and any(is_autocast(program, item.context_expr) for item in parent.items):
                yield Finding(
                    "",
                    "warning",
                    call.lineno,
                    "The backward pass runs inside autocast",
                    "Each operation of the backward pass runs in the format of its forward one by itself; under autocast "
                    "further casts are put in, which PyTorch advises against. Only forward and loss belong inside.",
                    f"{program.line_text(call.lineno)}  # one level out, behind the with block",
                    leads_to=["diverge.mixed-precision-loss"],
                )
                break


def scaler_with_bf16(program: Program) -> Iterator[Finding]:
    formats = set()
    for call in program.calls_to("autocast", "auto_cast"):
        value = keyword_of(call, "dtype") or (call.args[1] if len(call.args) > 1 else None)
        formats.add(HALF.get(program.name_of(value), "?") if value is not None else "fp16")
    if formats != {"bf16"}:
        return
    for call in program.calls_to("GradScaler"):
        enabled = keyword_of(call, "enabled")
        if enabled is None or is_constant(enabled, True):
            yield Finding(
                "",
                "note",
                call.lineno,
                "A loss scaler in a bf16 run",
                "bf16 has the exponent of fp32: gradients do not underflow, and the scale is multiplied in and divided out.",
                "loss.backward()\noptimizer.step()  # no scaler",
            )


def deprecated_amp(program: Program) -> Iterator[Finding]:
    for call in program.calls_to("autocast", "GradScaler"):
        name = program.name_of(call.func)
        for device in ("cuda", "cpu"):
            for part in ("autocast", "GradScaler"):
                if name != f"torch.{device}.amp.{part}":
                    continue
                arguments = ", ".join([f'"{device}"', *map(source_of, call.args), *map(source_of, call.keywords)])
                yield Finding(
                    "",
                    "note",
                    call.lineno,
                    f"torch.{device}.amp.{part} is deprecated",
                    "Since PyTorch 2.4 it warns at every use; torch.amp takes the device by name.",
                    f"torch.amp.{part}({arguments})",
                )


def tf32_off(program: Program) -> Iterator[Finding]:
    for node in program.nodes.of_kind(ast.Assign):
        if not is_constant(node.value, False):
            continue
        if any(program.name_of(target).endswith("matmul.allow_tf32") for target in node.targets):
            yield tf32_finding(node.lineno, source_of(node.targets[0]) + " = True")
    for call in program.calls_to("set_float32_matmul_precision"):
        asked = call.args[0] if call.args else None
        if isinstance(asked, ast.Constant) and asked.value == "highest":
            yield tf32_finding(call.lineno, 'torch.set_float32_matmul_precision("high")')
    yield from tf32_left_off(program)


def tf32_finding(line: int, corrected: str) -> Finding:
    return Finding(
        "",
        "note",
        line,
        "TF32 is off",
        "fp32 matrix products leave the tensor cores of Ampere and later cards unused: several times slower.",
        corrected,
        leads_to=["slow.no-fast-path"],
    )


def tf32_left_off(program: Program) -> Iterator[Finding]:
    """A plain fp32 loop on a GPU that never says anything about formats."""
    quiet = {"autocast", "GradScaler", "set_float32_matmul_precision", "half", "bfloat16", "Accelerator", "Fabric"}
    if not program.trains or program.names_called & quiet:
        return
    texts = (each.value for each in program.nodes.of_kind(ast.Constant) if isinstance(each.value, str))
    if "cuda" not in program.names_called and not any(each.startswith("cuda") for each in texts):
        return
    if any(each.attr in ("allow_tf32", "float16", "bfloat16") for each in program.nodes.of_kind(ast.Attribute)):
        return
    first = next((call for call, _ in program.backward_calls(program.tree) if program.loops_of(call)), None)
    if first is not None:
        yield tf32_finding(first.lineno, 'torch.set_float32_matmul_precision("high")  # once, before the model is made')


PRECISION_RULES = {
    "code.model-cast": model_cast,
    "code.clip-in-half": clip_in_half,
    "code.clip-before-unscale": clip_before_unscale,
    "code.backward-in-autocast": backward_in_autocast,
    "code.scaler-with-bf16": scaler_with_bf16,
    "code.deprecated-amp": deprecated_amp,
    "code.tf32-off": tf32_off,
}
