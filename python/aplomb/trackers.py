"""A report, or the guard's counts, into the trackers that are open in this process: W&B, MLflow, Trackio, and a TensorBoard
SummaryWriter that is given. Nothing is opened or installed; a tracker that fails is left out, and the training goes on.

    report = aplomb.diagnose("out/")
    aplomb.trackers.tell(report)              # tags, a note and an alert beside the run's curves
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aplomb.report import Report

MOST_CAUSES = 3


def tell(report: Report, writer: Any = None) -> list[str]:
    """Writes verdict, headline and causes to every tracker that is open; the names of those that took them."""
    words = words_of(report)
    text = text_of(report)
    ill = report.verdict not in ("healthy", "insufficient-evidence")

    def wandb(run: Any) -> None:
        run.summary.update(words)
        if ill:
            run.alert(title=f"aplomb: {report.verdict}", text=text)

    def mlflow(module: Any) -> None:
        module.set_tags({name.replace("/", "."): value for name, value in words.items()})
        module.log_text(text, "aplomb.md")

    def tensorboard(to: Any) -> None:
        to.add_text("aplomb", text.replace("\n", "  \n"))
        to.flush()

    return _to_each(wandb, mlflow, lambda module: module.log(words), tensorboard, writer)


def tell_numbers(numbers: dict[str, float], step: int, writer: Any = None) -> list[str]:
    """Numbers at a step, to every tracker that is open."""

    def tensorboard(to: Any) -> None:
        for name, number in numbers.items():
            to.add_scalar(name, number, step)

    return _to_each(
        lambda run: run.log(numbers, commit=False),
        lambda module: module.log_metrics(numbers, step=step),
        lambda module: module.log(numbers),
        tensorboard,
        writer,
    )


def words_of(report: Report) -> dict[str, str]:
    """What a table of runs can be sorted by."""
    words = {"aplomb/verdict": report.verdict, "aplomb/headline": str(report.data.get("summary", {}).get("headline", ""))}
    if report.causes:
        words["aplomb/cause"] = report.causes[0].id
        words["aplomb/probability"] = f"{report.causes[0].probability:.2f}"
    return words


def text_of(report: Report) -> str:
    lines = [f"{report.verdict}: {report.data.get('summary', {}).get('headline', '')}"]
    for cause in report.causes[:MOST_CAUSES]:
        lines.append(f"- {cause.title} ({cause.probability:.0%}, {cause.id})")
        lines += [f"    change: {each['text']}" for each in cause.remedies[:1] if each.get("text")]
    return "\n".join(lines)


def _to_each(
    wandb: Callable[[Any], None],
    mlflow: Callable[[Any], None],
    trackio: Callable[[Any], None],
    tensorboard: Callable[[Any], None],
    writer: Any,
) -> list[str]:
    """Only modules that the program has imported itself are asked; a run that nobody opened stays closed."""
    took: list[str] = []
    modules = sys.modules

    def attempt(name: str, act: Callable[[Any], None], open_one: Callable[[], Any]) -> None:
        try:
            target = open_one()
            if target is None:
                return
            act(target)
        except Exception:  # a tracker must never end a training
            return
        took.append(name)

    attempt("wandb", wandb, lambda: getattr(modules.get("wandb"), "run", None))
    attempt("mlflow", mlflow, lambda: modules["mlflow"] if modules["mlflow"].active_run() is not None else None)
    attempt("trackio", trackio, lambda: modules["trackio"] if _trackio_run() is not None else None)
    attempt("tensorboard", tensorboard, lambda: writer)
    return took


def _trackio_run() -> Any:
    held = getattr(sys.modules.get("trackio.context_vars"), "current_run", None)
    return held.get() if held is not None else None
