"""Builds the documentation's site from README.md, docs/ and knowledge/: build/site/html/index.html, searched without a network.

usage: site/build.py APLOMB      the program, whose --help is the reference of the command line

Generated: a page for each cause, framework and family of symptoms; the checks, findings in code, error messages and settings; the
reference of the command line and of the Python package (from its docstrings, without importing it). mkdocs runs strictly: a link or
an anchor that leads nowhere is an error. Ends with 77 (skipped) without mkdocs-material.
"""

import ast
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "build" / "site" / "source"
FAMILIES = {
    "nan": "The loss is NaN or infinite",
    "diverge": "The loss explodes, spikes or climbs",
    "stall": "Nothing is learned",
    "overfit": "Good in training, bad held out",
    "rl": "Reinforcement learning goes wrong",
    "oom": "Out of memory",
    "slow": "Too slow",
    "hang": "It hangs",
    "resume": "After a resume it is not the same",
    "setup": "It does not start",
}


def load(path):
    import yaml

    return yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def entries(folder):
    return {path.stem: load(path) for path in sorted((ROOT / "knowledge" / folder).rglob("*.yaml"))}


def write(name, text):
    path = SOURCE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n")


def code(text):
    return f"`{text}`" if "`" not in str(text) else f"`` {text} ``"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def plain(text):
    """Texts of the knowledge base with their `{fact}` shown as such."""
    return re.sub(r"\{([\w.\-]+)[^}]*\}", r"*\1*", str(text).replace("<", "&lt;").replace("*", "\\*"))


def sentences(because):
    if isinstance(because, str):
        return [plain(because)]
    return [plain(each if isinstance(each, str) else each.get("say", "")) for each in because or []]


def changes(remedy):
    return ", ".join(f"{name} = {str(value).lstrip('= ')}" for name, value in (remedy.get("set") or {}).items())


def remedies_of(entry):
    lines = []
    for each in entry.get("remedies") or []:
        note = plain(each.get("note", ""))
        lines.append("1. " + " ".join(part for part in (note, code(changes(each)) if each.get("set") else "") if part))
    return "\n".join(lines)


def references_of(entry):
    return "\n".join(
        f"- <{each}>" if str(each).startswith("http") else f"- {each}" for each in entry.get("references") or []
    )


def section(title, text):
    return f"\n## {title}\n\n{text}\n" if text else ""


