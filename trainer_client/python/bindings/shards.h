#pragma once

#include <nanobind/nanobind.h>

namespace headrace::python {

// TarScan and ZipScan, and the range table of samples in shards.
void AddShards(nanobind::module_& module);

}  // namespace headrace::python
