"""python -m aplomb experiments FILE.py:FUNCTION [--only NAME] [--json]

FUNCTION takes no arguments and gives (model, optimizer, loss_of, batches), as aplomb.experiments takes them, or a Hugging
Face Trainer:

    def parts():
        model = build()
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
        return model, optimizer, lambda x, y: criterion(model(x), y), loader

Exit status: 0 all passed, 1 one failed, 2 usage or a file that cannot be run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from typing import Any

from aplomb import experiments
from aplomb.experiments.parts import Parts, load
from aplomb.experiments.result import ExperimentResult, batch_of

MOST_BATCHES = 100  # that are drawn from the loader, once


def _each(parts: Parts) -> dict[str, Any]:
    batches = list(itertools.islice(parts.batches, MOST_BATCHES))
    if not batches:
        raise ValueError("[aplomb] there is no batch")
    first = batch_of(batches[0])
    common = (parts.model, parts.optimizer, parts.loss_of)
    return {
        "gradient_flow": lambda: experiments.gradient_flow(*common, *first),
        "overfit_one_batch": lambda: experiments.overfit_one_batch(*common, *first),
        "lr_range_test": lambda: experiments.lr_range_test(*common, batches),
        "compare_precisions": lambda: experiments.compare_precisions(*common, batches),
        "check_determinism": lambda: experiments.check_determinism(*common, batches),
    }


def main(words: list[str]) -> int:
    names = ["gradient_flow", "overfit_one_batch", "lr_range_test", "compare_precisions", "check_determinism"]
    parser = argparse.ArgumentParser("python -m aplomb experiments", description="Diagnostic runs, each with a verdict.")
    parser.add_argument("place", metavar="FILE.py:FUNCTION", help="gives (model, optimizer, loss_of, batches), or a Trainer")
    parser.add_argument("--only", action="append", choices=names, help="this one; may be given again")
    parser.add_argument("--json", action="store_true", help="one JSON array with all numbers")
    options = parser.parse_args(words)
    try:
        runs = _each(load(options.place))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    results: list[ExperimentResult] = []
    for name in options.only or names:
        try:
            results.append(runs[name]())
        except Exception as error:
            results.append(ExperimentResult(name, False, f"could not be run ({type(error).__name__}: {error})"))
        if not options.json:
            print(results[-1], flush=True)
    if options.json:
        print(json.dumps([each.to_json() for each in results], indent=1))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
