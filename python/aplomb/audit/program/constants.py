"""Constants: what a value may be that is known without running anything."""

from __future__ import annotations


class Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


UNKNOWN = Unknown()


class Symbol(str):
    """A name that stands for itself: `torch.float16`."""


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def known(value: object) -> bool:
    return not isinstance(value, Unknown)
