"""Every module of rules: importing them enters their rules in RULES."""

from __future__ import annotations

from ..findings import RULES
from .data import edges, encoding, image, intake, loading, sample, sampler, split, stream, token
from .fine_tuning import adapter, generation, trainer, tuning, vocabulary
from .losses import (
    contrast,
    diffusion,
    domain,
    generative,
    graph,
    label,
    logit,
    mixture,
    nonfinite,
    numeric,
    shape,
    sign,
    target,
    weighing,
)
from .models import axis, beginning, depth, detection, inplace, layout, mask, message, module
from .optimization import average, mismatch, optimizer, schedule, state
from .policies import action, control, estimate, gradient, policy, preference, ranking, reward, sampling
from .runs import alias, metric, rank, repeatable, restore, resume, scores, selection
from .training_loop import (
    compiled,
    functional,
    guarding,
    loop,
    mode,
    opponents,
    precision,
    repetition,
    scaling,
    slip,
    step,
    updates,
)

__all__ = ["RULES"]
