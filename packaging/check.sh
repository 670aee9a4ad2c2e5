#!/usr/bin/env bash
# Holds what packaging/make.py made to what docs/install.md says of it. What a missing tool would have to look at is
# skipped with a line that says so; being root is needed for the chroot and for a network that is cut off.
# usage: packaging/check.sh FOLDER [PYTHON]      FOLDER with tarball, wheel, deb, image; PYTHON that the wheel is for
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(realpath "${1:?usage: $0 FOLDER [PYTHON]}")
python=${2:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
check() {  # check WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$work/log" 2>&1; then echo "ok       $what"; else failed=$((failed + 1)); echo "FAILED   $what"; tail -n 15 "$work/log" | sed 's/^/    /'; fi
}
skip() { echo "skipped  $1: $2"; }
alone() { if unshare -n true 2>/dev/null; then unshare -n "$@"; else "$@"; fi; }

tarball=$(ls "$folder"/aplomb-*-linux-x86_64.tar.gz 2>/dev/null)
if [ -n "$tarball" ]; then
  mkdir -p "$work/root/run" && tar -xzf "$tarball" -C "$work/root" --strip-components=1
  cp -r "$here/examples/lr-too-high-nan" "$work/root/run/"
  if [ "$(id -u)" -eq 0 ]; then
    in_chroot() { local status=0; alone chroot "$work/root" /bin/aplomb "$@" || status=$?; [ "$status" -le 1 ]; }
    check "tarball: diagnoses in an empty chroot" in_chroot diagnose /run/lr-too-high-nan
    check "tarball: bundles in an empty chroot" in_chroot bundle /run/lr-too-high-nan --yes --out /run/b.tar.gz
    check "tarball: demo in an empty chroot" in_chroot demo --out /run/demo
  else skip "tarball in a chroot" "not root"; fi
  not_dynamic() { ! readelf -d "$work/root/bin/aplomb" | grep -q NEEDED; }
  check "tarball: needs no library" not_dynamic
  no_paths() { ! grep -aq "$here" "$work/root/bin/aplomb"; }
  check "tarball: holds no path of the machine that built it" no_paths
fi

wheel=$(ls "$folder"/aplomb-*.whl 2>/dev/null)
if [ -n "$wheel" ]; then
  check "wheel: installs without an index" bash -c "'$python' -m venv '$work/venv' && '$work/venv/bin/pip' install -q --no-index '$wheel'"
  first() { local status=0; alone "$work/venv/bin/aplomb" diagnose "$here/examples/lr-too-high-nan" || status=$?; [ "$status" -eq 1 ]; }
  check "wheel: diagnoses without a network" first
  check "wheel: the package diagnoses" alone "$work/venv/bin/python" -c "import aplomb; assert aplomb.diagnose('$here/examples/lr-too-high-nan').causes[0].id.endswith('lr-too-high')"
  check "wheel: the extension judges" "$work/venv/bin/python" -c "
from aplomb import _core
guard = _core.GuardCore(_core.GuardOptions())
assert guard.step(1, float('nan'), 1e-3, 1.0, True, [(0, 1.0)]).action == 'skip'"
  for tool in check-wheel-contents twine auditwheel; do
    if ! command -v $tool >/dev/null; then skip "wheel: $tool" "not installed"; continue; fi
    case $tool in
      twine) check "wheel: twine check" twine check --strict "$wheel" ;;
      auditwheel)  # a static program in the wheel is no library: auditwheel looks at the extension
        kept() { auditwheel show "$wheel" | tr -d '\n' | grep -q "consistent with.*$(basename "$wheel" | grep -o 'manylinux_[0-9]*_[0-9]*')"; }
        check "wheel: auditwheel agrees with the tag" kept ;;
      *) check "wheel: check-wheel-contents" check-wheel-contents "$wheel" ;;
    esac
  done
fi

deb=$(ls "$folder"/aplomb_*.deb 2>/dev/null)
if [ -n "$deb" ]; then
  if command -v lintian >/dev/null; then 
    # The project has no mail address and the package no bug in Debian's archive; both come with an upload, if there is one.
    check "deb: lintian" lintian --allow-root --fail-on error,warning \
      --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs "$deb"
  else skip "deb: lintian" "not installed"; fi
  dpkg-deb -x "$deb" "$work/deb"
  runs() { local status=0; "$work/deb/usr/bin/aplomb" diagnose "$here/examples/lr-too-high-nan" || status=$?; [ "$status" -eq 1 ]; }
  check "deb: the program runs" runs
fi

image=$(ls "$folder"/aplomb-*-oci.tar 2>/dev/null)
if [ -n "$image" ]; then
  if command -v buildah >/dev/null; then
    check "image: buildah takes it" bash -c "buildah --root '$work/images' --runroot '$work/run' --storage-driver vfs pull oci-archive:'$image'"
  else skip "image: buildah" "not installed"; fi
  unpack() {
    mkdir "$work/image" && tar -xf "$image" -C "$work/image" && mkdir "$work/rootfs" &&
      for blob in "$work"/image/blobs/sha256/*; do gzip -t "$blob" 2>/dev/null && tar -xzf "$blob" -C "$work/rootfs"; done
    [ -x "$work/rootfs/aplomb" ] && (cd "$work/image/blobs/sha256" && for each in *; do [ "$(sha256sum <"$each" | cut -d' ' -f1)" = "$each" ] || exit 1; done)
  }
  check "image: digests hold, the layer has the program" unpack
fi
[ "$failed" -eq 0 ]
