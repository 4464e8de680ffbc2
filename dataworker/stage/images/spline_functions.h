#pragma once

#include <nanobind/nanobind.h>

namespace headrace {

// Functions that scipy.ndimage calls in C, which headrace/stage/scipy_functions.py puts in their places.
void BindSplineFunctions(nanobind::module_& module);

}  // namespace headrace
