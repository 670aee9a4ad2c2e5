"""Rules about number formats: casts of the model, autocast, loss scaling, TF32."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.formats import HALF, half_format, is_autocast
from ...program.objects import is_optimizer_class
from ...program.program import Program
from ...program.syntax import Function, is_constant, keyword_of, last_name, line_of, receiver_of, source_of


def full_name(form: str) -> str:
    return "float16" if form == "fp16" else "bfloat16"


def optimized_names(program: Program) -> set[str]:
    """Names whose `.parameters()` an optimizer of this program takes, or that a Trainer trains."""
    names = set()
    for call in [each for name in program.names_called if name.endswith("Trainer") for each in program.calls_to(name)]:
        value = keyword_of(call, "model") or (call.args[0] if call.args else None)
        names.add(last_name(value) if value is not None else "")
    for call in program.calls_to("parameters", "named_parameters"):
        if isinstance(call.func, ast.Attribute):
            holders = list(program.enclosing(call))[:6]
            made_by = [program.name_of(each.func) for each in holders if isinstance(each, ast.Call)]
            if any(is_optimizer_class(name) for name in made_by):
                names.add(last_name(call.func.value))
    names.discard("")
    return names


@rule("code.model-half")
def model_half(program: Program) -> Iterator[Finding]:
    yield from cast_to(program, "fp16")


@rule("code.model-bf16")
def model_bf16(program: Program) -> Iterator[Finding]:
    yield from cast_to(program, "bf16")
    yield from loaded_in_bf16(program)


#: Where steps are lost: a bf16 number has 8 bits, so that a step is rounded away below 1/512 of the weight, and weights are
#: of some hundredths (an initializer_range of 0.02); Adam's step is about the learning rate.
SMALL_STEP = 4e-5


def loaded_in_bf16(program: Program) -> Iterator[Finding]:
    """`from_pretrained(name, dtype=torch.bfloat16)`, all of it trained at a rate whose steps are rounded away."""
    if program.names_called & {"get_peft_model", "LoraConfig", "prepare_model_for_kbit_training"}:
        return
    if any(
        program.is_model(receiver_of(call)) for call in program.calls_to("float") if isinstance(call.func, ast.Attribute)
    ):
        return
    rates = [program.values.number(keyword_of(call, "learning_rate")) for call in program.calls]
    rates += [program.values.number(keyword_of(call, "lr")) for call in program.calls]
    known = [each for each in rates if each is not None]
    if not known or max(known) > SMALL_STEP:
        return
    optimized = optimized_names(program)
    for call in program.calls_to("from_pretrained"):
        asked = keyword_of(call, "dtype") or keyword_of(call, "torch_dtype")
        statement = program.statement_of(call)
        if asked is None or HALF.get(str(program.values.of(asked))) != "bf16" or not isinstance(statement, ast.Assign):
            continue
        if last_name(statement.targets[0]) in optimized:
            corrected = f"{source_of(call.func)}(...)  # in fp32, and bf16=True in the TrainingArguments"
            yield Finding(call.lineno, corrected, {"rate": f"{max(known):g}"})


def cast_to(program: Program, wanted: str) -> Iterator[Finding]:
    """Casts of weights that an optimizer of this program updates."""
    if program.names_called & {"get_peft_model", "LoraConfig", "prepare_model_for_kbit_training"}:
        return  # the base is frozen and may be stored in half; PEFT keeps the adapter in fp32
    optimized = optimized_names(program)
    for call in program.calls_to("half", "bfloat16", "to"):
        if half_format(program, call) != wanted or not isinstance(call.func, ast.Attribute):
            continue
        if cast_names(program, call) & optimized or is_returned(program, call):
            plain = source_of(call.func.value)
            context = f'torch.autocast("cuda", dtype=torch.{full_name(wanted)})'
            yield Finding(call.lineno, f"{plain}.float()  # and: with {context}: ...")
    for node, form in cast_one_by_one(program):
        if form == wanted:
            yield Finding(line_of(node), "# the weights stay in fp32; torch.autocast computes in 16 bits")


def is_returned(program: Program, call: ast.Call) -> bool:
    """A function makes the model and casts it: `return net.to(torch.bfloat16)`, and an optimizer holds what it gave."""
    if not isinstance(program.function_of(call), Function):
        return False
    return bool(program.objects.identity(receiver_of(call)) & program.objects.trained())


def cast_one_by_one(program: Program) -> Iterator[tuple[ast.AST, str]]:
    """`for p in model.parameters(): p.data = p.data.to(torch.bfloat16)`, of a model that an optimizer holds."""
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        form = half_format(program, node.value) if isinstance(node.value, ast.Call) else ""
        loop = next(iter(program.loops_of(node)), None)
        if not form or not isinstance(target, ast.Attribute) or target.attr != "data" or not isinstance(loop, ast.For):
            continue
        given = source_of(receiver_of(node.value)) if isinstance(node.value, ast.Call) else ""
        if given.split(".")[0] != last_name(target.value):
            continue
        held = {last_name(each) for each in program.objects.parameters_in(loop.iter)}
        if held & optimized_names(program) and not program.is_conditional(node, loop):
            yield node, form


@rule("code.half-by-default")
def half_by_default(program: Program) -> Iterator[Finding]:
    """`torch.set_default_dtype(torch.bfloat16)` before the model is made: its weights begin, and are kept, in 16 bits."""
    for call in program.calls_to("set_default_dtype"):
        form = HALF.get(str(program.values.of(call.args[0]))) if call.args else None
        if form is None or not program.is_from_torch(call, "set_default_dtype"):
            continue
        begins = program.nodes.place(call)
        later = [place for each in program.calls_to("set_default_dtype") if (place := program.nodes.place(each)) > begins]
        for made, _ in program.objects.optimizers_made():
            holders = [each for given in made.args[:1] for each in program.objects.parameters_in(given)]
            models = [each for each in map(program.makers.call_of, holders) if each is not None]
            ends = later[0] if later else float("inf")
            if any(begins < program.nodes.place(each) < ends for each in models):
                yield Finding(call.lineno, "torch.set_default_dtype(torch.float32)", {"form": form}, also=[made.lineno])
                return


@rule("code.fp16-without-scaler")
def fp16_without_scaler(program: Program) -> Iterator[Finding]:
    """Autocast to fp16 and a plain backward pass: gradients below 6e-8 are 0."""
    if not program.trains or program.names_called & {"GradScaler", "Accelerator", "Fabric", "initialize", "scale"}:
        return
    for call in program.calls_to("autocast"):
        asked = keyword_of(call, "dtype") or (call.args[1] if len(call.args) > 1 else None)
        form = program.values.of(asked) if asked is not None else ""
        on_cpu = any(program.values.of(each) == "cpu" for each in [*call.args, *(one.value for one in call.keywords)])
        half = form in ("torch.float16", "torch.half") or (asked is None and not on_cpu)
        off = keyword_of(call, "enabled")
        if not half or (off is not None and not program.values.is_true(off)):
            continue
        holder = program.nodes.parents.get(call)
        body = holder and program.nodes.parents.get(holder)
        trains_inside = isinstance(body, ast.With) and any(
            program.objects.event_of(each)[0] == "forward" or program.losses.criterion(each)
            for each in program.calls_in(body)
        )
        passes = [each for each, _ in program.backward_calls(program.tree)]
        if trains_inside and any(program.function_of(each) is program.function_of(call) for each in passes):
            yield Finding(call.lineno)
            return


@rule("code.clip-in-half")
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
        if last_name(first) not in optimized or isinstance(device, ast.Constant) and device.value == "cpu":
            continue
        yield Finding(call.lineno, f"{program.line_text(call.lineno)}\n{source_of(first)}.float()")


def cast_names(program: Program, call: ast.Call) -> set[str]:
    """The names that hold what was cast: the receiver, and what the result is assigned to."""
    names = set()
    value = receiver_of(call)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value  # model.cuda().half()
    names.add(last_name(value))
    statement = program.statement_of(call)
    if isinstance(statement, ast.Assign):
        chain = statement.value
        while chain is not call and isinstance(chain, ast.Call) and isinstance(chain.func, ast.Attribute):
            chain = chain.func.value
        if chain is call:  # not an argument of something else
            names |= {last_name(target) for target in statement.targets}
    names.discard("")
    return names


@rule("code.clip-past-accelerator")
def clip_past_accelerator(program: Program) -> Iterator[Finding]:
    """Accelerator trains in fp16, and torch's own clip_grad_norm_() sees gradients that are still scaled."""
    for made in program.calls_to("Accelerator"):
        precision = keyword_of(made, "mixed_precision")
        if precision is None or "fp16" not in program.values.possible(precision):
            continue
        if "unscale_gradients" in program.names_called:
            continue
        for call in program.calls_to("clip_grad_norm_", "clip_grad_value_"):
            if program.name_of(call.func).startswith("torch.") and program.loops_of(call):
                holder = program.statement_of(made)
                name = source_of(holder.targets[0]) if isinstance(holder, ast.Assign) else "accelerator"
                corrected = f"{name}.{source_of(call.func).rsplit('.', 1)[-1]}({', '.join(map(source_of, call.args))})"
                yield Finding(call.lineno, corrected, also=[made.lineno])
                return


