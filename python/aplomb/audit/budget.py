"""Budget: how long a program and one of its rules may take, in processor time of this process.

Time on the wall says how busy the machine is, not how hard a program is to judge: beside ten other processes the same
audit takes ten times as long. A rule that goes round in a circle is stopped by the processor's own clock
(setitimer), whatever it is at.

    budget = Budget(20.0)
    with budget.limited(MOST_SECONDS_OF_A_RULE):   # raises OutOfTime inside
        ...
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Of one rule over one program. Measured over 6,851 files (the standard library, torch, transformers, trl, peft,
#: accelerate, lightning): no rule came to it.
MOST_SECONDS_OF_A_RULE = 5.0
#: Of all rules over one program: eight times what the slowest of those files took (7.2 s, 27,820 lines of torch's tests).
MOST_SECONDS_OF_A_PROGRAM = 60.0
LEAST_SECONDS = 0.01  # a timer of 0 would be none
AGAIN_S = 1.0  # where the first signal came in a place that swallows exceptions


class OutOfTime(BaseException):
    """No Exception: what a rule catches by itself is not this."""


class Budget:
    """A number of seconds of processor time, from now on."""

    def __init__(self, seconds: float):
        self.end = time.process_time() + seconds

    def left(self) -> float:
        return self.end - time.process_time()

    def part(self, seconds: float) -> Budget:
        """A budget within this one."""
        return Budget(min(seconds, self.left()))

    @contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Raises OutOfTime inside once so many seconds (or what is left of the budget) are used. In a thread that is not the
        main one, and where somebody uses the timer already, nothing is stopped: signals reach the main thread alone."""
        if not can_stop():
            yield
            return
        before = signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, max(min(seconds, self.left()), LEAST_SECONDS), AGAIN_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)


def can_stop() -> bool:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGVTALRM) in (signal.SIG_DFL, stop) and signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


def stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
