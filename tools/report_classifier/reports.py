"""The reports that are learnt from, and their features as the program reads them.

knowledge/reports/*.jsonl     written reports: {"cause": "family.slug" or "healthy", "text": ...}
models/report_classifier/
    public.jsonl              public reports, address and label only: {"source", "right": {cause: part}, "enough_evidence"}
    features.tsv              a line a feature: its name, and the numbers of the reports that have it, each as the step from
                              the one before; reports are numbered in the order of the files above

A feature is a stemmed word, a pair of neighbours, or a fact that holds (`@said.loss.nonfinite`). features.tsv is read
from the texts by the program itself (tools/report_features.cpp), so that what is learnt is cut as what is weighed; it is
kept, so that a model can be rebuilt when the program has come to read some reports otherwise, and so that no text of a
public report need be. Of public reports only features stand there that FEWEST reports share: the others are names.
"""
import collections
import hashlib
import itertools
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WRITTEN = ROOT / "knowledge/reports"
FOLDER = ROOT / "models/report_classifier"
PUBLIC = FOLDER / "public.jsonl"
FEATURES = FOLDER / "features.tsv"
FEWEST = 3  # reports: a feature of fewer is a name or chance
ACCEPTED = 0.5  # what all other right answers of a report count together, beside the best one
HEALTHY = "healthy"


class Report:
    """right: the causes that are right, with their parts of 1; features: each once."""

    def __init__(self, right, text="", source="", learnt=True):
        self.right, self.text, self.source, self.learnt = right, text, source, learnt
        self.words, self.facts = [], []

    @property
    def public(self):
        return bool(self.source)

    @property
    def key(self):
        """What tells a public report from the others: two may have one address."""
        return f"{self.source} {max(self.right, key=self.right.get)}"


class Stale(Exception):
    """The files do not belong together; the message says what to do."""


def known_causes():
    texts = (path.read_text() for path in sorted((ROOT / "knowledge/causes").glob("*.yaml")))
    return [cause for text in texts for cause in re.findall(r"^- id: (\S+)", text, re.M)]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def data_files():
    return [*sorted(WRITTEN.glob("*.jsonl")), PUBLIC, FEATURES]


def written():
    for path in sorted(WRITTEN.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            report = json.loads(line)
            yield Report({report["cause"]: 1.0}, text=report["text"])


def public():
    for line in PUBLIC.read_text().splitlines() if PUBLIC.exists() else []:
        report = json.loads(line)
        yield Report(report["right"], source=report["source"], learnt=report["enough_evidence"])


def head_of_features():
    """Which texts the features were read from."""
    def lines_of(path):
        return len(path.read_text().splitlines())

    head = [f"{path.name} {lines_of(path)} {sha256(path)}" for path in sorted(WRITTEN.glob("*.jsonl"))]
    return [*head, f"{PUBLIC.name} {lines_of(PUBLIC)}"]


def parts_of_features():
    """The head of features.tsv, and for each feature the numbers of its reports."""
    head, rows = [], []
    for line in FEATURES.read_text().splitlines():
        name, tab, steps = line.partition("\t")
        if tab:
            rows.append((name, list(itertools.accumulate(map(int, steps.split())))))
        elif not line.startswith("//"):
            head.append(line)
    return head, rows


def load():
    """All reports with their features. Stale where features.tsv was read from other texts, or a cause is not in the book."""
    reports = [*written(), *public()]
    head, rows = parts_of_features()
    if head != head_of_features():
        raise Stale(f"{FEATURES.name} was read from other reports: read them again (--read BINARY)")
    strangers = {cause for report in reports for cause in report.right} - {*known_causes(), HEALTHY}
    if strangers:
        raise Stale(f"reports name causes that are not in knowledge/causes: {', '.join(sorted(strangers))}")
    for name, numbers in rows:
        for number in numbers:
            (reports[number].facts if name.startswith("@") else reports[number].words).append(name)
    return reports


def public_of(folder):
    """Of each labelled public case, a folder with evidence/ and truth.json: its evidence, and its line of public.jsonl."""
    causes = known_causes()

    def ids_of(slug, family):
        same = f"{family}.{slug}"
        return [same] if same in causes else [cause for cause in causes if cause.split(".")[-1] == slug]

    for path in sorted(pathlib.Path(folder).glob("*/truth.json")):
        truth = json.loads(path.read_text())
        right = collections.Counter()
        if truth["family"] == HEALTHY:
            right[HEALTHY] = 1.0
        else:
            others = [slug for slug in truth.get("accept", []) if ids_of(slug, truth["family"])]
            for slug, part in [(truth["cause"], 1.0), *((slug, ACCEPTED / len(others)) for slug in others)]:
                for cause in ids_of(slug, truth["family"]):
                    right[cause] += part / len(ids_of(slug, truth["family"]))
        if right:
            whole = sum(right.values())
            parts = {cause: round(part / whole, 4) for cause, part in sorted(right.items())}
            yield path.parent / "evidence", {"source": truth["source"], "right": parts,
                                             "enough_evidence": truth["enough_evidence"]}


def features_of(binary, paths):
    done = subprocess.run([binary], input="".join(f"{path}\n" for path in paths), capture_output=True, text=True, check=True)
    return [json.loads(line)["features"] for line in done.stdout.splitlines()]


def read_again(binary, public_folders):
    """Writes features.tsv, and with folders of public cases public.jsonl as well; without, those keep their features."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, report in enumerate(written()):
            paths.append(pathlib.Path(folder) / str(number))
            paths[-1].mkdir()
            (paths[-1] / "report.txt").write_text(report.text + "\n")
        count = len(paths)
        features = features_of(binary, paths)
    if public_folders:
        cases = [case for each in public_folders for case in public_of(each)]
        features += features_of(binary, [evidence for evidence, _ in cases])
        PUBLIC.write_text("".join(json.dumps(label) + "\n" for _, label in cases))
    else:
        features += [[*report.words, *report.facts] for report in kept_public()]
    write_features(features, count)


def kept_public():
    """Public reports with the features that features.tsv holds of them, whatever became of the written ones since."""
    head, rows = parts_of_features()
    before = sum(int(line.split()[1]) for line in head if not line.startswith(PUBLIC.name))
    reports = list(public())
    for name, numbers in rows:
        for number in numbers:
            if number >= before:
                reports[number - before].words.append(name)
    return reports


def write_features(features, count):
    """`count` of the reports are written ones and come first."""
    holders = collections.defaultdict(list)
    for number, each in enumerate(features):
        for feature in set(each):
            holders[feature].append(number)
    lines = ["// The features that the program reads in each report (tools/report_classifier/reports.py).",
             *head_of_features()]
    for feature, numbers in sorted(holders.items()):
        is_word = not feature.startswith("@") and " " not in feature
        if len(numbers) < FEWEST:
            # A rare word counts by its direction alone, and only one that was written for this purpose.
            numbers = [number for number in numbers if number < count] if is_word else []
        if numbers:
            steps = [after - before for before, after in zip([0, *numbers], numbers)]
            lines.append(f"{feature}\t{' '.join(map(str, steps))}")
    FEATURES.write_text("\n".join(lines) + "\n")
