#pragma once

#include <nanobind/nanobind.h>

namespace headrace::python {

// ObjectReader, and the file table of packed names.
void AddObjects(nanobind::module_& module);

}  // namespace headrace::python
