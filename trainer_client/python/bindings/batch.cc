#include "trainer_client/python/bindings/batch.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer_client/python/bindings/plan.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// Memory of a batch; `hold` keeps its slot.
struct FieldObject {
  std::shared_ptr<void> hold;
  std::span<std::byte> data;
  DType dtype = DType::kU8;
  std::vector<std::int64_t> shape;
};

struct BatchObject {
  Batch batch;
  nb::tuple fields;
  nb::tuple buffers;
  nb::tuple missing;
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const FieldObject& field = *nb::inst_ptr<FieldObject>(self);
  return PyBuffer_FillInfo(view, self, field.data.data(),
                           static_cast<Py_ssize_t>(field.data.size()), 0, flags);
}

PyType_Slot field_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)}, {0, nullptr}};

nb::bytes BytesObject(const Bytes& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

template <typename T>
nb::tuple TupleOf(std::vector<T>&& items) {
  nb::list list;
  for (T& item : items) list.append(nb::cast(std::move(item)));
  return nb::tuple(list);
}

nb::object ShapeObject(const std::vector<std::int64_t>& shape) {
  nb::list list;
  for (const std::int64_t side : shape) list.append(side);
  return nb::tuple(list);
}

nb::object BatchFrom(Batch&& batch) {
  BatchObject object;
  std::vector<FieldObject> fields, buffers;
  for (BatchField& field : batch.fields) {
    fields.push_back({batch.hold, field.data, field.dtype, std::move(field.shape)});
  }
  for (const std::span<std::byte> buffer : batch.buffers) {
    buffers.push_back({batch.hold, buffer, DType::kU8, {static_cast<std::int64_t>(buffer.size())}});
  }
  object.fields = TupleOf(std::move(fields));
  object.buffers = TupleOf(std::move(buffers));
  object.missing = TupleOf(std::move(batch.missing));
  // From here on the Field objects alone keep the slot.
  batch.fields.clear();
  batch.buffers.clear();
  batch.hold.reset();
  object.batch = std::move(batch);
  return nb::cast(std::move(object));
}

}  // namespace

nb::object EventObject(Event event) {
  if (event.batch) return BatchFrom(std::move(*event.batch));
  if (event.sample) return nb::cast(std::move(*event.sample));
  return nb::none();
}

void AddBatches(nb::module_& module) {
  nb::class_<FieldObject>(module, "Field", nb::is_final(), nb::type_slots(field_slots))
      .def_prop_ro("dtype", [](const FieldObject& self) { return DTypeName(self.dtype); })
      .def_prop_ro("shape", [](const FieldObject& self) { return ShapeObject(self.shape); })
      .def_prop_ro("nbytes", [](const FieldObject& self) { return self.data.size(); });

  nb::class_<MissingSample>(module, "MissingSample", nb::is_final())
      .def_ro("position", &MissingSample::position)
      .def_ro("key", &MissingSample::key)
      .def_prop_ro("code", [](const MissingSample& self) { return CodeName(self.code); })
      .def_ro("message", &MissingSample::message)
      .def_prop_ro("torch_state",
                   [](const MissingSample& self) { return BytesObject(self.torch_state); })
      .def_ro("seed", &MissingSample::seed);

  nb::class_<SampleNeeded>(module, "SampleNeeded", nb::is_final())
      .def_ro("batch", &SampleNeeded::batch)
      .def_ro("position", &SampleNeeded::position)
      .def_ro("key", &SampleNeeded::key)
      .def_prop_ro("torch_state",
                   [](const SampleNeeded& self) { return BytesObject(self.torch_state); });

  nb::class_<BatchObject>(module, "Batch", nb::is_final())
      .def_prop_ro("batch", [](const BatchObject& self) { return self.batch.batch; })
      .def_ro("fields", &BatchObject::fields)
      .def_ro("missing", &BatchObject::missing)
      .def_prop_ro("copy_advised", [](const BatchObject& self) { return self.batch.copy_advised; })
      .def_prop_ro("pickle", [](const BatchObject& self) { return BytesObject(self.batch.pickle); })
      .def_ro("buffers", &BatchObject::buffers)
      .def_prop_ro("python_error",
                   [](const BatchObject& self) { return BytesObject(self.batch.python_error); })
      .def_prop_ro("output",
                   [](const BatchObject& self) {
                     // What user code prints need not be text.
                     return nb::steal(PyUnicode_DecodeUTF8(
                         self.batch.output.data(),
                         static_cast<Py_ssize_t>(self.batch.output.size()), "replace"));
                   })
      .def_prop_ro("worker", [](const BatchObject& self) { return self.batch.worker; })
      .def_prop_ro("transport",
                   [](const BatchObject& self) {
                     return self.batch.transport == Transport::kShm ? "shm" : "tcp";
                   })
      .def_prop_ro("nbytes", [](const BatchObject& self) { return self.batch.bytes; });
}

}  // namespace headrace::python
