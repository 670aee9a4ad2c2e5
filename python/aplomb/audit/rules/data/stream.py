"""Rules about how samples reach the loop: pairs that fall apart, streams that run out, one batch again and again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ...findings import Finding, rule
from ...program.data import is_of_held_out
from ...program.program import Program
from ...program.syntax import Function, dotted, keyword_of, last_name, name_called, names_in, receiver_of, source_of

MASKS = re.compile(r"mask|label|target|seg|gt|depth|annot|truth|lbl|(^|_)y($|_)|clean|hr$")
DRAWING = ("random.", "torch.rand", "numpy.random", "np.random", "torch.randint", "torch.bernoulli")
GEOMETRIC = re.compile(
    r"^Random(ResizedCrop|Crop|HorizontalFlip|VerticalFlip|Rotation|Affine|Perspective|Resize)|^ElasticTransform$"
)
SEEDING = ("manual_seed", "set_rng_state", "seed", "setstate", "set_state", "get_params")
MOST_COMPOSED = 8  # compositions of compositions
UNSORTED = ("glob", "iglob", "rglob", "listdir", "scandir", "iterdir")


# --- image and mask


@rule("code.augmented-apart")
def augmented_apart(program: Program) -> Iterator[Finding]:
    """An image and its mask go through one random transform in two calls: each is moved in a way of its own."""
    for function in program.functions:
        if any(name_called(each) in SEEDING for each in program.calls_in(function)):
            continue
        calls: dict[str, list[ast.Call]] = {}
        for call in program.own_nodes(function):
            if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords and dotted(call.func):
                calls.setdefault(source_of(call.func), []).append(call)
        for text, found in calls.items():
            masks = [each for each in found if is_mask(program, each)]
            images = [each for each in found if not is_mask(program, each)]
            if not masks or not images or not moves_at_random(program, found[0]):
                continue
            other = masks[-1]
            yield Finding(
                other.lineno,
                "img, mask = both(img, mask)  # one draw for the two",
                {"transform": text},
                also=sorted({images[0].lineno} - {other.lineno}),
            )
            break


@rule("code.moves-drawn-apart")
def moves_drawn_apart(program: Program) -> Iterator[Finding]:
    """An image and its mask go through two pipelines, each of which draws its own crops and flips."""
    for function in program.functions:
        if any(name_called(each) in SEEDING for each in program.calls_in(function)):
            continue
        calls = [
            call
            for call in program.own_nodes(function)
            if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords and dotted(call.func)
        ]
        masks = [each for each in calls if is_mask(program, each) and moves_of(program, each)]
        images = [each for each in calls if not is_mask(program, each) and moves_of(program, each)]
        for mask in masks:
            moves = moves_of(program, mask)
            for image in images:
                if source_of(image.func) != source_of(mask.func) and moves & moves_of(program, image):
                    made = min(line for _, line in moves)
                    yield Finding(
                        mask.lineno,
                        "img, mask = both(img, mask)  # one draw for the two (torchvision.transforms.v2)",
                        {"image": source_of(image.func), "mask": source_of(mask.func), "move": min(moves)[0]},
                        also=sorted({image.lineno, made} - {mask.lineno}),
                    )
                    return


class Moves(frozenset[tuple[str, int]]):
    """(`RandomCrop`, line) of a pipeline; two have one in common by its name."""

    def __and__(self, other: object) -> frozenset[tuple[str, int]]:
        names = {name for name, _ in other} if isinstance(other, Moves) else set()
        return frozenset(each for each in self if each[0] in names)


def moves_of(program: Program, call: ast.Call) -> Moves:
    """The random moves of torchvision's in the pipeline that is called."""
    found: set[tuple[str, int]] = set()
    if not isinstance(call.func, (ast.Name, ast.Attribute)):
        return Moves()
    given: list[ast.AST] = [each.value for each in program.names.all_given(call.func) if each.value is not None]
    for made in [*given, *(origin.node for origin in program.names.origins(call.func))]:
        if isinstance(made, ast.Call) and name_called(made) in ("Compose", "Sequential"):
            found |= {
                (name_called(each), each.lineno)
                for each in ast.walk(made)
                if isinstance(each, ast.Call) and GEOMETRIC.search(name_called(each))
            }
    return Moves(found)


