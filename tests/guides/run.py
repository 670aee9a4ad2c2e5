"""Runs the tests of the guides' rows and holds docs/guides.md against them. Ends with 77 (skipped) without pytest."""

import importlib.util
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

if any(importlib.util.find_spec(each) is None for each in ("pytest", "yaml")):
    print("pytest and PyYAML are not installed: the guides' rows are not tested")
    sys.exit(77)
table = subprocess.run([sys.executable, HERE / "table.py"], check=False).returncode
tests = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE], check=False).returncode
sys.exit(1 if table or tests else 0)
