#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace headrace::python {

// What PySequence_Fast gave, a list or a tuple, by functions of the stable ABI. Its size, and an
// item (borrowed) at an index below the size.
[[nodiscard]] inline Py_ssize_t FastSize(nanobind::handle items) {
  return PyList_Check(items.ptr()) ? PyList_Size(items.ptr()) : PyTuple_Size(items.ptr());
}
[[nodiscard]] inline PyObject* FastItem(nanobind::handle items, Py_ssize_t index) {
  return PyList_Check(items.ptr()) ? PyList_GetItem(items.ptr(), index)
                                   : PyTuple_GetItem(items.ptr(), index);
}

// Reads a sequence of ints, or a contiguous buffer of int64.
[[nodiscard]] std::vector<std::int64_t> Integers(nanobind::handle source);

}  // namespace headrace::python
