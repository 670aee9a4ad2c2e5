#!/usr/bin/env bash
# fuzz/run_long.sh [HOURS] [TARGET...]: an hour for each target (or HOURS), for a night; between rounds of ten minutes
# (APLOMB_FUZZ_ROUND seconds) each corpus is merged down to what reaches new code, so that it stays small. Ends, not with
# 0, at the first round that found something.
set -euo pipefail
cd "$(dirname "$0")/.."
hours="${1:-1}"
shift || true
seconds="${APLOMB_FUZZ_ROUND:-600}"
rounds=$(awk -v hours="$hours" -v seconds="$seconds" 'BEGIN { rounds = int(hours * 3600 / seconds + 0.5); print (rounds > 0 ? rounds : 1) }')
here=build/fuzz

merge() {
  local target=$1 corpus="$here/corpus/$1" merged="$here/merged"
  rm -rf "$merged" && mkdir "$merged"
  "$here/fuzz/fuzz_$target" -merge=1 -max_len=65536 -verbosity=0 "$merged" "$corpus" "$here/seeds/$target" >/dev/null 2>&1
  rm -rf "$corpus" && mv "$merged" "$corpus"
}

for round in $(seq "$rounds"); do
  echo "round $round of $rounds"
  fuzz/run_briefly.sh "$seconds" "$@"
  if [ $# -gt 0 ]; then targets=("$@"); else targets=($(ls "$here/corpus")); fi
  for target in "${targets[@]}"; do merge "$target"; done
done
