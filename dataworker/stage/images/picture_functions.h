#pragma once

#include <nanobind/nanobind.h>

namespace headrace {

// Adds the native forms of functions that programs with OpenCV call on pictures in memory.
void BindPictureFunctions(nanobind::module_& module);

}  // namespace headrace
