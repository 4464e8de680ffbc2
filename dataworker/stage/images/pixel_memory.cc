#include "dataworker/stage/images/pixel_memory.h"

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "dataworker/stage/images/pil_pixels.h"
#include "dataworker/stage/images/planes.h"
#include "ops/vision/opencv/pixels.h"

namespace nb = nanobind;

namespace headrace {
namespace {

// Of the Arrow C data interface, which is stable.
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

// The memory of `pixels` pixels of `width` bytes that PIL has exported, or nothing: it is laid out in
// another way.
std::uint8_t* Exported(const nb::handle& capsule, std::int64_t pixels, std::int64_t width) {
  if (PyCapsule_IsValid(capsule.ptr(), "arrow_array") == 0) return nullptr;
  const auto* array =
      static_cast<const ArrowArray*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array"));
  if (array == nullptr || array->release == nullptr || array->length != pixels) return nullptr;
  if (array->n_children == 1 && array->offset == 0) {  // a list of four bytes for each
    array = array->children[0];
    if (array == nullptr || array->length != width * pixels) return nullptr;
  } else if (width != 1) {
    return nullptr;
  }
  if (array->offset != 0 || array->n_children != 0 || array->n_buffers != 2) return nullptr;
  return static_cast<std::uint8_t*>(const_cast<void*>(array->buffers[1]));
}

// The bytes of pixels without gaps. `channels`: 1, 3 or 4.
nb::object PackPixels(const nb::handle& capsule, std::int64_t pixels, int channels) {
  const std::uint8_t* from = Exported(capsule, pixels, channels == 1 ? 1 : 4);
  if (from == nullptr || !images::HasKernels()) return nb::none();
  const auto made =
      nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(pixels * channels)));
  if (!made.is_valid()) throw nb::python_error();
  auto* to = reinterpret_cast<std::uint8_t*>(PyBytes_AsString(made.ptr()));
  const auto count = static_cast<std::size_t>(pixels);
  if (channels == 3) {
    images::PackRgb(from, count, to);
  } else {
    std::memcpy(to, from, count * static_cast<std::size_t>(channels));
  }
  return made;
}

using Colors = nb::ndarray<const std::uint8_t, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;

bool FillPixels(const Colors& pixels, const nb::handle& capsule) {
  const std::size_t count = pixels.shape(0) * pixels.shape(1);
  std::uint8_t* to = Exported(capsule, static_cast<std::int64_t>(count), 4);
  if (to == nullptr || !images::HasKernels()) return false;
  images::UnpackRgb(pixels.data(), count, to);
  return true;
}

using Sample = nb::ndarray<nb::ro, nb::device::cpu>;
using Batch = nb::ndarray<nb::c_contig, nb::device::cpu>;

// A sample whose first axis runs over the three elements of a pixel, as pixels; nothing: it does not.
std::optional<images::Interleaved> PixelsOf(const Sample& sample) {
  const std::size_t axes = sample.ndim();
  if (axes < 2 || sample.shape(0) != 3 || sample.stride(0) != 1) return {};
  const auto side = [&](std::size_t axis) {
    return static_cast<std::ptrdiff_t>(sample.shape(axis));
  };
  // From the last axis on, as far as there are no gaps.
  std::ptrdiff_t width = 1;
  std::size_t axis = axes;
  while (axis > 1 && (side(axis - 1) == 1 || sample.stride(axis - 1) == 3 * width)) {
    width *= side(--axis);
  }
  if (width == 0 || axis > 2) return {};
  const std::ptrdiff_t rows = axis == 2 ? side(1) : 1;
  const auto element = static_cast<std::ptrdiff_t>(sample.itemsize());
  const std::ptrdiff_t stride = axis == 2 ? sample.stride(1) * element : 0;
  if (rows == 0 || (element != 1 && element != 4)) return {};
  return images::Interleaved{static_cast<const std::byte*>(sample.data()), rows, width, stride,
                             sample.itemsize()};
}

bool HasItsShape(const Sample& sample, const Batch& batch) {
  if (sample.ndim() + 1 != batch.ndim() || sample.dtype() != batch.dtype()) return false;
  for (std::size_t axis = 0; axis < sample.ndim(); ++axis) {
    if (sample.shape(axis) != batch.shape(axis + 1)) return false;
  }
  return true;
}

bool StackPlanes(const nb::list& samples, const Batch& out) {
  if (!images::HasKernels() || out.ndim() == 0 || out.shape(0) != samples.size()) return false;
  std::vector<Sample> kept;
  std::vector<images::Interleaved> pixels;
  for (const auto& value : samples) {
    Sample sample;
    if (!nb::try_cast(value, sample) || !HasItsShape(sample, out)) return false;
    const auto found = PixelsOf(sample);
    if (!found) return false;
    pixels.push_back(*found);
    kept.push_back(std::move(sample));
  }
  auto* to = static_cast<std::byte*>(out.data());
  const nb::gil_scoped_release release;
  for (const images::Interleaved& sample : pixels) {
    images::ToPlanes(sample, to);
    to += 3 * sample.rows * sample.width * static_cast<std::ptrdiff_t>(sample.element);
  }
  return true;
}

}  // namespace

void BindPixelMemory(nb::module_& module) {
  module.def("pack_pixels", &PackPixels, nb::arg("exported"), nb::arg("pixels"),
             nb::arg("channels"));
  module.def("fill_pixels", &FillPixels, nb::arg("pixels"), nb::arg("exported"));
  module.def("stack_planes", &StackPlanes, nb::arg("samples"), nb::arg("out"));
}

}  // namespace headrace
