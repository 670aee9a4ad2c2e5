"""diagnose(): whatever files a run left -> a Report, by the aplomb program of this package."""

from __future__ import annotations

import os
from typing import Any

from aplomb.notebook import page_of

__all__ = ["Cause", "Report", "Symptom", "diagnose"]


class Symptom:
    """What was seen: id, severity, steps, one line."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.id: str = data["id"]
        self.severity: str = data["severity"]
        self.summary: str = data["summary"]
        self.first_step: int | None = data.get("first_step")
        self.last_step: int | None = data.get("last_step")
        self.evidence: list[dict[str, Any]] = data.get("evidence", [])

    def __repr__(self) -> str:
        return f"<Symptom {self.id}: {self.summary}>"


class Cause:
    """What was wrong, with its probability and what to change."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.id: str = data["id"]
        self.title: str = data["title"]
        self.probability: float = data["probability"]
        self.because: str = data.get("because", "")
        self.remedies: list[dict[str, Any]] = data.get("remedies", [])
        self.evidence: list[dict[str, Any]] = data.get("evidence", [])

    def __repr__(self) -> str:
        return f"<Cause {self.id} {self.probability:.0%}: {self.title}>"


class Report:
    """The schema aplomb.report/1; `data` is the whole of it."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.verdict: str = data["verdict"]
        self.causes = [Cause(each) for each in data.get("causes", [])]
        self.ruled_out: list[dict[str, Any]] = data.get("ruled_out", [])
        self.health: dict[str, list[dict[str, Any]]] = data.get("health", {})
        self.symptoms = [Symptom(each) for each in data.get("symptoms", [])]
        self.settings: dict[str, Any] = data.get("settings", {})
        self.inputs: list[dict[str, Any]] = data.get("inputs", [])

    @property
    def healthy(self) -> bool:
        return self.verdict == "healthy"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return page_of(self.data)

    def __repr__(self) -> str:
        return f"<Report {self.verdict}: {self.causes[0] if self.causes else 'no cause'}>"


def _program() -> str:
    import shutil
    import sysconfig

    named = os.environ.get("APLOMB_CLI")
    beside = os.path.join(sysconfig.get_path("scripts"), "aplomb")
    program = named or (beside if os.path.exists(beside) else shutil.which("aplomb"))
    if not program:
        raise FileNotFoundError("[aplomb] the aplomb program is not installed beside this package")
    return program


def diagnose(*paths: str | os.PathLike[str]) -> Report:
    """Diagnoses files and folders. Raises ValueError where nothing in them could be read."""
    import json  # here: `import aplomb` stays short
    import subprocess

    command = [_program(), "diagnose", "--json", *(os.fspath(each) for each in paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 2: usage, or unreadable input
        raise ValueError(done.stderr.strip() or f"[aplomb] exit status {done.returncode}")
    return Report(json.loads(done.stdout))