class Site:
    def __init__(self, program):
        self.program = program
        self.causes = {each["id"]: each for family in entries("causes").values() for each in family}
        self.checks, self.code = entries("checks"), entries("code")
        self.code.pop("signs", None)
        errors = {"common": load(ROOT / "knowledge/errors.yaml"), "training": load(ROOT / "knowledge/errors_training.yaml")}
        self.errors = {**errors, **entries("errors")}
        self.errors.pop("frames", None)
        self.settings = load(ROOT / "knowledge/settings.yaml")
        self.frameworks = entries("frameworks")
        self.detected = {}

    def cause_link(self, name, up="../"):
        cause = self.causes.get(name)
        if cause is None:
            return code(name)
        family, slug = name.split(".", 1)
        return f"[{cell(plain(cause['title']))}]({up}causes/{family}/{slug}.md)"

    def write_causes(self):
        leads = {}
        for kind, groups in (("checks", self.checks), ("code", self.code)):
            for group in groups.values():
                for each in group:
                    for cause in [*(each.get("leads_to") or []), *(each.get("supports") or {})]:
                        leads.setdefault(cause, []).append((kind, each["id"], each["title"]))
        for name, cause in self.causes.items():
            family, slug = name.split(".", 1)
            seen = [
                plain(each["because"])
                for each in cause.get("evidence") or []
                if each.get("weight", 0) > 0 and each.get("because")
            ]
            against = [plain(each["because"]) for each in cause.get("refuted_by") or [] if each.get("because")]
            tests = [
                plain(each if isinstance(each, str) else each.get("text", "")) for each in cause.get("experiments") or []
            ]
            found = sorted(
                {
                    f"[{cell(plain(title))}](../../reference/{kind}.md#{anchor(key)})"
                    for kind, key, title in leads.get(name, [])
                }
            )
            explains = ", ".join(code(each) for each in cause.get("explains") or [])
            write(
                f"causes/{family}/{slug}.md",
                f"# {plain(cause['title'])}\n\n{code(name)} · {FAMILIES[family].lower()}\n\n"
                + " ".join(sentences(cause.get("because")))
                + "\n\nNames in *italics* are filled with the run's own numbers.\n"
                + section("What to change", remedies_of(cause))
                + section("How to verify", plain(cause.get("verify", "")))
                + section("What speaks for it", bullets(seen))
                + section("What rules it out", bullets(against))
                + section("Experiments", bullets(tests))
                + section("Found before the run by", bullets(found))
                + section("Explains", explains)
                + section("References", references_of(cause)),
            )
        for family, phrase in FAMILIES.items():
            mine = [name for name in self.causes if name.split(".")[0] == family]
            rows = "\n".join(f"| {self.cause_link(name, '../../')} | {code(name)} |" for name in mine)
            write(
                f"causes/{family}/index.md",
                f"# {phrase}\n\nWhat it may be. `aplomb diagnose` on the run's folder says which, with the lines that "
                f"show it.\n\n| cause | name |\n| --- | --- |\n{rows}\n",
            )

    def write_symptoms(self):
        by = {}
        for name, cause in self.causes.items():
            for symptom in cause.get("explains") or []:
                by.setdefault(symptom, []).append(name)
        text = "# By symptom\n\nWhat you see, and where to read on:\n\n"
        text += "\n".join(f"- [{phrase}](../causes/{family}/index.md)" for family, phrase in FAMILIES.items())
        text += "\n\n## By the name in a report\n\n| symptom | may come from |\n| --- | --- |\n"
        for symptom in sorted(by):
            text += f"| {code(symptom)} | {', '.join(self.cause_link(each) for each in by[symptom])} |\n"
        write("symptoms/index.md", text)

    def write_findings(self):
        for kind, groups, title, head in (
            ("checks", self.checks, "Checks", "What `aplomb check` says of a configuration before it runs."),
            ("code", self.code, "Findings in code", "What `aplomb check` and `aplomb diagnose` see in a training script."),
        ):
            text = f"# {title}\n\n{head}\n"
            for group, list_of in groups.items():
                text += f"\n## {group.capitalize()}\n"
                for each in list_of:
                    text += f"\n### {plain(each['title'])} {{ #{anchor(each['id'])} }}\n\n{code(each['id'])} · {each.get('severity', 'note')}\n\n"
                    text += " ".join(sentences(each.get("because"))) + "\n\n"
                    if each.get("when"):
                        text += f"Said when {code(each['when'])}.\n\n"
                    if each.get("remedies"):
                        text += remedies_of(each) + "\n\n"
                    if each.get("fix"):
                        text += "```python\n" + str(each["fix"]) + "\n```\n\n"
                    if each.get("fires"):
                        text += example("Said of", each["fires"][0]) + example(
                            "Not said of", (each.get("silent") or [None])[0]
                        )
                    leads = [*(each.get("leads_to") or []), *(each.get("supports") or {})]
                    if leads:
                        text += "Leads to " + ", ".join(self.cause_link(cause) for cause in leads) + ".\n\n"
            write(f"reference/{kind}.md", text)

    def write_errors(self):
        text = "# Error messages\n\nWhat trainers print, and what it means. The words are looked for wherever they stand in a line.\n"
        for group, list_of in self.errors.items():
            text += f"\n## {group.capitalize()}\n"
            for each in list_of:
                text += f"\n### {plain(each['title'])} {{ #{anchor(each['id'])} }}\n\n{code(each['id'])} · {each.get('severity', 'note')}\n\n"
                text += "\n".join(f"- {code(cell(words))}" for words in (each.get("any") or [])[:6]) + "\n"
                causes = [
                    name for name, cause in self.causes.items() if f"error.{each['id']}" in (cause.get("explains") or [])
                ]
                if causes:
                    text += "\nMay come from " + ", ".join(self.cause_link(name) for name in causes) + ".\n"
        write("reference/errors.md", text)

    def write_settings(self):
        text = "# Settings\n\nOne name for each thing that a run can be told, whatever framework spells it; the pages of the frameworks have the spellings.\n"
        groups = {}
        for each in self.settings:
            groups.setdefault(each["name"].split(".")[0], []).append(each)
        for group, list_of in groups.items():
            text += f"\n## {group}\n\n| setting | type | meaning | words |\n| --- | --- | --- | --- |\n"
            for each in list_of:
                words = each.get("words") or []
                text += f"| {code(each['name'])} | {each.get('type', '')} | {cell(plain(each.get('meaning', '')))} | {cell(', '.join(map(str, words)))} |\n"
        write("reference/settings.md", text)

    def write_frameworks(self):
        rows = ""
        for slug, table in self.frameworks.items():
            name = table.get("name", slug)
            rows += f"| [{name}]({slug}.md) | {len(table.get('settings') or {})} | {len(table.get('series') or {})} |\n"
            text = f"# {name}\n\n"
            if table.get("extends"):
                text += f"Reads all that [{table['extends']}]({table['extends']}.md) does, and:\n\n"
            for kind, title, other in (("settings", "Settings", "setting"), ("series", "Logged values", "series")):
                lines = ""
                for key, value in (table.get(kind) or {}).items():
                    target = (
                        value
                        if isinstance(value, str)
                        else value.get("set", value.get("series", ""))
                        if isinstance(value, dict)
                        else value
                    )
                    lines += f"| {code(cell(key))} | {code(cell(target))} |\n" if target else f"| {code(cell(key))} | |\n"
                text += f"\n## {title}\n\n| key | {other} |\n| --- | --- |\n{lines}" if lines else ""
            write(f"frameworks/{slug}.md", text)
        write(
            "frameworks/index.md",
            "# By framework\n\nWhose keys and log lines are known, both ways: remedies come in the same spelling.\n\n"
            f"| framework | keys | logged values |\n| --- | --- | --- |\n{rows}",
        )

    def write_reference(self):
        def help_of(*words):
            return subprocess.run(
                [self.program, *words, "--help"],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "NO_COLOR": "1"},
            ).stdout

        whole = help_of()
        names = re.findall(r"^  ([a-z]+) {2,}\S", whole.split("Subcommands:")[1].split("\n\n")[0], re.M)
        # Their words are those of another program.
        elsewhere = {"train": ("Train", "train.md"), "lab": ("The laboratory", "lab.md"), "mcp": ("For assistants", "agents.md")}
        text = f"# Command line\n\n```text\n{whole}\n```\n"
        for name in names:
            if name in elsewhere:
                text += f"\n## aplomb {name}\n\nSee [{elsewhere[name][0]}](../pages/{elsewhere[name][1]}).\n"
                continue
            text += f"\n## aplomb {name}\n\n```text\n{help_of(name)}\n```\n"
        write("reference/cli.md", text)
        write("reference/python.md", "# Python\n\n" + "\n".join(python_page(path) for path in python_modules()))
        counts = {"checks": self.checks, "code": self.code, "errors": self.errors}
        lines = "\n".join(
            f"- [{name.capitalize()}]({name}.md): {sum(map(len, groups.values()))}" for name, groups in counts.items()
        )
        write(
            "reference/index.md",
            f"# Reference\n\n- [Command line](cli.md): {len(names)} commands\n- [Python](python.md)\n{lines}\n"
            f"- [Settings](settings.md): {len(self.settings)}\n- Causes: {len(self.causes)}, [by symptom](../symptoms/index.md)\n",
        )

    def write_pages(self):
        for path in sorted((ROOT / "docs").glob("*.md")):
            write(f"pages/{path.name}", relinked(path.read_text()))
        if (ROOT / "docs" / "images").is_dir():
            shutil.copytree(ROOT / "docs" / "images", SOURCE / "pages" / "images")
        readme = re.sub(r"\]\(docs/images/", "](pages/images/", (ROOT / "README.md").read_text())
        write("index.md", relinked(re.sub(r"\]\(docs/([\w-]+\.md)", r"](pages/\1", readme), "pages/"))


