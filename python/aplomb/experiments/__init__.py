"""Diagnostic runs: cheap experiments that separate causes, each with a verdict.

    from aplomb import experiments

    def loss_of(x, y):
        return criterion(model(x), y)

    result = experiments.overfit_one_batch(model, optimizer, loss_of, x, y)
    print(result)           # passed: overfit_one_batch: the loss of one batch falls from 2.31 to 0.21 in 37 steps
    result.passed, result.verdict, result.cause, result.numbers

Each runs the user's own model and loss a few times and leaves weights, gradients, optimizer, random state and the
modules' modes bit for bit as they were, whatever happens inside. `loss_of` makes the scalar loss of a batch, without an
autocast of its own; `batches` is a list (or loader) of batches, each a tuple of its arguments or the only one.

`python -m aplomb experiments train.py:parts` runs them from the command line, `parts_of(trainer)` takes them out of a
Hugging Face Trainer. Importing this package imports torch.
"""

from aplomb.experiments.determinism import check_determinism
from aplomb.experiments.flow import gradient_flow
from aplomb.experiments.overfit import overfit_one_batch
from aplomb.experiments.parts import Parts, parts_of
from aplomb.experiments.precision import compare_precisions
from aplomb.experiments.rates import lr_range_test
from aplomb.experiments.result import ExperimentResult

__all__ = [
    "ExperimentResult",
    "Parts",
    "check_determinism",
    "compare_precisions",
    "gradient_flow",
    "lr_range_test",
    "overfit_one_batch",
    "parts_of",
]
