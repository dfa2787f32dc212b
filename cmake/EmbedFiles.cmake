# embed_files(<target> HEADER <name.h> NAMESPACE <ns> FILES <file>...)
#
# Makes a header that holds each file as a string, named after the file (claim.sql -> claim), so that SQL stays
# in files of its own and the program needs nothing beside its binary. Rebuilt when a file changes.
function(embed_files target)
  cmake_parse_arguments(EMBED "" "HEADER;NAMESPACE;KIND" "FILES" ${ARGN})
  set(out "${CMAKE_BINARY_DIR}/embedded/${EMBED_HEADER}")
  set(files)
  foreach(file IN LISTS EMBED_FILES)
    list(APPEND files "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  endforeach()
  string(REPLACE ";" "|" joined "${files}")
  file(GLOB includes CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/sql/*.inc")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAMESPACE=${EMBED_NAMESPACE} -DKIND=${EMBED_KIND} "-DFILES=${joined}"
            -P "${CMAKE_SOURCE_DIR}/cmake/write_embedded.cmake"
    DEPENDS ${files} ${includes} "${CMAKE_SOURCE_DIR}/cmake/write_embedded.cmake"
    VERBATIM)
  target_sources(${target} PRIVATE "${out}")
  target_include_directories(${target} PRIVATE "${CMAKE_BINARY_DIR}/embedded")
endfunction()
