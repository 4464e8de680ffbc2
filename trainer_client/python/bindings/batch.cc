#include "trainer_client/python/bindings/batch.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "trainer_client/python/bindings/dlpack.h"
#include "trainer_client/python/bindings/errors.h"
#include "trainer_client/session/pickle_names.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// An out-of-band buffer of a pickle, in the batch's memory; `hold` keeps its slot.
struct BufferObject {
  std::shared_ptr<void> hold;
  std::span<std::byte> data;
};

struct BatchObject {
  Batch batch;
  nb::list fields;  // DLPack capsules; of a list, a Python list of them
  nb::list buffers;
  nb::list missing;
};

struct SuspicionObject {
  Suspicion suspicion;
  nb::object here, there;  // Batch
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const std::span<std::byte> data = nb::inst_ptr<BufferObject>(self)->data;
  return PyBuffer_FillInfo(view, self, data.data(), static_cast<Py_ssize_t>(data.size()), 0, flags);
}

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)}, {0, nullptr}};

nb::bytes BytesObject(const Bytes& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

nb::list CapsulesOf(const std::vector<BatchField>& rows, const std::shared_ptr<void>& hold) {
  nb::list capsules;
  for (const BatchField& row : rows) capsules.append(DlpackCapsule(row, hold));
  return capsules;
}

nb::object BatchFrom(Batch&& batch) {
  BatchObject object;
  for (const BatchField& field : batch.fields) {
    object.fields.append(field.rows.empty() ? DlpackCapsule(field, batch.hold)
                                            : nb::object(CapsulesOf(field.rows, batch.hold)));
  }
  for (const std::span<std::byte> buffer : batch.buffers) {
    object.buffers.append(nb::cast(BufferObject{batch.hold, buffer}));
  }
  for (MissingSample& missing : batch.missing) object.missing.append(nb::cast(std::move(missing)));
  // After this, only the tensors and buffers keep the slot.
  batch.fields.clear();
  batch.buffers.clear();
  batch.missing.clear();
  batch.hold.reset();
  object.batch = std::move(batch);
  return nb::cast(std::move(object));
}

nb::object SuspicionFrom(Suspicion&& suspicion) {
  SuspicionObject object;
  object.here = BatchFrom(std::move(suspicion.here));
  object.there = BatchFrom(std::move(suspicion.there));
  object.suspicion = std::move(suspicion);
  return nb::cast(std::move(object));
}

}  // namespace

nb::object EventObject(Event event) {
  if (event.batch) return BatchFrom(std::move(*event.batch));
  if (event.sample) return nb::cast(std::move(*event.sample));
  if (event.suspicion) return SuspicionFrom(std::move(*event.suspicion));
  if (event.change) return nb::cast(std::move(*event.change));
  if (event.doubt) return nb::bool_(true);
  return nb::none();
}

