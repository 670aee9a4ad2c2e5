# knowledge/**/*.yaml -> one JSON text inside the program (no YAML is parsed at start-up), and the weights of the text
# classifier beside it as they are.
# The converter checks every file; a mistake in the YAML stops the build with file and line.
add_executable(aplomb_knowledge_tool src/knowledge/embed_tool.cpp)
target_link_libraries(aplomb_knowledge_tool PRIVATE yaml-cpp nlohmann_json::nlohmann_json fmt::fmt)
aplomb_warnings(aplomb_knowledge_tool)
target_compile_options(aplomb_knowledge_tool PRIVATE -O0)  # runs once a build, a second; -O3 took longer to compile than it saved

file(GLOB_RECURSE APLOMB_KNOWLEDGE_FILES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/knowledge/*.yaml")
set(classifier "${PROJECT_SOURCE_DIR}/models/report_classifier/weights.safetensors")
set(embedded "${PROJECT_BINARY_DIR}/generated/knowledge_embedded.cpp")
add_custom_command(
  OUTPUT "${embedded}"
  COMMAND aplomb_knowledge_tool "${PROJECT_SOURCE_DIR}/knowledge" "${classifier}" "${embedded}"
  DEPENDS aplomb_knowledge_tool "${classifier}" ${APLOMB_KNOWLEDGE_FILES}
  COMMENT "Embedding knowledge/ and models/" VERBATIM)
add_library(aplomb_knowledge_embedded STATIC "${embedded}")
target_link_libraries(aplomb_knowledge PUBLIC aplomb_knowledge_embedded)
