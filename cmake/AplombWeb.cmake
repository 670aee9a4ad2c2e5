# web/dist/{index.html,app.js,app.css,report.html} -> generated/web_assets.cpp (see embed_web.cmake): the page that `aplomb live` serves.
# web/check.sh build makes them where Node is installed. Without them the program is whole but for the page: it answers the
# JSON of docs/design/0009-live-page.md and says how to get the page. They may come later: each build looks again.
set(APLOMB_WEB_DIST "${PROJECT_SOURCE_DIR}/web/dist" CACHE PATH "The built live page: index.html, app.js, app.css, report.html")
file(GLOB web_files CONFIGURE_DEPENDS "${APLOMB_WEB_DIST}/index.html" "${APLOMB_WEB_DIST}/app.js" "${APLOMB_WEB_DIST}/app.css"
     "${APLOMB_WEB_DIST}/report.html")
list(LENGTH web_files web_count)
if(web_count EQUAL 4)
  message(STATUS "Live page: embedded from ${APLOMB_WEB_DIST}")
else()
  message(STATUS "Live page: left out (web/check.sh build makes it)")
  set(web_files "")
endif()
set(web_assets "${PROJECT_BINARY_DIR}/generated/web_assets.cpp")
add_custom_command(
  OUTPUT "${web_assets}"
  COMMAND "${CMAKE_COMMAND}" "-DFILES=${web_files}" "-DOUT=${web_assets}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_web.cmake"
  DEPENDS ${web_files} "${PROJECT_SOURCE_DIR}/cmake/embed_web.cmake"
  COMMENT "Embedding the live page" VERBATIM)
target_sources(aplomb_serve PRIVATE "${web_assets}")
