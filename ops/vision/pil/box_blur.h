#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "ops/vision/image.h"
#include "ops/vision/tensor/pointwise.h"

// PIL's blurs by boxes (libImaging/BoxBlur.c), with its integers.
namespace headrace::ops {

// A box of 2 * radius + 1 values, and a part of the next one at each end. The numbers are weights,
// of which 1 << 24 are 1.
struct BoxWeights {
  std::int64_t radius = 0;   // values
  std::uint32_t inside = 0;  // of each value of the box
  std::uint32_t end = 0;     // of the next ones
};

// PIL's box whose blurs, `passes` of them, are close to a Gaussian of this radius (its standard
// deviation). REQUIRES: 0 < radius.
[[nodiscard]] BoxWeights GaussianBox(float radius, int passes);

// image.filter(ImageFilter.GaussianBlur(radius)) for a u8 HWC image of 1 or 3 channels: three boxes
// along each row, and then along each column. Writes packed pixels to `out`, which must not overlap
// the image. REQUIRES: 0 < radius. Thread-compatible; `scratch` is of the thread.
void PilGaussianBlur(const Image& in, float radius, ScratchBuffer& scratch, std::uint8_t* out,
                     PointwiseLevel level = DetectPointwiseLevel());

}  // namespace headrace::ops
