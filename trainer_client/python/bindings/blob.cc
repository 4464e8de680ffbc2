#include "trainer_client/python/bindings/blob.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "ops/torch/torch_exp.h"
#include "schemas/wire/message.h"
#include "trainer_client/python/bindings/errors.h"
#include "trainer_client/python/bindings/integers.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

std::mutex released_mutex;
std::vector<Py_buffer> released;

// Keeps a Python buffer. ZeroMQ's thread may release the last copy. It must not wait for the GIL,
// because the interpreter may be ending. So it leaves the buffer to the next caller that has the
// GIL.
struct BufferOwner {
  Py_buffer view{};
  ~BufferOwner() {
    if (!Py_IsInitialized()) return;
#ifndef Py_LIMITED_API  // the stable ABI does not say who has the GIL
    if (PyGILState_Check()) {
      PyBuffer_Release(&view);
      return;
    }
#endif
    const std::scoped_lock lock(released_mutex);
    released.push_back(view);
  }
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const BlobObject& blob = *nb::inst_ptr<BlobObject>(self);
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(blob.blob.data.data()),
                           static_cast<Py_ssize_t>(blob.blob.data.size()), 1, flags);
}

PyType_Slot blob_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)}, {0, nullptr}};

std::string PathBytes(nb::handle path) {
  Py_ssize_t size = 0;
  if (const char* text = PyUnicode_AsUTF8AndSize(path.ptr(), &size)) {
    return {text, static_cast<std::size_t>(size)};
  }
  PyErr_Clear();  // not a str, or a file name that is no UTF-8
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw nb::python_error();
  const nb::object bytes = nb::steal(encoded);
  return {PyBytes_AsString(encoded), static_cast<std::size_t>(PyBytes_Size(encoded))};
}

BlobObject EncodeFileTable(const std::string& root, nb::handle paths, nb::handle labels) {
  wire::FileTable table;
  table.root = root;
  const nb::object items = nb::steal(PySequence_Fast(paths.ptr(), "paths must be a sequence"));
  if (!items.is_valid()) throw nb::python_error();
  const Py_ssize_t count = FastSize(items);
  table.paths.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    table.paths.push_back(PathBytes(FastItem(items, i)));
  }
  table.labels = Integers(labels);
  if (table.labels.size() != table.paths.size()) {
    Raise(InvalidArgument(std::to_string(table.labels.size()) + " labels for " +
                          std::to_string(table.paths.size()) + " paths"));
  }
  return BlobOfBytes(wire::EncodeFileTable(table));
}

Status CallExp(nb::handle exp, std::span<const float> in, std::span<float> out) {
  const nb::object argument =
      nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(const_cast<float*>(in.data())),
                                        static_cast<Py_ssize_t>(in.size_bytes()), PyBUF_WRITE));
  const nb::object result = exp(argument);
  Py_buffer view;
  if (PyObject_GetBuffer(result.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  const bool fits = view.len == static_cast<Py_ssize_t>(out.size_bytes());
  if (fits) std::memcpy(out.data(), view.buf, out.size_bytes());
  PyBuffer_Release(&view);
  return fits ? Status::Ok() : InvalidArgument("exp returned a buffer of another size");
}

BlobObject BuildTorchExp(nb::callable exp, nb::iterable ranges) {
  std::vector<ops::ExpRange> parsed;
  for (nb::handle item : ranges) {
    const auto parts = nb::cast<nb::sequence>(item);
    ops::ExpRange& range = parsed.emplace_back();
    range.low = nb::cast<float>(parts[0]);
    range.high = nb::cast<float>(parts[1]);
    if (nb::len(parts) > 2) {
      range.rounding = nb::cast<bool>(parts[2]) ? ops::TorchGenerator::Rounding::kFused
                                                : ops::TorchGenerator::Rounding::kTwice;
    }
  }
  return BlobOfBytes(
      Check(ops::BuildTorchExpTable(parsed, [&](std::span<const float> in, std::span<float> out) {
        return CallExp(exp, in, out);
      })));
}

}  // namespace

Blob BlobOfBuffer(nb::handle buffer) {
  const auto owner = std::make_shared<BufferOwner>();
  if (PyObject_GetBuffer(buffer.ptr(), &owner->view, PyBUF_C_CONTIGUOUS) != 0) {
    throw nb::python_error();
  }
  const ByteSpan data{static_cast<const std::byte*>(owner->view.buf),
                      static_cast<std::size_t>(owner->view.len)};
  return {data, owner};
}

BlobObject BlobOfBytes(Bytes bytes) {
  const auto owner = std::make_shared<const Bytes>(std::move(bytes));
  return {{*owner, owner}, HashBlob(*owner)};
}

void ReleaseBuffers() {
  std::vector<Py_buffer> taken;
  {
    const std::scoped_lock lock(released_mutex);
    taken.swap(released);
  }
  for (Py_buffer& view : taken) PyBuffer_Release(&view);
}

void AddBlobs(nb::module_& module) {
  nb::class_<BlobObject>(module, "Blob", nb::is_final(), nb::type_slots(blob_slots))
      .def(
          "__init__",
          [](BlobObject* self, nb::handle data) {
            ReleaseBuffers();
            Blob blob = BlobOfBuffer(data);
            const BlobHash hash = HashBlob(blob.data);
            new (self) BlobObject{std::move(blob), hash};
          },
          nb::arg("data"))
      .def_prop_ro("hash", [](const BlobObject& self) { return self.hash.value; })
      .def_prop_ro("nbytes", [](const BlobObject& self) { return self.blob.data.size(); });
  module.def("encode_file_table", &EncodeFileTable, nb::arg("root"), nb::arg("paths"),
             nb::arg("labels"));
  module.def("build_torch_exp", &BuildTorchExp, nb::arg("exp"), nb::arg("ranges"));
}

}  // namespace headrace::python
