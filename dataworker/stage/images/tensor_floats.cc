#include "dataworker/stage/images/tensor_floats.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataworker/stage/images/normalize.h"
#include "dataworker/stage/images/pixel_order.h"

namespace nb = nanobind;

namespace headrace {
namespace {

constexpr std::size_t kMostChannels = 4096;

// [..., C, H, W], dense: as planes one after the other, or with channels last.
using In = nb::ndarray<const float, nb::device::cpu>;
using Out = nb::ndarray<float, nb::device::cpu>;

// From the first axis to the last, each of which holds the next ones without gaps.
bool IsDense(const In& array, std::span<const std::size_t> axes) {
  std::int64_t step = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (array.stride(axes[i]) != step && array.shape(axes[i]) != 1) return false;
    step *= static_cast<std::int64_t>(array.shape(axes[i]));
  }
  return true;
}

std::vector<std::size_t> Axes(std::size_t count) {
  std::vector<std::size_t> axes(count);
  for (std::size_t i = 0; i < count; ++i) axes[i] = i;
  return axes;
}

bool NormalizeFloats(const In& image, const std::vector<float>& mean,
                     const std::vector<float>& deviation, const Out& out) {
  const std::size_t axes = image.ndim();
  if (axes < 3 || out.ndim() != axes || image.size() == 0 || !images::HasKernels()) return false;
  for (std::size_t i = 0; i < axes; ++i) {
    if (image.shape(i) != out.shape(i) || image.stride(i) != out.stride(i)) return false;
  }
  const std::size_t channels = image.shape(axes - 3);
  if (mean.size() != channels || deviation.size() != channels || channels > kMostChannels) {
    return false;
  }
  // Of NaN in both, torch may keep the other one's bits.
  const auto odd = [](float one) { return !std::isfinite(one); };
  if (std::ranges::any_of(mean, odd) || std::ranges::any_of(deviation, odd)) return false;
  if (std::ranges::find(deviation, 0.0F) != deviation.end()) return false;
  const std::span<const float> values(image.data(), image.size());
  const std::size_t plane = image.shape(axes - 2) * image.shape(axes - 1);
  const images::Deviations by{mean, deviation};
  std::vector<std::size_t> order = Axes(axes);
  if (IsDense(image, order)) {
    const nb::gil_scoped_release release;
    images::NormalizePlanes(values, plane, by, out.data());
    return true;
  }
  std::rotate(order.end() - 3, order.end() - 2, order.end());
  if (channels > images::kMostInterleaved || !IsDense(image, order)) return false;
  const nb::gil_scoped_release release;
  images::NormalizeInterleaved(values, by, out.data());
  return true;
}

}  // namespace

void BindTensorFloats(nb::module_& module) {
  module.def("normalize_floats", &NormalizeFloats, nb::arg("image"), nb::arg("mean"),
             nb::arg("deviation"), nb::arg("out"));
}

}  // namespace headrace
