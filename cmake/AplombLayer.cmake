# aplomb_layer(NAME [DEPENDS layer...] [USES target...] [FAMILY roster.def...] [COLD] [SHARED] [ALONE])
#
# One static library for the folder src/NAME, from every .cpp in it (and below it) but main.cpp.
# FAMILY names rosters in the folder or below it: each APLOMB_MEMBER(x) line needs x.cpp beside its
# roster and tests/NAME/x_test.cpp, or configuring stops and says which file is missing.
#
# COLD marks a layer that runs once a report, not once a line: its release build is -O1, which halves its compile
# time. SHARED marks one that goes into a shared library (libaplomb_scan.so, Python's extension): its code
# is position-independent. ALONE marks one whose files compile a second time within themselves (Highway's), and so cannot be joined.
function(aplomb_layer name)
  cmake_parse_arguments(layer "COLD;SHARED;ALONE" "" "DEPENDS;USES;FAMILY" ${ARGN})
  set(folder "${PROJECT_SOURCE_DIR}/src/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$|/[a-z_]*_tool\\.cpp$")
  add_library(aplomb_${name} STATIC ${sources})
  target_compile_features(aplomb_${name} PUBLIC cxx_std_20)
  target_include_directories(aplomb_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src"
                             "${PROJECT_SOURCE_DIR}/include")
  foreach(other IN LISTS layer_DEPENDS)
    target_link_libraries(aplomb_${name} PUBLIC aplomb_${other})
  endforeach()
  target_link_libraries(aplomb_${name} PUBLIC tl::expected PRIVATE fmt::fmt ${layer_USES})
  aplomb_warnings(aplomb_${name})
  set(flags hot)
  if(layer_COLD)
    set(flags cold)
  elseif(layer_SHARED)
    set(flags shared)
  endif()
  aplomb_flags(aplomb_${name} ${flags})
  if(APLOMB_PRECOMPILED)
    aplomb_precompile(aplomb_${name} ${flags})
  endif()
  if(APLOMB_JOINED AND NOT layer_ALONE)
    aplomb_join(aplomb_${name} ${sources})
  endif()

  foreach(roster IN LISTS layer_FAMILY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${roster}")
    string(REGEX REPLACE "roster\\.def$" "" below "${roster}")
    file(STRINGS "${folder}/${roster}" lines REGEX "^APLOMB_MEMBER\\(")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^APLOMB_MEMBER\\(([a-z0-9_]+).*" "\\1" member "${line}")
      foreach(needed "src/${name}/${below}${member}.cpp" "tests/${name}/${member}_test.cpp")
        if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${needed}")
          message(FATAL_ERROR "src/${name}/${roster} lists '${member}', but ${needed} is missing")
        endif()
      endforeach()
    endforeach()
  endforeach()
endfunction()

# The flags of a layer: hot | cold | shared. Loops over tensors and numbers are in shared layers, at CMake's -O3 of a release; in what reads
# and judges lines -O3 is no faster than -O2 and takes a quarter longer to compile.
function(aplomb_flags target flags)
  if(flags STREQUAL "hot" AND CMAKE_CXX_FLAGS_RELEASE MATCHES "-O3")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  elseif(flags STREQUAL "cold")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  elseif(flags STREQUAL "shared")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()

# The standard headers that most files share, compiled once for all layers of the same flags: 3 s a set, 0.6 s less a
# file. What is larger (nlohmann/json.hpp, simdjson.h) loses more in the files without it than it wins in the others.
# Only the release preset does so: the dev preset holds every file to its own includes.
function(aplomb_precompile target flags)
  set(maker aplomb_headers_${flags})
  if(NOT TARGET ${maker})
    set(source "${PROJECT_BINARY_DIR}/generated/headers_${flags}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// Headers that are compiled once: cmake/AplombLayer.cmake\n")
    add_library(${maker} OBJECT "${source}")
    target_compile_features(${maker} PRIVATE cxx_std_20)
    target_link_libraries(${maker} PRIVATE fmt::fmt tl::expected)
    aplomb_flags(${maker} ${flags})
    aplomb_warnings(${maker})
    target_precompile_headers(${maker} PRIVATE <algorithm> <array> <cmath> <cstdint> <map> <memory> <optional> <string>
                              <string_view> <unordered_map> <utility> <vector> <fmt/format.h> <tl/expected.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${maker})
endfunction()

function(aplomb_warnings target)
  if(APLOMB_STRICT)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -Werror>)
  endif()
endfunction()

# aplomb_tests(layer): one test program from tests/layer/*_test.cpp.
function(aplomb_tests name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(aplomb_${name}_test ${sources})
  target_include_directories(aplomb_${name}_test PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(aplomb_${name}_test PRIVATE
                             APLOMB_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             APLOMB_BINARY="$<TARGET_FILE:aplomb>")
  target_link_libraries(aplomb_${name}_test PRIVATE aplomb_${name} GTest::gmock_main fmt::fmt nlohmann_json::nlohmann_json)
  aplomb_warnings(aplomb_${name}_test)
  gtest_discover_tests(aplomb_${name}_test DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES TEST_PREFIX "${name}/"
                       PROPERTIES TIMEOUT 300 ENVIRONMENT "APLOMB_STORE=off")
endfunction()
