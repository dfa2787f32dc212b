# room(<name> SOURCES <file>... USES <target>... [ASYNC])
#
# A folder is one library. Its sources include each other and the rooms below by their path from the root. ASYNC rooms
# use coroutines and share the one precompiled header that holds Asio, which platform builds.
function(room name)
  cmake_parse_arguments(ROOM "ASYNC" "" "SOURCES;USES" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${ROOM_USES})
  if(ROOM_ASYNC)
    target_precompile_headers(${name} REUSE_FROM platform)
  endif()
endfunction()
