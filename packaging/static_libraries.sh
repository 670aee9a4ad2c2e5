#!/usr/bin/env bash
# Static archives of the libraries that Debian ships as shared objects only (fmt, simdjson, Highway, toml++), and of libarchive
# with zlib alone (Debian's archive wants libxml2, nettle and more), from Debian's own source packages of the versions that are
# installed: same headers, same patches.
# usage: packaging/static_libraries.sh OUT      leaves OUT/lib/*.a and OUT/sources (with debian/copyright of each)
set -euo pipefail
out=$(realpath -m "${1:?usage: $0 OUT}")
[ -f "$out/lib/complete" ] && exit 0
command -v dpkg-source >/dev/null || { echo "dpkg-dev is missing: apt-get install dpkg-dev" >&2; exit 1; }
mkdir -p "$out/sources" "$out/lib" "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
# apt with lists of its own: what the machine is set up to install from is left as it is.
. /etc/os-release
cat >"$out/apt/sources.list" <<LIST
deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $VERSION_CODENAME main
deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian-security $VERSION_CODENAME-security main
LIST
apt=(apt-get -q -o Dir::Etc::sourcelist="$out/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
     -o Dir::State::lists="$out/apt/lists" -o Dir::Cache="$out/apt/cache" -o APT::Sandbox::User=root)
"${apt[@]}" update
cd "$out/sources"
for each in fmtlib:libfmt-dev simdjson:libsimdjson-dev highway:libhwy-dev libarchive:libarchive-dev; do
  version=$(dpkg-query -W -f='${Version}' "${each#*:}")
  [ -d "${each%%:*}" ] && continue
  "${apt[@]}" source "${each%%:*}=$version" >/dev/null
  mv "${each%%:*}"-*/ "${each%%:*}"
done

flags=(-O2 -DNDEBUG -fPIC -ffile-prefix-map="$out/sources=." -w)
archive() {  # archive NAME FLAGS... -- SOURCES...: the objects in the order named, with no time or user in them
  local name=$1 objects=() given=() each
  shift
  while [ "$1" != -- ]; do given+=("$1"); shift; done
  shift
  for each in "$@"; do
    local object
    object=$out/lib/$name-$(basename "$each").o
    ${CXX:-g++} "${flags[@]}" "${given[@]}" -c "$each" -o "$object"
    objects+=("$object")
  done
  ar rcsD "$out/lib/lib$name.a" "${objects[@]}"
  rm -f "${objects[@]}"
}
archive fmt -std=c++20 -Ifmtlib/include -- fmtlib/src/format.cc fmtlib/src/os.cc
archive simdjson -std=c++17 -Isimdjson/include -Isimdjson/src -- simdjson/src/simdjson.cpp
archive hwy -std=c++17 -Ihighway -- highway/hwy/aligned_allocator.cc highway/hwy/nanobenchmark.cc highway/hwy/per_target.cc highway/hwy/print.cc highway/hwy/targets.cc
printf '#define TOML_IMPLEMENTATION\n#include <toml++/toml.h>\n' >toml.cpp  # all that upstream's src/toml.cpp does
archive tomlplusplus -std=c++17 -DTOML_HEADER_ONLY=0 -- toml.cpp
off=()
for each in NETTLE OPENSSL MBEDTLS LZ4 LZO LZMA ZSTD BZip2 LIBXML2 EXPAT PCREPOSIX PCRE2POSIX LIBB2 ACL XATTR ICONV CNG TAR CPIO CAT TEST; do
  off+=("-DENABLE_$each=OFF")
done
cmake -S libarchive -B "$out/libarchive" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
  -DCMAKE_C_FLAGS="-w -fPIC -ffile-prefix-map=$out/sources=." "${off[@]}" >/dev/null
cmake --build "$out/libarchive" --target archive_static >/dev/null
cp "$out/libarchive/libarchive/libarchive.a" "$out/lib/"
touch "$out/lib/complete"