def is_mask(program: Program, call: ast.Call) -> bool:
    return any(MASKS.search(each) for each in (last_name(one).lower() for one in ast.walk(call.args[0])) if each)


def moves_at_random(program: Program, call: ast.Call) -> bool:
    """What is called draws random numbers: a function or class of this file, or a composition of random moves."""
    function = program.objects.function_run(call)
    if function is None and isinstance(call.func, (ast.Name, ast.Attribute)):
        return any(makes_random_move(program, origin.node) for origin in program.names.origins(call.func))
    return function is not None and draws_and_moves(program, function)


def makes_random_move(program: Program, made: ast.AST, depth: int = 0) -> bool:
    """A transform of a class of this file that draws, one of torchvision's, or a composition that holds one."""
    if not isinstance(made, ast.Call) or depth > MOST_COMPOSED:
        return False
    owner = program.makers.class_made(made)
    method = (
        program.makers.method(owner, "__call__") or program.makers.method(owner, "forward") if owner is not None else None
    )
    if method is not None and draws_and_moves(program, method):
        return True
    if owner is None and GEOMETRIC.search(name_called(made)):
        return True
    inner = [one for each in made.args for one in (each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each])]
    composes = name_called(made) in ("Compose", "Sequential") or owner is not None
    return composes and any(makes_random_move(program, program.names.origin(each).node, depth + 1) for each in inner)


def draws_and_moves(program: Program, function: ast.AST) -> bool:
    words = source_of(function)
    drawn = any(program.name_of(each.func).startswith(DRAWING) for each in program.calls_in(function)) or "rng." in words
    moved = any(
        word in words
        for word in (
            "flip",
            "rot90",
            "roll",
            "rotate",
            "crop",
            "shift",
            "affine",
            "transpose",
            "[::-1]",
            "::-1",
            "warp",
            "grid_sample",
            "hflip",
        )
    )
    return drawn and moved


#: What stands at places of an image and has to move with it.
PLACED = re.compile(r"mask|(^|_)seg(s|mentation)?($|_)|box|keypoint|(^|_)(kps|kpts)($|_)|landmark|heatmap|polygon")
#: Changes of form, after which a mask stands where it stood.
STAYING = re.compile(r"^(from_numpy|(as_)?tensor|float|long|unsqueeze|squeeze|array|asarray|astype|to|Tensor|LongTensor|"
                     r"FloatTensor|copy|clone|contiguous|ascontiguousarray|len|bool|sum|any|max|stack|permute|"
                     r"BoundingBoxes|Mask|int|print|type|view|reshape|ones|zeros|full|append|Image)$")  # fmt: skip
TURNING = re.compile(r"flip|rot90|rotate|\[::-1\]|::-1|fliplr|flipud")


@rule("code.mask-left-behind")
def mask_left_behind(program: Program) -> Iterator[Finding]:
    """The image is flipped or turned at random, and its mask (boxes, keypoints) is given as it was."""
    for function in program.functions:
        owner = program.names.class_of(function)
        if owner is not None and program.makers.is_module_class(owner):
            continue  # a network that masks what it reads
        images, masks = given_together(program, function)
        if not images or not masks or any(may_move(program, each, masks) for each in program.calls_in(function)):
            continue
        moved = next((each for each in program.nodes.below(function) if moves_alone(program, each, images, masks)), None)
        if moved is not None:
            mask = sorted(masks)[0]
            line = getattr(moved, "lineno", function.lineno)
            corrected = f"{sorted(images)[0]}, {mask} = both({sorted(images)[0]}, {mask})  # one draw for the two"
            yield Finding(line, corrected, {"mask": mask}, also=[function.lineno])


