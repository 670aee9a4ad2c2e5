#!/usr/bin/env python3
"""Learn which words and which facts speak for which cause: knowledge/reports/*.jsonl and labelled cases ->
knowledge/words.yaml.

usage: learn_words.py --features BINARY [--also DIR ...] [--folds N | --by-folder] [--answers FILE] [--write]

BINARY is build/dev/report_features (a target of its own): the program's own reading of a report, as a list of
features. A feature is a stemmed word, a pair of neighbours, or a fact that holds (`@said.loss.nonfinite`), so what is
learnt stands on what the program makes out as well as on the words themselves.

The reports in the tree were written for this purpose, a dozen for every cause from as many points of view, by people
who had seen no case of any set that the program is scored on: {"cause": "family.slug" or "healthy", "text": ...}.
--also takes folders of real cases (evidence/ and truth.json); of them only weights of features that three reports
share are kept.
A softmax regression is fitted: one class a cause and one for runs in order; cases whose evidence does not suffice are
left out (a class of their own made the others timid and the answers to them no more honest). Words and facts are
scaled apart, 1/sqrt(number) each; an L2 penalty holds the weights; a real report counts twice a written one; a right
answer beside the best one (`accept`) takes a part of the target. As there are fewer reports than features the fit
runs over the reports (weights = features x what each report adds).

Printed: accuracy of what is learnt alone, without the rules, cross-validated by case (--folds times with weights
fitted without the cases that they judge) or by folder (--by-folder: without all cases of the collection, the stricter
figure).
--answers writes what that gave for each case as JSON lines (case, probabilities), for tools/calibrate.py.
--write writes the weights. Needs numpy. docs/accuracy.md says which folders the weights in the tree were fitted with.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEWEST_REPORTS = 3  # a feature of fewer is a name or chance
PENALTY = 0.03
SCALE = 2.0  # of the rows: with the penalty above the best of 1, 2 and 4 by cross-validation
REAL = 2.0  # what a real report counts
ACCEPTED = 0.5  # what all the other right answers count together
LEAST_WEIGHT = 0.12  # below it a weight moves no ranking
STEPS = 200  # until no ranking changes
HEALTHY = "healthy"


def known_causes():
    texts = (path.read_text() for path in sorted((ROOT / "knowledge/causes").glob("*.yaml")))
    return [cause for text in texts for cause in re.findall(r"^- id: (\S+)", text, re.M)]


class Report:
    """One text or folder: where it lies, the causes that are right (with their parts), and its features."""

    def __init__(self, path, name, right, real, learnt=True):
        self.path, self.name, self.right, self.real, self.learnt = path, name, right, real, learnt
        self.words, self.facts = [], []


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


def read_features(binary, reports):
    paths = "".join(f"{report.path}\n" for report in reports)
    done = subprocess.run([binary], input=paths, capture_output=True, text=True, check=True)
    for report, line in zip(reports, done.stdout.splitlines(), strict=True):
        features = json.loads(line)["features"]
        report.facts = [feature for feature in features if feature.startswith("@")]
        report.words = [feature for feature in features if not feature.startswith("@")]


class Rows:
    """Features of one kind as rows of a matrix, each 1/sqrt(known features) long."""

    def __init__(self, texts):
        count = collections.Counter(feature for text in texts for feature in text)
        self.names = sorted(feature for feature, times in count.items() if times >= FEWEST_REPORTS)
        self.index = {name: i for i, name in enumerate(self.names)}

    def matrix(self, texts):
        rows = numpy.zeros((len(texts), len(self.names)), numpy.float32)
        for row, text in zip(rows, texts):
            known = [self.index[feature] for feature in text if feature in self.index]
            row[known] = SCALE**0.5 * len(known) ** -0.5 if known else 0
        return rows


class Model:
    """Softmax regression fitted by Nesterov's accelerated gradient."""

    def __init__(self, reports, classes):
        self.classes = classes
        self.kinds = [Rows([r.words for r in reports]), Rows([r.facts for r in reports])]
        rows = self.rows(reports)
        target = numpy.zeros((len(reports), len(classes)), numpy.float32)
        for row, report in zip(target, reports):
            for cause, part in report.right.items():
                row[classes.index(cause)] = part
        counts = numpy.array([REAL if report.real else 1 for report in reports], numpy.float32)
        added = self.fit(rows @ rows.T, target, counts)
        self.weights = rows.T @ added
        self.weights[abs(self.weights) < LEAST_WEIGHT] = 0

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
        lines = ["# Made by tools/learn_words.py from knowledge/reports/*.jsonl and labelled cases (docs/accuracy.md).",
                 "# A weight is in hundredths of a nat: `feature: cause:weight ...`, causes numbered from 0.",
                 "causes: [" + ", ".join(self.classes) + "]",
                 "bias: [" + ", ".join(f"{round(100 * float(b))}" for b in self.bias) + "]",
                 "words:"]
        for name, row in zip(self.kinds[0].names + self.kinds[1].names, SCALE**0.5 * self.weights):
            told = " ".join(f"{i}:{round(100 * float(row[i]))}" for i in numpy.flatnonzero(row))
            if told:
                lines.append(f'  "{name}": "{told}"')
        path.write_text("\n".join(lines) + "\n")


def held_out(reports, classes, folds):
    """For each real report its log-probabilities by weights that were fitted without it; 0 folds: without its folder."""
    fold = list(numpy.random.default_rng(0).integers(folds, size=len(reports))) if folds else \
        [pathlib.Path(report.name).parent.name for report in reports]
    answers = {}
    for k in sorted(set(fold)):
        judged = [r for r, f in zip(reports, fold) if f == k and r.real]
        if not judged:
            continue
        model = Model([r for r, f in zip(reports, fold) if r.learnt and (f != k or not r.real)], classes)
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
    if options.folds > 1 or options.by_folder:
        answers = held_out(reports, classes, 0 if options.by_folder else options.folds)
        show(reports, answers, classes)
        if options.answers:
            told = (
                {"case": name, "classes": classes, "log": [round(float(x), 3) for x in row]}
                for name, row in answers.items()
            )
            options.answers.write_text("".join(json.dumps(each) + "\n" for each in told))
    if options.write:
        model = Model([report for report in reports if report.learnt], classes)
        kept = int(numpy.count_nonzero(model.weights))
        features = sum(len(kind.names) for kind in model.kinds)
        print(f"{len(reports)} reports, {len(classes)} classes, {features} features, {kept} weights")
        model.write(ROOT / "knowledge/words.yaml")


if __name__ == "__main__":
    main()
