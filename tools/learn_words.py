#!/usr/bin/env python3
"""Learn which words and which facts speak for which cause: knowledge/reports/*.jsonl and labelled cases ->
knowledge/words.yaml.

usage: learn_words.py --features BINARY [--also DIR ...] [--vectors] [--folds N | --by-folder] [--answers FILE] [--write]

BINARY is build/dev/report_features (a target of its own): the program's own reading of a report, as a list of
features. A feature is a stemmed word, a pair of neighbours, or a fact that holds (`@said.loss.nonfinite`), so what is
learnt stands on what the program makes out as well as on the words themselves.

The reports in the tree were written for this purpose, some forty for every cause from as many points of view, by people
who had seen no case of any set that the program is scored on: {"cause": "family.slug" or "healthy", "text": ...}.
--also takes folders of real cases (evidence/ and truth.json); of them only weights of features that three reports
share are kept.
A softmax regression is fitted: one class a cause and one for runs in order; cases whose evidence does not suffice are
left out (a class of their own made the others timid and the answers to them no more honest). Words and facts are
scaled apart, 1/sqrt(number) each; an L2 penalty holds the weights; a real report counts four times a written one; a right
answer beside the best one (`accept`) takes a part of the target. As there are fewer reports than features the fit
runs over the reports (weights = features x what each report adds).

With --vectors words also count by their direction in the space of a word-vector model (the package wordllama, MIT
licence: 32,000 word pieces in 256 dimensions, trained so that sentences of one meaning lie together): a word that few
reports hold, or none, takes part of what its neighbours in meaning have learnt. The sum over a report is linear in its
words, so that the share of the vectors goes into the words' weights, and the program knows of none.

Printed: accuracy of what is learnt alone, without the rules, cross-validated by case (--folds times with weights
fitted without the cases that they judge) or by folder (--by-folder: without all cases of the collection, the stricter
figure).
--answers writes what that gave for each case as JSON lines (case, probabilities), for tools/calibrate.py.
--write writes the weights. Needs numpy; --vectors also wordllama, tokenizers and
safetensors. docs/design/accuracy-history.md says which folders the weights in the tree were fitted with.
"""
import argparse
import collections
import importlib.util
import json
import pathlib
import re
import string
import subprocess
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEWEST_REPORTS = 3  # a feature of fewer is a name or chance
PENALTY = 0.03
SCALE = 2.0  # of the rows: with the penalty above the best of 1, 2 and 4 by cross-validation
REAL = 4.0  # what a real report counts
ACCEPTED = 0.5  # what all the other right answers count together
LEAST_WEIGHT = 0.17  # below it a weight moves no ranking
AXES = 64  # that the vectors' share of the weights is kept on
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
VECTORS = 1.0  # what all vectors of a report count beside its words; 2 was as good, 4 worse
STEPS = 200  # until no ranking changes
HEALTHY = "healthy"
SOURCE = ["# Axes and directions are derived from the word vectors of wordllama (l2_supercat_256), Copyright (c) 2024",
          "# Lee Miller, under the MIT License: https://github.com/dleemiller/WordLlama"]


def known_causes():
    texts = (path.read_text() for path in sorted((ROOT / "knowledge/causes").glob("*.yaml")))
    return [cause for text in texts for cause in re.findall(r"^- id: (\S+)", text, re.M)]


class Report:
    """One text or folder: where it lies, the causes that are right (with their parts), and its features."""

    def __init__(self, path, name, right, real, learnt=True):
        self.path, self.name, self.right, self.real, self.learnt = path, name, right, real, learnt
        self.words, self.facts, self.spelled = [], [], set()

    def read_spelling(self):
        """The words as they are spelled, in lower case."""
        for path in sorted(self.path.rglob("*")):
            if path.is_file():
                self.spelled.update(re.findall("[a-z]{3,}", path.read_bytes()[:60000].decode("utf-8", "replace").lower()))


def ids_of(slug, family, causes):
    """The cause of that slug in its family, else in all of them."""
    if f"{family}.{slug}" in causes:
        return [f"{family}.{slug}"]
    return [cause for cause in causes if cause.split(".")[-1] == slug]


