#!/usr/bin/env python3
"""Train the classifier of reports: which words and which facts speak for which cause -> models/report_classifier/.

usage: train_report_classifier.py [--read BINARY [--public DIR ...]] [--held-out] [--answers FILE] [--only-written]
                                  [--write | --check]

What is learnt from stands in the tree: the texts in knowledge/reports, written for this purpose by people who had seen no
case of any set that the program is scored on, and labels and features of public reports (tools/report_classifier/).
Nothing is learnt from what is not kept there, so that the weights can be rebuilt byte for byte.

--read has the program (build/dev/report_features, a target of its own) read the texts, after they or what it makes out of
them have changed; --public names folders of labelled public cases (evidence/ and truth.json), of which address, label and
features are kept, and no text.
--held-out prints the accuracy of what is learnt alone, without the program's rules, cross-validated by report: FOLDS times
with weights fitted without the reports that they judge. --only-written fits without the public reports and judges them all.
--answers writes what that gave for each public report as JSON lines (case, classes, log), for tools/calibrate.py.
--write fits and writes the model, --check fits and fails where the bytes differ from those in the tree.
Needs the packages of tools/packages/model.txt; the program needs none of them, and the build no Python.
"""
import argparse
import collections
import datetime
import json
import pathlib
import sys

import numpy
from report_classifier import files
from report_classifier.reports import HEALTHY, Stale, known_causes, load, read_again
from report_classifier.softmax import Model
from report_classifier.vectors import Vectors

FOLDS = 4
SEED = 0


def held_out(reports, classes, vectors, only_written):
    """For each report its log-probabilities by weights that were fitted without it."""
    if only_written:
        model = Model([report for report in reports if not report.public], classes, vectors, numpy.float32)
        judged = [report for report in reports if report.public]
        return dict(zip(judged, model.log_probabilities(judged)))
    fold = numpy.random.default_rng(SEED).integers(FOLDS, size=len(reports))
    answers = {}
    for k in range(FOLDS):
        others = [report for report, f in zip(reports, fold) if f != k and report.learnt]
        model = Model(others, classes, vectors, numpy.float32)
        judged = [report for report, f in zip(reports, fold) if f == k]
        answers |= zip(judged, model.log_probabilities(judged))
    return answers


def accuracy(answers, classes):
    """How often the right cause is first, and among the first three; how many runs in order are heard as such."""
    tally = collections.Counter()
    for report, log in answers.items():
        if not report.learnt:
            continue
        ranked = [classes[i] for i in numpy.argsort(-log)]
        if HEALTHY in report.right:
            tally["healthy"] += 1
            tally["healthy_heard"] += ranked[0] == HEALTHY
            continue
        # As the program does: of causes with one name in several families one is told.
        right = {cause.split(".")[-1] for cause in report.right}
        slugs = list(dict.fromkeys(cause.split(".")[-1] for cause in ranked if cause != HEALTHY))
        tally["reports"] += 1
        tally["first"] += slugs[0] in right
        tally["three"] += bool(right & set(slugs[:3]))
        tally["told_healthy"] += ranked[0] == HEALTHY
    count = max(1, tally["reports"])
    return {"reports": tally["reports"], "first": round(tally["first"] / count, 3),
            "among_three": round(tally["three"] / count, 3), "told_healthy": tally["told_healthy"],
            "healthy": tally["healthy"], "healthy_heard": tally["healthy_heard"]}


def show_held_out(reports, classes, vectors, only_written, answers_file):
    answers = held_out(reports, classes, vectors, only_written)
    figures = {}
    for kind, public in (("written", False), ("public", True)):
        judged = {report: log for report, log in answers.items() if report.public == public}
        if judged:
            figures[kind] = accuracy(judged, classes)
            print(kind, json.dumps(figures[kind]))
    if answers_file:
        lines = [json.dumps({"case": report.key, "classes": classes, "log": [round(float(x), 3) for x in log]})
                 for report, log in answers.items() if report.public]
        answers_file.write_text("\n".join(lines) + "\n")
    return figures


def check(model):
    """Whether what is in the tree is what its data give."""
    told = json.loads(files.MANIFEST.read_text())
    changed = [path for path, digest in files.data_hashes().items() if told["data"].get(path) != digest]
    if changed:
        print(f"the model was fitted with other data: {', '.join(changed)}; fit it again (--write)")
        return 1
    if files.WEIGHTS.read_bytes() != files.weights_bytes(model):
        print(f"{files.WEIGHTS} is not what its data give")
        return 1
    print("the weights are those that the data in the tree give, byte for byte")
    return 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", metavar="BINARY")
    parser.add_argument("--public", nargs="*", default=[])
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only-written", action="store_true")
    parser.add_argument("--answers", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    files.FOLDER.mkdir(parents=True, exist_ok=True)
    if options.read:
        read_again(options.read, options.public)
    try:
        reports = load()
    except Stale as stale:
        print(stale)
        return 1
    learnt = [report for report in reports if report.learnt]
    heard = {cause for report in learnt for cause in report.right}
    classes = [*(cause for cause in known_causes() if cause in heard), HEALTHY]
    vectors = Vectors([report for report in learnt if not (options.only_written and report.public)])
    figures = {}
    if options.held_out or options.write:
        figures = show_held_out(reports, classes, vectors, options.only_written, options.answers)
    if not (options.write or options.check):
        return 0
    model = Model(learnt, classes, vectors)
    if options.check:
        return check(model)
    files.WEIGHTS.write_bytes(files.weights_bytes(model))
    manifest = files.manifest(reports, classes, figures, SEED, datetime.date.today().isoformat())
    files.MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
