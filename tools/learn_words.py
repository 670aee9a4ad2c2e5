#!/usr/bin/env python3
"""Learn which words speak for which cause: knowledge/reports/*.jsonl and labelled cases -> knowledge/words.yaml.

usage: learn_words.py [--write] [--folds N] [--also DIR ...] [--cases DIR ...]

The reports were written for this purpose, a dozen for every cause from as many points of view, by people who had seen no
case of any set that the program is scored on: {"cause": "family.slug" or "healthy", "text": ...}. From them a softmax
regression is fitted: one class a slug (a learning rate that is too high is one cause in every family), one feature a stemmed
word or pair of neighbours that stands in three reports at least, 1/sqrt(features of the text) each, an L2 penalty on the
weights. Weights that say next to nothing are left out. src/knowledge/word_book.cpp cuts texts into the same features.
--also takes folders of real cases (evidence/ and truth.json, as --cases) into the fit; of them only weights of words that
three reports share are kept. docs/accuracy.md says which the weights in the tree were fitted with.

Printed: accuracy cross-validated by report, and for each --cases DIR (folders with evidence/ and truth.json) how often
the words alone name the cause first and among three. --write writes the weights. Needs numpy.
"""
import argparse
import collections
import json
import pathlib
import re

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEWEST_REPORTS = 3  # a feature of fewer is a name or chance
PENALTY = 0.03  # of 0.01 to 0.15 the best by cross-validation
LEAST_WEIGHT = 0.3  # below it a weight moves no ranking
STEPS = 400  # until no ranking changes
LARGEST_TEXT = 6000  # bytes of one artifact that are looked at; word_book.h has the same number

SENTENCE = re.compile(rb"[\n!?;]+|\. ")
ADDRESS = re.compile(rb"https?://\S+")
TOKEN = re.compile(rb"[a-z][a-z0-9_']*|[0-9][0-9a-z.+-]*|[\xe4-\xe9][\x80-\xbf][\x80-\xbf]")
ENDINGS = (b"ations", b"ation", b"ingly", b"ings", b"ing", b"edly", b"ed", b"ies", b"es", b"s", b"ly")
TELLING_NUMBERS = {b"0", b"0.0", b"1", b"1.0", b"2", b"8", b"10", b"100", b"137", b"1800", b"65504"}
POWER = re.compile(rb"\d+(\.\d+)?e([+-]?)\d+")
NUMBER = b"#"


def stem(word):
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def number(token):
    token = token.rstrip(b".+-")
    if token in TELLING_NUMBERS:
        return token
    if token.startswith(b"0.69"):  # a loss of ln 2
        return b"0.69"
    power = POWER.fullmatch(token)
    if power:
        return b"#small" if power[2] == b"-" else b"#big"
    return NUMBER


def tokens(sentence):
    for found in TOKEN.findall(ADDRESS.sub(b" ", sentence)):
        if found[:1].isdigit():
            yield number(found)
            continue
        word = found.strip(b"_'")
        yield stem(word)
        if b"_" in word:
            yield from (stem(part) for part in word.split(b"_") if len(part) > 1)


def features(text):
    found = set()
    for sentence in SENTENCE.split(text.encode()[:LARGEST_TEXT].lower()):
        words = list(tokens(sentence))
        found.update(word for word in words if word != NUMBER)
        found.update(a + b" " + b for a, b in zip(words, words[1:]) if (a, b) != (NUMBER, NUMBER))
    return found