def written_reports(folder, causes):
    for path in sorted((ROOT / "knowledge/reports").glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines()):
            report = json.loads(line)
            place = folder / f"{path.stem}-{number}"
            place.mkdir()
            (place / "report.txt").write_text(report["text"] + "\n")
            cause = report["cause"]
            right = [HEALTHY] if cause == HEALTHY else ids_of(cause.split(".")[-1], cause.split(".")[0], causes)
            if right:
                yield Report(place, "", {each: 1 / len(right) for each in right}, False)


def real_reports(folder, causes):
    for path in sorted(pathlib.Path(folder).glob("*/truth.json")):
        truth = json.loads(path.read_text())
        family, right = truth["family"], collections.Counter()
        if family == HEALTHY:
            right[HEALTHY] = 1
        else:
            others = [slug for slug in truth.get("accept", []) if ids_of(slug, family, causes)]
            parts = [(truth["cause"], 1.0), *((slug, ACCEPTED / len(others)) for slug in others)]
            for slug, part in parts:
                found = ids_of(slug, family, causes)
                for cause in found:
                    right[cause] += part / len(found)
        if right:
            whole = sum(right.values())
            yield Report(path.parent / "evidence", str(path.parent), {k: v / whole for k, v in right.items()}, True,
                         truth["enough_evidence"])


def features_of(binary, paths):
    done = subprocess.run([binary], input="".join(f"{path}\n" for path in paths), capture_output=True, text=True,
                          check=True)
    return [json.loads(line)["features"] for line in done.stdout.splitlines()]


def read_features(binary, reports):
    for report, features in zip(reports, features_of(binary, [r.path for r in reports]), strict=True):
        report.facts = [feature for feature in features if feature.startswith("@")]
        report.words = [feature for feature in features if not feature.startswith("@")]
        report.read_spelling()


class Vectors:
    """Direction in meaning of each word (stem) of the reports and of a word-vector model's own list."""

    def __init__(self, binary, reports):
        import tokenizers
        from safetensors.numpy import load_file

        place = pathlib.Path(importlib.util.find_spec("wordllama").origin).parent
        pieces = tokenizers.Tokenizer.from_file(str(next((place / "tokenizers").glob("*.json"))))
        table = next(iter(load_file(next((place / "weights").glob("*.safetensors"))).values())).astype(numpy.float32)
        own = {piece[1:] for piece in pieces.get_vocab() if re.fullmatch("\u2581[a-z]{3,}", piece)}
        common = collections.Counter(word for report in reports for word in report.spelled)
        spelled = sorted(own | {word for word, times in common.items() if times >= FEWEST_REPORTS})
        of_stem = collections.defaultdict(list)
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, word in enumerate(spelled):
                paths.append(pathlib.Path(folder) / f"{number}.txt")
                paths[-1].write_text(word + "\n")
            for word, features in zip(spelled, features_of(binary, paths), strict=True):
                stems = [feature for feature in features if not feature.startswith("@")]
                if len(stems) == 1:
                    ids = pieces.encode(word, add_special_tokens=False).ids
                    of_stem[stems[0]].append((common[word] + 1, table[ids].mean(axis=0)))
        self.stems = sorted(of_stem)
        self.index = {stem: i for i, stem in enumerate(self.stems)}
        self.rows = numpy.array(
            [sum(n * row for n, row in of_stem[stem]) / sum(n for n, _ in of_stem[stem]) for stem in self.stems])
        held = numpy.zeros(len(self.stems), numpy.float32)  # reports that hold the stem
        for report in reports:
            held[[self.index[word] for word in set(report.words) if word in self.index]] += 1
        self.rows -= held @ self.rows / held.sum()
        self.rows /= numpy.linalg.norm(self.rows, axis=1, keepdims=True) + 1e-6
        # What every report holds has no direction worth following (the square root of its inverse frequency).
        self.rows *= numpy.sqrt(numpy.log((len(reports) + 1) / (held + 1)))[:, None]
        lengths = [numpy.square(self.of(report.words)).sum() / max(1, len(report.words)) for report in reports]
        self.rows *= VECTORS**0.5 * numpy.mean(lengths) ** -0.5

    def of(self, words):
        """The sum over the words."""
        return self.rows[[self.index[word] for word in set(words) if word in self.index]].sum(axis=0)


