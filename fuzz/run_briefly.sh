#!/usr/bin/env bash
# fuzz/run_briefly.sh [SECONDS] [TARGET...]: builds every fuzz target with clang++-19 (ASan and UBSan), writes the seeds
# and runs each target for so long (5 s by default). What crashes, hangs for 10 s or takes 1 GiB is left below
# build/fuzz/found/, and the exit status is 1.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-5}"
shift || true
cmake --preset fuzz ${CMAKE_CXX_COMPILER_LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER="$CMAKE_CXX_COMPILER_LAUNCHER"} >/dev/null
cmake --build --preset fuzz --target fuzzers
here="build/fuzz"
mkdir -p "$here/found"
"$here/fuzz/make_seeds" "$here/seeds" examples
failed=0
for program in "$here"/fuzz/fuzz_*; do
  target="$(basename "$program")"
  target="${target#fuzz_}"
  if [ $# -gt 0 ] && [[ " $* " != *" $target "* ]]; then continue; fi
  mkdir -p "$here/corpus/$target" "$here/seeds/$target"
  echo "fuzz $target ($seconds s)"
  if ! "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=0 -verbosity=0 \
      -artifact_prefix="$here/found/$target-" "$here/corpus/$target" "$here/seeds/$target" >"$here/found/$target.log" 2>&1; then
    echo "FAILED $target: see $here/found/$target.log"
    tail -n 30 "$here/found/$target.log"
    failed=1
  fi
done
exit "$failed"
