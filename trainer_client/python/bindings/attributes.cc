// Python 3.11 keeps an object's attributes in a row of values beside it, and makes a dict of them when somebody asks
// for `__dict__`. From then on no call of the object's methods is specialised: code that calls many takes a fifth
// longer. Python 3.12 turns such a dict back by itself. This does what 3.12 does.
//
// Source: _PyObject_MakeInstanceAttributesFromDict in Objects/dictobject.c of Python 3.12.
#include "trainer_client/python/bindings/attributes.h"

#include <cstddef>
#include <unordered_set>
#include <vector>

namespace nb = nanobind;

namespace headrace::python {
namespace {

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000 && !defined(Py_LIMITED_API)

constexpr int kValuesBefore = 4,
              kDictBefore = 3;  // words before the object: Include/internal/pycore_object.h
constexpr std::size_t kMostParts = 512;  // of one list, tuple, dict or set; data are the rest

// Whether an object is all Python's: what a library has beneath may go through its parts in ways of its own.
bool IsPythons(PyTypeObject* type) {
  while ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && type->tp_base != nullptr) {
    type = type->tp_base;
  }
  return type == &PyBaseObject_Type;
}

// A dict that nobody else has, of attributes in the order of the class, is no dict again.
bool GiveBack(PyObject* object) {
  if ((Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) == 0) return false;
  if (!IsPythons(Py_TYPE(object))) return false;
  PyObject*& kept = reinterpret_cast<PyObject**>(object)[-kDictBefore];
  auto*& values = reinterpret_cast<PyDictValues**>(object)[-kValuesBefore];
  if (kept == nullptr || values != nullptr) return false;
  if (!PyDict_CheckExact(kept) || Py_REFCNT(kept) != 1) return false;
  auto* dict = reinterpret_cast<PyDictObject*>(kept);
  auto* keys = reinterpret_cast<PyHeapTypeObject*>(Py_TYPE(object))->ht_cached_keys;
  if (dict->ma_values == nullptr || dict->ma_keys != keys) return false;
  --*reinterpret_cast<Py_ssize_t*>(keys);  // its count, dk_refcnt; the class has one of its own
  values = dict->ma_values;
  kept = nullptr;
  dict->ma_keys = nullptr;
  dict->ma_values = nullptr;
  Py_DECREF(dict);
  return true;
}

// What Python's collector goes through, and no further: classes, modules and functions' globals lead everywhere.
// Counts nothing in what it looks at.
class Walk {
 public:
  Walk(PyObject* partial, std::size_t most) : partial_(partial), most_(most) {}

  void Add(PyObject* object) {
    if (seen_.size() < most_ && PyObject_IS_GC(object) && Leads(object) &&
        seen_.insert(object).second) {
      next_.push_back(object);
    }
  }

  std::size_t Run() {
    std::size_t given = 0;
    for (std::size_t at = 0; at < next_.size(); ++at) {  // level by level: long lists come last
      PyObject* object = next_[at];
      given += GiveBack(object) ? 1 : 0;
      if (PyFunction_Check(object)) {
        if (PyObject* held = PyFunction_GetClosure(object); held != nullptr) Add(held);
        if (PyObject* held = PyFunction_GetDefaults(object); held != nullptr) Add(held);
      } else if (const traverseproc go = Py_TYPE(object)->tp_traverse; go != nullptr) {
        parts_ = 0;
        go(object, &Walk::Visit, this);
      }
    }
    return given;
  }

 private:
  static int Visit(PyObject* object, void* walk) {
    auto* self = static_cast<Walk*>(walk);
    if (object != nullptr) self->Add(object);
    return ++self->parts_ < kMostParts ? 0 : 1;
  }

  bool Leads(PyObject* object) const {
    if (PyType_Check(object) || PyModule_Check(object)) return false;
    const bool has_dict = (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0;
    return (has_dict && IsPythons(Py_TYPE(object))) || PyDict_Check(object) ||
           PyList_Check(object) || PyTuple_Check(object) || PyAnySet_Check(object) ||
           PyMethod_Check(object) || PyFunction_Check(object) || PyCell_Check(object) ||
           Py_IS_TYPE(object, reinterpret_cast<PyTypeObject*>(partial_));
  }

  PyObject* partial_;  // functools.partial
  std::size_t most_, parts_ = 0;
  std::unordered_set<PyObject*> seen_;
  std::vector<PyObject*> next_;
};

std::size_t GiveBackAttributes(nb::handle roots, std::size_t most) {
  const nb::object partial = nb::module_::import_("functools").attr("partial");
  Walk walk(partial.ptr(), most);
  const Py_ssize_t count = PyList_Size(roots.ptr());
  if (count < 0) throw nb::python_error();
  for (Py_ssize_t i = 0; i < count; ++i) walk.Add(PyList_GetItem(roots.ptr(), i));
  return walk.Run();
}

#else

std::size_t GiveBackAttributes(nb::handle, std::size_t) { return 0; }

#endif

}  // namespace

void AddAttributes(nb::module_& module) {
  module.def("give_back_attributes", &GiveBackAttributes, nb::arg("roots"), nb::arg("most"));
}

}  // namespace headrace::python
