#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "base/result.h"

namespace headrace::python {

// Adds HeadraceError and one class for each Code to the module.
void AddErrors(nanobind::module_& module);

// Throws the Python exception of a status that is not ok.
[[noreturn]] void Raise(const Status& status);

inline void Check(const Status& status) {
  if (!status.ok()) Raise(status);
}
template <typename T>
T Check(Result<T> result) {
  if (!result.ok()) Raise(result.status());
  return std::move(result).value();
}

}  // namespace headrace::python