@rule("code.backward-in-autocast")
def backward_in_autocast(program: Program) -> Iterator[Finding]:
    for call, _ in program.backward_calls(program.tree):
        for parent in program.enclosing(call):
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                break
            if isinstance(parent, ast.With) and any(is_autocast(program, item.context_expr) for item in parent.items):
                yield Finding(call.lineno, f"{program.line_text(call.lineno)}  # one level out, behind the with block")
                break


@rule("code.scaler-with-bf16")
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
            yield Finding(call.lineno, "loss.backward()\noptimizer.step()  # no scaler")


@rule("code.bf16-whatever-the-card")
def bf16_whatever_the_card(program: Program) -> Iterator[Finding]:
    """Autocast to bf16, written down: before Ampere no card has units for it. Told where the card is known to be older."""
    asks = {"is_bf16_supported", "get_device_capability", "get_device_properties"}
    if not program.trains or program.names_called & asks:
        return
    for call in program.calls_to("autocast"):
        asked = keyword_of(call, "dtype") or (call.args[1] if len(call.args) > 1 else None)
        on_cpu = any(program.values.of(each) == "cpu" for each in [*call.args, *(one.value for one in call.keywords)])
        if asked is not None and not on_cpu and HALF.get(str(program.values.of(asked))) == "bf16":
            yield Finding(
                call.lineno,
                "amp_dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16  # fp16 with a GradScaler",
            )
            return


