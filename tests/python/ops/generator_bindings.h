#pragma once

#include <nanobind/nanobind.h>

namespace headrace::ops {

// Adds the classes of the three generators.
void BindGenerators(nanobind::module_& m);

}  // namespace headrace::ops
