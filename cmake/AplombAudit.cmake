# python/aplomb/audit/ -> generated/audit_files.cpp (see embed_audit.cmake): `aplomb check` hands it to the python3 it finds.
set(APLOMB_AUDIT_ROOT "${PROJECT_SOURCE_DIR}/python/aplomb/audit")
file(GLOB_RECURSE APLOMB_AUDIT_FILES CONFIGURE_DEPENDS "${APLOMB_AUDIT_ROOT}/*.py")
set(audit "${PROJECT_BINARY_DIR}/generated/audit_files.cpp")
add_custom_command(
  OUTPUT "${audit}"
  COMMAND "${CMAKE_COMMAND}" "-DROOT=${APLOMB_AUDIT_ROOT}" "-DFILES=${APLOMB_AUDIT_FILES}" "-DOUT=${audit}"
          -P "${PROJECT_SOURCE_DIR}/cmake/embed_audit.cmake"
  DEPENDS ${APLOMB_AUDIT_FILES} "${PROJECT_SOURCE_DIR}/cmake/embed_audit.cmake"
  COMMENT "Embedding the code audit" VERBATIM)
target_sources(aplomb_preflight PRIVATE "${audit}")
