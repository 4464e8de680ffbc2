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

// Takes hold of any contiguous buffer without copying it. May be let go on any thread, with or
// without the GIL.
[[nodiscard]] Blob BlobOfBuffer(nanobind::handle buffer);
[[nodiscard]] BlobObject BlobOfBytes(Bytes bytes);
// Releases buffers that were let go by threads without the GIL. REQUIRES: the GIL.
void ReleaseBuffers();

// Blob, encode_file_table, build_torch_exp.
void AddBlobs(nanobind::module_& module);

}  // namespace headrace::python
