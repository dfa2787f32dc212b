option(IMPRESARIO_UNITY "Compile several sources at once where CMake says that it can be done: quicker from a cold start, slower after each change" ON)

# room(<name> SOURCES <file>... USES <target>... [ASYNC] [UNITY])
#
# A folder is one library. Its sources include each other and the rooms below by their path from the root. ASYNC rooms
# use coroutines and share the one precompiled header that holds Asio, which platform builds. UNITY: no two of its sources
# have a name of their own in common, so that several can be compiled as one (IMPRESARIO_UNITY).
function(room name)
  cmake_parse_arguments(ROOM "ASYNC;UNITY" "" "SOURCES;USES" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_include_directories(${name} PUBLIC "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${ROOM_USES})
  if(ROOM_ASYNC)
    target_precompile_headers(${name} REUSE_FROM platform)
  endif()
  if(ROOM_UNITY)
    compile_together(${name})
  endif()
endfunction()

# No two sources of the target have a name of their own in common.
function(compile_together target)
  if(IMPRESARIO_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
    takes_unity(${target})
  endif()
endfunction()

# The same of some of its sources: compile_group(<target> <name of the group> <file>...)
function(compile_group target group)
  if(IMPRESARIO_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${group})
    takes_unity(${target})
  endif()
endfunction()

# To GCC an anonymous namespace in an included file is one of a header.
function(takes_unity target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
