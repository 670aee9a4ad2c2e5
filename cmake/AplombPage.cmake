# src/report/page/ -> generated/page_assets.cpp (see embed_page.cmake).
set(page "${PROJECT_SOURCE_DIR}/src/report/page")
set(assets "${PROJECT_BINARY_DIR}/generated/page_assets.cpp")
add_custom_command(
  OUTPUT "${assets}"
  COMMAND "${CMAKE_COMMAND}" "-DSTYLE=${page}/page.css" "-DSCRIPT=${page}/page.js" "-DOUT=${assets}"
          -P "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
  DEPENDS "${page}/page.css" "${page}/page.js" "${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake"
  COMMENT "Embedding the report page" VERBATIM)
target_sources(aplomb_report PRIVATE "${assets}")