def bullets(lines):
    return "\n".join(f"- {each}" for each in dict.fromkeys(lines) if each)


def anchor(name):
    return re.sub(r"[^a-z0-9]+", "-", str(name).lower()).strip("-")


def example(title, given):
    if not given:
        return ""
    files = [value for key, value in given.items() if key.startswith("file:")]
    text = "\n".join(files) if files else "\n".join(f"{key}: {json.dumps(value)}" for key, value in given.items())
    return f"{title}\n\n```yaml\n{text.rstrip()}\n```\n\n"


def relinked(text, folder=""):
    """Links out of docs/ name a file of the source: they are shown, not linked. A page that is only named becomes a link."""
    text = re.sub(r"\[([^\]]+)\]\((?:\.\./|(?!https?:|#|pages/)[^)]*/(?<!images/))[^)]*\)", r"\1", text)
    names = {path.name for path in (ROOT / "docs").glob("*.md")}
    return re.sub(
        r"`docs/([\w-]+\.md)`", lambda found: f"[{found[1]}]({folder}{found[1]})" if found[1] in names else found[0], text
    )


def python_modules():
    package = ROOT / "python" / "aplomb"
    public = ["__init__", "report", "guard", "transformers", "lightning", "axolotl", "keras", "jax", "ray", "composer"]
    public += ["torchtune", "autopsies", "softmax"]
    files = [package / f"{name}.py" for name in public]
    return [*files, package / "experiments" / "__init__.py"]


