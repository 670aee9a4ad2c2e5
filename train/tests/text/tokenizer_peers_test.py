#!/usr/bin/env python3
"""The tokenizer beside the `tokenizers` package, on text that is meant to be hard.

usage: tokenizer_peers_test.py APLOMB_TEXT_TOOL

Trains a dozen tokenizers (each family's normalizers, pre-tokenizer patterns, post-processors and decoders), writes
their tokenizer.json, and compares ids and decoded texts of some thousands of strings. Exit status 77 where the package
is not installed, 1 at the first difference.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import tokenizers
except ImportError:
    sys.exit(77)
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + ENDINGS,
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + ENDINGS,
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])

PIECES = """
hello Hello HELLO world's I'LL we'Re don\u2019t it'\u017f the quick brown fox 0 7 42 1234567890 3.14159 1,000,000
\u0663\u0664\u0665 \u0967\u0968 \u2460 \u00bd \u2167 \u4e09 caf\u00e9 cafe\u0301 na\u00efve
\u0130stanbul stra\u00dfe \u1e9e
\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u041f\u0440\u0438\u0432\u0435\u0442
\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627
\u202e\u0627\u202c \u0939\u093f\u0928\u094d\u0926\u0940 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u4f60\u597d\u4e16\u754c
\u6771\u4eac\u30bf\u30ef\u30fc \u304c \u304b\u3099
\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \uff21\uff22\uff23\uff11 \ufb01 \u2126
\u212b \U0001d54f \U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd
\U0001f1e9\U0001f1ea \u2764\ufe0f
\u200b \u200d \ufeff \u00ad \u0301\u0302 \u180e \u2028
\u0085 \u00a0 \u3000 \u2009 \u202f \x00 \x01 \x1b[0m \x7f \ufffd \ufffe
!!! ... -- $100 #tag @me a_b a-b snake_case_name camelCase http://x.org/?q=1&r=2 C:\\path\\new <s> </s> <|im_start|>
<|im_end|> <|im <s <<s>> [INST] <unk> \u2581 \u2581\u2581a \u0120hello <0x41> <0xFF> \u0178 \u24b6 _ __init__
def\tf(x):\n\treturn\tx if(a&&b){c++;} \r\n \n \n\n\n \t \x0b \x0c
""".replace("\n", " ").split(" ")
PIECES = [p.encode().decode("unicode_escape") if p.startswith("def") else p for p in PIECES if p]
SPACES = [" ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "\u00a0", "\u3000", " \n ", "\u2003", " " * 17, "\n" * 9, ""]


def alphabet() -> list[str]:
    """Characters whose classes Unicode 14 and later agree on: assigned ones of the blocks that people write in."""
    ranges = [(0, 0x250), (0x2B0, 0x370), (0x391, 0x3A2), (0x3A3, 0x400), (0x400, 0x500), (0x5D0, 0x5EB), (0x620, 0x660),
              (0x905, 0x93A), (0xE01, 0xE3B), (0x1100, 0x1200), (0x1E00, 0x1F00), (0x2000, 0x2060), (0x2070, 0x2072),
              (0x2100, 0x2150), (0x2160, 0x2180), (0x2460, 0x2500), (0x3000, 0x3040), (0x3041, 0x3097), (0x30A1, 0x30FB),
              (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xFB00, 0xFB07), (0xFF01, 0xFF5F), (0x1D400, 0x1D455),
              (0x1F300, 0x1F320), (0x1F600, 0x1F640)]
    return [chr(c) for first, last in ranges for c in range(first, last)]


def strings(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    letters = alphabet()
    made = ["", " ", "  ", "\n", "\x00", "a" * 300, " " * 400, "\n" * 257, "ab" * 600, "\u2581" * 70, "0" * 130]
    made += PIECES + [" " + p for p in PIECES] + [p + " " for p in PIECES]
    while len(made) < count:
        kind = rng.random()
        if kind < 0.55:
            words = [rng.choice(PIECES) + rng.choice(SPACES) for _ in range(rng.randint(1, 14))]
            made.append("".join(words))
        elif kind < 0.8:
            made.append("".join(rng.choice(letters) for _ in range(rng.randint(1, 40))))
        elif kind < 0.9:
            made.append("".join(rng.choice("ab ' \n\r\t1_.\u00e9\u0301") for _ in range(rng.randint(1, 120))))
        else:
            made.append(bytes(rng.randrange(256) for _ in range(rng.randint(1, 60))).decode("utf-8", "replace"))
    return made


def corpus() -> list[str]:
    rng = random.Random(7)
    syllables = ["tra", "in", "ing", "loss", "gra", "dient", "norm", "the", "re", "st", "er", "qu", "ick", "100", "7", "'s"]
    lines = []
    for _ in range(1500):
        words = ["".join(rng.choice(syllables) for _ in range(rng.randint(1, 4))) for _ in range(9)]
        lines.append(" ".join(words) + rng.choice([".", "\n", "  ", "!?", "\r\n"]))
    return lines + strings(3, 1500)


def byte_level(pattern: str | None, *, ignore_merges=False, normalizer=None, digits=False, prefix=False) -> Tokenizer:
    made = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        made.normalizer = normalizer
    if pattern is None:
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    else:
        made.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)])
    if digits:
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=prefix)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=1200, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<s>", "</s>", "<|im_start|>", "<|im_end|>"]))
    return made


def metaspace(*, legacy: bool, scheme="always", fallback=True, split=True, fuse=True) -> Tokenizer:
    """Llama-2's file (Prepend and Replace as normalizer, no pre-tokenizer) or the newer Metaspace pre-tokenizer."""
    tokens = ["<unk>", "<s>", "</s>"] + ([f"<0x{b:02X}>" for b in range(256)] if fallback else [])
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=fallback, fuse_unk=fuse))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    lines = [line.encode("ascii", "ignore").decode() for line in corpus()] + ["\u4f60\u597d \u00e9\u0301"] * 9
    made.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=1100, special_tokens=tokens, show_progress=False))
    # As converted files have it: the byte tokens belong to the model, only the first three are added tokens.
    raw = json.loads(made.to_str())
    raw["added_tokens"] = raw["added_tokens"][:3]
    if legacy:
        raw["pre_tokenizer"] = None
        raw["normalizer"] = {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}
    return Tokenizer.from_str(json.dumps(raw))


