# Every C++ dependency, in one place. Debian package names stand in tools/packages/apt.txt.
#
# APLOMB_STATIC names a folder with the archives of packaging/static_libraries.sh: the program then needs nothing of
# the machine but its kernel.
set(APLOMB_STATIC "" CACHE PATH "Link the program statically, with what lies in this folder first")
if(APLOMB_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  list(PREPEND CMAKE_LIBRARY_PATH "${APLOMB_STATIC}/lib")
endif()
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibArchive REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Threads REQUIRED)
find_package(hwy REQUIRED)

# Header-only or without a CMake package in Debian 12: found by header and library.
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)
add_library(protozero::protozero INTERFACE IMPORTED)
target_include_directories(protozero::protozero SYSTEM INTERFACE "${PROTOZERO_INCLUDE_DIR}")

find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)
add_library(zstd::zstd UNKNOWN IMPORTED)
set_target_properties(zstd::zstd PROPERTIES IMPORTED_LOCATION "${ZSTD_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${ZSTD_INCLUDE_DIR}")

find_path(SECCOMP_INCLUDE_DIR seccomp.h REQUIRED)
find_library(SECCOMP_LIBRARY seccomp REQUIRED)
add_library(seccomp::seccomp UNKNOWN IMPORTED)
set_target_properties(seccomp::seccomp PROPERTIES IMPORTED_LOCATION "${SECCOMP_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${SECCOMP_INCLUDE_DIR}")

find_path(MD_INCLUDE_DIR sha2.h REQUIRED)
find_library(MD_LIBRARY md REQUIRED)
add_library(md::md UNKNOWN IMPORTED)
set_target_properties(md::md PROPERTIES IMPORTED_LOCATION "${MD_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${MD_INCLUDE_DIR}")

find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
add_library(re2::re2 UNKNOWN IMPORTED)
set_target_properties(re2::re2 PROPERTIES IMPORTED_LOCATION "${RE2_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${RE2_INCLUDE_DIR}")

find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
add_library(pcre2::pcre2 UNKNOWN IMPORTED)
set_target_properties(pcre2::pcre2 PROPERTIES IMPORTED_LOCATION "${PCRE2_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}")

# The run store. SQLite's own build options stand in its static library: libm is what its full-text search asks for.
find_path(SQLITE3_INCLUDE_DIR sqlite3.h REQUIRED)
find_library(SQLITE3_LIBRARY sqlite3 REQUIRED)
add_library(SQLite::SQLite3 UNKNOWN IMPORTED)
set_target_properties(SQLite::SQLite3 PROPERTIES IMPORTED_LOCATION "${SQLITE3_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${SQLITE3_INCLUDE_DIR}"
                      INTERFACE_LINK_LIBRARIES "m;Threads::Threads;${CMAKE_DL_LIBS}")

# A team's store of runs (`--store postgresql://...`), where libpq is there. Its static archive wants OpenSSL, Kerberos and LDAP, which have
# none: the static program is built without.
set(APLOMB_POSTGRESQL "")
find_path(PQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql)
find_library(PQ_LIBRARY pq)
set(APLOMB_STORE_LEAVES_OUT src/store/team_store.cpp)
if(PQ_INCLUDE_DIR AND PQ_LIBRARY AND NOT APLOMB_STATIC)
  add_library(PostgreSQL::pq UNKNOWN IMPORTED)
  set_target_properties(PostgreSQL::pq PROPERTIES IMPORTED_LOCATION "${PQ_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${PQ_INCLUDE_DIR}")
  set(APLOMB_POSTGRESQL PostgreSQL::pq)
  set(APLOMB_STORE_LEAVES_OUT src/store/team_store_absent.cpp)
endif()
set_source_files_properties(${APLOMB_STORE_LEAVES_OUT} PROPERTIES HEADER_FILE_ONLY ON)

# The terminal of `aplomb top`. Its wide form, and the part that knows the terminals, which Debian keeps apart.
find_path(NCURSES_INCLUDE_DIR curses.h REQUIRED)
find_library(NCURSESW_LIBRARY ncursesw REQUIRED)
find_library(TINFO_LIBRARY tinfo REQUIRED)
add_library(NCURSES::ncursesw UNKNOWN IMPORTED)
set_target_properties(NCURSES::ncursesw PROPERTIES IMPORTED_LOCATION "${NCURSESW_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${NCURSES_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES "${TINFO_LIBRARY}")

# Snowball's stemmers.
find_path(STEMMER_INCLUDE_DIR libstemmer.h REQUIRED)
find_library(STEMMER_LIBRARY stemmer REQUIRED)
add_library(snowball::stemmer UNKNOWN IMPORTED)
set_target_properties(snowball::stemmer PROPERTIES IMPORTED_LOCATION "${STEMMER_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${STEMMER_INCLUDE_DIR}")

find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
add_library(utf8proc::utf8proc UNKNOWN IMPORTED)
set_target_properties(utf8proc::utf8proc PROPERTIES IMPORTED_LOCATION "${UTF8PROC_LIBRARY}"
                      INTERFACE_INCLUDE_DIRECTORIES "${UTF8PROC_INCLUDE_DIR}")

# Debian's CMake packages know shared objects only. The headers and definitions stay theirs.
if(APLOMB_STATIC)
  foreach(pair fmt::fmt=fmt simdjson::simdjson=simdjson tomlplusplus::tomlplusplus=tomlplusplus hwy::hwy=hwy yaml-cpp=yaml-cpp)
    string(REGEX MATCH "^(.*)=(.*)$" _ "${pair}")
    set(target "${CMAKE_MATCH_1}")
    set(name "${CMAKE_MATCH_2}")
    find_library(APLOMB_STATIC_${name} ${name} REQUIRED)
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL "INTERFACE_LIBRARY")  # headers, and the name of a library to link
      set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES "${APLOMB_STATIC_${name}}")
      continue()
    endif()
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${APLOMB_STATIC_${name}}")
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
      set_target_properties(${target} PROPERTIES "IMPORTED_LOCATION_${configuration}" "${APLOMB_STATIC_${name}}")
    endforeach()
  endforeach()
endif()
