#!/usr/bin/env bash
# fuzz/run_long.sh [HOURS] [TARGET...]: an hour for each target (or HOURS), for a night; between rounds of ten minutes the
# corpus is merged down to what reaches new code, so that it stays small. Ends with 1 at the first round that found something.
set -euo pipefail
cd "$(dirname "$0")/.."
hours="${1:-1}"
shift || true
rounds=$(awk -v hours="$hours" 'BEGIN { rounds = int(hours * 6 + 0.5); print rounds > 0 ? rounds : 1 }')
here=build/fuzz
for round in $(seq "$rounds"); do
  echo "round $round of $rounds"
  fuzz/run_briefly.sh 600 "$@"
  for corpus in "$here"/corpus/*; do
    target=$(basename "$corpus")
    rm -rf "$corpus.merged" && mkdir "$corpus.merged"
    "$here/fuzz/fuzz_$target" -merge=1 -max_len=65536 -verbosity=0 "$corpus.merged" "$corpus" "$here/seeds/$target" >/dev/null 2>&1
    rm -rf "$corpus" && mv "$corpus.merged" "$corpus"
  done
done