class Rows:
    """Features of one kind as rows of a matrix, each 1/sqrt(known features) long."""

    def __init__(self, texts, vectors=None):
        count = collections.Counter(feature for text in texts for feature in text)
        self.names = sorted(feature for feature, times in count.items() if times >= FEWEST_REPORTS)
        self.index = {name: i for i, name in enumerate(self.names)}
        self.vectors = vectors

    def matrix(self, texts):
        width = len(self.names) + (self.vectors.rows.shape[1] if self.vectors else 0)
        rows = numpy.zeros((len(texts), width), numpy.float32)
        for row, text in zip(rows, texts):
            known = [self.index[feature] for feature in text if feature in self.index]
            row[known] = 1
            count = len(known)
            if self.vectors:
                row[len(self.names):] = self.vectors.of(text)
                count += sum(word in self.vectors.index and word not in self.index for word in set(text))
            row *= SCALE**0.5 * max(1, count) ** -0.5
        return rows

    def axes(self, weights):
        """The part of the vectors in the weights, as a few axes (causes' weights for a step) and each stem's steps."""
        along, lengths, axes = numpy.linalg.svd(self.vectors.rows @ weights[len(self.names):], full_matrices=False)
        kept = numpy.square(lengths[:AXES]).sum() / numpy.square(lengths).sum()
        along = along[:, :AXES] * lengths[:AXES]
        step = numpy.quantile(abs(along), 0.999, axis=0) / 31
        steps = numpy.clip(numpy.round(along / step), -32, 31).astype(int)
        return axes[:AXES] * step[:, None], dict(zip(self.vectors.stems, steps)), kept


class Model:
    """Softmax regression fitted by Nesterov's accelerated gradient."""

    def __init__(self, reports, classes, vectors=None):
        self.classes = classes
        self.kinds = [Rows([r.words for r in reports], vectors), Rows([r.facts for r in reports])]
        rows = self.rows(reports)
        target = numpy.zeros((len(reports), len(classes)), numpy.float32)
        for row, report in zip(target, reports):
            for cause, part in report.right.items():
                row[classes.index(cause)] = part
        counts = numpy.array([REAL if report.real else 1 for report in reports], numpy.float32)
        added = self.fit(rows @ rows.T, target, counts)
        self.weights = rows.T @ added

    def rows(self, reports):
        return numpy.hstack([self.kinds[0].matrix([r.words for r in reports]),
                             self.kinds[1].matrix([r.facts for r in reports])])

    def fit(self, products, target, counts):
        """What each report adds to the weights of its features; sets the bias, which no penalty holds."""
        probe = numpy.ones(len(target), numpy.float32)
        for _ in range(12):  # the curvature of softmax is at most half that of the squares of the rows
            probe = products @ (counts * probe) + (counts * probe).sum()
            curvature = numpy.linalg.norm(probe)
            probe /= curvature
        step = 1 / (0.5 * curvature + PENALTY)
        added = ahead = numpy.zeros_like(target)
        self.bias = bias = numpy.zeros(target.shape[1], numpy.float32)
        for i in range(STEPS):
            scores = products @ ahead + bias
            scores = numpy.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
            error = (scores - target) * counts[:, None]
            new, new_bias = ahead - step * (error + PENALTY * ahead), bias - step * error.sum(axis=0)
            ahead = new + i / (i + 3) * (new - added)
            bias = new_bias + i / (i + 3) * (new_bias - self.bias)
            added, self.bias = new, new_bias
        return added

    def log_probabilities(self, reports):
        scores = self.rows(reports) @ self.weights + self.bias
        scores -= scores.max(axis=1, keepdims=True)
        return scores - numpy.log(numpy.exp(scores).sum(axis=1, keepdims=True))

    def write(self, path):
        lines = ["# Made by tools/learn_words.py from knowledge/reports/*.jsonl and labelled cases "
                 "(docs/design/accuracy-history.md).",
                 "# A weight is in hundredths of a nat: `feature: cause:weight ...`, causes numbered from 0.",
                 "causes: [" + ", ".join(self.classes) + "]",
                 "bias: [" + ", ".join(f"{round(100 * float(b))}" for b in self.bias) + "]",
                 "words:"]
        weights = SCALE**0.5 * self.weights
        words, facts = self.kinds
        weights, of_facts = weights[:len(weights) - len(facts.names)], weights[len(weights) - len(facts.names):]
        named = [*zip(words.names, weights), *zip(facts.names, of_facts)]
        for name, row in named:
            told = " ".join(f"{i}:{round(100 * float(row[i]))}" for i in numpy.flatnonzero(abs(row) >= LEAST_WEIGHT))
            if told:
                lines.append(f'  "{name}": "{told}"')
        if words.vectors:
            axes, steps, kept = words.axes(weights)
            print(f"{len(steps)} words along {AXES} axes, which keep {kept:.3f} of the vectors' weights")
            lines += [*SOURCE, "# Ten-thousandths of a nat for each cause and step along the axis.", "axes:"]
            lines += ["- [" + ", ".join(str(round(10000 * float(x))) for x in axis) + "]" for axis in axes]
            lines += ["# Steps of a word along each axis, a letter of base64's alphabet each (A is -32, / is 31).",
                      "directions:"]
            lines += [f'  "{stem}": "{"".join(LETTERS[32 + step] for step in row)}"' for stem, row in steps.items()]
        path.write_text("\n".join(lines) + "\n")
        return lines


