# Installs the client, builds the example against the prefix alone, and runs it on made-up images.
cmake_minimum_required(VERSION 3.22)
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component devel --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G Ninja -D CMAKE_BUILD_TYPE=Release
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_PREFIX_PATH=${WORK}/prefix
    "-DCMAKE_EXE_LINKER_FLAGS=${LINK_FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
# What is installed is what the public headers need, and each compiles alone.
file(GLOB_RECURSE installed RELATIVE ${WORK}/prefix/include/headrace ${WORK}/prefix/include/headrace/*)
set(public base/buffer.h base/export.h base/graph.h base/ids.h base/metric.h base/metrics.h base/result.h
    headrace/client.h headrace/image_folder.h headrace/plan_builder.h headrace/plan_source.h)
list(SORT installed)
if(NOT installed STREQUAL public)
  message(FATAL_ERROR "other headers are installed than the public ones: ${installed}")
endif()
foreach(header IN LISTS public)
  file(WRITE ${WORK}/alone.cc "#include \"${header}\"\n")
  run(${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I${WORK}/prefix/include/headrace ${WORK}/alone.cc)
endforeach()
# The same without CMake.
file(GLOB pkgconfig ${WORK}/prefix/lib*/pkgconfig ${WORK}/prefix/lib/*/pkgconfig)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pkgconfig} pkg-config --cflags --libs headrace
  OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
separate_arguments(link_flags UNIX_COMMAND "${LINK_FLAGS}")
run(${COMPILER} -std=c++20 ${EXAMPLE}/main.cc -o ${WORK}/by_pkg_config ${flags} ${link_flags})
# A program that composes a plan, against installed headers and the shared library alone.
file(WRITE ${WORK}/shared/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(of_shared LANGUAGES CXX)
find_package(headrace REQUIRED)
add_executable(build_plan ${CMAKE_CURRENT_LIST_DIR}/build_plan.cc)
target_link_libraries(build_plan PRIVATE headrace::shared)
")
run(${CMAKE_COMMAND} -S ${WORK}/shared -B ${WORK}/shared/build -G Ninja -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_PREFIX_PATH=${WORK}/prefix "-DCMAKE_EXE_LINKER_FLAGS=${LINK_FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/shared/build)
# The shared library shows what the headers declare, and nothing of the parts below.
file(GLOB library ${WORK}/prefix/lib*/libheadrace.so.?.?.? ${WORK}/prefix/lib/*/libheadrace.so.?.?.?)
execute_process(COMMAND nm -DC --defined-only ${library} OUTPUT_VARIABLE shown COMMAND_ERROR_IS_FATAL ANY)
foreach(needed "headrace::Client::Open(" "headrace::Session::Next(" "headrace::OpenImageFolder("
        "headrace::PlanBuilder::Then(" "headrace::PlanBuilder::Build(" "headrace::FilesSource("
        "headrace::FileGroupsSource(" "headrace::ImageFolderSource(" "headrace::TarSource("
        "headrace::ZipSource(" "headrace::FileRangesSource(" "headrace::ObjectsSource("
        "headrace::ObjectRangesSource(" "headrace::ArraysSource(" "headrace::ArrayFilesSource("
        "headrace::NpyColumn(" "headrace::JoinSources(")
  string(FIND "${shown}" "${needed}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${library} does not show ${needed}")
  endif()
endforeach()
if(shown MATCHES "headrace::(client|wire|net)::[A-Za-z]+::[A-Za-z]+\\(" OR shown MATCHES "zmq_|spdlog::")
  message(FATAL_ERROR "${library} shows ${CMAKE_MATCH_0}")
endif()
get_filename_component(folder ${library} DIRECTORY)
run(${MAKE_IMAGES} ${WORK}/images 3 50)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env HEADRACE_BINARY=${WORK}/prefix/bin/headrace
          ${WORK}/build/cpp_trainer ${WORK}/images 2
  OUTPUT_VARIABLE output COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
message("${output}")
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env HEADRACE_BINARY=${WORK}/prefix/bin/headrace LD_LIBRARY_PATH=${folder}
          ${WORK}/by_pkg_config ${WORK}/images 1
  OUTPUT_VARIABLE shared COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${WORK}/plan.json [=[
{"source": {"kind": "folder", "root": "images"},
 "calls": [["Then", "decode", {}], ["Then", "center_crop", {"size": 8}], ["Field"], ["LabelField"]]}
]=])
execute_process(
  COMMAND ${WORK}/shared/build/build_plan
  WORKING_DIRECTORY ${WORK} INPUT_FILE ${WORK}/plan.json OUTPUT_VARIABLE plan COMMAND_ERROR_IS_FATAL ANY)
if(NOT plan MATCHES "center_crop" OR NOT plan MATCHES "local_dir")
  message(FATAL_ERROR "the plan is ${plan}")
endif()
if(NOT shared MATCHES "150 samples, 0 missing")
  message(FATAL_ERROR "with the shared library: ${shared}")
endif()
string(REGEX MATCHALL "150 samples, 0 missing" epochs "${output}")
list(LENGTH epochs count)
if(NOT count EQUAL 2)
  message(FATAL_ERROR "expected two epochs of 150 samples")
endif()