def with_template(made: Tokenizer) -> Tokenizer:
    made.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A $B", special_tokens=[
            ("<s>", made.token_to_id("<s>")), ("</s>", made.token_to_id("</s>"))])])
    return made


def with_added(made: Tokenizer) -> Tokenizer:
    made.add_tokens([AddedToken("quick", single_word=True, normalized=True),
                     AddedToken(" fox", lstrip=True, normalized=False),
                     AddedToken("hello", rstrip=True, normalized=True), AddedToken("Hello w", normalized=False),
                     AddedToken("  ", normalized=False)])
    made.add_special_tokens(["<|im", "[INST]"])
    return made


def plain(pre_tokenizer, normalizer=None) -> Tokenizer:
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        made.normalizer = normalizer
    made.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>"], limit_alphabet=150,
                                                           show_progress=False))
    return made


def suffixed() -> Tokenizer:
    made = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix=""))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.normalizer = normalizers.Lowercase()
    made.decoder = decoders.BPEDecoder("</w>")
    made.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=900, special_tokens=["<unk>"], limit_alphabet=150,
                                                           end_of_word_suffix="</w>", show_progress=False))
    return made




def roster() -> dict[str, Tokenizer]:
    sequence = pre_tokenizers.Sequence
    return {
        "gpt2": byte_level(None),
        "gpt2-prefix": with_added(byte_level(None, prefix=True)),
        "llama3": with_template(byte_level(LLAMA3, ignore_merges=True)),
        "qwen2": with_added(byte_level(QWEN2, normalizer=normalizers.NFC())),
        "o200k": byte_level(O200K),
        "smollm": byte_level(None, digits=True),
        "nfkc": byte_level(GPT2, normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])),
        "llama2": with_template(metaspace(legacy=True)),
        "mistral": with_added(metaspace(legacy=False, scheme="first")),
        "metaspace-never": metaspace(legacy=False, scheme="never", split=False),
        "metaspace-unknown": metaspace(legacy=False, fallback=False, fuse=False),
        "metaspace-fused": metaspace(legacy=False, fallback=False, fuse=True),
        "whitespace": plain(pre_tokenizers.Whitespace(),
                            normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])),
        "bert": plain(pre_tokenizers.BertPreTokenizer(), normalizers.Strip()),
        "mixed": plain(sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("merged_with_next"),
                                 pre_tokenizers.Digits()]), normalizers.Sequence([normalizers.Nmt(), normalizers.NFKD()])),
        "behaviours": plain(sequence([
            pre_tokenizers.Split("a", "merged_with_previous"), pre_tokenizers.Split(Regex(r"\d+"), "contiguous"),
            pre_tokenizers.Split(Regex(r"[\s]"), "removed"), pre_tokenizers.CharDelimiterSplit("x"),
            pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "removed", invert=True)]),
            normalizers.Sequence([normalizers.Replace(Regex(r"[aeiou]{2}"), "_"), normalizers.Prepend("^")])),
        "suffixed": suffixed(),
    }


