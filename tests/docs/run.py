"""Runs what the documentation shows. Ends with 77 (skipped) without pytest."""

import importlib.util
import pathlib
import subprocess
import sys

if importlib.util.find_spec("pytest") is None:
    print("pytest is not installed: the blocks of the documentation are not run")
    sys.exit(77)
here = pathlib.Path(__file__).resolve().parent
sys.exit(subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", here], check=False).returncode)
