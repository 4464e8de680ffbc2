#pragma once

#include <nanobind/nanobind.h>

namespace headrace {

// Functions of torchvision's on tensors of float32, which headrace/stage/tensor_floats.py puts in their places.
void BindTensorFloats(nanobind::module_& module);

}  // namespace headrace
