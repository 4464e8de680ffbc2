#include "trainer_client/python/bindings/dlpack.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer_client/python/bindings/errors.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// The structures of DLPack's C interface without versions (dmlc/dlpack, include/dlpack/dlpack.h).
// Every reader of capsules named "dltensor" takes them.
struct DlDevice {
  std::int32_t type, id;
};
struct DlDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t dims;
  DlDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // null: dense, row-major
  std::uint64_t byte_offset;
};
struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor*);
};

constexpr const char* kName = "dltensor";
constexpr std::int32_t kCpu = 1;

struct Exported {
  DlManagedTensor managed;
  std::vector<std::int64_t> shape;
  std::shared_ptr<void> hold;
};

DlDataType TypeOf(DType dtype) {
  enum : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };
  const auto bits = static_cast<std::uint8_t>(8 * DTypeBytes(dtype));
  switch (dtype) {
    case DType::kBool:
      return {kBool, bits, 1};
    case DType::kU8:
      return {kUInt, bits, 1};
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return {kInt, bits, 1};
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
      return {kFloat, bits, 1};
    case DType::kBF16:
      return {kBfloat, bits, 1};
  }
  Raise(Internal("a field of an unknown type"));
}

// Destroys a capsule that nobody took.
void DropCapsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kName) == 0) return;
  auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  managed->deleter(managed);
}

}  // namespace

nb::object DlpackCapsule(const BatchField& field, std::shared_ptr<void> hold) {
  auto exported = std::make_unique<Exported>();
  exported->shape = field.shape;
  exported->hold = std::move(hold);
  exported->managed.tensor = {field.data.data(),
                              {kCpu, 0},
                              static_cast<std::int32_t>(field.shape.size()),
                              TypeOf(field.dtype),
                              exported->shape.data(),
                              nullptr,
                              0};
  exported->managed.context = exported.get();
  exported->managed.deleter = [](DlManagedTensor* self) {
    delete static_cast<Exported*>(self->context);
  };
  PyObject* capsule = PyCapsule_New(&exported->managed, kName, &DropCapsule);
  if (capsule == nullptr) throw nb::python_error();
  (void)exported.release();  // the capsule's now
  return nb::steal(capsule);
}

}  // namespace headrace::python
