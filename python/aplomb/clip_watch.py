"""The norm that gradients had before a trainer clipped them.

Trainers clip before they call back, and neither transformers nor Lightning hands the norm on; but both clip by
torch.nn.utils.clip_grad_norm_ (accelerate and Lightning's precision plugins look it up there at every call), which
returns it. While a watch is on, that function also tells it; it does and returns what it always does.
"""

from __future__ import annotations

import functools
from typing import Any


class ClipWatch:
    """`take()` gives the norm that the last clipping found, once; None where nobody clipped."""

    _watches: list[ClipWatch] = []
    _original: Any = None

    def __init__(self) -> None:
        self._norm: Any = None

    def start(self) -> None:
        import torch

        if not ClipWatch._watches:
            ClipWatch._original = torch.nn.utils.clip_grad_norm_
            torch.nn.utils.clip_grad_norm_ = _watched(ClipWatch._original)
        if self not in ClipWatch._watches:
            ClipWatch._watches.append(self)

    def stop(self) -> None:
        import torch

        if self in ClipWatch._watches:
            ClipWatch._watches.remove(self)
            if not ClipWatch._watches:
                torch.nn.utils.clip_grad_norm_ = ClipWatch._original

    def take(self) -> float | None:
        norm, self._norm = self._norm, None
        return None if norm is None else float(norm)


def _watched(clip: Any) -> Any:
    @functools.wraps(clip)
    def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, *others: Any, **named: Any) -> Any:
        norm = clip(parameters, max_norm, norm_type, *others, **named)
        if float(norm_type) == 2.0:
            for each in ClipWatch._watches:
                each._norm = norm
        return norm

    return clip_grad_norm_
