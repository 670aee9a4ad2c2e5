"""Rules about deep stacks that are built in the program, about what is asked to be repeatable, and about threads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.formats import is_autocast
from ...program.launches import MOST_BYTES, scripts_in
from ...program.layout import layer_made
from ...program.program import Program
from ...program.syntax import Function, keyword_of, line_of, name_called, receiver_of, source_of

#: From this many layers on a stack with the norm behind the sum does not begin without a warm-up (arXiv:2002.04745).
DEEP = 12
NORMS = ("LayerNorm", "RMSNorm", "norm", "ln")
SEEDS = ("manual_seed", "manual_seed_all", "seed_everything", "set_seed", "enable_full_determinism", "seed_all")


def stacks(program: Program) -> Iterator[tuple[ast.Call, ast.ClassDef | None, float]]:
    """(what makes the stack, the class of its blocks, how many) of `ModuleList([Block(d) for _ in range(n)])`,
    `TransformerEncoder(layer, n)`."""
    for call in program.calls_to("ModuleList", "Sequential"):
        held = (
            call.args[0].value
            if call.args and isinstance(call.args[0], ast.Starred)
            else call.args[0]
            if call.args
            else None
        )
        if not isinstance(held, (ast.ListComp, ast.GeneratorExp)) or not isinstance(held.elt, ast.Call):
            continue
        over = held.generators[0].iter
        count = program.values.number(over.args[-1]) if name_called(over) == "range" and isinstance(over, ast.Call) else None
        owner = program.makers.class_made(held.elt)
        if count is not None and owner is not None and program.makers.is_module_class(owner):
            yield call, owner, count
    for call in program.calls_to("TransformerEncoder", "TransformerDecoder"):
        given = call.args[1] if len(call.args) > 1 else keyword_of(call, "num_layers")
        count = program.values.number(given)
        if count is not None and program.name_of(call.func).startswith("torch."):
            yield call, None, count


@rule("code.post-norm-deep")
def post_norm_deep(program: Program) -> Iterator[Finding]:
    """A deep stack whose blocks end in norm(x + f(x)), trained from scratch at the full rate from the first step."""
    if warms_up(program) or not trains_somehow(program):
        return
    for call, owner, count in stacks(program):
        if count < DEEP:
            continue
        place = norm_behind_sum(program, owner) if owner is not None else post_norm_layer(program, call)
        if place is not None:
            yield Finding(
                line_of(place), "x = x + f(norm(x))  # norm_first=True in torch's layers", {"count": f"{count:g}"},
                also=sorted({call.lineno} - {line_of(place)}),
            )  # fmt: skip
            return


def norm_behind_sum(program: Program, owner: ast.ClassDef) -> ast.AST | None:
    """`self.norm(x + self.f(x))` of a block's forward(), which never normalises before."""
    forward = program.makers.method(owner, "forward")
    if forward is None:
        return None
    found = []
    for call in program.calls_in(forward):
        made = program.makers.made_by(call.func)
        if made not in NORMS or not call.args:
            continue
        given = call.args[0]
        if isinstance(given, ast.Name) and (binding := program.names.given(given)) is not None and binding.value is not None:
            given = binding.value if binding.how == "assigned" else given
        if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Add):
            return None  # before the layer, as it should be
        found.append(call)
    return found[0] if found else None


def post_norm_layer(program: Program, call: ast.Call) -> ast.AST | None:
    made = layer_made(program, call.args[0]) if call.args else None
    first = keyword_of(made, "norm_first") if made is not None else None
    if made is None or len(made.args) > 7 or any(each.arg is None for each in made.keywords):
        return None
    return made if first is None or program.values.is_false(first) else None


def warms_up(program: Program) -> bool:
    """Any schedule that may begin low."""
    text = "\n".join(program.lines).lower()
    return "warm" in text or "onecycle" in text or bool(program.names_called & {"LambdaLR", "LinearLR", "SequentialLR"})


def trains_somehow(program: Program) -> bool:
    return program.trains or any(name.endswith("Trainer") or name == "fit" for name in program.names_called)


@rule("code.residual-not-scaled")
def residual_not_scaled(program: Program) -> Iterator[Finding]:
    """Every layer of a deep stack is drawn with one spread: what n blocks add to the stream grows with the root of 2 n."""
    deep = next(
        ((call, owner, count) for call, owner, count in stacks(program) if count >= DEEP and owner is not None), None
    )
    if deep is None or not trains_somehow(program) or program.names_called & {"load_state_dict", "from_pretrained"}:
        return
    call, _, count = deep
    text = "\n".join(program.lines).replace(" ", "")
    if re.search(r"sqrt\(2|\*\*-0?\.5|rsqrt\(|layer_?scale|init_values|gamma|alpha|resid", text.lower()):
        return
    for made in program.calls_to("normal_", "trunc_normal_"):
        function = program.function_of(made)
        if isinstance(function, Function) and any(
            isinstance(each, ast.Call) and name_called(each) == "isinstance" and "Linear" in source_of(each)
            for each in program.own_nodes(function)
        ):
            yield Finding(
                made.lineno, "", {"count": f"{count:g}", "factor": f"{(2 * count) ** 0.5:.3g}"}, also=[call.lineno]
            )
            return


