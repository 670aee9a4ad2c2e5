#!/usr/bin/env bash
# Builds the live page (web/dist) and checks it: types, lint, tests of its parts and in a headless browser.
# usage: web/check.sh [build | program]     `build` stops after web/dist is there; `program` tests the page with the
# program that APLOMB names (build/dev/aplomb without it), which has the page in it, and nothing else
# Skips, and says so, where Node is absent (tools/install_packages.sh web brings it); the tests in a browser skip where
# there is no Chromium. Exit status 0 also then: the program is whole without this page.
set -euo pipefail
cd "$(dirname "$0")"
least=18
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "skipped: node or npm is not installed (tools/install_packages.sh web)"
  exit 0
fi
major=$(node -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt "$least" ]; then
  echo "skipped: node $major is older than $least"
  exit 0
fi
# What the lock file names is fetched once; no package runs a script of its own.
if ! cmp -s package-lock.json node_modules/.aplomb-lock; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.aplomb-lock
fi
if [ "${1:-}" = program ]; then
  exec node --test tests/with_program.mjs
fi
npm run --silent build
[ "${1:-}" = build ] && exit 0
npm run --silent types
npm run --silent lint
[ -x "${APLOMB_CHROMIUM:-/usr/bin/chromium}" ] || echo "the tests in a browser are skipped: no chromium"
npm run --silent test
