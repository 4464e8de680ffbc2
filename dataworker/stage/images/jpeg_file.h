#pragma once

#include <nanobind/nanobind.h>

namespace headrace {

// Adds JpegFiles to the module: whole JPEG files as libraries beside PIL decode them.
void BindJpegFiles(nanobind::module_& module);

}  // namespace headrace
