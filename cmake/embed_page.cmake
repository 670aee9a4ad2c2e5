# cmake -DSTYLE=page.css -DSCRIPT=page.js -DOUT=page_assets.cpp -P embed_page.cmake
#
# The report page's style and script -> a C++ file with both texts and the script's SHA-256 in base64: the page's
# Content-Security-Policy lets that one script run and no other, whatever stands in the user's log.
file(READ "${STYLE}" style)
file(READ "${SCRIPT}" script)

# Three hex digits are two characters of base64; 64 digits are 21 such groups and one digit (4 bits, padded to 6).
file(SHA256 "${SCRIPT}" hex)
set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
set(base64 "")
foreach(group RANGE 20)
  math(EXPR at "${group} * 3")
  string(SUBSTRING "${hex}" ${at} 3 digits)
  math(EXPR high "0x${digits} >> 6")
  math(EXPR low "0x${digits} & 63")
  string(SUBSTRING "${alphabet}" ${high} 1 first)
  string(SUBSTRING "${alphabet}" ${low} 1 second)
  string(APPEND base64 "${first}${second}")
endforeach()
string(SUBSTRING "${hex}" 63 1 digit)
math(EXPR last "0x${digit} << 2")
string(SUBSTRING "${alphabet}" ${last} 1 last)
string(APPEND base64 "${last}=")

file(WRITE "${OUT}" "// Made from ${STYLE} and ${SCRIPT} by cmake/embed_page.cmake; edit those.
#include \"report/page_assets.h\"

namespace aplomb::report {

const char* const k_page_style = R\"~~~~(${style})~~~~\";
const char* const k_page_script = R\"~~~~(${script})~~~~\";
const char* const k_page_script_sha256 = \"${base64}\";

}  // namespace aplomb::report
")
