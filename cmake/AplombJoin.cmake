# aplomb_join(TARGET FILE...): several files of a layer compile as one, so that the headers they share are read, and the templates
# they share made, once a group instead of once a file. Option APLOMB_JOINED; the release preset sets it, and only it: every
# other preset holds each file to its own includes, and compiles no more than what changed.
#
# A folder is one namespace, so two of its files may each have a helper of the same name in an unnamed namespace (`is_digit`,
# `k_least`). Such files come into different groups: a file's names are those that its lines at column 0 define, read by expressions,
# and where an expression sees too much the file only comes into a later group. A file that defines again what a header of the
# folder defines stays alone.
option(APLOMB_JOINED "Compile several files of a layer as one" OFF)

set(APLOMB_JOINED_MOST 10)  # files of a group: more are no faster, and fewer groups than cores would be slower

# What is large to read, or made of templates: the files that include it come first, so that they come together.
set(APLOMB_LARGE_HEADERS "nlohmann/|json\\.h\"|simdjson|yaml-cpp|toml\\+\\+|protozero|re2/|httplib|<thread>|<filesystem>|<fstream>")

# Into OUT: the names that the file may define: on lines at column 0 that begin with START each word in front of a bracket, a brace or an
# equals sign, on other lines a constant that gets its value there (its type filled the line before).
function(aplomb_own_names file out start)
  file(STRINGS "${file}" lines REGEX "^(${start}).*[({=]|^ +k_[a-z_0-9]+ ?[{=]")
  set(names "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^(namespace|using|return|extern|case|default|public|private|template)")
      continue()
    elseif(line MATCHES "^(struct|class|enum class|enum|union) ([A-Za-z_0-9]+)")
      list(APPEND names "${CMAKE_MATCH_2}")
    else()
      string(REGEX MATCHALL "[A-Za-z_0-9]+(\\[[^]]*\\])* ?[({=]" found "${line}")
      list(TRANSFORM found REPLACE "(\\[.*)? ?[({=]$" "")
      list(APPEND names ${found})
    endif()
  endforeach()
  list(REMOVE_ITEM names void bool int double float operator)
  list(REMOVE_DUPLICATES names)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

function(aplomb_join target)
  set(files ${ARGN})
  set(large "")
  set(small "")
  foreach(file IN LISTS files)
    file(STRINGS "${file}" includes REGEX "^#include")
    if(includes MATCHES "${APLOMB_LARGE_HEADERS}")
      list(APPEND large "${file}")
    else()
      list(APPEND small "${file}")
    endif()
  endforeach()

  list(GET files 0 first)
  get_filename_component(folder "${first}" DIRECTORY)
  file(GLOB headers "${folder}/*.h")
  set(taken "")
  foreach(header IN LISTS headers)
    aplomb_own_names("${header}" names "inline |constexpr |struct |class |enum ")
    list(APPEND taken ${names})
  endforeach()

  set(groups 0)
  foreach(file IN LISTS large small)
    aplomb_own_names("${file}" names "[A-Za-z]")
    set(twice FALSE)
    foreach(name IN LISTS names)
      if(name IN_LIST taken)
        set(twice TRUE)
      endif()
    endforeach()
    if(twice)
      continue()
    endif()
    set(group 0)
    while(group LESS groups)
      set(clash "${names_${group}}")
      if(count_${group} LESS APLOMB_JOINED_MOST)
        set(free TRUE)
        foreach(name IN LISTS names)
          if(name IN_LIST clash)
            set(free FALSE)
            break()
          endif()
        endforeach()
        if(free)
          break()
        endif()
      endif()
      math(EXPR group "${group} + 1")
    endwhile()
    if(group EQUAL groups)
      math(EXPR groups "${groups} + 1")
      set(names_${group} "")
      set(count_${group} 0)
    endif()
    list(APPEND names_${group} ${names})
    math(EXPR count_${group} "${count_${group}} + 1")
    set_source_files_properties("${file}" PROPERTIES UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC collects its garbage whenever its memory has doubled, from 128 MB on, and a group needs 500 MB: without that it takes a tenth less
  # time, and 700 MB at most instead of 600.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE --param=ggc-min-heapsize=400000)
  endif()
endfunction()
