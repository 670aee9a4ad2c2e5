"""Finding: one line of a program that will go wrong, why, and how it should read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Finding:
    rule: str  # `code.log-softmax`
    severity: str  # note | warning | unstable | failed: what the run becomes
    line: int  # from 1
    title: str
    because: str
    corrected: str  # the line (or lines) as it should read
    text: str = ""  # the line as it stands
    leads_to: list[str] = field(default_factory=list)  # ids of causes that a broken run would be diagnosed with

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