def given_together(program: Program, function: ast.AST) -> tuple[set[str], set[str]]:
    """The names of images and of what is placed on them that a function returns as one sample."""
    images: set[str] = set()
    masks: set[str] = set()
    for value in program.returns_of(function):
        parts = value.elts if isinstance(value, ast.Tuple) else value.values if isinstance(value, ast.Dict) else []
        for part in parts if len(parts) > 1 else []:
            names = {each.id for each in ast.walk(part) if isinstance(each, ast.Name)} - {"self", "torch", "np", "F", "TF"}
            origin = program.names.origin(part, through_calls=False).node
            keys = origin.keys if isinstance(origin, ast.Dict) else []
            held = [source_of(each).strip("'\"") for each in keys if each is not None]
            placed = {each for each in names if PLACED.search(each.lower())}
            if placed or any(PLACED.search(each) for each in held):
                masks |= placed or names
            else:
                images |= names
    return images - masks, masks


def mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def may_move(program: Program, call: ast.Call, masks: set[str]) -> bool:
    """The mask goes through something that may turn it, as far as can be seen."""
    given = [*call.args, *(each.value for each in call.keywords)]
    if isinstance(call.func, ast.Attribute) and mentions(call.func.value, masks):
        given.append(call.func.value)
    if not any(mentions(each, masks) for each in given) or STAYING.search(name_called(call)):
        return False
    made = program.names.origin(call.func).node if isinstance(call.func, (ast.Name, ast.Attribute)) else None
    return not (isinstance(made, ast.Call) and made is not call and not moves_at_random(program, call))


