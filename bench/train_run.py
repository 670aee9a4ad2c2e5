#!/usr/bin/env python3
"""Whole runs of `aplomb-train` beside transformers' Trainer with PEFT: start-up, steady speed, memory.

usage: train_run.py PROGRAM [--size 15m|135m] [--dtype float32|bfloat16] [--dora] [--rows 2] [--columns 256]
                    [--threads 1] [--steps 6] [--pairs 5] [--keep FILE]

PROGRAM is build/train/aplomb, which becomes the trainer as users have it do, or aplomb-train itself. Both sides get the
same model folder, PEFT adapter, tokenizer and JSONL rows in the same order, the same batch, dtype, AdamW, clipping and
threads, and log every step. Runs alternate, the first of a pair changing every time. The losses of all steps are compared
first (1e-3 in fp32, 2e-2 in bf16): where they differ, the figures are not printed.

Both are watched alike, from outside, by the lines that they append to a file after each step:
  start-up   from exec to the end of the first step, by the wall clock and in processor time of all threads, which a busy
             machine disturbs less; the latter also less one later step: what comes before the first forward
  speed      tokens/s over the steps after the second, by both
  memory     peak resident set
Medians of the ratios of the pairs, with quartiles.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from train_step import SIZES

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOKENIZER = ROOT / "examples" / "finetune" / "model"
WARM = 2  # steps that are not counted: caches fill, allocators grow


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--size", choices=SIZES, default="15m")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--dora", action="store_true")
    for name, value in dict(rows=2, columns=256, threads=1, steps=6, pairs=5).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--keep", help="append the figures to this file, a JSON object a line")
    parser.add_argument("--peer", help=argparse.SUPPRESS)  # this file as the other side, in this folder
    args = parser.parse_args()
    if args.steps <= WARM + 1:
        parser.error(f"--steps: more than {WARM + 1}")
    return args


def make(args, folder):
    """Model, an adapter that changes something, and rows that fill nearly all columns."""
    import peft
    import torch
    import transformers

    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES[args.size], bos_token_id=0, eos_token_id=1,
                                                                   pad_token_id=2))
    model.to(getattr(torch, args.dtype)).save_pretrained(folder / "m")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / "m" / name).write_bytes((TOKENIZER / name).read_bytes())
    wrapped = peft.get_peft_model(model, peft.LoraConfig(
        r=8, lora_alpha=16, lora_dropout=0.0, target_modules="all-linear", use_dora=args.dora, task_type="CAUSAL_LM"))
    for name, each in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(each, 0, 0.02)
    wrapped.save_pretrained(folder / "a")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "m")
    chance = random.Random(7)
    words = ["the", "a", "of", "river", "town", "keeps", "every", "small", "letter", "under", "old", "stone", "bridge"]
    with (folder / "data.jsonl").open("w") as file:
        for _ in range(args.rows * args.steps):
            prompt, text = "Write on:", ""
            while len(tokenizer(prompt + text)["input_ids"]) < args.columns - 8 - chance.randrange(8):
                text += " " + " ".join(chance.choices(words, k=3))
            file.write(json.dumps({"prompt": prompt, "completion": text}) + "\n")


def peer(args):
    """What a user of Trainer and PEFT writes, and a line a step."""
    import torch

    torch.set_num_threads(args.threads)
    import peft
    import transformers

    folder = pathlib.Path(args.peer)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "m")
    rows = [json.loads(line) for line in (folder / "data.jsonl").open()]
    items = [[*tokenizer(row["prompt"] + row["completion"])["input_ids"], tokenizer.eos_token_id] for row in rows]
    base = transformers.AutoModelForCausalLM.from_pretrained(folder / "m", dtype=getattr(torch, args.dtype))
    model = peft.PeftModel.from_pretrained(base, folder / "a", is_trainable=True)

    def collate(batch):
        width = max(map(len, batch))

        def padded(value, of):
            return torch.tensor([of(ids) + [value] * (width - len(ids)) for ids in batch])

        return {"input_ids": padded(2, list), "labels": padded(-100, list),
                "attention_mask": padded(0, lambda ids: [1] * len(ids))}

    class InOrder(transformers.Trainer):
        def _get_train_sampler(self, *_, **__):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    class Lines(transformers.TrainerCallback):
        def __init__(self):
            self.file = (folder / "theirs.jsonl").open("w")

        def on_log(self, arguments, state, control, logs=None, **_):
            if "grad_norm" in logs:
                self.file.write(json.dumps({"loss": logs["loss"]}) + "\n")
                self.file.flush()

    InOrder(model=model, train_dataset=items, data_collator=collate, callbacks=[Lines()],
            args=transformers.TrainingArguments(
                output_dir=str(folder / "theirs"), max_steps=args.steps, per_device_train_batch_size=args.rows,
                learning_rate=1e-4, lr_scheduler_type="constant", weight_decay=0.0, max_grad_norm=1.0, logging_steps=1,
                logging_nan_inf_filter=False, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
                bf16=args.dtype == "bfloat16", remove_unused_columns=False)).train()


def commands(args, folder):
    program = [args.program, "train"] if pathlib.Path(args.program).name == "aplomb" else [args.program]
    ours = [*program, f"--base-model={folder / 'm'}", f"--data-path={folder / 'data.jsonl'}",
            f"--output-dir={folder / 'ours'}", f"--max-steps={args.steps}", f"--batch-size={args.rows}",
            f"--micro-batch-size={args.rows}", "--learning-rate=1e-4", "--lr-scheduler-type=constant", "--warmup-steps=0",
            "--weight-decay=0", "--max-grad-norm=1", "--shuffle=false", "--train-on-inputs=true", "--save-step=0",
            "--quiet", "--device=cpu", "--attn-implementation=sdpa", f"--cutoff-len={2 * args.columns}",
            f"--threads={args.threads}", f"--adapter-name={'dora' if args.dora else 'lora'}",
            f"--adapter-path={folder / 'a'}", "--bf16" if args.dtype == "bfloat16" else "--fp32"]
    theirs = [sys.executable, __file__, *sys.argv[1:], f"--peer={folder}"]
    return {"ours": (ours, folder / "ours" / "metrics.jsonl"), "theirs": (theirs, folder / "theirs.jsonl")}


def processor_s(pid):
    """Of all threads, those that ended left out: pools keep theirs."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError, IndexError):
            total += int((task / "schedstat").read_text().split()[0])
    return total * 1e-9


