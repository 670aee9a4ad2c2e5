"""The runs beside this file: one small model trained from five seeds, and once with a fault.

usage: make_runs.py [OUT]          needs torch and numpy; about ten seconds on one CPU core

A GRU of 77 000 weights learns the Markov chain of examples/make/common.py (entropy rate 1.14). `labels` is a sixth
seed whose batches hold, from step 121 on, one row in five with its tokens in random order: a regression that sets in
at a known step. Seeds are fixed; another CPU may round differently.
"""

import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples" / "make"))
import common  # noqa: E402

STEPS, BATCH, LENGTH, WARMUP = 240, 16, 24, 20
FAULT_FROM = 121


def scrambled(rows):
    rows = rows.clone()
    share = rows.shape[0] // 5
    rows[:share] = rows[:share][:, torch.randperm(rows.shape[1])]
    return rows


def train(out, seed, faulty=False, lr=3e-3):
    torch.manual_seed(seed)
    text = common.MarkovText(seed=0)
    embed = torch.nn.Embedding(256, 32)
    model = torch.nn.GRU(32, 48, batch_first=True)
    head = torch.nn.Linear(48, 256)
    weights = [*embed.parameters(), *model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=lr)
    rows = torch.tensor(text.rows(BATCH * STEPS, LENGTH, 100 + seed))
    held_out = torch.tensor(text.rows(64, LENGTH, 7))

    def loss_of(batch):
        hidden, _ = model(embed(batch[:, :-1]))
        return torch.nn.functional.cross_entropy(head(hidden).flatten(0, 1), batch[:, 1:].flatten())

    with open(out, "w", encoding="utf-8") as log:
        for step in range(1, STEPS + 1):
            optimizer.param_groups[0]["lr"] = lr * min(1, step / WARMUP)
            batch = rows[(step - 1) * BATCH : step * BATCH]
            loss = loss_of(scrambled(batch) if faulty and step >= FAULT_FROM else batch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            log.write(json.dumps({"step": step, "loss": round(loss.item(), 4)}) + "\n")
            if step % 10 == 0:
                with torch.no_grad():
                    log.write(json.dumps({"step": step, "eval_loss": round(loss_of(held_out).item(), 4)}) + "\n")


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "runs")
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for seed in range(5):
        train(out / f"seed{seed}.jsonl", seed)
    train(out / "labels.jsonl", 50, faulty=True)


if __name__ == "__main__":
    main()
