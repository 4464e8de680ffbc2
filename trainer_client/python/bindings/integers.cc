#include "trainer_client/python/bindings/integers.h"

#include <cstring>
#include <string_view>

#include "base/result.h"
#include "trainer_client/python/bindings/errors.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

std::vector<std::int64_t> FromBuffer(nb::handle source) {
  Py_buffer view;
  if (PyObject_GetBuffer(source.ptr(), &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    throw nb::python_error();
  }
  const std::string_view format = view.format != nullptr ? view.format : "B";
  const bool fits = view.itemsize == 8 && (format == "l" || format == "q");
  std::vector<std::int64_t> values(fits ? static_cast<std::size_t>(view.len) / 8 : 0);
  if (!values.empty()) std::memcpy(values.data(), view.buf, values.size() * 8);
  PyBuffer_Release(&view);
  if (!fits) Raise(InvalidArgument("a buffer of integers must hold int64"));
  return values;
}

}  // namespace

std::vector<std::int64_t> Integers(nb::handle source) {
  if (PyObject_CheckBuffer(source.ptr())) return FromBuffer(source);
  const nb::object items = nb::steal(PySequence_Fast(source.ptr(), "integers must be a sequence"));
  if (!items.is_valid()) throw nb::python_error();
  const Py_ssize_t count = FastSize(items);
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    const long long value = PyLong_AsLongLong(FastItem(items, i));
    if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    values.push_back(value);
  }
  return values;
}

}  // namespace headrace::python