def moves_alone(program: Program, node: ast.AST, images: set[str], masks: set[str]) -> bool:
    """`img = self.transform(img)` of random moves; `if random.random() < 0.5: img = img.flip(-1)`."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords and dotted(node.func):
        statement = program.statement_of(node)
        both = isinstance(statement, ast.Assign) and any(mentions(each, masks) for each in statement.targets)
        return not both and mentions(node.args[0], images) and moves_at_random(program, node)
    if not isinstance(node, ast.If) or mentions(node, masks):
        return False
    drawn = any(program.name_of(each.func).startswith(DRAWING) for each in ast.walk(node.test) if isinstance(each, ast.Call))
    return drawn and any(
        isinstance(each, ast.Assign) and mentions(each.targets[0], images) and TURNING.search(source_of(each.value))
        for each in node.body
    )


@rule("code.pairs-listed-apart")
def pairs_listed_apart(program: Program) -> Iterator[Finding]:
    """Two listings of files are paired by their place, and neither is sorted: listings have no order."""
    for call in program.calls_to("zip"):
        if len(call.args) == 2 and all(unsorted_listing(program, each) for each in call.args):
            yield Finding(
                call.lineno,
                f"zip(sorted({source_of(call.args[0])}), sorted({source_of(call.args[1])}))",
                {"pairs": source_of(call)[:60]},
            )
            return
    for function in program.functions:
        if function.name != "__getitem__" or len(function.args.args) < 2:
            continue
        place = function.args.args[1].arg
        held = [
            each.value
            for each in program.own_nodes(function)
            if isinstance(each, ast.Subscript) and source_of(each.slice) == place
        ]
        listed = {source_of(each): each for each in held if unsorted_listing(program, each)}
        if len(listed) >= 2:
            first, second = list(listed)[:2]
            made = program.names.given(listed[first])
            line = made.line if made is not None else function.lineno
            yield Finding(
                line,
                f"{first} = sorted(...); {second} = sorted(...)",
                {"pairs": f"{first}, {second}"},
                also=[function.lineno],
            )


def unsorted_listing(program: Program, node: ast.AST) -> bool:
    bindings = program.names.all_given(node)
    if (
        any(
            name_called(call) == "sort" and source_of(receiver_of(call)) == source_of(node)
            for call in program.calls_to("sort")
        )
        or len(bindings) > 1
    ):
        return False
    origin = program.names.origin(node).node
    if isinstance(origin, ast.ListComp) and len(origin.generators) == 1:
        origin = origin.generators[0].iter
    while name_called(origin) in ("list", "tuple") and isinstance(origin, ast.Call) and origin.args:
        origin = origin.args[0]
    return name_called(origin) in UNSORTED


# --- streams


@rule("code.stream-runs-out")
def stream_runs_out(program: Program) -> Iterator[Finding]:
    """A generator, zip() or iter() made before the epochs: after the first pass it is empty, and later passes train on
    nothing."""
    for loop in program.nodes.of_kind(ast.For):
        outer = [each for each in program.loops_of(loop) if isinstance(each, ast.For)]
        given = loop.iter
        while isinstance(given, ast.Call) and name_called(given) in ("enumerate", "tqdm") and given.args:
            given = given.args[0]
        if not outer or not isinstance(given, ast.Name):
            continue
        bindings = [each for each in program.names.all_given(given)]
        if len(bindings) != 1 or bindings[0].how != "assigned" or bindings[0].path or bindings[0].value is None:
            continue
        made = bindings[0].value
        is_stream = isinstance(made, ast.GeneratorExp) or (
            isinstance(made, ast.Call)
            and isinstance(made.func, ast.Name)
            and made.func.id in ("zip", "map", "filter", "iter", "enumerate", "reversed")
        )
        is_stream = is_stream or is_generator_call(program, made)
        inside = program.nodes.encloses(outer[0], bindings[0].node)
        trains = any(program.objects.event_of(each)[0] in ("backward", "step") for each in program.calls_in(loop))
        leaves = any(isinstance(each, (ast.Break, ast.Return)) for each in program.own_nodes(loop))
        if (
            is_stream
            and not inside
            and trains
            and not leaves
            and bindings[0].scope is program.names.scope_of(loop)
            and not program.loops_of(bindings[0].node)
        ):
            yield Finding(
                bindings[0].line,
                f"for {source_of(loop.target)} in {source_of(made)}:  # made anew in each pass",
                {"stream": given.id},
                also=[loop.lineno],
            )


def is_generator_call(program: Program, made: ast.AST) -> bool:
    """A call of a function of this file that yields and comes to an end."""
    function = program.names.function_called(made) if isinstance(made, ast.Call) else None
    if function is None:
        return False
    yields = any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in program.own_nodes(function))
    endless = any(isinstance(each, ast.While) for each in program.own_nodes(function))
    return yields and not endless


@rule("code.first-batch-again")
def first_batch_again(program: Program) -> Iterator[Finding]:
    """`next(iter(loader))` in the loop starts the loader anew each time: always the first batch, or the workers start at
    each step."""
    for call in program.calls_to("next"):
        if not call.args or not isinstance(call.func, ast.Name):
            continue
        inner = call.args[0]
        if name_called(inner) != "iter" or not isinstance(inner, ast.Call) or not inner.args:
            continue
        loops = program.loops_of(call)
        if not loops or not any(program.objects.event_of(each)[0] == "backward" for each in program.calls_in(loops[0])):
            continue
        if not uses_in_training(program, call, loops[0]):
            continue
        made = program.makers.call_of(inner.args[0])
        if made is None or program.makers.class_name(made) != "DataLoader":
            continue
        shuffle = keyword_of(made, "shuffle")
        sampled = keyword_of(made, "sampler") is not None or keyword_of(made, "batch_sampler") is not None
        fixed = (shuffle is None or program.values.is_false(shuffle)) and not sampled
        what = "the first batch again" if fixed else "all workers started, for one batch"
        yield Finding(
            call.lineno,
            f"batches = itertools.cycle(...)  # or: for batch in {source_of(inner.args[0])}",
            {"what": what},
            sure=fixed,
            also=[made.lineno],
        )


def uses_in_training(program: Program, call: ast.Call, loop: ast.AST) -> bool:
    """What is drawn goes into the training step, and not under an `if` that evaluates."""
    return not program.is_conditional(call, loop)


@rule("code.seeded-each-step")
def seeded_each_step(program: Program) -> Iterator[Finding]:
    """The generator of random numbers is set to one constant in each step (or sample): noise, dropout and augmentation are
    the same every time."""
    for call in program.calls_to("manual_seed", "seed", "seed_everything", "set_seed"):
        full = program.name_of(call.func)
        if full not in (
            "torch.manual_seed",
            "random.seed",
            "numpy.random.seed",
            "torch.cuda.manual_seed_all",
        ) and not full.endswith(("seed_everything", "set_seed")):
            continue
        function = program.function_of(call)
        loops = program.loops_of(call)
        name = getattr(function, "name", "")
        trains = any(
            program.objects.event_of(each)[0] == "backward" for loop in loops[:1] for each in program.calls_in(loop)
        )
        inside = trains and not program.is_conditional(call, loops[0])
        sample = name in ("__getitem__", "forward", "training_step", "__iter__") and isinstance(function, Function)
        if not (inside or sample) or not call.args or (sample and program.is_conditional(call, function)):
            continue
        if name == "__iter__" or not is_constant_seed(program, call.args[0], loops, function):
            continue
        if len(loops) > 1 and not any(
            program.objects.event_of(each)[0] == "backward" for each in program.calls_in(loops[0])
        ):
            continue
        if sample and any(
            name_called(each) in ("set_rng_state", "setstate", "fork_rng") for each in program.calls_in(function)
        ):
            continue
        yield Finding(call.lineno, "# once, before the loop", {"seed": source_of(call)[:60]})


def is_constant_seed(program: Program, seed: ast.expr, loops: Sequence[ast.AST], function: ast.AST) -> bool:
    changing = {name for loop in loops if isinstance(loop, ast.For) for name in names_in(loop.target)}
    if isinstance(function, Function):
        changing |= {each.arg for each in function.args.args if each.arg not in ("self", "seed")}
    own = names_in(seed) | {each.attr for each in ast.walk(seed) if isinstance(each, ast.Attribute)}
    counted = any(
        binding.how == "added"
        for each in ast.walk(seed)
        if isinstance(each, ast.Name)
        for binding in program.names.all_given(each)
    )
    return not own & changing and not counted and not any(isinstance(each, ast.Call) for each in ast.walk(seed))


# --- numbers for words


@rule("code.ids-from-a-set")
def ids_from_a_set(program: Program) -> Iterator[Finding]:
    """Numbers are given to words (or classes) in the order of a set: another order in each process, and the checkpoint
    fits one of them."""
    if not program.names_called & {"save", "save_pretrained", "load_state_dict"}:
        return
    for node in program.nodes.of_kind(ast.DictComp):
        held = node.generators[0].iter
        if (
            name_called(held) != "enumerate"
            or not isinstance(held, ast.Call)
            or not held.args
            or isinstance(node.key, ast.Constant)
        ):
            continue
        counted = node.generators[0].target
        if not isinstance(counted, ast.Tuple) or source_of(node.value) != source_of(counted.elts[0]):
            continue
        order = program.names.origin(held.args[0]).node
        if name_called(order) in ("list", "tuple") and isinstance(order, ast.Call) and order.args:
            order = program.names.origin(order.args[0]).node
        if not is_set(order) or is_written(program, node):
            continue
        yield Finding(node.lineno, f"enumerate(sorted({source_of(held.args[0])}))", {"order": source_of(held.args[0])[:60]})


def is_set(node: ast.AST) -> bool:
    if isinstance(node, (ast.Set, ast.SetComp)):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")


def is_written(program: Program, node: ast.AST) -> bool:
    """The mapping is saved with the weights."""
    statement = program.statement_of(node)
    name = source_of(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    for call in program.calls_to("save", "dump", "dumps"):
        if name and any(
            name.split(".")[-1] in source_of(each) for each in [*call.args, *(one.value for one in call.keywords)]
        ):
            return True
    return False


@rule("code.transform-of-both-parts")
def transform_of_both_parts(program: Program) -> Iterator[Finding]:
    """`val.dataset.transform = ...` after random_split(): both parts share one dataset, and now one transform."""
    parts: dict[str, ast.Call] = {}
    for call in program.calls_to("random_split"):
        statement = program.statement_of(call)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            parts.update({source_of(each): call for each in statement.targets[0].elts})
    for node in program.nodes.of_kind(ast.Assign):
        target = node.targets[0]
        if (
            isinstance(target, ast.Attribute)
            and "transform" in target.attr
            and isinstance(target.value, ast.Attribute)
            and target.value.attr == "dataset"
        ):
            split = parts.get(source_of(target.value.value))
            others = [each for each in parts if each != source_of(target.value.value)]
            if split is not None and others and not copied(program, node):
                yield Finding(
                    node.lineno,
                    f"{source_of(target.value.value)}.dataset = copy.copy({source_of(target.value)})  # before it",
                    {"other": others[0]},
                    also=[split.lineno],
                )
                return


RANDOM_TRANSFORMS = (
    "RandomResizedCrop", "RandomHorizontalFlip", "RandomVerticalFlip", "RandomCrop", "RandomRotation", "RandomAffine",
    "ColorJitter", "RandAugment", "AutoAugment", "TrivialAugmentWide", "RandomErasing", "RandomPerspective", "AugMix",
    "HorizontalFlip", "RandomBrightnessContrast", "ShiftScaleRotate",
)  # fmt: skip


@rule("code.held-out-augmented")
def held_out_augmented(program: Program) -> Iterator[Finding]:
    """Held-out images go through the random crops and flips of training."""
    if not program.names_called & set(RANDOM_TRANSFORMS):
        return
    for call in program.calls:
        statement = program.statement_of(call)
        given = [*call.args, *(each.value for each in call.keywords)]
        drawn = next((place for each in given if (place := random_transform(program, each)) is not None), None)
        if drawn is not None and isinstance(statement, ast.Assign) and is_held_out_set(program, call, statement):
            yield Finding(call.lineno, "", {"drawn": name_called(drawn)}, also=sorted({drawn.lineno} - {call.lineno}))
            return
    for written in program.nodes.of_kind(ast.Dict):
        keyed = {key.value: value for key, value in zip(written.keys, written.values) if isinstance(key, ast.Constant)}
        for name, value in keyed.items() if any(str(key).startswith("train") for key in keyed) else ():
            drawn = random_transform(program, value) if is_of_held_out(str(name)) else None
            if drawn is not None:
                yield Finding(value.lineno, "", {"drawn": name_called(drawn)}, also=sorted({drawn.lineno} - {value.lineno}))
                return
    for split in program.calls_to("random_split"):
        made = program.names.origin(split.args[0]).node if split.args else None
        given = [*made.args, *(each.value for each in made.keywords)] if isinstance(made, ast.Call) else []
        drawn = next((place for each in given if (place := random_transform(program, each)) is not None), None)
        changed = any(
            isinstance(each.targets[0], ast.Attribute)
            and "transform" in each.targets[0].attr
            and not is_in_init(program, each)
            for each in program.nodes.of_kind(ast.Assign)
        )
        if drawn is not None and not changed and isinstance(program.statement_of(split), ast.Assign):
            yield Finding(
                split.lineno, "", {"drawn": name_called(drawn)}, sure=False, also=sorted({drawn.lineno} - {split.lineno})
            )
            return


def is_in_init(program: Program, node: ast.AST) -> bool:
    return getattr(program.function_of(node), "name", "") == "__init__"


def random_transform(program: Program, node: ast.expr) -> ast.Call | None:
    """The first that draws in what `Compose([...])` was given."""
    made = program.names.origin(node).node
    if not isinstance(made, ast.Call) or name_called(made) not in ("Compose", "Sequential"):
        return None
    calls = [each for each in ast.walk(made) if isinstance(each, ast.Call)]
    return next((each for each in calls if name_called(each) in RANDOM_TRANSFORMS), None)


def is_held_out_set(program: Program, call: ast.Call, statement: ast.Assign) -> bool:
    """`val = ImageFolder(...)`, `CIFAR10(train=False)`, `split="test"`."""
    name = name_called(call)
    if not name[:1].isupper() or name in ("Compose", "Subset", "DataLoader") or name.endswith(("Loader", "Trainer")):
        return False
    train, split = keyword_of(call, "train"), keyword_of(call, "split")
    if train is not None and program.values.is_true(train):
        return False
    if train is not None and program.values.is_false(train):
        return True
    if split is not None and program.values.text(split) in ("test", "val", "valid", "validation"):
        return True
    pairs = named_values(statement)
    return any(value is call and is_of_held_out(last_name(target)) for target, value in pairs)


def named_values(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts))
    return [(target, value)]


def copied(program: Program, node: ast.Assign) -> bool:
    text = source_of(node.targets[0]).rsplit(".", 1)[0]
    return any(any(source_of(target) == text for target in each.targets) for each in program.nodes.of_kind(ast.Assign))
