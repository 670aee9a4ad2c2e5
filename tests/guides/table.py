"""docs/guides.md from rows.yaml and the tests that carry each row's id: the table says of every row which tests show it,
in the tests' own words. `python tests/guides/table.py --write` writes it; without, it fails where the page is not true."""

import ast
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/guides.md"
PACKAGE = HERE.parents[1] / "python/tests"  # tests of the guard and its kin, which train
HEAD = """# The guides, row by row

Five guides on stable training are what aplomb was built from: a checklist for bf16 fine-tuning (000), stability in SFT and
RL (001), numerical precision (002), a debugging playbook (003) and the investigation of frozen norm weights (004). Each row
is something that a guide lets a user do by hand, and what the program does instead; every line is a test in `tests/guides/`,
which makes its own input, or in `python/tests/`, where a training runs. This page is made from them by
`python tests/guides/table.py --write`.

"""


def cell(text):
    return text.replace("|", "\\|")


def marked_tests():
    """(row id, what the test shows) of each test function, read from its marks and its docstring."""
    for path in [*sorted(HERE.glob("*_test.py")), *sorted(PACKAGE.glob("test_*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "row":
                    said = ast.get_docstring(node) or node.name.removeprefix("test_").replace("_", " ")
                    for each in mark.args:
                        yield each.value, " ".join(said.split())


def page():
    rows = yaml.safe_load((HERE / "rows.yaml").read_text(encoding="utf-8"))
    shown = {}
    for row, said in marked_tests():
        shown.setdefault(row, []).append(said)
    unknown = set(shown) - {row["id"] for row in rows}
    if unknown:
        sys.exit(f"tests/guides: no row of rows.yaml is called {', '.join(sorted(unknown))}")
    covered = sum(row["id"] in shown for row in rows)
    text = HEAD + f"{covered} of {len(rows)} rows have tests.\n\n"
    text += "| row | guide | asks for | shown by |\n| --- | --- | --- | --- |\n"
    for row in rows:
        tests = "; ".join(shown.get(row["id"], [])) or "not tested yet"
        if "needs" in row:
            tests += f" (not shown here: {row['needs']})"
        text += f"| {row['id']} | {row['guide']} | {cell(row['asks'])} | {cell(tests)} |\n"
    return text


def main():
    text = page()
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE} is not what the tests say: python tests/guides/table.py --write", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
