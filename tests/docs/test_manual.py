"""The manual pages that packaging/make.py makes of --help: each is whole, and groff has nothing to say of it."""

import importlib.util
import os
import shutil
import subprocess

import pytest
from blocks import ROOT


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("make", ROOT / "packaging" / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1790000000")
    return make.man_pages(os.environ["APLOMB"])


def test_every_verb_has_a_page_with_its_options(pages):
    assert {"aplomb.1", "aplomb-diagnose.1", "aplomb-ckpt.1", "aplomb-ckpt-scan.1", "aplomb-mcp.1"} <= set(pages)
    assert b"\\-\\-max\\-read" in pages["aplomb-diagnose.1"]
    assert b"\\-\\-write\\-manifest" in pages["aplomb-ckpt-scan.1"]
    for name, page in pages.items():
        assert page.count(b".SH NAME\n") == page.count(b".SH SYNOPSIS\n") == page.count(b".SH SEE ALSO\n") == 1, name
    for page in pages.values():  # what is named as to be seen is there
        for each in page.decode().split(".SH SEE ALSO\n")[1].replace("\\-", "-").strip().split(", "):
            assert each.removesuffix("(1)") + ".1" in pages


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_groff_has_nothing_to_say(pages):
    for name, page in pages.items():
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-rLL=200n"], input=page, capture_output=True, check=False
        )
        assert done.returncode == 0 and not done.stderr, (name, done.stderr.decode()[:500])
