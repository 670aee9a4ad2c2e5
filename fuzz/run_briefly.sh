#!/usr/bin/env bash
# fuzz/run_briefly.sh [SECONDS] [TARGET...]: builds every fuzz target with clang++-19 (ASan and UBSan), writes the seeds
# and runs each target for so long (5 s by default), as many at once as there are cores. What crashes, hangs for 10 s or
# takes 1 GiB is left below build/fuzz/found/, and the exit status is not 0. Prints the executions of each target.
# fuzz/run_long.sh runs them for hours.
set -euo pipefail
cd "$(dirname "$0")/.."
export seconds="${1:-5}" here=build/fuzz
shift || true
cmake --preset fuzz ${CMAKE_CXX_COMPILER_LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER="$CMAKE_CXX_COMPILER_LAUNCHER"} >/dev/null
cmake --build --preset fuzz --target fuzzers
mkdir -p "$here/found"
"$here/fuzz/make_seeds" "$here/seeds" examples

fuzz_one() {
  local target=$1 log="$here/found/$1.log"
  mkdir -p "$here/corpus/$target" "$here/seeds/$target"
  if ! "$here/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 -verbosity=0 \
      -artifact_prefix="$here/found/$target-" "$here/corpus/$target" "$here/seeds/$target" >"$log" 2>&1; then
    echo "FAILED $target: see $log"
    tail -n 30 "$log"
    return 1
  fi
  echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions in $seconds s"
}
export -f fuzz_one

wanted=("$@")
if [ ${#wanted[@]} -eq 0 ]; then
  for program in "$here"/fuzz/fuzz_*; do
    wanted+=("$(basename "$program" | sed 's/^fuzz_//')")
  done
fi
printf '%s\n' "${wanted[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz_one {}'
