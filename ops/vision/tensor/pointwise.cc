#include "ops/vision/tensor/pointwise.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/vision/tensor/pointwise_kernels.h"

namespace headrace::ops {
namespace {

const PointwiseKernels& Kernels(PointwiseLevel level) {
  static constexpr PointwiseKernels kPortable;
#if defined(__x86_64__)
  if (level == PointwiseLevel::kAvx512Vbmi) return kAvx512VbmiPointwise;
  if (level == PointwiseLevel::kAvx2) return kAvx2Pointwise;
#endif
  return kPortable;
}

bool TakesLayout(const PointwiseKernels& kernels, const Image& in) {
  if (in.spec.channels == 1) return in.pixel_stride == 1;
  return in.pixel_stride == 4 || (in.pixel_stride == 3 && kernels.takes_packed);
}

void CheckShape(const Image& in, std::size_t out_size) {
  HR_CHECK(in.spec.dtype == DType::kU8 && in.spec.layout == Layout::kHwc);
  HR_CHECK(in.spec.channels == 1 || in.spec.channels == 3);
  HR_CHECK(static_cast<std::size_t>(in.spec.channels * in.spec.height * in.spec.width) == out_size);
}

// The step between pixels of a row in the order of the output; moves `row` to the first of them.
std::ptrdiff_t Walk(const Image& in, Flip flip, const std::uint8_t*& row) {
  const auto step = static_cast<std::ptrdiff_t>(in.pixel_stride);
  if (!flip.horizontal) return step;
  row += (in.spec.width - 1) * step;
  return -step;
}

template <typename T>
void TablePortable(const Image& in, Flip flip, const T* table, T* out) {
  const std::int64_t width = in.spec.width;
  const std::int64_t plane = width * in.spec.height;
  for (std::int64_t y = 0; y < in.spec.height; ++y, out += width) {
    const std::uint8_t* at = SourceRow(in, flip, y);
    const std::ptrdiff_t step = Walk(in, flip, at);
    if (in.spec.channels == 1) {
      for (std::int64_t x = 0; x < width; ++x, at += step) out[x] = table[at[0]];
      continue;
    }
    for (std::int64_t x = 0; x < width; ++x, at += step) {
      out[x] = table[at[0]];
      out[plane + x] = table[256 + at[1]];
      out[2 * plane + x] = table[512 + at[2]];
    }
  }
}

void PlanesPortable(const Image& in, Flip flip, std::uint8_t* out) {
  const std::int64_t width = in.spec.width;
  const std::int64_t plane = width * in.spec.height;
  for (std::int64_t y = 0; y < in.spec.height; ++y, out += width) {
    const std::uint8_t* first = SourceRow(in, flip, y);
    const std::ptrdiff_t step = Walk(in, flip, first);
    for (std::int32_t c = 0; c < in.spec.channels; ++c) {
      const std::uint8_t* at = first + c;
      for (std::int64_t x = 0; x < width; ++x, at += step) out[c * plane + x] = *at;
    }
  }
}

template <typename T>
auto TableKernel(const PointwiseKernels& kernels) {
  if constexpr (sizeof(T) == 1) {
    return kernels.table8;
  } else if constexpr (sizeof(T) == 2) {
    return kernels.table16;
  } else if constexpr (sizeof(T) == 4) {
    return kernels.table32;
  } else {
    return decltype(kernels.table8)(nullptr);
  }
}

}  // namespace

PointwiseLevel DetectPointwiseLevel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return PointwiseLevel::kAvx512Vbmi;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return PointwiseLevel::kAvx2;
  }
#endif
  return PointwiseLevel::kScalar;
}

template <typename T>
void TableToChw(const Image& in, Flip flip, std::span<const T> table, std::span<T> out,
                PointwiseLevel level) {
  CheckShape(in, out.size());
  HR_CHECK(table.size() == static_cast<std::size_t>(in.spec.channels) * 256);
  const PointwiseKernels& kernels = Kernels(level);
  const auto kernel = TableKernel<T>(kernels);
  if (kernel != nullptr && TakesLayout(kernels, in)) {
    kernel(in, flip, reinterpret_cast<const std::uint8_t*>(table.data()),
           reinterpret_cast<std::uint8_t*>(out.data()));
  } else {
    TablePortable(in, flip, table.data(), out.data());
  }
}

template void TableToChw<std::uint8_t>(const Image&, Flip, std::span<const std::uint8_t>,
                                       std::span<std::uint8_t>, PointwiseLevel);
template void TableToChw<std::uint16_t>(const Image&, Flip, std::span<const std::uint16_t>,
                                        std::span<std::uint16_t>, PointwiseLevel);
template void TableToChw<float>(const Image&, Flip, std::span<const float>, std::span<float>,
                                PointwiseLevel);
template void TableToChw<double>(const Image&, Flip, std::span<const double>, std::span<double>,
                                 PointwiseLevel);

void ToChw(const Image& in, Flip flip, std::span<std::uint8_t> out, PointwiseLevel level) {
  CheckShape(in, out.size());
  const PointwiseKernels& kernels = Kernels(level);
  if (kernels.planes != nullptr && TakesLayout(kernels, in)) {
    kernels.planes(in, flip, out.data());
  } else {
    PlanesPortable(in, flip, out.data());
  }
}

void ToPacked(const Image& in, Flip flip, std::span<std::uint8_t> out) {
  CheckShape(in, out.size());
  const auto channels = static_cast<std::size_t>(in.spec.channels);
  const std::size_t row_bytes = channels * static_cast<std::size_t>(in.spec.width);
  std::uint8_t* to = out.data();
  for (std::int64_t y = 0; y < in.spec.height; ++y) {
    const std::uint8_t* at = SourceRow(in, flip, y);
    if (in.pixel_stride == channels && !flip.horizontal) {
      std::memcpy(to, at, row_bytes);
      to += row_bytes;
      continue;
    }
    const std::ptrdiff_t step = Walk(in, flip, at);
    for (std::int64_t x = 0; x < in.spec.width; ++x, at += step) {
      for (std::size_t c = 0; c < channels; ++c) *to++ = at[c];
    }
  }
}

}  // namespace headrace::ops
