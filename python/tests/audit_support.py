"""What the tests of the code audit share: how a small program is judged, and the texts of knowledge/code."""

import functools
import pathlib
import textwrap

import yaml
from aplomb.audit import Program, audit_program

KNOWLEDGE = pathlib.Path(__file__).parents[2] / "knowledge"
HEAD = """
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, random_split
"""


@functools.cache
def entries():
    """Findings of the code book by id."""
    found = {}
    for path in sorted((KNOWLEDGE / "code").rglob("*.yaml")):
        found.update({each["id"]: each for each in yaml.safe_load(path.read_text()) if "id" in each})
    return found


def audited(program):
    """The findings of a program; HEAD stands before it."""
    judged = Program(HEAD + textwrap.dedent(program))
    found = audit_program(judged)
    assert judged.troubles == []
    return found


def rules_of(program, notes=False):
    """The names of the rules that find something; notes, and what is told of old cards alone, left out."""
    found = {each.rule: entries()[each.rule] for each in audited(program)}
    return {name for name, entry in found.items() if notes or (entry["severity"] != "note" and "before_capability" not in entry)}


def marked_line(program):
    """The line that is marked `# <-`; None where none is."""
    lines = (HEAD + textwrap.dedent(program)).splitlines()
    return next((number for number, line in enumerate(lines, 1) if "# <-" in line), None)


def check_wrong(rule, program):
    found = [each for each in audited(program) if each.rule == rule]
    assert found, f"{rule} is silent"
    line = marked_line(program)
    if line is not None:
        assert line in [found[0].line, *found[0].also], f"{rule} names line {found[0].line}, not {line}"


def check_right(rule, program):
    assert rule not in {each.rule for each in audited(program)}
