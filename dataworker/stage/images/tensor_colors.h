#pragma once

#include <nanobind/nanobind.h>

namespace headrace {

// Functions of torchvision's on tensors of pictures, which headrace/stage/tensor_colors.py puts in their places.
void BindTensorColors(nanobind::module_& module);

}  // namespace headrace
