#include "ops/vision/pil/byte_map.h"

#include "ops/vision/pil/byte_map_avx512.h"

namespace headrace::ops {
namespace {

// Lookups gain nothing from AVX2: it has no table of more than 16 bytes.
[[maybe_unused]] bool HasKernel(PointwiseLevel level) {
  return level == PointwiseLevel::kAvx512Vbmi;
}

}  // namespace

void MapValues(const Canvas& image, const std::array<ByteTable, 3>& tables, PointwiseLevel level) {
  if (image.spec.channels == 1) return MapValues(image, tables[0], level);
#if defined(__x86_64__)
  if (HasKernel(level)) {
    return ForEachRun(image, [&](std::uint8_t* data, std::size_t pixels) {
      MapChannelsAvx512(data, pixels, image.pixel_stride, tables);
    });
  }
#endif
  ForEachPixel(image, [&](std::uint8_t* p) {
    p[0] = tables[0][p[0]];
    p[1] = tables[1][p[1]];
    p[2] = tables[2][p[2]];
  });
}

void MapValues(const Canvas& image, const ByteTable& table, PointwiseLevel level) {
#if defined(__x86_64__)
  if (HasKernel(level)) {
    return ForEachRun(image, [&](std::uint8_t* data, std::size_t pixels) {
      MapBytesAvx512(data, pixels * image.pixel_stride, table);
    });
  }
#endif
  if (image.spec.channels == 1) {
    ForEachPixel(image, [&](std::uint8_t* p) { p[0] = table[p[0]]; });
  } else {
    ForEachPixel(image, [&](std::uint8_t* p) {
      p[0] = table[p[0]];
      p[1] = table[p[1]];
      p[2] = table[p[2]];
    });
  }
}

}  // namespace headrace::ops
