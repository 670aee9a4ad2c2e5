import os

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
os.environ["APLOMB_STORE"] = "off"  # no test adds to the memory of whoever runs it


def pytest_configure(config):
    config.addinivalue_line("markers", "row(id, ...): the rows of tests/guides/rows.yaml that a test shows")
