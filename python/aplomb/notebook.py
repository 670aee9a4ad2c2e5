"""A report as a notebook shows it: verdict, causes with probability and remedies, symptoms. No script, a few inline styles,
every text escaped: logs hold whatever users and strangers wrote into them."""

from __future__ import annotations

from html import escape
from typing import Any

COLOURS = {"healthy": "#2e7d32", "warning": "#b26a00", "unstable": "#c25100", "failed": "#c62828"}
MOST_CAUSES = 5
MOST_SYMPTOMS = 12
MOST_LINES = 3  # of evidence a cause


def page_of(report: dict[str, Any]) -> str:
    """Of the schema aplomb.report/1."""
    verdict = str(report["verdict"])
    colour = COLOURS.get(verdict, "#555")
    badge = f'<b style="color:#fff;background:{colour};padding:1px 8px;border-radius:3px">{escape(verdict)}</b>'
    paths = ", ".join(escape(str(each.get("path", ""))) for each in report.get("inputs", []))
    parts = [f'<div style="max-width:60em"><p>{badge} <span style="color:#777">{paths}</span></p>']
    parts += [_cause(each) for each in report.get("causes", [])[:MOST_CAUSES]]
    symptoms = report.get("symptoms", [])
    if symptoms:
        rows = "".join(
            f"<tr><td><code>{escape(each['id'])}</code></td><td>{escape(each['severity'])}</td><td>{_steps(each)}</td>"
            f'<td style="text-align:left">{escape(each["summary"])}</td></tr>'
            for each in symptoms[:MOST_SYMPTOMS]
        )
        left = len(symptoms) - MOST_SYMPTOMS
        more = f"<p>and {left} more in <code>report.symptoms</code></p>" if left > 0 else ""
        parts.append(f"<table><tr><th>seen</th><th></th><th>steps</th><th></th></tr>{rows}</table>{more}")
    return "".join(parts) + "</div>"


def _steps(symptom: dict[str, Any]) -> str:
    first, last = symptom.get("first_step"), symptom.get("last_step")
    if first is None:
        return ""
    return str(first) if last in (None, first) else f"{first} to {last}"


def _cause(cause: dict[str, Any]) -> str:
    share = max(0.0, min(1.0, cause["probability"]))
    bar = (
        '<span style="display:inline-block;width:6em;height:.7em;border:1px solid #999">'
        f'<span style="display:block;height:100%;width:{share:.0%};background:#4a78b5"></span></span>'
    )
    lines = [escape(str(each.get("text", ""))) for each in cause.get("evidence", [])[:MOST_LINES]]
    evidence = "".join(f'<li style="color:#777"><code>{line}</code></li>' for line in lines)
    remedies = "".join(f"<li>{escape(str(each.get('text', '')))}</li>" for each in cause.get("remedies", []))
    title, name, because = (escape(str(cause.get(each, ""))) for each in ("title", "id", "because"))
    return (
        f"<details{' open' if share > 0.5 else ''}><summary>{bar} {share:.0%} <b>{title}</b> "
        f"<code>{name}</code></summary><p>{because}</p>"
        + (f"<ul>{evidence}</ul>" if evidence else "")
        + (f"<p>Change:</p><ul>{remedies}</ul>" if remedies else "")
        + "</details>"
    )
