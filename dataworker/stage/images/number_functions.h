#pragma once

#include <nanobind/nanobind.h>

namespace headrace {

// Functions for what headrace/stage/numpy_normals.py puts in NumPy's places.
void BindNumberFunctions(nanobind::module_& module);

}  // namespace headrace
