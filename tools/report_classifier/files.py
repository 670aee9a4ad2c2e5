"""The files of the model: weights.safetensors, which the program embeds, and manifest.json, which says what made it.

weights.safetensors (names in its metadata, a line each, in the order of the rows):
    bias            F32 [causes]            nats
    feature.begin   I32 [features + 1]      where the weights of each feature begin in the two lists below
    feature.cause   I16 [weights]           which cause
    feature.nats    F32 [weights]           nats of it; those below LEAST_WEIGHT are left out
    axis.nats       F32 [axes, causes]      nats for a step along each axis
    word.steps      I8  [words, axes]       the steps of a word along each axis
"""
import collections
import importlib.metadata
import json
import platform

import numpy

from report_classifier import vectors
from report_classifier.reports import FOLDER, ROOT, data_files, sha256
from report_classifier.softmax import IN_ORDER, PENALTY, PUBLIC, SCALE, STEPS

WEIGHTS = FOLDER / "weights.safetensors"
MANIFEST = FOLDER / "manifest.json"
LEAST_WEIGHT = 0.17  # nats: below it a weight moves no ranking
AXES = 64  # that the vectors' share of the weights is kept on
LONGEST_STEP = 31
NOTICE = ("Axes and steps are derived from the word vectors of wordllama (l2_supercat_256), Copyright (c) 2024 Lee Miller, "
          "under the MIT License: https://github.com/dleemiller/WordLlama")
TYPES = {"float32": "F32", "int32": "I32", "int16": "I16", "int8": "I8"}


def tensors_of(model):
    """(tensors, names, share of the vectors' weights that the axes keep)."""
    weights = SCALE**0.5 * numpy.vstack([model.word_weights, model.fact_weights])
    names, begin, causes, nats = [], [0], [], []
    for name, row in zip([*model.words.names, *model.facts.names], weights):
        heard = numpy.flatnonzero(abs(row) >= LEAST_WEIGHT)
        if len(heard):
            names.append(name)
            causes.extend(heard)
            nats.extend(numpy.round(row[heard], 2))
            begin.append(len(nats))
    axes, steps, kept = axes_of(model.words.vectors, SCALE**0.5 * model.vector_weights)
    tensors = {  # wide ones first: each is aligned, and the format allows no gaps
        "bias": numpy.round(model.bias, 2).astype(numpy.float32),
        "feature.nats": numpy.array(nats, numpy.float32),
        "axis.nats": numpy.round(axes, 4).astype(numpy.float32),
        "feature.begin": numpy.array(begin, numpy.int32),
        "feature.cause": numpy.array(causes, numpy.int16),
        "word.steps": steps.astype(numpy.int8),
    }
    return tensors, {"causes": model.classes, "features": names, "words": model.words.vectors.stems}, kept


def axes_of(word_vectors, weights):
    """The part of the vectors in the weights: axes (nats of each cause for a step), and each stem's steps along them."""
    along, lengths, axes = numpy.linalg.svd(word_vectors.rows @ weights, full_matrices=False)
    signs = numpy.sign(axes[numpy.arange(len(axes)), abs(axes).argmax(axis=1)])  # which a decomposition leaves open
    kept = numpy.square(lengths[:AXES]).sum() / numpy.square(lengths).sum()
    along = along[:, :AXES] * (lengths * signs)[:AXES]
    step = numpy.quantile(abs(along), 0.999, axis=0) / LONGEST_STEP
    steps = numpy.clip(numpy.round(along / step), -LONGEST_STEP - 1, LONGEST_STEP)
    return (axes * signs[:, None])[:AXES] * step[:, None], steps, kept


def safetensors_bytes(tensors, metadata):
    """As the format has it, every key in one order: the library leaves the order of the metadata to chance."""
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        begin, data = len(data), data + tensor.astype(tensor.dtype.newbyteorder("<")).tobytes()
        header[name] = {"dtype": TYPES[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def weights_bytes(model):
    tensors, names, kept = tensors_of(model)
    print(f"{len(names['features'])} features with weights of their own, {len(tensors['feature.nats'])} weights; "
          f"{len(names['words'])} words along {AXES} axes, which keep {kept:.3f} of the vectors' weights")
    return safetensors_bytes(tensors, {**{key: "\n".join(each) for key, each in names.items()}, "notice": NOTICE})


def versions():
    packages = {name: importlib.metadata.version(name) for name in ("numpy", "PyStemmer", "tokenizers", "safetensors")}
    return {"python": platform.python_version(), **packages}


def data_hashes():
    return {str(path.relative_to(ROOT)): sha256(path) for path in data_files()}


def manifest(reports, classes, held_out, seed, date):
    learnt = [report for report in reports if report.learnt]
    return {
        "made_by": "tools/train_report_classifier.py --write",
        "date": date,
        "weights": {"file": WEIGHTS.name, "sha256": sha256(WEIGHTS)},
        "data": data_hashes(),
        "reports": dict(collections.Counter("public" if report.public else "written" for report in learnt)),
        "causes": len(classes) - 1,
        "vectors": vectors.origin(),
        "versions": versions(),
        "fit": {"penalty": PENALTY, "scale": SCALE, "public_counts": PUBLIC, "in_order_counts": IN_ORDER, "steps": STEPS},
        "held_out": {"seed": seed, **held_out},
    }
