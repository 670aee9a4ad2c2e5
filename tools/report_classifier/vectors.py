"""The direction in meaning of each stem, by the word vectors of a public model.

wordllama (MIT licence): 32,000 word pieces in 256 dimensions, trained so that sentences of one meaning lie together. A
word that few reports hold, or none, takes part of what its neighbours in meaning have learnt. The sum over a report is
linear in its words, so that what is learnt for the dimensions goes into the words' weights, and the program knows of no
vectors.
"""
import collections
import importlib.metadata
import importlib.util
import pathlib
import re

import numpy

from report_classifier.reports import FEWEST, sha256

PACKAGE = "wordllama"
WEIGHT = 1.0  # what all vectors of a report count beside its words; 2 was as good, 4 worse


def files():
    """The package's own files: the list of pieces, and their vectors."""
    place = pathlib.Path(importlib.util.find_spec(PACKAGE).origin).parent
    return next((place / "tokenizers").glob("*.json")), next((place / "weights").glob("*.safetensors"))


def origin():
    _, weights = files()
    return {"package": PACKAGE, "version": importlib.metadata.version(PACKAGE), "file": weights.name,
            "sha256": sha256(weights), "licence": "MIT, Copyright (c) 2024 Lee Miller"}


class Vectors:
    """stems: sorted; rows: one a stem, in float64."""

    def __init__(self, reports):
        import Stemmer
        import tokenizers
        from safetensors.numpy import load_file

        pieces_file, weights_file = files()
        pieces = tokenizers.Tokenizer.from_file(str(pieces_file))
        table = next(iter(load_file(weights_file).values())).astype(numpy.float64)
        own = {piece[1:] for piece in pieces.get_vocab() if re.fullmatch("\u2581[a-z]{3,}", piece)}
        common = collections.Counter(word for each in reports for word in set(re.findall("[a-z]{3,}", each.text.lower())))
        spelled = sorted(own | {word for word, times in common.items() if times >= FEWEST})
        of_stem = collections.defaultdict(list)
        for word, stem in zip(spelled, Stemmer.Stemmer("english").stemWords(spelled)):
            ids = pieces.encode(word, add_special_tokens=False).ids
            of_stem[stem].append((common[word] + 1, table[ids].mean(axis=0)))
        self.stems = sorted(of_stem)
        self.index = {stem: i for i, stem in enumerate(self.stems)}
        self.rows = numpy.array(
            [sum(n * row for n, row in of_stem[stem]) / sum(n for n, _ in of_stem[stem]) for stem in self.stems])
        held = numpy.zeros(len(self.stems))  # reports that hold the stem
        for report in reports:
            held[[self.index[word] for word in report.words if word in self.index]] += 1
        self.rows -= held @ self.rows / held.sum()
        self.rows /= numpy.linalg.norm(self.rows, axis=1, keepdims=True) + 1e-6
        # What every report holds has no direction worth following (the square root of its inverse frequency).
        self.rows *= numpy.sqrt(numpy.log((len(reports) + 1) / (held + 1)))[:, None]
        lengths = [numpy.square(self.of(report.words)).sum() / max(1, len(report.words)) for report in reports]
        self.rows *= WEIGHT**0.5 * numpy.mean(lengths) ** -0.5

    def of(self, words):
        """The sum over the words."""
        return self.rows[sorted(self.index[word] for word in words if word in self.index)].sum(axis=0)
