#!/usr/bin/env bash
# `./quickstart train`: builds the trainer with LibTorch of the torch wheel, fine-tunes the tiny model of
# examples/finetune with DoRA, and has the run diagnosed. usage: quickstart_train.sh [OUTPUT_DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/finetune}
log=build/quickstart-train.log
mkdir -p build

has_torch() { [ -x "$1" ] && "$1" -c 'import torch' 2>/dev/null; }
if ! has_torch .venv/bin/python && ! has_torch "$(command -v python3)"; then
  wheel=$(grep -m1 '^torch==' tools/packages/pip.txt)
  echo "Installing $wheel into .venv (its LibTorch is what the trainer links) ..."
  if ! { python3 -m venv .venv && .venv/bin/python -m pip install -q --disable-pip-version-check \
           --extra-index-url https://download.pytorch.org/whl/cpu "$wheel"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "torch could not be installed; the whole log is $log" >&2
    exit 1
  fi
fi

launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
echo "Building build/train/aplomb and build/train/aplomb-train ..."
if ! { cmake --preset train -DAPLOMB_TESTS=OFF "${launcher[@]}" &&
       cmake --build --preset train --target aplomb aplomb-train; } >"$log" 2>&1; then
  grep -E 'error|FAILED' "$log" | head -n 20 >&2
  echo "Building failed; the whole log is $log" >&2
  exit 1
fi

rm -rf "$out"
words=(train --config examples/finetune/train.yaml --output-dir "$out")
echo
echo "\$ build/train/aplomb ${words[*]}"
echo
build/train/aplomb "${words[@]}"
echo
echo "\$ build/train/aplomb diagnose $out"
echo
status=0
build/train/aplomb diagnose "$out" || status=$?
echo
if [ "$status" -gt 1 ]; then exit "$status"; fi
echo "The adapter is $out/adapter: peft.PeftModel.from_pretrained(model, \"$out/adapter\")."
