#pragma once

#include <nanobind/nanobind.h>

namespace headrace::python {

// give_back_attributes: has objects keep their attributes as they did before somebody asked for `__dict__`.
void AddAttributes(nanobind::module_& module);

}  // namespace headrace::python
