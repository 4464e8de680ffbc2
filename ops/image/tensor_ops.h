#pragma once

#include <cstdint>

#include "ops/image/canvas.h"

// torchvision's kernels for u8 tensors, on packed u8 HWC pixels of 1 or 3 channels. They round in
// float32 where PIL does otherwise (enhance.h, image_ops.h, sharpness.h), and v1 (api 1) and v2
// differ among each other. The bits are those of torch's AVX2 and AVX512 builds.
namespace headrace::ops {

// adjust_brightness(image, factor)
void TensorBrightness(const Canvas& image, double factor);
// adjust_saturation(image, factor)
void TensorSaturation(const Canvas& image, double factor, int api);
// adjust_contrast(image, factor), with `lanes` floats in torch's vectors.
// REQUIRES: no more than 16 lanes; no more than lanes * (2^24 / 255) pixels.
void TensorContrast(const Canvas& image, double factor, int api, std::int64_t lanes);
// adjust_sharpness(image, factor), into packed pixels at `out`, apart from the image.
void TensorSharpness(const Image& in, double factor, int api, std::uint8_t* out);
// solarize(image, threshold)
void TensorSolarize(const Canvas& image, double threshold);
// autocontrast(image)
void TensorAutoContrast(const Canvas& image, int api);

}  // namespace headrace::ops