// The output of user code need not be text.
nb::object PrintedText(const std::string& text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void AddBatches(nb::module_& module) {
  const nb::class_<BufferObject> buffer(module, "PickleBuffer", nb::is_final(),
                                        nb::type_slots(buffer_slots));

  module.def(
      "pickle_names",
      [](nb::bytes pickle, std::size_t buffers) {
        nb::set found;
        for (const client::NameUse& use : Check(client::NamesInPickle(
                 {static_cast<const std::byte*>(pickle.data()), pickle.size()}, buffers))) {
          found.add(
              nb::make_tuple(std::string(1, static_cast<char>(use.kind)), use.module, use.name));
        }
        return found;
      },
      nb::arg("pickle"), nb::arg("buffers") = 0);

  nb::class_<MissingSample>(module, "MissingSample", nb::is_final())
      .def_ro("position", &MissingSample::position)
      .def_ro("key", &MissingSample::key)
      .def_prop_ro("code", [](const MissingSample& self) { return CodeName(self.code); })
      .def_prop_ro("detail", [](const MissingSample& self) { return DetailName(self.detail); })
      .def_ro("message", &MissingSample::message)
      .def_prop_ro("torch_state",
                   [](const MissingSample& self) { return BytesObject(self.torch_state); })
      .def_prop_ro("torch_state_after",
                   [](const MissingSample& self) { return BytesObject(self.torch_state_after); })
      .def_ro("seed", &MissingSample::seed);

  nb::class_<SampleNeeded>(module, "SampleNeeded", nb::is_final())
      .def_ro("batch", &SampleNeeded::batch)
      .def_ro("position", &SampleNeeded::position)
      .def_ro("key", &SampleNeeded::key)
      .def_prop_ro("torch_state",
                   [](const SampleNeeded& self) { return BytesObject(self.torch_state); });

  nb::class_<SuspicionObject>(module, "Suspicion", nb::is_final())
      .def_prop_ro("id", [](const SuspicionObject& self) { return self.suspicion.id; })
      .def_prop_ro("batch", [](const SuspicionObject& self) { return self.suspicion.batch; })
      .def_prop_ro("worker", [](const SuspicionObject& self) { return self.suspicion.worker; })
      .def_prop_ro("host", [](const SuspicionObject& self) { return self.suspicion.host; })
      .def_ro("here", &SuspicionObject::here)
      .def_ro("there", &SuspicionObject::there);

  nb::class_<DrawnBatch>(module, "DrawnBatch", nb::is_final())
      .def_ro("words", &DrawnBatch::words)
      .def_ro("sizes", &DrawnBatch::sizes)
      .def_prop_ro("torch_state",
                   [](const DrawnBatch& self) { return BytesObject(self.torch_state); });

  nb::class_<StateChange>(module, "StateChange", nb::is_final())
      .def_ro("judged", &StateChange::judged)
      .def_prop_ro("what", [](const StateChange& self) { return PrintedText(self.what); })
      .def_ro("worker", &StateChange::worker)
      .def_ro("host", &StateChange::host)
      .def_prop_ro("consumed", [](const StateChange& self) { return self.differing.consumed; })
      .def_prop_ro("batches", [](const StateChange& self) { return self.differing.batches; });

  nb::class_<BatchObject>(module, "Batch", nb::is_final())
      .def_prop_ro("batch", [](const BatchObject& self) { return self.batch.batch; })
      .def_ro("fields", &BatchObject::fields)
      .def_ro("missing", &BatchObject::missing)
      .def_prop_ro("keys", [](const BatchObject& self) { return self.batch.keys; })
      .def_prop_ro("drawn", [](const BatchObject& self) { return self.batch.drawn; })
      .def_prop_ro("copy_advised", [](const BatchObject& self) { return self.batch.copy_advised; })
      .def_prop_ro("pickle", [](const BatchObject& self) { return BytesObject(self.batch.pickle); })
      .def_ro("buffers", &BatchObject::buffers)
      .def_prop_ro("python_error",
                   [](const BatchObject& self) { return BytesObject(self.batch.python_error); })
      .def_prop_ro("names", [](const BatchObject& self) { return self.batch.names; })
      .def_prop_ro("lane_state",
                   [](const BatchObject& self) { return BytesObject(self.batch.lane_state); })
      .def_prop_ro("output", [](const BatchObject& self) { return PrintedText(self.batch.output); })
      .def_prop_ro("error_output",
                   [](const BatchObject& self) { return PrintedText(self.batch.error_output); })
      .def_prop_ro("samples", [](const BatchObject& self) { return self.batch.samples; })
      .def_prop_ro("lane_ended", [](const BatchObject& self) { return self.batch.lane_ended; })
      .def_prop_ro("worker", [](const BatchObject& self) { return self.batch.worker; })
      .def_prop_ro("transport",
                   [](const BatchObject& self) {
                     return self.batch.transport == Transport::kShm ? "shm" : "tcp";
                   })
      .def_prop_ro("nbytes", [](const BatchObject& self) { return self.batch.bytes; });
}

}  // namespace headrace::python
