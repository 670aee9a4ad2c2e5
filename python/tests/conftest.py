import os

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
os.environ["APLOMB_STORE"] = "off"  # no test adds to the memory of whoever runs it
