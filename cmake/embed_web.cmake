# FILES -> OUT: their bytes as arrays of C++, each with the SHA-256 that is its ETag. No file: an empty table.
set(arrays "")
set(rows "")
set(count 0)
foreach(path IN LISTS FILES)
  get_filename_component(name "${path}" NAME)
  file(READ "${path}" hex HEX)
  file(SHA256 "${path}" sha256)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND arrays "const char k_bytes_${count}[] = {${bytes}};\n")
  string(APPEND rows "    {\"${name}\", {k_bytes_${count}, sizeof k_bytes_${count}}, \"${sha256}\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  set(rows "    {},\n")
endif()
file(WRITE "${OUT}" "// Made by cmake/embed_web.cmake from web/dist.
#include \"serve/web_assets.h\"

namespace aplomb::serve {
namespace {
${arrays}}  // namespace
const WebAsset k_web_assets[] = {
${rows}};
const std::size_t k_web_asset_count = ${count};
}  // namespace aplomb::serve
")
