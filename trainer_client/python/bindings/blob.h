#pragma once

#include <nanobind/nanobind.h>

#include "base/hash.h"
#include "base/ids.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::python {

// The Python class Blob: content with its hash.
struct BlobObject {
  Blob blob;
  BlobHash hash;
};

// Holds any contiguous buffer without copying it. Any thread may release it, with or without the
// GIL.
[[nodiscard]] Blob BlobOfBuffer(nanobind::handle buffer);
[[nodiscard]] BlobObject BlobOfBytes(Bytes bytes);
// Releases the buffers that threads without the GIL have released. REQUIRES: the GIL.
void ReleaseBuffers();

// Blob, encode_file_table, build_torch_exp.
void AddBlobs(nanobind::module_& module);

}  // namespace headrace::python
