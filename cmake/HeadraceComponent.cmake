# The component registry by folder.
#
#   headrace_library(NAME [TESTS_COMPUTE] SOURCES ... DEPS ... [PRIVATE_DEPS ...] [TESTS ...])
#     a static library headrace_NAME, and one test program NAME_test from TESTS. TESTS_COMPUTE: see
#     COMPUTES of headrace_test.
#
#   headrace_component(KIND op NAME resize [SCHEMA a.cc] [SOURCES b.cc] [DEPS ...] [TESTS ...])
#     called by the CMakeLists.txt of a component folder. Above it, headrace_component_folders()
#     takes every subfolder that has a CMakeLists.txt, and headrace_component_registry() generates
#     sorted, explicit Register<Name>() calls: no static initialisers, no central list.

# GoogleTest's headers, compiled once for all tests: each of them would parse them for seconds. By an
# executable, because a library's code has other flags.
# Once for each of the two sets of FLAGS that tests have; a compiler refuses another's.
function(headrace_test_headers NAME FLAGS)
  if(TARGET ${NAME})
    return()
  endif()
  set(file ${PROJECT_BINARY_DIR}/test_headers.cc)
  file(CONFIGURE OUTPUT ${file} CONTENT "int main() {}\n")
  add_executable(${NAME} EXCLUDE_FROM_ALL ${file})
  target_link_libraries(${NAME} PRIVATE headrace_compile GTest::gmock)
  target_compile_options(${NAME} PRIVATE ${FLAGS})
  target_precompile_headers(${NAME} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# Tests are compiled some sources at a time: most of the time goes to headers, which they share. A
# preset with CMAKE_UNITY_BUILD does so with the libraries too. Two sources of one target then can't
# give one name to two things, even in unnamed namespaces.
option(HEADRACE_UNITY_TESTS "Compile the tests eight sources at a time" ON)

# Half of the time to optimise a test would go to GoogleTest's templates. What it tests keeps the
# flags of the build.
set(HEADRACE_TEST_FLAGS "$<$<CONFIG:Release>:-O1>" CACHE STRING
  "More compiler flags of the tests' own sources")

# COMPUTES: the test itself computes for so long that a build without optimisation would cost more
# than it saves.
function(headrace_test NAME)
  cmake_parse_arguments(A "COMPUTES" "" "SOURCES;DEPS" ${ARGN})
  if(NOT HEADRACE_TESTS)
    return()
  endif()
  add_executable(${NAME} ${A_SOURCES})
  set(headers headrace_test_headers)
  set(flags ${HEADRACE_TEST_FLAGS})
  if(A_COMPUTES)
    string(APPEND headers _computes)
    set(flags "$<$<NOT:$<CONFIG:Debug>>:-O1>")
  endif()
  headrace_test_headers(${headers} "${flags}")
  target_link_libraries(${NAME} PRIVATE headrace_compile ${A_DEPS} headrace_test_main GTest::gmock)
  target_compile_options(${NAME} PRIVATE ${flags})
  target_precompile_headers(${NAME} REUSE_FROM ${headers})
  if(HEADRACE_UNITY_TESTS)
    set_target_properties(${NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  add_test(NAME ${NAME} COMMAND ${NAME})
  # A program that hangs tells by itself where, and earlier (base/testing/hang_watch.h).
  set_tests_properties(${NAME} PROPERTIES TIMEOUT 400)
  if(HEADRACE_SANITIZE MATCHES "thread")
    set_tests_properties(${NAME} PROPERTIES
      ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/net/tsan.supp")
  endif()
endfunction()

# A Google Benchmark program in <build>/bin, where bench/run.sh finds it by its name *_bench.
function(headrace_bench NAME)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT HEADRACE_BENCH)
    return()
  endif()
  add_executable(${NAME} ${A_SOURCES})
  target_link_libraries(${NAME} PRIVATE headrace_compile ${A_DEPS} benchmark::benchmark)
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# A libFuzzer program NAME, in builds with HEADRACE_FUZZ.
function(headrace_fuzz NAME)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT HEADRACE_FUZZ)
    return()
  endif()
  add_executable(${NAME} ${A_SOURCES})
  target_link_libraries(${NAME} PRIVATE headrace_compile ${A_DEPS})
  target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
endfunction()

function(headrace_library NAME)
  cmake_parse_arguments(A "TESTS_COMPUTE" "" "SOURCES;DEPS;PRIVATE_DEPS;TESTS" ${ARGN})
  add_library(headrace_${NAME} STATIC ${A_SOURCES})
  target_link_libraries(headrace_${NAME} PUBLIC headrace_compile ${A_DEPS} PRIVATE ${A_PRIVATE_DEPS})
  if(A_TESTS)
    set(computes "")
    if(A_TESTS_COMPUTE)
      set(computes COMPUTES)
    endif()
    headrace_test(${NAME}_test ${computes} SOURCES ${A_TESTS} DEPS headrace_${NAME} ${A_PRIVATE_DEPS})
  endif()
endfunction()

# headrace_component_headers(KIND kind HEADERS a.h...): what nearly all components of a kind include,
# compiled once for all of them in presets with CMAKE_UNITY_BUILD: a component is too small for a
# batch of sources. The other builds find the headers that a source forgot to include.
function(headrace_component_headers)
  cmake_parse_arguments(A "" "KIND" "HEADERS" ${ARGN})
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${A_KIND}_headers.cc)
  file(CONFIGURE OUTPUT ${file} CONTENT "")
  add_library(headrace_${A_KIND}_headers OBJECT EXCLUDE_FROM_ALL ${file})
  target_link_libraries(headrace_${A_KIND}_headers PRIVATE headrace_compile)
  list(TRANSFORM A_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/)
  target_precompile_headers(headrace_${A_KIND}_headers PRIVATE ${A_HEADERS})
endfunction()

# "random_resized_crop" -> "RandomResizedCrop"
function(headrace_camel_case NAME OUT)
  string(REPLACE "_" ";" parts ${NAME})
  set(result "")
  foreach(part IN LISTS parts)
    string(SUBSTRING ${part} 0 1 head)
    string(SUBSTRING ${part} 1 -1 tail)
    string(TOUPPER ${head} head)
    string(APPEND result ${head}${tail})
  endforeach()
  set(${OUT} ${result} PARENT_SCOPE)
endfunction()

# Gives a component's library the headers of its kind, where there are any.
function(headrace_precompiled_component KIND TARGET)
  if(TARGET headrace_${KIND}_headers)
    target_precompile_headers(${TARGET} REUSE_FROM headrace_${KIND}_headers)
  endif()
endfunction()

function(headrace_component)
  cmake_parse_arguments(A "" "KIND;NAME" "SCHEMA;SOURCES;DEPS;TESTS" ${ARGN})
  # The schema half (arguments, shapes, draws) has no heavy dependency: coordinator and client link it.
  if(A_SCHEMA)
    add_library(headrace_${A_KIND}_${A_NAME}_schema OBJECT ${A_SCHEMA})
    target_link_libraries(headrace_${A_KIND}_${A_NAME}_schema PRIVATE headrace_compile)
    headrace_precompiled_component(${A_KIND} headrace_${A_KIND}_${A_NAME}_schema)
    set_property(GLOBAL APPEND PROPERTY HEADRACE_${A_KIND}_SCHEMA_NAMES ${A_NAME})
  endif()
  if(A_SOURCES)
    add_library(headrace_${A_KIND}_${A_NAME} OBJECT ${A_SOURCES})
    target_link_libraries(headrace_${A_KIND}_${A_NAME} PRIVATE headrace_compile ${A_DEPS})
    headrace_precompiled_component(${A_KIND} headrace_${A_KIND}_${A_NAME})
    set_property(GLOBAL APPEND PROPERTY HEADRACE_${A_KIND}_IMPL_NAMES ${A_NAME})
    set_property(GLOBAL APPEND PROPERTY HEADRACE_${A_KIND}_IMPL_DEPS ${A_DEPS})
  endif()
  if(A_TESTS)
    list(TRANSFORM A_TESTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(GLOBAL APPEND PROPERTY HEADRACE_${A_KIND}_TESTS ${A_TESTS})
  endif()
endfunction()

# headrace_component_registry(OUT KIND kind HALF IMPL|SCHEMA FUNCTION f REGISTRY r HEADER h PREFIX p
#                             NAMESPACE n)
# OUT: the sources of a library with all components of a kind. They are the components' objects and
# a generated void f(r&), which calls void p<Name>(r&) for each; all in n; h declares r.
function(headrace_component_registry OUT)
  cmake_parse_arguments(A "" "KIND;HALF;FUNCTION;REGISTRY;HEADER;PREFIX;NAMESPACE" "" ${ARGN})
  get_property(names GLOBAL PROPERTY HEADRACE_${A_KIND}_${A_HALF}_NAMES)
  list(SORT names)
  string(TOLOWER ${A_HALF} half)
  set(suffix "")
  if(half STREQUAL "schema")
    set(suffix _schema)
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/register_${A_KIND}_${half}.cc)
  set(sources ${file})
  set(declarations "")
  set(calls "")
  foreach(name IN LISTS names)
    headrace_camel_case(${name} camel)
    string(APPEND declarations "void ${A_PREFIX}${camel}(${A_REGISTRY}& registry);\n")
    string(APPEND calls "  ${A_PREFIX}${camel}(registry);\n")
    list(APPEND sources $<TARGET_OBJECTS:headrace_${A_KIND}_${name}${suffix}>)
  endforeach()
  set(text "// Generated from the component folders. Do not edit.\n#include \"${A_HEADER}\"\n\nnamespace ${A_NAMESPACE} {\n\n${declarations}\nvoid ${A_FUNCTION}(${A_REGISTRY}& registry) {\n${calls}}\n\n}  // namespace ${A_NAMESPACE}\n")
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
  set(${OUT} ${sources} PARENT_SCOPE)
endfunction()

# headrace_component_folders([EXCEPT folder...]): adds each component folder below the current one.
# Folders "core" and those whose name starts with "_" are none.
macro(headrace_component_folders)
  cmake_parse_arguments(component_folders "" "" "EXCEPT" ${ARGN})
  file(GLOB component_lists CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  foreach(component_list IN LISTS component_lists)
    get_filename_component(component_dir ${component_list} DIRECTORY)
    get_filename_component(component_name ${component_dir} NAME)
    if(NOT component_name MATCHES "^(core$|_)" AND
       NOT component_name IN_LIST component_folders_EXCEPT)
      add_subdirectory(${component_dir})
    endif()
  endforeach()
endmacro()
