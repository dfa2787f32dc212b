# One set of flags for the whole house. Warnings are errors; headers of libraries are system headers.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                    -Wnull-dereference -Wimplicit-fallthrough -Werror)
# GCC 12 warns falsely in coroutine frames and inlined standard containers (GCC bugs 98401, 105329, 107852).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                      -Wno-stringop-overread -Wno-null-dereference -Wno-mismatched-new-delete
                      -Wno-missing-field-initializers)
else()
  # Clang builds what is fuzzed; GCC is the compiler whose warnings are errors.
  add_compile_options(-Wno-error)
endif()

option(IMPRESARIO_CCACHE "Compile through ccache when it is installed" ON)
if(IMPRESARIO_CCACHE)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    # A precompiled header carries the time it was made; without these ccache would never hit.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${CCACHE_PROGRAM})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      add_compile_options(-fpch-preprocess)
    else()
      add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
endif()

find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

option(IMPRESARIO_FAILPOINTS "Plant faults where the environment says so (platform/failpoint.h): for tests, never shipped" OFF)

set(IMPRESARIO_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")
if(IMPRESARIO_SANITIZE)
  add_compile_options(-fsanitize=${IMPRESARIO_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${IMPRESARIO_SANITIZE})
  # Undefined behaviour ends the program, as a bad address does: a test must fail by it.
  add_compile_options(-fno-sanitize-recover=all)
  # GCC's shared UBSan does not know where findings are to be written (scripts/sanitize); inside the program it does.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND IMPRESARIO_SANITIZE MATCHES address)
    add_link_options(-static-libasan -static-libubsan)
  endif()
  # Clang 14 writes what this check needs before a function, where a coroutine cannot have it.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    add_compile_options(-fno-sanitize=function)
  endif()
  # Asio's fences are not instrumented; what they guard is handed over under its mutexes.
  if(IMPRESARIO_SANITIZE MATCHES thread)
    add_compile_options(-Wno-tsan)
  endif()
endif()
