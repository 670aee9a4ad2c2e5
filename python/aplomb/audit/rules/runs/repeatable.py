"""Rules about what two runs of one program have in common: seeds, and kernels that are picked anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, line_of

#: What seeds a generator, by the generator; one of `all` seeds each of them.
SEEDS_ALL = ("seed_everything", "set_seed", "enable_full_determinism", "seed_all", "set_global_seed", "fix_seed")
DRAWS = (
    "rand", "randn", "randint", "random", "choice", "choices", "shuffle", "permutation", "uniform", "normal", "sample",
    "randrange", "gauss", "beta", "binomial", "poisson", "standard_normal", "random_sample",
)  # fmt: skip


def seeds_itself(program: Program) -> bool:
    """Something of another name takes a seed, or is called so: `Trainer(seed=1)`, `fix_seeds(0)`, `--seed`."""
    words = {each.arg for call in program.calls for each in call.keywords if each.arg}
    return any("seed" in each.lower() for each in words | program.names_called | set(program.aliases))


def runs_under_trainer(program: Program) -> bool:
    """A Trainer seeds by itself (Transformers: 42)."""
    return any(name.endswith("Trainer") or name in ("fit", "LightningCLI") for name in program.names_called)


@rule("code.never-seeded")
def never_seeded(program: Program) -> Iterator[Finding]:
    """A loop that trains, a model that is made anew, and no seed anywhere."""
    if not program.trains or seeds_itself(program) or runs_under_trainer(program) or asks_for_repetition(program):
        return
    made = program.objects.optimizers_made()
    loops = program.training_loops
    if made and loops:
        yield Finding(made[0][0].lineno, "torch.manual_seed(0)  # random.seed(0), numpy.random.seed(0), before the model")


def asks_for_repetition(program: Program) -> bool:
    """Another rule says more."""
    if "use_deterministic_algorithms" in program.names_called:
        return True
    return any(
        program.name_of(node.targets[0]).endswith("cudnn.deterministic") for node in program.nodes.of_kind(ast.Assign)
    )


@rule("code.seeded-in-part")
def seeded_in_part(program: Program) -> Iterator[Finding]:
    """torch is seeded, and the program draws from numpy's or Python's generator as well."""
    names = {program.name_of(call.func) for call in program.calls}
    if "torch.manual_seed" not in names or not program.trains or program.names_called & set(SEEDS_ALL):
        return
    for module, seed in (("numpy.random", "numpy.random.seed"), ("random", "random.seed")):
        if seed in names or any(each.startswith(module) and "seed" in each for each in names):
            continue
        for call in program.calls:
            full = program.name_of(call.func).replace("np.random", "numpy.random", 1)
            if full.rpartition(".")[0] == module and full.rpartition(".")[2] in DRAWS:
                yield Finding(call.lineno, f"{seed}(0)  # beside torch.manual_seed()", {"generator": module})
                break


@rule("code.benchmark-with-deterministic")
def benchmark_with_deterministic(program: Program) -> Iterator[Finding]:
    """cuDNN is to be deterministic, and to time its kernels at each start: the fastest is another one now and then."""
    switches: dict[str, ast.Assign] = {}
    for node in program.nodes.of_kind(ast.Assign):
        name = program.name_of(node.targets[0])
        for each in ("cudnn.deterministic", "cudnn.benchmark"):
            if name.endswith(each) and not program.is_conditional(node, program.function_of(node)):
                switches[each] = node
    on = {name for name, node in switches.items() if program.values.is_true(node.value)}
    demanded = [
        call
        for call in program.calls_to("use_deterministic_algorithms")
        if program.values.is_true(call.args[0] if call.args else keyword_of(call, "mode"))
    ]
    if "cudnn.benchmark" in on and ("cudnn.deterministic" in on or demanded):
        other = switches["cudnn.deterministic"] if "cudnn.deterministic" in on else demanded[0]
        yield Finding(
            switches["cudnn.benchmark"].lineno, "torch.backends.cudnn.benchmark = False", also=[line_of(other)]
        )
