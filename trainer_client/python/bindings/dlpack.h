#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "trainer_client/include/headrace/client.h"

namespace headrace::python {

// A DLPack capsule ("dltensor") of a field's memory, for torch.from_dlpack: one call and no copy.
// `hold` keeps the memory until the tensor's storage is gone; any thread may release it, without
// the GIL. The capsule makes one tensor. A capsule that makes none releases the memory when it
// dies.
[[nodiscard]] nanobind::object DlpackCapsule(const BatchField& field, std::shared_ptr<void> hold);

}  // namespace headrace::python
