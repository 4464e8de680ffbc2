#pragma once

#include "base/result.h"
#include "ops/vision/canvas.h"
#include "ops/vision/tensor/pointwise.h"

// torchvision's kernels for u8 tensors, on u8 HWC pixels of 1 or 3 channels. They round in float32,
// unlike PIL (enhance.h, image_ops.h, sharpness.h). v1 (api 1) and v2 differ from each other. The
// bits are those of torch's AVX2 and AVX512 builds, on one thread.
namespace headrace::ops {

// adjust_brightness(image, factor)
void TensorBrightness(const Canvas& image, double factor,
                      PointwiseLevel level = DetectPointwiseLevel());
// adjust_saturation(image, factor)
void TensorSaturation(const Canvas& image, double factor, int api,
                      PointwiseLevel level = DetectPointwiseLevel());
// adjust_contrast(image, factor). kUnsupported: v2 has other bits at an end of the image's memory
// than elsewhere. REQUIRES: no more than kMostPixelsOfMean pixels.
Status TensorContrast(const Canvas& image, double factor, int api,
                      PointwiseLevel level = DetectPointwiseLevel());
// adjust_hue(image, factor). REQUIRES: -0.5 <= factor <= 0.5.
void TensorHue(const Canvas& image, float factor, int api,
               PointwiseLevel level = DetectPointwiseLevel());
// adjust_sharpness(image, factor) of packed pixels. Writes packed pixels to `out`, which must not
// overlap them.
void TensorSharpness(const Image& in, double factor, int api, std::uint8_t* out,
                     PointwiseLevel level = DetectPointwiseLevel());
// solarize(image, threshold)
void TensorSolarize(const Canvas& image, double threshold);
// autocontrast(image)
void TensorAutoContrast(const Canvas& image, int api);
// rgb_to_grayscale of the held part of the image, in out->spec.channels equal channels, packed in
// `memory`. REQUIRES: out->held == in.held.
void TensorGray(const Image& in, int api, ScratchBuffer& memory, Image* out,
                PointwiseLevel level = DetectPointwiseLevel());

}  // namespace headrace::ops
