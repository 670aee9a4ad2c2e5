#!/usr/bin/env python3
"""Fit the weights of evidence on labelled cases, and say how far they can be trusted.

usage: calibrate.py --aplomb BINARY --cases DIR [DIR ...] [--folds N] [--strength S] [--write]

Each case is a folder with evidence/ and truth.json ({"family", "cause", "accept", "enough_evidence"}). The program is run
once a case; every cause that it lists comes with the conditions that held and their weights, so that the fit needs no
second copy of the rules. Weights keep their sign and their reason: each is scaled by a positive factor that is pulled
towards 1 (--strength is the standard deviation of its logarithm), because few cases stand against many weights. The
temperature and the weight of the unknown cause are fitted along.

Printed: accuracy, family and calibration error as shipped (and, of the cases with any finding, how sure the first cause was
on average and how often it was right: a calibration error does not tell modesty from boasting), the same cross-validated
by case (weights fitted without the case that they judge), the confusion between
causes, and the weights that the cases would change most.
--temperatures T ... prints the same for other temperatures, weights as shipped.
--platt fits the line from the share of a first cause to the probability that is told
(src/diagnosis/calibrate_probability.h), cross-validated by case:
give it cases that the program has not met, for on the others it is right too often.
--held-out FILE (made by tools/train_report_classifier.py --held-out --answers FILE) puts what was learnt without a case
in place of what the program has learnt from it, where that leads (the text_* of knowledge/calibration.yaml): the honest
figure for texts.
--write changes the weights in knowledge/causes/*.yaml and knowledge/calibration.yaml. Needs nothing but Python.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import pathlib
import random
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAUSE_ID = re.compile(r"^- id: (\S+)")
RULE = re.compile(r'^(\s+- \{when: "((?:[^"\\]|\\.)*)", weight: )(-?[0-9.]+)(.*)$')
PRIOR = re.compile(r"^\s+prior: (-?[0-9.]+)")
# The engine's own reasons: fitted as one number each, not per cause.
LEAST_NATS = 1.1  # k_words_name of src/diagnosis/weigh.cpp
GROUPED = ("explains ", "leaves ", "nothing that it explains", "words of the text")


def read_priors():
    priors = {}
    for path in sorted((ROOT / "knowledge/causes").glob("*.yaml")):
        cause = None
        for line in path.read_text().splitlines():
            if match := CAUSE_ID.match(line):
                cause = match.group(1)
            elif cause and (match := PRIOR.match(line)):
                priors[cause] = float(match.group(1))
    return priors


def read_calibration():
    text = (ROOT / "knowledge/calibration.yaml").read_text()
    return {key: float(value) for key, value in re.findall(r"^(\w+): (-?[0-9.]+)", text, re.M)}


class Case:
    """What the program said of a case: for each cause its prior and the conditions that held."""

    def __init__(self, folder, truth, report, priors):
        self.name, self.truth = folder.name, truth
        # As tools/report_classifier/reports.py names a public report.
        best = "healthy" if truth["family"] == "healthy" else f"{truth['family']}.{truth['cause']}"
        self.key = f"{truth.get('source')} {best}"
        self.right = {truth["cause"], *truth.get("accept", [])}
        self.healthy = truth["family"] == "healthy"
        self.shipped = [(c["id"], c["probability"]) for c in report.get("causes", [])]
        self.told = max((series["points"] for series in report.get("series", [])), default=0) < 3
        self.found = report.get("verdict") != "healthy"
        self.causes = []
        for cause in report.get("causes", []):
            features = [(feature_of(cause["id"], w["when"]), w["weight"]) for w in cause["weights"]]
            self.causes.append((cause["id"], priors.get(cause["id"], 0.0), features))

    def is_right(self, cause):
        return cause.split(".", 1)[1] in self.right


def first_finding(case, calibration):
    """(share, right) of a first cause with evidence of its own in a report that finds something; None where there is none.
    The share is that of a plain softmax over the listed causes."""
    if case.healthy or not case.found or not case.causes:
        return None
    kind = "no_metrics_" if case.told else ""
    model = Model(calibration[kind + "temperature"], calibration[kind + "unknown"])
    first = next(cause for cause in case.causes if cause[0] == case.shipped[0][0])
    share = dict(ranked(model, case))[first[0]]
    own = any(weight > 0 and not isinstance(key, str) for key, weight in first[2])
    return (share, case.is_right(first[0])) if own else None


def heard(case, answer, calibration):
    """The causes of a text with their probabilities by weights that were learnt without it, as src/diagnosis/weigh.cpp and
    calibrate_probability.cpp have them. None where words do not lead."""
    words_lead = case.told and any("words" in features_names(features) for _, _, features in case.causes)
    if not words_lead:
        return None
    floor, scale = calibration["text_floor"], calibration["text_words"]
    rules = {}
    for cause, prior, features in case.causes:
        own = [weight for key, weight in features if key != "words"]
        if any(weight > 0 for weight in own):
            rules[cause] = max(floor, prior + sum(own))
    even = math.log(len(answer))
    nats = {cause: log + even for cause, log in answer.items()}
    best = {}
    for cause in answer:
        if cause == "healthy" or (cause not in rules and nats[cause] < LEAST_NATS):
            continue
        log_odds, slug = rules.get(cause, floor) + scale * nats[cause], cause.split(".", 1)[1]
        if slug not in best or log_odds > best[slug][1]:
            best[slug] = (cause, log_odds)
    calm = calibration["text_healthy"] + scale * nats["healthy"]
    everything = [*best.values(), ("healthy", calm), ("unknown", calibration["text_unknown"])]
    masses = [(cause, math.exp(log_odds / calibration["text_temperature"])) for cause, log_odds in everything]
    whole = sum(mass for _, mass in masses)
    shares = sorted(((cause, mass / whole) for cause, mass in masses), key=lambda pair: -pair[1])
    causes = [pair for pair in shares if "." in pair[0]]
    if causes and causes[0][1] < 0.5:
        share = told(causes[0][1], calibration["text_platt_slope"], calibration["text_platt_offset"])
        causes[0] = (causes[0][0], share)
    return causes


def features_names(features):
    return {key for key, _ in features if isinstance(key, str)}


def show_held_out(cases, path, calibration):
    lines = (json.loads(line) for line in path.read_text().splitlines())
    answers = {line["case"]: dict(zip(line["classes"], line["log"])) for line in lines}
    known = [case for case in cases if case.key in answers]
    given = [heard(case, answers[case.key], calibration) for case in known]
    show("held out", known, [case.shipped if causes is None else causes for case, causes in zip(known, given)])


def log_odds_of(share):
    share = min(max(share, 1e-4), 1 - 1e-4)
    return math.log(share / (1 - share))


def told(share, slope, offset):
    probability = 1 / (1 + math.exp(-(slope * log_odds_of(share) + offset)))
    return max(probability, 0.5) if share >= 0.5 else max(share, min(probability, 0.49))


def fit_platt(findings, pull=2.0, rounds=2000):
    """Slope and offset by gradient descent on the log loss, pulled towards the share itself (1, 0): few cases."""
    slope, offset = 1.0, 0.0
    for _ in range(rounds):
        by_slope, by_offset = pull * (slope - 1), 0.2 * pull * offset
        for share, right in findings:
            score = log_odds_of(share)
            error = 1 / (1 + math.exp(-(slope * score + offset))) - right
            by_slope += error * score
            by_offset += error
        slope = max(0.05, slope - 0.2 * by_slope / max(100, len(findings)) / 4)
        offset -= by_offset / max(100, len(findings))
    return slope, offset


def error_of(pairs):
    """Expected calibration error in ten bins."""
    bins = collections.defaultdict(list)
    for probability, right in pairs:
        bins[min(9, int(probability * 10))].append((probability, right))
    return sum(abs(sum(p - r for p, r in entries)) for entries in bins.values()) / max(1, len(pairs))


def show_platt(cases, folds, calibration):
    findings = [each for each in (first_finding(case, calibration) for case in cases) if each]
    held_out = [None] * len(findings)
    for fold in folds_of(findings, folds):
        line = fit_platt([each for index, each in enumerate(findings) if index not in fold])
        for index in fold:
            held_out[index] = (told(findings[index][0], *line), findings[index][1])
    slope, offset = fit_platt(findings)
    rate = sum(right for _, right in findings) / max(1, len(findings))
    print(f"first causes with evidence of their own: {len(findings)}, right {rate:.2f}; "
          f"calibration error {error_of(findings):.3f} of the shares, {error_of(held_out):.3f} cross-validated; "
          f"slope {slope:.2f}, offset {offset:.2f}")


def feature_of(cause, when):
    return when.split(" ")[0] if when.startswith(GROUPED) else (cause, when)


def load(aplomb, folders, jobs):
    priors = read_priors()
    paths = sorted(path.parent for folder in folders for path in pathlib.Path(folder).glob("*/truth.json"))

    def run(path):
        done = subprocess.run([aplomb, "diagnose", "--json", "--most", "100", str(path / "evidence")],
                              capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        reports = list(pool.map(run, paths))
    cases = [Case(path, json.loads((path / "truth.json").read_text()), report, priors)
             for path, report in zip(paths, reports)]
    return [case for case in cases if case.healthy or case.truth["enough_evidence"]]


class Model:
    """Positive factors of the weights, a temperature and the log-odds of the unknown cause."""

    def __init__(self, temperature, unknown):
        self.log_factor = collections.defaultdict(float)
        self.log_temperature = math.log(temperature)
        self.unknown = unknown

    def log_odds(self, cause):
        _, prior, features = cause
        return prior + sum(weight * math.exp(self.log_factor[key]) for key, weight in features)

    def probabilities(self, case):
        """Of each cause against the others and the unknown one, which comes last."""
        scores = [self.log_odds(cause) for cause in case.causes] + [self.unknown]
        scaled = [score / math.exp(self.log_temperature) for score in scores]
        top = max(scaled)
        masses = [math.exp(score - top) for score in scaled]
        total = sum(masses)
        return scores, [mass / total for mass in masses]

    def step(self, case, rate, strength):
        """One step of gradient descent on -log(share of the right causes), with the pull towards factors of 1."""
        scores, shares = self.probabilities(case)
        right = [case.is_right(cause[0]) and not case.healthy for cause in case.causes] + [case.healthy]
        held = sum(share for share, good in zip(shares, right) if good)
        if held <= 0:
            return
        temperature = math.exp(self.log_temperature)
        by_temperature = 0.0
        for index, (score, share, good) in enumerate(zip(scores, shares, right)):
            slope = share - (share / held if good else 0.0)  # of the loss, by this scaled score
            by_temperature -= slope * score / temperature
            if index == len(case.causes):
                self.unknown -= rate * slope / temperature
                continue
            for key, weight in case.causes[index][2]:
                factor = math.exp(self.log_factor[key])
                self.log_factor[key] -= rate * slope * weight * factor / temperature
        self.log_temperature -= 0.1 * rate * by_temperature
        self.log_temperature = min(max(self.log_temperature, math.log(0.5)), math.log(2.0))
        for _, _, features in case.causes:
            for key, _ in features:
                self.log_factor[key] -= rate * 0.02 * self.log_factor[key] / strength**2


def fit(cases, start, strength, epochs=60, seed=1):
    model = Model(start["temperature"], start["unknown"])
    order = [case for case in cases if case.causes]
    shuffle = random.Random(seed)
    for epoch in range(epochs):
        shuffle.shuffle(order)
        for case in order:
            model.step(case, 0.1 / (1 + 0.05 * epoch), strength)
    return model


def ranked(model, case):
    _, shares = model.probabilities(case)
    return sorted(((cause[0], share) for cause, share in zip(case.causes, shares)), key=lambda pair: -pair[1])


def score(cases, answers):
    """answers: for each case its causes with probabilities, best first."""
    tally = collections.Counter()
    bins = collections.defaultdict(list)
    confusion = collections.Counter()
    for case, causes in zip(cases, answers):
        if not case.healthy and causes:  # a finding, however unsure
            tally["found"] += 1
            tally["said"] += causes[0][1]
            tally["right"] += case.is_right(causes[0][0])
        if case.healthy:
            tally["healthy"] += 1
            tally["alarms"] += bool(causes) and causes[0][1] > 0.5
            continue
        tally["cases"] += 1
        first = causes[0] if causes else ("none.none", 0.0)
        hit = case.is_right(first[0])
        tally["top1"] += hit
        tally["top3"] += any(case.is_right(cause) for cause, _ in causes[:3])
        tally["family"] += first[0].split(".")[0] == case.truth["family"]
        bins[min(9, int(first[1] * 10))].append((first[1], hit))
        if not hit:
            confusion[(f"{case.truth['family']}.{case.truth['cause']}", first[0])] += 1
    count = max(1, tally["cases"])
    error = sum(abs(sum(p for p, _ in entries) - sum(h for _, h in entries)) for entries in bins.values()) / count
    return tally, error, bins, confusion


def show(title, cases, answers):
    tally, error, bins, confusion = score(cases, answers)
    count = max(1, tally["cases"])
    print(f"{title:16} cases {tally['cases']}  top-1 {tally['top1'] / count:.3f}  top-3 {tally['top3'] / count:.3f}  "
          f"family {tally['family'] / count:.3f}  ece {error:.3f}  false alarms {tally['alarms']}/{tally['healthy']}  "
          f"findings {tally['found']}, said {tally['said'] / max(1, tally['found']):.2f}, "
          f"right {tally['right'] / max(1, tally['found']):.2f}")
    return bins, confusion


def folds_of(cases, count, seed=7):
    order = list(range(len(cases)))
    random.Random(seed).shuffle(order)
    return [set(order[start::count]) for start in range(count)]


def cross_validated(cases, start, strength, count):
    answers = [None] * len(cases)
    for fold in folds_of(cases, count):
        model = fit([case for index, case in enumerate(cases) if index not in fold], start, strength)
        for index in fold:
            answers[index] = ranked(model, cases[index])
    return answers


def write(model):
    """Scales the weights in place, to two digits; lines that no case touched stay as they are."""
    changed = 0
    for path in sorted((ROOT / "knowledge/causes").glob("*.yaml")):
        cause, lines = None, []
        for line in path.read_text().splitlines():
            if match := CAUSE_ID.match(line):
                cause = match.group(1)
            match = RULE.match(line)
            moved = model.log_factor.get((cause, match.group(2)), 0.0) if match else 0.0
            if abs(moved) > 0.02:
                weight = float(match.group(3)) * math.exp(moved)
                line = f"{match.group(1)}{weight:.2g}{match.group(4)}"
                changed += 1
            lines.append(line)
        path.write_text("\n".join(lines) + "\n")
    path = ROOT / "knowledge/calibration.yaml"
    text = re.sub(r"^temperature: .*", f"temperature: {math.exp(model.log_temperature):.2f}", path.read_text(), flags=re.M)
    path.write_text(re.sub(r"^unknown: .*", f"unknown: {model.unknown:.2f}", text, flags=re.M))
    print(f"wrote {changed} weights, the temperature and the unknown cause")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aplomb", default="build/release/aplomb")
    parser.add_argument("--cases", nargs="+", required=True)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--strength", type=float, default=0.25)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--families", nargs="*", help="only cases of these families")
    parser.add_argument("--temperatures", nargs="*", type=float, default=[])
    parser.add_argument("--platt", action="store_true")
    parser.add_argument("--held-out", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()

    cases = load(options.aplomb, options.cases, options.jobs)
    if options.families:
        cases = [case for case in cases if case.truth["family"] in options.families]
    start = read_calibration()
    bins, confusion = show("as shipped", cases, [case.shipped for case in cases])
    if options.held_out:
        show_held_out(cases, options.held_out, start)
        return
    if options.platt:
        show_platt(cases, options.folds, start)
        return
    for temperature in options.temperatures:
        model = Model(temperature, start["unknown"])
        show(f"temperature {temperature:g}", cases, [ranked(model, case) for case in cases])
    show("cross-validated", cases, cross_validated(cases, start, options.strength, options.folds))
    model = fit(cases, start, options.strength)
    show("fitted on all", cases, [ranked(model, case) for case in cases])

    print("\ncalibration as shipped (said, right, cases):")
    for key in sorted(bins):
        entries = bins[key]
        print(f"  {sum(p for p, _ in entries) / len(entries):.2f}  "
              f"{sum(h for _, h in entries) / len(entries):.2f}  {len(entries)}")
    if confusion:
        print("\nconfusion as shipped (truth <- said):")
        for (truth, said), times in confusion.most_common():
            print(f"  {times}  {truth} <- {said}")
    moved = sorted(model.log_factor.items(), key=lambda item: -abs(item[1]))[:15]
    print(f"\ntemperature {math.exp(model.log_temperature):.2f}, unknown {model.unknown:.2f}; largest changes:")
    for key, value in moved:
        print(f"  x{math.exp(value):.2f}  {key if isinstance(key, str) else ': '.join(key)}")
    if options.write:
        write(model)


if __name__ == "__main__":
    main()
