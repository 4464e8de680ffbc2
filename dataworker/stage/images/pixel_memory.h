#pragma once

#include <nanobind/nanobind.h>

namespace headrace {

// Functions between pixels of PIL's, tensors and plain memory (headrace/_images.pyi).
void BindPixelMemory(nanobind::module_& module);

}  // namespace headrace