class Model:
    """Softmax regression over sets of features, fitted by Nesterov's accelerated gradient."""

    def __init__(self, texts, causes):
        count = collections.Counter(word for text in texts for word in text)
        self.words = sorted(word for word, times in count.items() if times >= FEWEST_REPORTS)
        self.causes = sorted(set(causes))
        self.index = {word: i for i, word in enumerate(self.words)}
        rows = numpy.stack([self.row(text) for text in texts])
        target = numpy.zeros((len(texts), len(self.causes)), numpy.float32)
        target[numpy.arange(len(texts)), [self.causes.index(cause) for cause in causes]] = 1
        self.reports = [causes.count(cause) for cause in self.causes]
        self.fit(numpy.hstack([rows, numpy.ones((len(rows), 1), numpy.float32)]), target)

    def row(self, text):
        row = numpy.zeros(len(self.words), numpy.float32)
        known = [self.index[word] for word in text if word in self.index]
        row[known] = len(known) ** -0.5 if known else 0
        return row

    def fit(self, rows, target):
        penalty = numpy.full((rows.shape[1], 1), PENALTY, numpy.float32)
        penalty[-1] = 0
        # The curvature of softmax is at most half that of the squares of the rows.
        probe = numpy.ones(rows.shape[1], numpy.float32)
        for _ in range(12):
            probe = rows.T @ (rows @ probe)
            probe /= numpy.linalg.norm(probe)
        step = 1 / (0.5 * numpy.linalg.norm(rows.T @ (rows @ probe)) + PENALTY)
        weights = ahead = numpy.zeros((rows.shape[1], target.shape[1]), numpy.float32)
        for i in range(STEPS):
            scores = rows @ ahead
            scores = numpy.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
            new = ahead - step * (rows.T @ (scores - target) + penalty * ahead)
            ahead = new + i / (i + 3) * (new - weights)
            weights = new
        self.bias = weights[-1]
        self.weights = numpy.where(abs(weights[:-1]) > LEAST_WEIGHT, weights[:-1], 0)

    def ranked(self, text):
        """The causes, likeliest first."""
        scores = self.row(text) @ self.weights + self.bias
        return [self.causes[i] for i in numpy.argsort(-scores) if self.causes[i] != "healthy"]

    def write(self, path):
        lines = ["# Made by tools/learn_words.py from knowledge/reports/*.jsonl and labelled cases (docs/accuracy.md).",
                 "# A weight is in hundredths of a nat: `word: cause:weight ...`, causes numbered from 0.",
                 "causes: [" + ", ".join(self.causes) + "]",
                 "bias: [" + ", ".join(f"{round(100 * float(b))}" for b in self.bias) + "]",
                 "# A cause that stands in several families has more reports: its head start is taken back.",
                 "reports: [" + ", ".join(map(str, self.reports)) + "]",
                 "words:"]
        for word, row in zip(self.words, self.weights):
            told = " ".join(f"{i}:{round(100 * float(row[i]))}" for i in numpy.flatnonzero(row))
            if told:
                lines.append(f'  "{word.decode()}": "{told}"')
        path.write_text("\n".join(lines) + "\n")


def read_reports():
    reports = [json.loads(line) for path in sorted((ROOT / "knowledge/reports").glob("*.jsonl"))
               for line in path.read_text().splitlines()]
    return [features(report["text"]) for report in reports], [report["cause"].split(".")[-1] for report in reports]


def read_cases(folder):
    """(truth, features of its evidence) of each case in a folder."""
    for path in sorted(pathlib.Path(folder).glob("*/truth.json")):
        found = set()
        for artifact in sorted((path.parent / "evidence").rglob("*")):
            if artifact.suffix in (".txt", ".md", ".log", ".out", ".err", ".py", "") and artifact.is_file():
                found |= features(artifact.read_text(errors="replace"))
        yield json.loads(path.read_text()), found


def add_cases(folder, texts, causes):
    known = set(causes)
    for truth, found in read_cases(folder):
        cause = "healthy" if truth["family"] == "healthy" else truth["cause"]
        if found and cause in known:
            texts.append(found)
            causes.append(cause)


def cross_validate(texts, causes, folds):
    right = 0
    fold = numpy.random.default_rng(0).integers(folds, size=len(texts))
    for k in range(folds):
        model = Model([t for t, f in zip(texts, fold) if f != k], [c for c, f in zip(causes, fold) if f != k])
        right += sum(model.ranked(t)[0] == c for t, c, f in zip(texts, causes, fold) if f == k and c != "healthy")
    print(f"reports: {right / sum(c != 'healthy' for c in causes):.3f} of {len(texts)}, cross-validated in {folds} folds")


def score(model, folder):
    first = three = cases = 0
    for truth, found in read_cases(folder):
        if truth["family"] == "healthy" or not truth["enough_evidence"]:
            continue
        right = {truth["cause"], *truth.get("accept", [])}
        ranked = model.ranked(found)
        cases += 1
        first += ranked[0] in right
        three += bool(right & set(ranked[:3]))
    print(f"{folder}: {cases} cases, first {first / cases:.3f}, among three {three / cases:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--also", nargs="*", default=[])
    parser.add_argument("--cases", nargs="*", default=[])
    options = parser.parse_args()
    texts, causes = read_reports()
    for folder in options.also:
        add_cases(folder, texts, causes)
    if options.folds > 1:
        cross_validate(texts, causes, options.folds)
    model = Model(texts, causes)
    kept = int(numpy.count_nonzero(model.weights))
    print(f"{len(texts)} reports, {len(model.causes)} causes, {len(model.words)} words and pairs, {kept} weights")
    for folder in options.cases:
        score(model, folder)
    if options.write:
        model.write(ROOT / "knowledge/words.yaml")


if __name__ == "__main__":
    main()
