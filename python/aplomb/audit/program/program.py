"""Program: a source with what the rules ask of it: where names come from, which constants and objects they hold, what its
losses compute, and what it does in which order.

Everything is decided inside one tree: that of a file, or of a script and the modules of its folder that it imports
(project.py). Each analysis knows those before it, never those behind it, and none knows the Program.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from functools import cached_property

from .algebra import Algebra
from .losses import Losses
from .makers import Makers
from .names import Names
from .objects import Objects
from .shapes import Shapes
from .source import Source
from .timeline import Cycle, Timeline, timelines_of
from .tree import Tree
from .values import Values

MOST_SPREADS = 64  # calls whose `**settings` are looked at
MOST_SETTINGS = 200  # of one such call
MOST_TEXT = 10_000  # characters of one of them


class Program(Source):
    def __init__(
        self,
        source: str,
        path: str = "<source>",
        linked: ast.Module | None = None,
        folders: list[str] | None = None,
    ):
        super().__init__(source, path, linked, folders)
        self.troubles: list[str] = []  # what could not be judged
        self.left_out: list[str] = []  # the rules that did not judge it
        if self._write_out_settings():
            for name in ("names", "values", "makers", "objects"):
                self.__dict__.pop(name, None)
            self.take(Tree(source, path, self.tree))

    def _write_out_settings(self) -> bool:
        """`TrainingArguments(**cfg["training"])`: what the configuration gives stands as keywords in the call. Whether any
        call was changed."""
        spread = [call for call in self.calls if any(each.arg is None for each in call.keywords)]
        changed = False
        for call in spread[:MOST_SPREADS]:
            given = {each.arg for each in call.keywords if each.arg}
            for keyword in [each for each in call.keywords if each.arg is None]:
                held = self.values.of(keyword.value) if not isinstance(keyword.value, ast.Dict) else None
                if not isinstance(held, dict) or len(held) > MOST_SETTINGS:
                    continue
                written = {name: written_out(value, keyword.value) for name, value in held.items() if isinstance(name, str)}
                new = [ast.keyword(arg=name, value=node) for name, node in written.items() if node and name not in given]
                for each in new:
                    ast.copy_location(each, keyword.value)
                call.keywords += new
                if None not in written.values() and len(written) == len(held):
                    call.keywords.remove(keyword)
                changed = changed or bool(new)
        return changed

    @cached_property
    def names(self) -> Names:
        """Where each name's value comes from."""
        return Names(self, lambda call: self.makers.forward_run(call))

    @cached_property
    def values(self) -> Values:
        """The constants."""
        return Values(self, self.names)

    @cached_property
    def makers(self) -> Makers:
        """Which call made which object."""
        return Makers(self, self.names, self.values)

    @cached_property
    def objects(self) -> Objects:
        """Which objects are optimizers, schedules, models, and what is done to them."""
        return Objects(self, self.names, self.values, self.makers)

    @cached_property
    def losses(self) -> Losses:
        """What backward passes are taken of."""
        return Losses(self, self.names, self.values, self.makers, self.objects)

    @cached_property
    def shapes(self) -> Shapes:
        """How many dimensions values have."""
        return Shapes(self, self.names, self.values, self.makers, self.objects)

    @cached_property
    def algebra(self) -> Algebra:
        """What expressions compute, whichever way they are spelled."""
        return Algebra(self, self.names, self.values, self.objects, self.losses)

    @cached_property
    def timelines(self) -> list[Timeline]:
        """What the program does, in order."""
        return timelines_of(self, self.names, self.objects)

    @property
    def cycles(self) -> Iterator[Cycle]:
        """The loops that an optimizer steps in."""
        for timeline in self.timelines:
            yield from timeline.cycles


def written_out(value: object, at: ast.expr) -> ast.expr | None:
    """A constant as it would stand in the program; None where it cannot."""
    plain = (int, float, str, bool, type(None))
    if isinstance(value, dict):
        fine = all(isinstance(key, str) and isinstance(each, plain) for key, each in value.items())
    elif isinstance(value, list):
        fine = all(isinstance(each, plain) for each in value)
    else:
        fine = isinstance(value, plain)
    text = repr(value)
    if not fine or type(value).__name__ == "Symbol" or len(text) > MOST_TEXT or not is_finite(value):
        return None
    node = ast.parse(text, mode="eval").body
    for each in ast.walk(node):
        ast.copy_location(each, at)
    return node


def is_finite(value: object) -> bool:
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return not any(isinstance(each, float) and not math.isfinite(each) for each in held)
