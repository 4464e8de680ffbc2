// Looks at tables of objects by borrowed references. Python's own look at an object writes a count into it. After a
// fork that is a copy of the object's page in the process that looks first, 2 microseconds each.
#include "trainer_client/python/bindings/uncounted.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// Borrowed; null: there is none. A str runs no code of the program's when it is looked up, unless the table has a key
// of a class of the program's that has the same hash. What that raises is raised here.
PyObject* Lookup(PyObject* table, PyObject* name) {
  if (!PyUnicode_CheckExact(name)) return nullptr;
  PyObject* found = PyDict_GetItemWithError(table, name);
  if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return found;
}

// Handles: nb::dict and its like count.
bool KeysAre(nb::handle table, nb::handle keys) {
  // Another class may have its own way to go through its keys.
  if (!PyDict_CheckExact(table.ptr()) || !PyList_Check(keys.ptr())) return false;
  const Py_ssize_t count = PyList_Size(keys.ptr());
  if (PyDict_Size(table.ptr()) != count) return false;
  Py_ssize_t at = 0;
  PyObject* key = nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyDict_Next(table.ptr(), &at, &key, nullptr) == 0) return false;
    if (key != PyList_GetItem(keys.ptr(), i)) return false;
  }
  return true;
}

bool ItemsAre(nb::handle table, nb::handle items) {
  if (!PyDict_Check(table.ptr()) || !PyDict_Check(items.ptr())) return false;
  if (PyDict_Size(table.ptr()) != PyDict_Size(items.ptr())) return false;
  Py_ssize_t at = 0, at_items = 0;
  PyObject *key = nullptr, *value = nullptr, *name = nullptr, *then = nullptr;
  bool in_order = true;
  while (PyDict_Next(items.ptr(), &at_items, &name, &then) != 0) {
    in_order = in_order && PyDict_Next(table.ptr(), &at, &key, &value) != 0 && key == name;
    if ((in_order ? value : Lookup(table.ptr(), name)) != then) return false;
  }
  return true;
}

bool NamesAre(nb::handle table, nb::handle names, nb::handle values) {
  if (!PyDict_Check(table.ptr()) || !PyTuple_Check(names.ptr())) return false;
  const Py_ssize_t count = PyTuple_Size(names.ptr());
  if (!PyTuple_Check(values.ptr()) || PyTuple_Size(values.ptr()) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const PyObject* found = Lookup(table.ptr(), PyTuple_GetItem(names.ptr(), i));
    if (found == nullptr || found != PyTuple_GetItem(values.ptr(), i)) return false;
  }
  return true;
}

#ifndef Py_LIMITED_API
bool IsOr(const PyObject* part, const PyObject* then) {
  return (part != nullptr ? part : Py_None) == then;
}

bool PartsOfOneAre(PyObject* function, PyObject* parts) {
  return PyFunction_Check(function) && PyFunction_GetCode(function) == PyTuple_GetItem(parts, 0) &&
         IsOr(PyFunction_GetDefaults(function), PyTuple_GetItem(parts, 1)) &&
         IsOr(PyFunction_GetKwDefaults(function), PyTuple_GetItem(parts, 2));
}
#else
// The stable ABI has no look at a function's parts that does not count.
bool PartsOfOneAre(PyObject* function, PyObject* parts) {
  Py_ssize_t at = 0;
  for (const char* name : {"__code__", "__defaults__", "__kwdefaults__"}) {
    const nb::object part = nb::steal(PyObject_GetAttrString(function, name));
    if (!part.is_valid()) throw nb::python_error();
    if (part.ptr() != PyTuple_GetItem(parts, at++)) return false;
  }
  return true;
}
#endif

bool PartsAre(nb::handle functions, nb::handle parts) {
  if (!PyList_Check(functions.ptr()) || !PyList_Check(parts.ptr())) return false;
  const Py_ssize_t count = PyList_Size(functions.ptr());
  if (PyList_Size(parts.ptr()) != count) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* of_one = PyList_GetItem(parts.ptr(), i);
    if (!PyTuple_Check(of_one) || PyTuple_Size(of_one) != 3) {
      throw nb::type_error("the parts of a function are three");
    }
    if (!PartsOfOneAre(PyList_GetItem(functions.ptr(), i), of_one)) return false;
  }
  return true;
}

}  // namespace

void AddUncounted(nb::module_& module) {
  module.def("keys_are", &KeysAre, nb::arg("table"), nb::arg("keys"));
  module.def("items_are", &ItemsAre, nb::arg("table"), nb::arg("items"));
  module.def("names_are", &NamesAre, nb::arg("table"), nb::arg("names"), nb::arg("values"));
  module.def("parts_are", &PartsAre, nb::arg("functions"), nb::arg("parts"));
}

}  // namespace headrace::python
