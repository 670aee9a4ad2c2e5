#!/usr/bin/env python3
"""Write src/pickle/library_names.def: the classes and functions, by their exact names, that pickles of these libraries hold.

usage: pickle_names.py

A name counts where the library itself defines it: what a module has only imported (GzipFile in sklearn.datasets, Path in
lightning) is what exploits reach for. Left out are parts of the libraries that read, write, fetch or test. Libraries that
are not installed keep their lines: they are read from the file that is there.
"""

import importlib
import pathlib
import pkgutil
import re
import sys
import warnings

warnings.simplefilter("ignore")
OUT = pathlib.Path(__file__).parents[1] / "src/pickle/library_names.def"

# Packages whose modules import what they have no business handing on.
CLASSES_BELOW = [
    "sklearn",
    "pandas",
    "scipy.sparse",
    "scipy.stats",
    "scipy.interpolate",
    "scipy.spatial",
    "torchmetrics",
    "lightning.pytorch.callbacks",
    "lightning.pytorch.utilities",
    "lightning.pytorch.loops",
    "lightning.fabric.utilities",
    "pytorch_lightning.callbacks",
    "pytorch_lightning.utilities",
    "pytorch_lightning.loops",
    "lightning_fabric.utilities",
    "omegaconf",
    "deepspeed.runtime",
    "deepspeed.checkpoint",
    "torch.distributed._shard",
    "torch.distributed.checkpoint.filesystem",
    "torch.distributed.fsdp",
    "transformers.trainer_pt_utils",
    "transformers.trainer_utils",
    "transformers.trainer_callback",
    "transformers.training_args",
    "transformers.training_args_seq2seq",
    "transformers.tokenization_utils_base",
    "transformers.integrations.deepspeed",
    "accelerate.utils.dataclasses",
    "trl.trainer",
    "trl.experimental",
]
LEFT_OUT = re.compile(
    r"\.(tests?|testing|_testing|conftest|__main__|externals|datasets|callback|experimental\.enable_.*|_test.*|io|computation|"
    r"_version|compat|plotting|_plotting|util\._.*|cli)(\.|$)|array_api_compat|_built_with_meson"
)
UNFIT = re.compile(
    r"Reader$|Writer$|Parser$|File$|Store$|Server|Client|Listener|Connection|Pool$|Thread$|Process$|Temp|Loader$|Spawn"
)

# Functions that compute: what estimators, metrics, modules and schedules keep as their own.
FUNCTIONS = [
    ("torch.nn.functional", r"[a-z][a-z0-9_]*"),
    ("torch.nn.init", r"[a-z]\w*_"),
    ("torch._C._nn", r"[a-z][a-z0-9_]*"),
    ("torch.utils.data._utils.collate", r"default_\w+"),
    ("transformers.optimization", r"_get_\w+_lambda"),
    ("transformers.modeling_rope_utils", r"_compute_\w+"),
    ("transformers.data.data_collator", r"\w*default_data_collator"),
    ("torchmetrics.utilities.data", r"dim_zero_\w+"),
    ("torchmetrics.metric", r"jit_distributed_available"),
    ("sklearn.metrics._classification", r"[a-z]\w*"),
    ("sklearn.metrics._ranking", r"[a-z]\w*"),
    ("sklearn.metrics._regression", r"[a-z]\w*"),
    ("sklearn.metrics.pairwise", r"[a-z]\w*"),
    ("sklearn.metrics.cluster._supervised", r"[a-z]\w*"),
    ("sklearn.metrics.cluster._unsupervised", r"[a-z]\w*"),
    ("sklearn.metrics._scorer", r"_passthrough_scorer|_cached_call"),
    ("sklearn.feature_selection._univariate_selection", r"[a-z]\w*"),
    ("sklearn.feature_selection._mutual_info", r"mutual_info_\w+"),
    ("sklearn.feature_extraction.text", r"strip_\w+"),
    ("sklearn.cluster._kmeans", r"_kmeans_single_\w+"),
    ("sklearn.decomposition._fastica", r"_logcosh|_exp|_cube"),
    ("sklearn.covariance._empirical_covariance", r"empirical_covariance"),
    ("sklearn.covariance._shrunk_covariance", r"[a-z]\w*"),
    ("scipy.spatial.distance", r"[a-z]\w*"),
    ("scipy._lib.array_api_compat.numpy._aliases", r"asarray|astype"),
]
DISPATCHERS = re.compile(
    r"handle_torch_function|boolean_dispatch|assert_\w+|has_torch_function\w*|make_scorer|get_scorer\w*|check_\w+|.*deprecat.*"
)