# --- repeatable runs


@rule("code.workspace-not-set")
def workspace_not_set(program: Program) -> Iterator[Finding]:
    """Deterministic algorithms are demanded, and cuBLAS is not told to keep one workspace: its products raise then."""
    for call in program.calls_to("use_deterministic_algorithms"):
        on = call.args[0] if call.args else keyword_of(call, "mode")
        if not program.values.is_true(on) or keyword_of(call, "warn_only") is not None:
            continue
        if program.is_conditional(call, program.function_of(call)):
            continue  # whoever asks for it can say so
        texts = [each.value for each in program.nodes.of_kind(ast.Constant) if isinstance(each.value, str)]
        on_card = "cuda" in program.names_called or any(each.startswith("cuda") for each in texts)
        if not on_card or not trains_somehow(program) or told_by_script(program):
            continue
        if any("CUBLAS_WORKSPACE_CONFIG" in each for each in texts):
            continue
        yield Finding(call.lineno, 'os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before torch is imported')


def told_by_script(program: Program) -> bool:
    for path in scripts_in(program.folders):
        try:
            with open(path, encoding="utf-8") as file:
                if "CUBLAS_WORKSPACE_CONFIG" in file.read(MOST_BYTES):
                    return True
        except (OSError, ValueError):
            continue
    return False


@rule("code.nothing-seeded")
def nothing_seeded(program: Program) -> Iterator[Finding]:
    """Deterministic kernels are asked for, and no seed is set: the first weights and the order still differ."""
    if program.names_called & set(SEEDS) or not trains_somehow(program):
        return
    if any("seed" in (each.arg or "") for call in program.calls for each in call.keywords):
        return
    for call in program.calls_to("use_deterministic_algorithms"):
        if program.values.is_true(call.args[0] if call.args else keyword_of(call, "mode")):
            yield Finding(call.lineno, "torch.manual_seed(0)  # and random.seed(0), numpy.random.seed(0)")
            return
    for node in program.nodes.of_kind(ast.Assign):
        target = program.name_of(node.targets[0])
        if target.endswith("cudnn.deterministic") and program.values.is_true(node.value):
            yield Finding(node.lineno, "torch.manual_seed(0)  # and random.seed(0), numpy.random.seed(0)")
            return


# --- threads


@rule("code.autocast-in-other-thread")
def autocast_in_other_thread(program: Program) -> Iterator[Finding]:
    """Autocast holds for the thread that enters it: a forward pass in another one runs in fp32."""
    for block in program.nodes.of_kind(ast.With):
        if not any(is_autocast(program, item.context_expr) for item in block.items):
            continue
        for call in program.calls_in(block):
            target = started(program, call)
            if target is not None and runs_model(program, target):
                yield Finding(
                    block.lineno,
                    f"with the same autocast inside {target.name}()",
                    {"how": f"{target.name}() runs in a thread of its own"},
                    also=sorted({call.lineno, target.lineno} - {block.lineno}),
                )
            elif program.makers.made_by(call.func) == "DataParallel" or is_parallel(program, call):
                if own_autocast(program, call):
                    continue
                yield Finding(
                    call.lineno,
                    "torch.autocast inside forward(), for DataParallel runs each copy in a thread of its own",
                    {"how": "DataParallel runs each copy of the model in a thread of its own"},
                    also=sorted({block.lineno} - {call.lineno}),
                )


def started(program: Program, call: ast.Call) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that `Thread(target=f)`, `pool.submit(f, x)`, `pool.map(f, xs)` runs elsewhere."""
    given = keyword_of(call, "target") if name_called(call) == "Thread" else None
    if name_called(call) in ("submit", "map") and isinstance(call.func, ast.Attribute) and call.args:
        made = program.makers.made_by(receiver_of(call))
        held = source_of(receiver_of(call)).lower()
        given = call.args[0] if "ThreadPool" in made or "pool" in held or "executor" in held else None
    name = given.id if isinstance(given, ast.Name) else ""
    found = program.functions_by_name.get(name, [])
    return found[0] if len(found) == 1 and isinstance(found[0], Function) else None


def runs_model(program: Program, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    calls = program.calls_in(function)
    if any(is_autocast(program, each) for each in calls):
        return False
    return any(program.objects.event_of(each)[0] == "forward" for each in calls)


def is_parallel(program: Program, call: ast.Call) -> bool:
    """A call of a model that DataParallel wraps."""
    if not isinstance(call.func, ast.Name):
        return False
    return any(
        isinstance(each.value, ast.Call) and name_called(each.value) == "DataParallel"
        for each in program.names.all_given(call.func)
    )


def own_autocast(program: Program, call: ast.Call) -> bool:
    """The model's forward() enters autocast by itself, or is not seen."""
    forward = program.makers.forward_run(call)
    if forward is None:
        return True
    decorated = any("autocast" in source_of(each) for each in forward.decorator_list)
    return (
        decorated
        or any(is_autocast(program, each) for each in program.calls_in(forward))
        or not program.returns_of(forward)
    )
