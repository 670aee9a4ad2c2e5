# python/aplomb/inject/sitecustomize.py -> generated/attach_text.cpp: `aplomb run --guard` puts it before the program's Python.
set(attach "${PROJECT_SOURCE_DIR}/python/aplomb/inject/sitecustomize.py")
file(READ "${attach}" APLOMB_ATTACH_TEXT)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${attach}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/attach_text.cpp" @ONLY CONTENT
"// Made by cmake/AplombAttach.cmake from python/aplomb/inject/sitecustomize.py.
#include \"watch/attach.h\"

namespace aplomb::watch {
const std::string_view k_attach_text = R\"aplomb(@APLOMB_ATTACH_TEXT@)aplomb\";
}  // namespace aplomb::watch
")
target_sources(aplomb_watch PRIVATE "${PROJECT_BINARY_DIR}/generated/attach_text.cpp")
