#include "trainer_client/python/bindings/errors.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <string>

namespace nb = nanobind;

namespace headrace::python {
namespace {

constexpr int kCodes = 12;
// Never released: errors may be raised until the interpreter ends.
std::array<PyObject*, kCodes> classes{};
PyObject* base_class = nullptr;
PyObject* not_allowed = nullptr;

PyObject* MakeClass(nb::module_& module, const char* name, PyObject* bases, std::string_view code) {
  nb::dict attributes;
  attributes["code"] = nb::str(code.data(), code.size());
  const std::string qualified = std::string("headrace._client.") + name;
  PyObject* made = PyErr_NewException(qualified.c_str(), bases, attributes.ptr());
  if (made == nullptr) throw nb::python_error();
  module.attr(name) = nb::borrow(made);
  return made;
}

}  // namespace

void AddErrors(nb::module_& module) {
  base_class = MakeClass(module, "HeadraceError", PyExc_Exception, CodeName(Code::kUnknown));
  const auto add = [&](Code code, const char* name, PyObject* builtin) {
    nb::object bases =
        builtin == nullptr
            ? nb::object(nb::make_tuple(nb::borrow(base_class)))
            : nb::object(nb::make_tuple(nb::borrow(base_class), nb::borrow(builtin)));
    classes[static_cast<std::size_t>(code)] = MakeClass(module, name, bases.ptr(), CodeName(code));
  };
  add(Code::kInvalidArgument, "InvalidArgumentError", PyExc_ValueError);
  add(Code::kNotFound, "NotFoundError", PyExc_FileNotFoundError);
  add(Code::kUnavailable, "UnavailableError", PyExc_ConnectionError);
  not_allowed = MakeClass(
      module, "NotAllowedError",
      nb::object(nb::make_tuple(nb::borrow(classes[static_cast<std::size_t>(Code::kUnavailable)]),
                                nb::borrow(PyExc_PermissionError)))
          .ptr(),
      CodeName(Code::kUnavailable));
  add(Code::kDeadlineExceeded, "DeadlineExceededError", PyExc_TimeoutError);
  add(Code::kCancelled, "CancelledError", nullptr);
  add(Code::kDataLoss, "DataLossError", PyExc_OSError);
  add(Code::kResourceExhausted, "ResourceExhaustedError", PyExc_MemoryError);
  add(Code::kInfeasible, "InfeasibleError", PyExc_ValueError);
  add(Code::kInternal, "InternalError", PyExc_RuntimeError);
  add(Code::kUnsupported, "UnsupportedError", PyExc_NotImplementedError);
  add(Code::kOtherRelease, "OtherReleaseError", nullptr);
  module.def(
      "raise_status",
      [](unsigned code, unsigned detail, const std::string& message) {
        const auto small = [](unsigned value) {
          return static_cast<unsigned char>(std::min(value, 255U));
        };
        Raise(Status(static_cast<Code>(small(code)), message, static_cast<Detail>(small(detail))));
      },
      nb::arg("code"), nb::arg("detail"), nb::arg("message"));
}

void Raise(const Status& status) {
  const auto code = static_cast<std::size_t>(status.code());
  PyObject* type = code < classes.size() ? classes[code] : nullptr;
  if (status.detail() == Detail::kNotAllowed) type = not_allowed;
  PyErr_SetString(type != nullptr ? type : base_class, status.message().c_str());
  throw nb::python_error();
}

}  // namespace headrace::python
