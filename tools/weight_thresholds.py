#!/usr/bin/env python3
"""Measure what the thresholds of `aplomb ckpt scan` separate, on small models trained here.

usage: weight_thresholds.py [STEPS]

Trains tiny Llamas and GPT-2s on a made language in which a quarter of the vocabulary never occurs, in order and out of order
(rates far too high, no clipping), and prints, per run:

  scale  the largest RMS of a weight over the median RMS of its kind, as tensor.absurd_scale takes it
  rows   norms of the embedding rows of tokens that never occur, and the smallest of those that do, over the median row

and, of every configuration class in transformers, the default of initializer_range.
"""

import collections
import math
import statistics
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

VOCAB, SEEN, WIDTH = 256, 192, 64


def kind_of(name):
    for word, kind in (("norm", "norm"), ("ln_", "norm"), ("embed", "embedding"), ("wte", "embedding"), ("wpe", "embedding"),
                       ("lm_head", "head"), ("attn", "attention"), ("mlp", "mlp")):
        if word in name:
            return kind
    return "other"


def scale(model):
    sizes = collections.defaultdict(list)
    for name, weight in model.named_parameters():
        if weight.dim() > 1 or "norm" in name or "ln_" in name and name.endswith("weight"):
            sizes[kind_of(name)].append(float(weight.float().square().mean().sqrt()))
    return max(max(v) / statistics.median(v) for v in sizes.values() if len(v) >= 4)


def rows(model):
    norms = model.get_input_embeddings().weight.detach().float().norm(dim=1)
    middle = norms.median()
    unseen, seen = norms[SEEN:] / middle, norms[:SEEN] / middle
    return float(unseen.min()), float(unseen.max()), float(seen.min())


def train(family, seed, rate, decay, steps, clip=True):
    torch.manual_seed(seed)
    if family == "llama":
        model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCAB, hidden_size=WIDTH, intermediate_size=172, num_hidden_layers=4,
                                             num_attention_heads=4, num_key_value_heads=2))
    else:
        model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCAB, n_embd=WIDTH, n_layer=4, n_head=4, n_positions=64))
    following = torch.randint(0, SEEN, (SEEN, 4))  # a language of four next words a word
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay)
    for _ in range(steps):
        words = torch.randint(0, SEEN, (16, 1))
        for _ in range(31):
            words = torch.cat([words, following[words[:, -1], torch.randint(0, 4, (16,))][:, None]], 1)
        model(input_ids=words, labels=words).loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return model


def initializer_ranges():
    import transformers

    values = collections.Counter()
    for name in list(transformers.CONFIG_MAPPING):
        try:
            value = transformers.CONFIG_MAPPING[name]().initializer_range
        except Exception:  # not every configuration has one, or defaults
            continue
        values[value] += 1
    return values


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    torch.set_num_threads(1)
    plans = [("in order", rate, decay, True) for rate in (3e-4, 1e-3, 3e-3) for decay in (0.0, 0.1)]
    plans += [("far too high", 0.1, 0.0, False), ("far too high", 1.0, 0.0, False)]
    for family in ("llama", "gpt2"):
        for what, rate, decay, clip in plans:
            model = train(family, 1, rate, decay, steps, clip)
            low, high, seen = rows(model)
            print(f"{family:6} {what:13} lr {rate:<7g} decay {decay:<4g} scale {scale(model):8.2f}   "
                  f"rows unseen {low:.3f}-{high:.3f}, seen from {seen:.3f}", flush=True)
    ranges = initializer_ranges()
    print("initializer_range:", ", ".join(f"{value}: {count}" for value, count in ranges.most_common()))
    print("deviation of the RMS of 64 draws:", round(1 / math.sqrt(2 * 64), 3))


if __name__ == "__main__":
    main()