def run(tool: str, words: list[str], data: bytes) -> bytes:
    return subprocess.run([tool, *words], input=data, capture_output=True, check=True).stdout


def framed(texts: list[bytes]) -> bytes:
    return b"".join(str(len(text)).encode() + b"\n" + text for text in texts)


def unframed(data: bytes) -> list[bytes]:
    made = []
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        size = int(data[at:end])
        made.append(data[end + 1:end + 1 + size])
        at = end + 1 + size
    return made


def compare(tool: str, name: str, path: str, peer: Tokenizer, texts: list[str], raw: list[bytes]) -> list[str]:
    faults = []
    for special in (True, False):
        lines = run(tool, ["encode", path] + ([] if special else ["--plain"]), framed(raw)).decode().split("\n")
        ours = [[int(word) for word in line.split()] for line in lines[:-1]]
        theirs = [each.ids for each in peer.encode_batch(texts, add_special_tokens=special)]
        faults += [f"{name}: {text!r}: {a} here, {b} there"
                   for text, a, b in zip(texts, ours, theirs, strict=True) if a != b]
    ids = "".join(" ".join(map(str, each)) + "\n" for each in theirs).encode()
    for skip in (True, False):
        back = unframed(run(tool, ["decode", path] + (["--skip"] if skip else []), ids))
        wanted = peer.decode_batch(theirs, skip_special_tokens=skip)
        faults += [f"{name}: {each}: decoded {a!r} here, {b!r} there"
                   for each, a, b in zip(theirs, back, wanted, strict=True) if a != b.encode()]
    return faults


def main() -> int:
    tool = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    rng = random.Random(11)
    texts = strings(5, count)
    raw = [text.encode() for text in texts]
    for _ in range(200):  # bytes that are no UTF-8
        broken = bytes(rng.choice([rng.randrange(256), 0xE2, 0x80, 0xF0, 0x9F, 0x20]) for _ in range(rng.randint(1, 30)))
        raw.append(broken)
        texts.append(broken.decode("utf-8", "replace"))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, peer in roster().items():
            path = str(pathlib.Path(folder) / f"{name}.json")
            peer.save(path)
            if name == "qwen2":  # merges as older files write them
                content = json.loads(pathlib.Path(path).read_text())
                content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
                pathlib.Path(path).write_text(json.dumps(content))
                peer = Tokenizer.from_file(path)
            faults = compare(tool, name, path, peer, texts, raw)
            print(f"{name}: {len(faults)} differences in {len(texts)} texts (tokenizers {tokenizers.__version__})")
            print("\n".join(fault[:600] for fault in faults[:4]))
            failed += len(faults)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
