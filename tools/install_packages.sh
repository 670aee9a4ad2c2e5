#!/usr/bin/env bash
# Installs what is missing of tools/packages/apt.txt. usage: install_packages.sh build|train|check|web
# Works as root, and as a user with sudo. Does nothing, and asks nothing of the network, where all is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
want=${1:-build}
case "$want" in
  build) kinds='^build ' ;;
  train) kinds='^(build|train) ' ;;
  check) kinds='^(build|train|check) ' ;;
  web) kinds='^(build|web) ' ;;
  *) echo "usage: $0 build|train|check|web" >&2; exit 2 ;;
esac

missing=()
while read -r package; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done < <(grep -E "$kinds" "$here/packages/apt.txt" | awk '{print $2}')
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Missing Debian packages: ${missing[*]}" >&2
    echo "Install them (apt-get install), or run this as root or with sudo." >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
log=$(mktemp)
# No translated descriptions, and no flush to the disk after each file: half of the time of small packages is that.
if ! { "${as_root[@]}" apt-get update -qq -o Acquire::Languages=none &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
         apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "apt-get could not install them; the whole log is $log" >&2
  exit 1
fi
rm -f "$log"
