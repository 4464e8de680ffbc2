#pragma once

#include <nanobind/nanobind.h>

namespace headrace::python {

// Session, Client.
void AddSessions(nanobind::module_& module);

}  // namespace headrace::python
