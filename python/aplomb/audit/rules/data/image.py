"""Rules about images on their way to a network: from pixels in bytes to tensors of the size that a network is made for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.data import data_of
from ...program.program import Program
from ...program.syntax import keyword_of, last_name, name_called, source_of, unstarred

TENSORS = ("ToTensor", "ToImage", "PILToTensor", "ToImageTensor", "ToPureTensor")
#: Of torchvision: data sets that give images of Pillow.
PICTURES = (
    "ImageFolder", "CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "KMNIST", "EMNIST", "SVHN", "STL10", "Food101",
    "Flowers102", "OxfordIIITPet", "StanfordCars", "ImageNet", "GTSRB", "DTD", "EuroSAT", "Caltech101",
)  # fmt: skip
IN_MEMORY = ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "CIFAR10", "CIFAR100", "SVHN", "STL10")
#: What takes an image of Pillow and gives one.
OF_PICTURES = (
    "Resize", "RandomCrop", "CenterCrop", "RandomResizedCrop", "RandomHorizontalFlip", "RandomVerticalFlip",
    "RandomRotation", "ColorJitter", "Grayscale", "Pad", "RandomAffine", "RandomGrayscale", "RandAugment", "AutoAugment",
    "TrivialAugmentWide", "RandomPerspective", "GaussianBlur", "Normalize",
)  # fmt: skip


def is_of_torchvision(program: Program, call: ast.Call) -> bool:
    return program.name_of(call.func).startswith("torchvision.")


def parts_composed(program: Program, call: ast.Call) -> list[ast.Call]:
    """The transforms of torchvision in `Compose([...])`; none where one of them is not known."""
    listed = program.names.origin(call.args[0]).node if call.args else None
    parts = unstarred(listed) if isinstance(listed, ast.expr) else None
    found = [program.names.origin(each).node for each in parts or []]
    known = [each for each in found if isinstance(each, ast.Call) and is_of_torchvision(program, each)]
    return known if len(known) == len(found) else []


@rule("code.normalised-before-tensor")
def normalised_before_tensor(program: Program) -> Iterator[Finding]:
    """Compose([..., Normalize(), ToTensor()]): Normalize() takes tensors, and is given an image."""
    for call in program.calls_to("Compose"):
        names = [name_called(each) for each in parts_composed(program, call)]
        makers = [at for at, name in enumerate(names) if name in TENSORS]
        if "Normalize" in names and makers and names.index("Normalize") < makers[0]:
            parts = parts_composed(program, call)
            wrong = parts[names.index("Normalize")]
            corrected = f"{source_of(parts[makers[0]])}, {source_of(wrong)}"
            yield Finding(wrong.lineno, corrected, also=sorted({call.lineno, parts[makers[0]].lineno} - {wrong.lineno}))


@rule("code.images-not-tensors")
def images_not_tensors(program: Program) -> Iterator[Finding]:
    """A data set of torchvision gives images of Pillow to a loader that can only put tensors together."""
    if any(isinstance(each.ctx, ast.Store) and "transform" in each.attr for each in program.nodes.of_kind(ast.Attribute)):
        return
    for loader in program.calls_to("DataLoader"):
        given = data_of(loader)
        made = program.names.origin(given).node if given is not None else None
        if keyword_of(loader, "collate_fn") is not None or len(loader.args) > 6 or not isinstance(made, ast.Call):
            continue
        if (
            name_called(made) not in PICTURES
            or not is_of_torchvision(program, made)
            or any(each.arg in (None, "transforms", "loader") for each in made.keywords)
        ):
            continue
        found = left_as_picture(program, made)
        if found is not None:
            corrected = "transforms.ToTensor()  # as the last one, before Normalize()"
            yield Finding(found.lineno, corrected, also=sorted({loader.lineno, made.lineno} - {found.lineno}))


def left_as_picture(program: Program, made: ast.Call) -> ast.Call | None:
    """The transforms of a data set, none of which makes a tensor; the call itself where it has none."""
    given = keyword_of(made, "transform")
    if given is None:
        return made if len(made.args) < 2 else None
    composed = program.names.origin(given).node
    if not isinstance(composed, ast.Call):
        return None
    alone = name_called(composed) in OF_PICTURES and is_of_torchvision(program, composed)
    parts = [composed] if alone else parts_composed(program, composed) if name_called(composed) == "Compose" else []
    return composed if parts and all(name_called(each) in OF_PICTURES for each in parts) else None


# --- bytes


READS = ("imread", "read_image", "decode_image", "decode_jpeg", "decode_png")
SAME = (
    "resize", "cvtColor", "flip", "transpose", "ascontiguousarray", "from_numpy", "as_tensor", "expand_dims", "permute",
    "unsqueeze", "squeeze", "contiguous", "copy", "reshape", "view", "flatten", "cuda", "clone", "moveaxis", "swapaxes",
    "fliplr", "flipud", "stack",
)  # fmt: skip
IMAGES = ("image", "img", "images", "x", "pixel_values", "input", "inputs", "data")
OF_PILLOW = ("convert", "resize", "crop", "rotate", "transpose", "thumbnail")
FLOATS = ("float32", "float", "float64", "torch.float32", "torch.float", "numpy.float32", "np.float32", "torch.float64")
#: Numbers that bytes are divided or shifted by, and what does it by itself.
SCALES = (255, 127.5, 128, 256, 127)
SCALING = (
    "Normalize", "normalize", "ToTensor", "to_tensor", "ToDtype", "ConvertImageDtype", "convert_image_dtype",
    "img_as_float", "standardize", "fit_transform", "rescale", "to_image", "MinMaxScaler", "StandardScaler", "ToTensorV2",
)  # fmt: skip


@rule("code.bytes-not-scaled")
def bytes_not_scaled(program: Program) -> Iterator[Finding]:
    """Pixels from 0 to 255 become floating point numbers, and go into the network as they are."""
    if not program.names_called & {"backward", "fit", "training_step"} or program.names_called & set(SCALING):
        return
    if scales_somewhere(program):
        return
    for value in inputs(program):
        if kind_of(program, value, 0) == "floats":
            yield Finding(value.lineno, f"{source_of(value)[:80]} / 255")
            return


def scales_somewhere(program: Program) -> bool:
    """The program knows the size of a byte, standardises by a mean, or begins with a layer that does."""
    numbers = any(
        isinstance(each.value, (int, float)) and abs(each.value) in SCALES for each in program.nodes.of_kind(ast.Constant)
    )
    layers = any(
        each.args and program.values.number(each.args[0]) in (1, 3)
        for each in program.calls_to("BatchNorm2d", "InstanceNorm2d")
    )
    words = any(
        any(word in each.id.lower() for word in ("processor", "preprocess", "normali", "extractor"))
        for each in program.nodes.of_kind(ast.Name)
    )
    return numbers or layers or words or bool(program.names_called & {"std", "from_pretrained", "preprocess"})


def inputs(program: Program) -> Iterator[ast.expr]:
    """What a data set gives first, what TensorDataset() is given first, and what models are asked about."""
    for function in program.functions:
        if function.name == "__getitem__":
            yield from (first_of(each) for each in program.returns_of(function))
    for call in program.calls_to("TensorDataset"):
        yield from call.args[:1]
    for call in program.calls:
        if call.args and program.objects.event_of(call)[0] == "forward":
            yield call.args[0]


def first_of(value: ast.expr) -> ast.expr:
    if isinstance(value, ast.Dict):
        keyed = [(key.value, each) for key, each in zip(value.keys, value.values) if isinstance(key, ast.Constant)]
        named = [each for key, each in keyed if key in IMAGES]
        return named[0] if named else value
    return value.elts[0] if isinstance(value, (ast.Tuple, ast.List)) and value.elts else value


def kind_of(program: Program, node: ast.expr, depth: int) -> str:
    """`bytes` of pixels that were read, `floats` of such that were only cast; empty where something else was done."""
    if depth > 24:
        return ""
    if isinstance(node, ast.Call):
        return kind_of_call(program, node, depth + 1)
    if isinstance(node, ast.Subscript):
        return kind_of(program, node.value, depth + 1) if not isinstance(program.values.of(node.slice), str) else ""
    if isinstance(node, ast.Attribute) and node.attr in ("data", "train_data", "T"):
        made = program.names.origin(node.value).node
        if isinstance(made, ast.Call) and name_called(made) in IN_MEMORY and is_of_torchvision(program, made):
            return "bytes"
    binding = program.names.given(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
    if binding is None or binding.how != "assigned" or binding.path or binding.value is None:
        return ""
    return "" if program.is_conditional(binding.node, binding.scope) else kind_of(program, binding.value, depth + 1)


def kind_of_call(program: Program, call: ast.Call, depth: int) -> str:
    name, full = name_called(call), program.name_of(call.func)
    library = full.split(".")[0] in ("torch", "np", "numpy", "cv2", "torchvision", "imageio", "skimage")
    if name in READS and (library or full.startswith("io.")):
        return "bytes"
    held = call.args[0] if (library or not isinstance(call.func, ast.Attribute)) and call.args else None
    held = call.func.value if held is None and isinstance(call.func, ast.Attribute) else held
    if held is None:
        return ""
    as_float = is_float(program, call)
    if name in ("array", "asarray") and is_picture(program, held, 0):
        return "floats" if as_float else "bytes"
    inner = kind_of(program, held, depth + 1)
    if inner and (as_float or name in ("FloatTensor", "float32") or (name == "float" and not call.args)):
        return "floats"
    is_move = name == "to" and bool(call.args) and "float" not in source_of(call.args[0])
    return inner if name in (*SAME, "tensor", "array", "asarray", "astype") or is_move else ""


def is_float(program: Program, call: ast.Call) -> bool:
    """`dtype=torch.float32`, `.astype("float32")`, `.to(torch.float32)`."""
    given = [each.value for each in call.keywords if each.arg == "dtype"]
    given += call.args[:1] if name_called(call) in ("astype", "to", "type") else []
    given += call.args[1:2] if name_called(call) in ("array", "asarray") else []
    return any(source_of(each).strip("'\"") in FLOATS for each in given)


def is_picture(program: Program, node: ast.expr, depth: int) -> bool:
    """`Image.open(path).convert("RGB")`."""
    made = program.names.origin(node).node
    if not isinstance(made, ast.Call) or depth > 8 or not isinstance(made.func, ast.Attribute):
        return False
    if name_called(made) == "open":
        return last_name(made.func.value) == "Image"
    return name_called(made) in OF_PILLOW and is_picture(program, made.func.value, depth + 1)
