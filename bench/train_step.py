#!/usr/bin/env python3
"""A training step of the trainer's model beside transformers + peft: the same folder, adapter, batch, dtype, threads.

usage: train_step.py BENCH [--size 15m|135m] [--dtype float32|bfloat16] [--dora] [--eager] [--rows 4] [--columns 256]
                     [--blocks 12] [--steps 4] [--threads 2]

BENCH is build/train/train/train_step_bench. Both sides run blocks of steps in turn, the order swapped every time; the
ratio of each pair of blocks is taken, and their median printed with the quartiles: of the wall clock, and of the
processor time of all threads, which a busy machine disturbs less. Losses are compared first: where they
differ by more than 1e-3 (fp32) or 2e-2 (bf16), nothing is timed. A step is forward, backward and AdamW over the adapter.
bf16: the base in bf16, the adapter in fp32; peft's side then runs under bf16 autocast, as its users do.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = {
    "15m": dict(vocab_size=32000, hidden_size=288, intermediate_size=768, num_hidden_layers=6, num_attention_heads=6,
                num_key_value_heads=6, tie_word_embeddings=True),
    "135m": dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
                 num_key_value_heads=3, tie_word_embeddings=True),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench")
    parser.add_argument("--size", choices=SIZES, default="15m")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--dora", action="store_true")
    parser.add_argument("--eager", action="store_true")
    for name, value in dict(rows=4, columns=256, blocks=12, steps=4, threads=2).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


class Theirs:
    """transformers + peft."""

    def __init__(self, args, folder, ids):
        import peft
        import torch
        import transformers

        torch.set_num_threads(args.threads)
        self.torch, self.ids = torch, ids
        attention = "eager" if args.eager else "sdpa"
        dtype = getattr(torch, args.dtype)
        base = transformers.AutoModelForCausalLM.from_pretrained(folder / "m", dtype=dtype, attn_implementation=attention)
        self.model = peft.PeftModel.from_pretrained(base, folder / "a", is_trainable=True).train()
        self.model.config.use_cache = False
        trained = [each for each in self.model.parameters() if each.requires_grad]
        assert all(each.dtype == torch.float32 for each in trained)
        self.optimizer = torch.optim.AdamW(trained, lr=1e-3, weight_decay=0)
        self.autocast = args.dtype == "bfloat16"

    def run(self, steps):
        begin, processor = time.perf_counter(), time.process_time()
        for _ in range(steps):
            with self.torch.autocast("cpu", self.torch.bfloat16, enabled=self.autocast):
                loss = self.model(input_ids=self.ids, labels=self.ids).loss
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            value = loss.item()
        return (time.perf_counter() - begin, time.process_time() - processor, value,
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


class Ours:
    def __init__(self, args, folder):
        environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads), "MKL_NUM_THREADS": str(args.threads)}
        line = [args.bench, folder / "m", folder / "a", args.dtype, "eager" if args.eager else "sdpa", folder / "ids"]
        self.process = subprocess.Popen([str(word) for word in line], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)
        assert self.process.stdout.readline() == "ready\n"

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return tuple(float(word) for word in self.process.stdout.readline().split())


def make(args, folder):
    """A random model and an adapter that changes something."""
    import peft
    import torch
    import transformers

    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES[args.size])).to(getattr(torch, args.dtype))
    model.save_pretrained(folder / "m")
    config = peft.LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", use_dora=args.dora, task_type="CAUSAL_LM")
    wrapped = peft.get_peft_model(model, config)
    for name, each in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(each, 0, 0.02)
    wrapped.save_pretrained(folder / "a")
    ids = torch.randint(0, SIZES[args.size]["vocab_size"], (args.rows, args.columns))
    (folder / "ids").write_text("\n".join(" ".join(map(str, row)) for row in ids.tolist()))
    return ids


def main():
    args = parse()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ids = make(args, folder)
        sides = [Ours(args, folder), Theirs(args, folder, ids)]
        first = [side.run(1)[2] for side in sides]
        fourth = [side.run(3)[2] for side in sides]
        allowed = 1e-3 if args.dtype == "float32" else 2e-2
        print(f"losses: first step {first[0]:.6f} | {first[1]:.6f}, fourth {fourth[0]:.6f} | {fourth[1]:.6f}", flush=True)
        if any(abs(a - b) > allowed for a, b in (first, fourth)):
            sys.exit("the two sides do not compute the same: nothing is timed")
        ours, theirs = [], []
        for block in range(args.blocks):
            pair = [None, None]
            for which in ((0, 1) if block % 2 else (1, 0)):
                pair[which] = sides[which].run(args.steps)
            ours.append(pair[0])
            theirs.append(pair[1])
    tokens = args.steps * args.rows * args.columns
    kind = "DoRA" if args.dora else "LoRA"
    print(f"{args.size} {args.dtype} {kind} r8, {args.rows} x {args.columns}, {args.threads} threads")
    for word, side in (("aplomb", ours), ("transformers + peft", theirs)):
        wall, processor = (tokens / statistics.median(each[i] for each in side) for i in (0, 1))
        print(f"{word:20} {wall:8.0f} tokens/s, {processor:8.0f} a second of processor time, "
              f"peak {max(each[3] for each in side) / 2**20:.0f} MiB")
    for word, i in (("wall clock", 0), ("processor time", 1)):
        low, middle, high = statistics.quantiles((b[i] / a[i] for a, b in zip(ours, theirs, strict=True)), n=4)
        print(f"ratio of a pair, {word}: median {middle:.3f}, quartiles {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    main()
