#pragma once

#include <nanobind/nanobind.h>

namespace headrace::python {

// keys_are, items_are, names_are and parts_are: looks at objects that write no reference counts.
void AddUncounted(nanobind::module_& module);

}  // namespace headrace::python