def held_out(reports, classes, folds, vectors):
    """For each real report its log-probabilities by weights that were fitted without it; 0 folds: without its folder."""
    fold = list(numpy.random.default_rng(0).integers(folds, size=len(reports))) if folds else \
        [pathlib.Path(report.name).parent.name for report in reports]
    answers = {}
    for k in sorted(set(fold)):
        judged = [r for r, f in zip(reports, fold) if f == k and r.real]
        if not judged:
            continue
        model = Model([r for r, f in zip(reports, fold) if r.learnt and (f != k or not r.real)], classes, vectors)
        answers |= dict(zip((r.name for r in judged), model.log_probabilities(judged)))
    return answers


def show(reports, answers, classes):
    tally = collections.Counter()
    for report in reports:
        if not (report.real and report.learnt):
            continue
        ranked = [classes[i] for i in numpy.argsort(-answers[report.name])]
        if HEALTHY in report.right:
            tally["healthy"] += 1
            tally["heard"] += ranked[0] == HEALTHY
            continue
        right = {cause.split(".")[-1] for cause in report.right}
        slugs = list(dict.fromkeys(c.split(".")[-1] for c in ranked if c != HEALTHY))
        tally["cases"] += 1
        tally["first"] += slugs[0] in right
        tally["three"] += bool(right & set(slugs[:3]))
        tally["called healthy"] += ranked[0] == HEALTHY
    cases = max(1, tally["cases"])
    print(
        f"{tally['cases']} cases: first {tally['first'] / cases:.3f}, among three {tally['three'] / cases:.3f}, "
        f"called healthy {tally['called healthy']}; healthy heard {tally['heard']} of {tally['healthy']}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", required=True)
    parser.add_argument("--also", nargs="*", default=[])
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--by-folder", action="store_true")
    parser.add_argument("--answers", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    causes = known_causes()
    classes = [*causes, HEALTHY]
    with tempfile.TemporaryDirectory() as folder:
        reports = list(written_reports(pathlib.Path(folder), causes))
        for real in options.also:
            reports += real_reports(real, causes)
        read_features(options.features, reports)
        vectors = Vectors(options.features, [r for r in reports if r.learnt]) if options.vectors else None
    if options.folds > 1 or options.by_folder:
        answers = held_out(reports, classes, 0 if options.by_folder else options.folds, vectors)
        show(reports, answers, classes)
        if options.answers:
            told = (
                {"case": name, "classes": classes, "log": [round(float(x), 3) for x in row]}
                for name, row in answers.items()
            )
            options.answers.write_text("".join(json.dumps(each) + "\n" for each in told))
    if options.write:
        model = Model([report for report in reports if report.learnt], classes, vectors)
        lines = model.write(ROOT / "knowledge/words.yaml")
        print(f"{len(reports)} reports, {len(classes)} classes, {len(lines)} lines of features")


if __name__ == "__main__":
    main()
