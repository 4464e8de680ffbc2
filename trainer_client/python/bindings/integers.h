#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace headrace::python {

// Reads a sequence of ints, or a contiguous buffer of int64.
[[nodiscard]] std::vector<std::int64_t> Integers(nanobind::handle source);

}  // namespace headrace::python