def modules(name):
    try:
        module = importlib.import_module(name)
    except BaseException:  # a library may leave in any way while it is imported
        return
    yield module
    for each in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not LEFT_OUT.search(f"{name}.{each.name}."):
            yield from modules(f"{name}.{each.name}")


def is_own(module, thing):
    if getattr(thing, "__module__", None) == module.__name__:
        return True
    # pandas writes `pandas` into the classes of pandas.core; earlier versions name them where they are defined.
    same_library = str(getattr(thing, "__module__", "")).split(".")[0] == module.__name__.split(".")[0]
    path = pathlib.Path(getattr(module, "__file__", None) or "")
    source = path.read_text(errors="replace") if path.suffix == ".py" else ""
    name = re.escape(str(getattr(thing, "__name__", "?")))
    return same_library and re.search(rf"^class {name}\b", source, re.M) is not None


def classes():
    found = {}
    for package in CLASSES_BELOW:
        for module in modules(package):
            own = {
                k for k, v in vars(module).items() if isinstance(v, type) and re.match("_*[A-Z]", k) and is_own(module, v)
            }
            own = {k for k in own if not UNFIT.search(k)}
            if own:
                found.setdefault(module.__name__, set()).update(own)
    return found


def functions():
    found = {}
    for name, pattern in FUNCTIONS:
        for module in list(modules(name))[:1]:
            for key, value in vars(module).items():
                own = is_own(module, value) or str(getattr(value, "__module__", None)).startswith(
                    ("torch._C", "torch.nn", "torch._jit")
                )
                if (
                    callable(value)
                    and not isinstance(value, type)
                    and own
                    and re.fullmatch(pattern, key)
                    and not DISPATCHERS.fullmatch(key)
                ):
                    found.setdefault(name, set()).add(key)
    import numpy

    found["numpy"] = {k for k, v in vars(numpy).items() if isinstance(v, numpy.ufunc)} | {
        "mean",
        "sum",
        "max",
        "min",
        "median",
        "var",
        "std",
    }
    found["numpy.core._multiarray_umath"] = {k for k in found["numpy"] if isinstance(getattr(numpy, k), numpy.ufunc)}
    return found


def earlier():
    found = {"CLASSES_OF": {}, "FUNCTIONS_OF": {}}
    if OUT.exists():
        for what, module, names in re.findall(
            r'^(CLASSES_OF|FUNCTIONS_OF)\("([^"]+)",\s*((?:"[^"]*"\s*)+)\)', OUT.read_text(), re.M
        ):
            found[what][module] = set("".join(re.findall(r'"([^"]*)"', names)).split())
    return found


def lines_of(what, found, old):
    for module in sorted({**old, **found}):
        names = sorted(found.get(module) or old[module])
        lines, line = [], ""
        for name in names:
            if len(line) + len(name) > 84:
                lines.append(line)
                line = ""
            line += name + " "
        lines.append(line.rstrip())
        text = "".join(f'\n{" " * (len(what) + 1)}"{each}"' for each in lines)
        yield f'{what}("{module}",{text})'


def main():
    old = earlier()
    out = ["// Written by tools/pickle_names.py from the libraries themselves: which classes and functions a pickle",
           "// may name of theirs. What is not here is on no list."]  # fmt: skip
    for what, found in (("CLASSES_OF", classes()), ("FUNCTIONS_OF", functions())):
        out += ["", f"#ifdef {what}", *lines_of(what, found, old[what]), "#endif"]
        print(what, sum(map(len, found.values())), file=sys.stderr)
    OUT.write_text("\n".join(out) + "\n")  # what the libraries print as they are imported is no part of it


main()
