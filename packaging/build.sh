#!/usr/bin/env bash
# Everything that people install, from one script: packaging/build.sh [OUT], dist/ without a word. On Debian 12 with
# what ./check installs; the network is needed for Debian's sources of some libraries (packaging/static_libraries.sh) and no more.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-dist}")
python=${PYTHON:-$PWD/.venv/bin/python}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
common=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DAPLOMB_TESTS=OFF -DAPLOMB_CUDA=OFF -DCMAKE_SKIP_RPATH=ON
        -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$PWD=.")
if command -v ccache >/dev/null; then common+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
packaging/static_libraries.sh build/static
web/check.sh build  # the page of `aplomb live`; left out, with a line that says so, where Node is absent
# Static: tarball, image and wheel. The extension asks for glibc alone, at the version of the machine that builds it.
cmake -S . -B build/package "${common[@]}" -DAPLOMB_STATIC="$PWD/build/static" -DAPLOMB_PYTHON=ON -DPython_EXECUTABLE="$python" \
  -DCMAKE_MODULE_LINKER_FLAGS="-static-libstdc++ -static-libgcc"
cmake --build build/package --target aplomb _core
# With Debian's libraries: the package. What both have in common ccache gives again.
cmake -S . -B build/package-deb "${common[@]}"
cmake --build build/package-deb --target aplomb
for kind in tarball oci; do python3 packaging/make.py $kind --program build/package/aplomb --out "$out"; done
python3 packaging/make.py wheel --program build/package/aplomb --core build/package/python/aplomb/_core.*.so --out "$out"
python3 packaging/make.py deb --program build/package-deb/aplomb --out "$out"
packaging/check.sh "$out" "$python"