@rule("code.deprecated-amp")
def deprecated_amp(program: Program) -> Iterator[Finding]:
    for call in program.calls_to("autocast", "GradScaler"):
        name = program.name_of(call.func)
        for device in ("cuda", "cpu"):
            for part in ("autocast", "GradScaler"):
                if name != f"torch.{device}.amp.{part}":
                    continue
                arguments = ", ".join([f'"{device}"', *map(source_of, call.args), *map(source_of, call.keywords)])
                yield Finding(call.lineno, f"torch.amp.{part}({arguments})")


@rule("code.tf32-off")
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
    return Finding(line, corrected)


NARROW = 512  # products of matrices below this end before a card is filled: nothing is won by their format


def is_narrow(program: Program) -> bool:
    """The layers are all made here, and the widest is small."""
    if program.names_called & {"from_pretrained", "create_model", "from_config", "hub"}:
        return False
    sizes: list[float] = []
    for call in program.calls_to("Linear", "Conv2d", "Conv1d", "LSTM", "GRU", "TransformerEncoderLayer", "Embedding"):
        written = [program.values.number(each) for each in [*call.args[:2], *(each.value for each in call.keywords)]]
        sizes += [each for each in written if each is not None]
    return bool(sizes) and max(sizes) < NARROW


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
    if is_narrow(program):
        return
    first = next((call for call, _ in program.backward_calls(program.tree) if program.loops_of(call)), None)
    if first is not None:
        yield tf32_finding(first.lineno, 'torch.set_float32_matmul_precision("high")  # once, before the model is made')
