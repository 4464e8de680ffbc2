# Compiler settings shared by every target, as the interface target headrace_compile.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(HEADRACE_CCACHE ccache)
if(HEADRACE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEADRACE_CCACHE})
endif()

add_library(headrace_compile INTERFACE)
target_include_directories(headrace_compile INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(headrace_compile INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${HEADRACE_WERROR}>:-Werror>
  # Results must not depend on whether a compiler fuses a multiply and an add.
  -ffp-contract=off)
if(HEADRACE_SANITIZE)
  target_compile_options(headrace_compile INTERFACE -fsanitize=${HEADRACE_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(headrace_compile INTERFACE -fsanitize=${HEADRACE_SANITIZE})
endif()
if(HEADRACE_FUZZ)
  target_compile_options(headrace_compile INTERFACE -fsanitize=fuzzer-no-link)
endif()