def python_page(path):
    """Docstrings and signatures of what has no underscore."""
    tree = ast.parse(path.read_text())
    name = (
        "aplomb"
        if path.name == "__init__.py" and path.parent.name == "aplomb"
        else f"aplomb.{path.parent.name if path.stem == '__init__' else path.stem}"
    )
    text = f"## {name}\n\n```text\n{ast.get_docstring(tree) or ''}\n```\n"
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            text += f"\n### {name}.{node.name}\n\n```python\n{signature(node)}\n```\n\n{ast.get_docstring(node) or ''}\n"
            for inner in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_") and ast.get_docstring(inner):
                    text += f"\n`{signature(inner)}`\n:   {(ast.get_docstring(inner) or '').splitlines()[0]}\n"
    return text


def signature(node):
    if isinstance(node, ast.ClassDef):
        init = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
        return f"class {node.name}({ast.unparse(init.args) if init else ''})"
    return f"{node.name}({ast.unparse(node.args)})"


def build(program):
    shutil.rmtree(SOURCE, ignore_errors=True)
    site = Site(program)
    for step in (
        site.write_causes,
        site.write_symptoms,
        site.write_findings,
        site.write_errors,
        site.write_settings,
        site.write_frameworks,
        site.write_reference,
        site.write_pages,
    ):
        step()
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(ROOT / "site" / "mkdocs.yml")],
        check=False,
        env=environment,
    ).returncode


def stay_offline(html):
    """The offline mode of Material loads one script from a network: ours stands in its place."""
    own = "assets/javascripts/iframe_worker.js"
    shutil.copy(ROOT / "site" / "iframe_worker.js", html / own)
    for path in html.rglob("*.html"):
        up = "../" * len(path.relative_to(html).parts[:-1])
        path.write_text(path.read_text().replace("https://unpkg.com/iframe-worker/shim", up + own))


def fetched(html):
    """What a page would fetch from elsewhere: (page, address)."""
    wanted = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=["']?(https?://[^"'\s>]+)[^>]*>""")
    out = []
    for path in html.rglob("*.html"):
        for found in wanted.finditer(path.read_text()):
            if 'rel="canonical"' not in found[0]:
                out.append((path.name, found[1]))
    return out


def search(html):
    """Whether the search answers in a browser that opens the page from its folder; True where there is no browser."""
    browser = shutil.which("chromium")
    if browser is None:
        return True
    with tempfile.TemporaryDirectory() as profile:
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=15000",
            "--dump-dom",
        ]
        done = subprocess.run(
            [browser, *flags, (html / "index.html").as_uri() + "?q=learning%20rate%20too%20high"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    found = re.search(r'md-search-result__meta">(\d+) matching', done.stdout)
    return found is not None and int(found[1]) > 0 and "lr-too-high.html" in done.stdout


def main():
    if any(importlib.util.find_spec(each) is None for each in ("material", "mkdocs", "yaml")):
        print("mkdocs-material is not installed: the site is not built")
        sys.exit(77)
    status = build(sys.argv[1])
    html = ROOT / "build" / "site" / "html"
    if status == 0:
        stay_offline(html)
    pages = len(list(html.rglob("*.html")))
    print(f"{html}/index.html: {pages} pages")
    if status == 0 and pages < 200:
        sys.exit("pages are missing")
    if from_elsewhere := fetched(html):
        sys.exit(f"fetched from elsewhere: {from_elsewhere[:3]}")
    if status == 0 and not search(html):
        sys.exit("the search finds nothing")
    sys.exit(status)


if __name__ == "__main__":
    main()
