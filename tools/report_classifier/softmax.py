"""A softmax regression over features: one class a cause, and one for runs in order.

Words and facts are scaled apart, 1/sqrt(number) each; an L2 penalty holds the weights; a public report counts four times
a written one. As there are fewer reports than features the fit runs over the reports (weights = features x what each
report adds). What two reports share is counted in whole numbers and everything after it is in float64, so that the
weights are the same on any machine once they are rounded.
"""
import collections

import numpy

from report_classifier.reports import FEWEST, HEALTHY

PENALTY = 0.03
SCALE = 2.0  # of the rows: with the penalty above the best of 1, 2 and 4 by cross-validation
PUBLIC = 4.0  # what a public report counts
# What a report of a run in order counts: there are eight times as many of them as of a cause. Held out, 91 of 1,350 broken
# runs are told healthy with 0.5 and 192 with 1, of 69 in order 44 and 47 are heard.
IN_ORDER = 0.5
STEPS = 200  # until no ranking changes
MANY = 100  # reports: features of more are counted by a product of matrices, of fewer one by one


class Rows:
    """Features of one kind: which of them each report has, as 0 and 1, and how long its row is."""

    def __init__(self, lists, vectors=None):
        count = collections.Counter(feature for each in lists for feature in each)
        self.names = sorted(feature for feature, times in count.items() if times >= FEWEST)
        self.index = {name: i for i, name in enumerate(self.names)}
        self.vectors = vectors

    def of(self, lists):
        """(held, sums of vectors, factor) of each list; the row of a report is factor * (held, sums)."""
        held = numpy.zeros((len(lists), len(self.names)), numpy.float32)
        sums = numpy.zeros((len(lists), self.vectors.rows.shape[1] if self.vectors else 0))
        counts = numpy.ones(len(lists))
        for i, each in enumerate(lists):
            known = [self.index[feature] for feature in each if feature in self.index]
            held[i, known] = 1
            more = 0
            if self.vectors:
                sums[i] = self.vectors.of(each)
                more = sum(feature in self.vectors.index and feature not in self.index for feature in each)
            counts[i] = max(1, len(known) + more)
        return held, sums, SCALE**0.5 * counts**-0.5


class Model:
    """words, facts: what is known of each kind; weights: (feature, class) of held words, directions, held facts; bias."""

    def __init__(self, reports, classes, vectors, precision=numpy.float64):
        self.classes, self.precision = classes, precision
        self.words = Rows([report.words for report in reports], vectors)
        self.facts = Rows([report.facts for report in reports])
        parts = self.parts(reports)
        target = numpy.zeros((len(reports), len(classes)), precision)
        for row, report in zip(target, reports):
            for cause, part in report.right.items():
                row[classes.index(cause)] = part
        counts = numpy.array([count_of(report) for report in reports], precision)
        added = self.fit(products(parts).astype(precision), target, counts)
        (words, sums, word_factor), (facts, _, fact_factor) = parts
        by_word, by_fact = added * word_factor[:, None], added * fact_factor[:, None]
        self.word_weights = summed(words, by_word)
        self.vector_weights = sums.T @ by_word
        self.fact_weights = summed(facts, by_fact)

    def parts(self, reports):
        return [self.words.of([report.words for report in reports]), self.facts.of([report.facts for report in reports])]

    def fit(self, products, target, counts):
        """What each report adds to the weights of its features (Nesterov's accelerated gradient); sets the bias, which no
        penalty holds."""
        probe = numpy.ones(len(target), self.precision)
        for _ in range(12):  # the curvature of softmax is at most half that of the squares of the rows
            probe = products @ (counts * probe) + (counts * probe).sum()
            curvature = numpy.linalg.norm(probe)
            probe /= curvature
        step = 1 / (0.5 * curvature + PENALTY)
        added = ahead = numpy.zeros_like(target)
        self.bias = bias = numpy.log(counts @ target / counts.sum())  # where all would be with no feature
        for i in range(STEPS):
            error = (softmax(products @ ahead + bias) - target) * counts[:, None]
            new, new_bias = ahead - step * (error + PENALTY * ahead), bias - step * error.sum(axis=0)
            ahead = new + i / (i + 3) * (new - added)
            bias = new_bias + i / (i + 3) * (new_bias - self.bias)
            added, self.bias = new, new_bias
        return added

    def log_probabilities(self, reports):
        (words, sums, word_factor), (facts, _, fact_factor) = self.parts(reports)
        scores = word_factor[:, None] * (words @ self.word_weights + sums @ self.vector_weights)
        scores = scores + fact_factor[:, None] * (facts @ self.fact_weights) + self.bias
        return numpy.log(softmax(scores) + 1e-30)


def count_of(report):
    if report.public:
        return PUBLIC
    return IN_ORDER if HEALTHY in report.right else 1.0


def shared(held):
    """How many features two reports share. float32 counts whole numbers exactly, whatever the order of the sums."""
    common = held.sum(axis=0) > MANY
    counts = held[:, common] @ held[:, common].T
    for column in held.T[~common]:
        holders = numpy.flatnonzero(column)
        counts[numpy.ix_(holders, holders)] += 1
    return counts


def products(parts):
    """The inner products of the rows of all reports."""
    return sum(factor[:, None] * (shared(held) + sums @ sums.T) * factor for held, sums, factor in parts)


def summed(held, added):
    """The sum of `added` over the reports that hold each feature, in their order, which no library decides."""
    out = numpy.zeros((held.shape[1], added.shape[1]), added.dtype)
    for row, each in zip(held, added):
        out[row > 0] += each
    return out


def softmax(scores):
    scores = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)