def losses_in(lines):
    """Of whole lines; a line is there when its newline is."""
    found = [json.loads(line) for line in lines.decode().split("\n")[:-1]]
    return [each["loss"] for each in found if "loss" in each]


def watch(args, folder, side):
    """One run: losses, peak memory, wall and processor times at the end of each step, since exec."""
    command, path = commands(args, folder)[side]
    subprocess.run(["rm", "-rf", str(folder / side), str(path)], check=True)
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "MKL_NUM_THREADS": str(args.threads),
                   "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    ends, losses, seen = [], [], 0
    with (folder / f"{side}.out").open("w") as out:
        begin = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=out, env=environment)
        status = usage = None
        while status is None:
            found, code, usage = os.wait4(process.pid, os.WNOHANG)
            if path.exists() and path.stat().st_size != seen:
                lines = path.read_bytes()
                seen, losses = len(lines), losses_in(lines)
                if len(losses) > len(ends) and found == 0:
                    ends += [(time.perf_counter() - begin, processor_s(process.pid))] * (len(losses) - len(ends))
            status = os.waitstatus_to_exitcode(code) if found else None
            time.sleep(0.002)
    process.returncode = status
    if len(ends) < args.steps - 1:  # the last line may come with the end
        said = (folder / f"{side}.out").read_text()[-2000:]
        sys.exit(f"{side}: {len(ends)} of {args.steps} steps, status {status}:\n{said}")
    return {"losses": losses, "peak": usage.ru_maxrss * 1024, "ends": ends}


def figures(args, run):
    walls, processors = zip(*run["ends"], strict=True)
    tokens = args.rows * args.columns * (len(walls) - WARM)

    def a_step(times):
        return (times[-1] - times[WARM - 1]) / (len(times) - WARM)

    return {"first_step_s": walls[0], "first_step_cpu_s": processors[0],
            "first_forward_cpu_s": processors[0] - a_step(processors),
            "tokens_per_s": tokens / (walls[-1] - walls[WARM - 1]),
            "tokens_per_cpu_s": tokens / (processors[-1] - processors[WARM - 1]), "peak_mib": run["peak"] / 2**20}


def compare(args, ours, theirs):
    allowed = 1e-3 if args.dtype == "float32" else 2e-2
    worst = max(abs(a - b) for a, b in zip(ours["losses"], theirs["losses"], strict=True))
    if not worst <= allowed:
        sys.exit(f"the losses differ by {worst:.2e}: nothing is compared\n{ours['losses']}\n{theirs['losses']}")
    return worst


def tell(args, pairs, worst):
    threads = "1 thread" if args.threads == 1 else f"{args.threads} threads"
    print(f"{args.size} {args.dtype} {'DoRA' if args.dora else 'LoRA'} r8, {args.rows} x {args.columns}, {threads}, "
          f"{len(pairs)} pairs of {args.steps} steps, load {os.getloadavg()[0]:.0f}; losses differ by {worst:.1e} at most")
    result = {"size": args.size, "dtype": args.dtype, "dora": args.dora, "threads": args.threads, "pairs": len(pairs)}
    for name in pairs[0][0]:
        sides = [(pair[0][name], pair[1][name]) for pair in pairs]
        ratios = [a / b if name.startswith("tokens") else b / a for a, b in sides]
        low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        ours, theirs = (statistics.median(pair[i][name] for pair in pairs) for i in (0, 1))
        result[name] = [ours, theirs, middle, low, high]
        print(f"  {name:20} ours {ours:9.2f}  theirs {theirs:9.2f}  better by {middle:6.2f} ({low:.2f} to {high:.2f})")
    if args.keep:
        with open(args.keep, "a") as file:
            file.write(json.dumps(result) + "\n")


def main():
    args = parse()
    if args.peer:
        return peer(args)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # In a process of its own, so that neither side inherits its memory or its threads.
        call = "import pathlib, train_run as t; a = t.parse(); t.make(a, pathlib.Path(a.peer))"
        subprocess.run([sys.executable, "-c", call, *sys.argv[1:], f"--peer={folder}"], check=True,
                       cwd=pathlib.Path(__file__).parent)
        pairs, worst = [], 0
        for pair in range(args.pairs):
            runs = {side: watch(args, folder, side) for side in (("ours", "theirs") if pair % 2 else ("theirs", "ours"))}
            worst = max(worst, compare(args, runs["ours"], runs["theirs"]))
            pairs.append((figures(args, runs["ours"]), figures(args, runs["theirs"])))
            print(f"pair {pair + 1}: {pairs[-1]}", file=sys.stderr, flush=True)
    tell(args, pairs, worst)


if __name__ == "__main__":
    main()
