"""Two processes with gloo that do the same: a module calls `answers = both_ranks(__file__)`, and as a program
`as_rank(work)` with the same file; `work()` runs in each process and its answer is pickled."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import torch


def as_rank(work: Callable[[], Any]) -> None:
    folder, rank = sys.argv[1], int(sys.argv[2])
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    answer = work()
    with open(f"{folder}/{rank}", "wb") as out:
        pickle.dump(answer, out)
    # Neither rank may close its connections while the other still sends.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def both_ranks(program: str) -> list[Any]:
    """The answers of rank 0 and 1.

    gloo's own thread aborts the process when a connection breaks while it is being made or closed, which
    a busy machine may do; once that may happen, and is said."""
    answers, text = _once(program)
    if answers is None:
        warnings.warn(f"aborted, tried once more: {text}", stacklevel=2)
        answers, text = _once(program)
    assert answers is not None, text
    return answers


def _once(program: str) -> tuple[list[Any] | None, str]:
    """What the two ranks left, or nothing and what they said as one of them was ended by a signal."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(2):
            said = open(f"{folder}/said{rank}", "wb")  # noqa: SIM115
            ranks.append((subprocess.Popen([sys.executable, program, folder, str(rank)], stdout=said, stderr=said), said))
        try:
            codes = [process.wait(timeout=300) for process, _ in ranks]
        finally:
            for process, said in ranks:
                process.kill()
                said.close()
        text = ""
        for rank, code in enumerate(codes):
            with open(f"{folder}/said{rank}", errors="replace") as file:
                text += f"rank {rank} ended with {code}:\n{file.read()[-3000:]}\n"
        if any(code == -signal.SIGABRT for code in codes):
            return None, text
        assert codes == [0, 0], text
        answers = []
        for rank in range(2):
            with open(f"{folder}/{rank}", "rb") as file:
                answers.append(pickle.load(file))
        return answers, text
