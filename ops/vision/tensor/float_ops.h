#pragma once

#include <cstddef>
#include <span>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/core/op.h"
#include "ops/vision/floats.h"
#include "ops/vision/geometry/affine.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/geometry/perspective.h"
#include "ops/vision/image.h"
#include "ops/vision/tensor/pointwise.h"

// torchvision's kernels for float32 tensors, as tensor_ops.h has those for uint8. The bits are those
// of torch's AVX2 and AVX512 builds, on one thread. kUnsupported: there are elements that are no
// numbers (or, where colours are turned, infinite ones), whose bits torch makes in another way.
namespace headrace::ops {

// Pixels in an operator's own memory, one row after the other without a gap (ops/vision/floats.h).
struct FloatPixels {
  std::span<float> floats;
  ImageSpec spec;

  [[nodiscard]] std::size_t step() const { return FloatPixelBytes(spec.channels) / sizeof(float); }
  [[nodiscard]] std::size_t pixels() const { return floats.size() / step(); }
  // Has `out` show them.
  void Show(Image* out) const;
};

// Memory for pixels of an image of this spec.
[[nodiscard]] FloatPixels MakeFloats(const ImageSpec& spec, ScratchBuffer& memory);
// A copy of the held part of an image.
[[nodiscard]] FloatPixels CopyFloats(const Image& in, ScratchBuffer& memory);

// adjust_brightness(image, factor)
void FloatBrightness(const FloatPixels& image, double factor, int api,
                     PointwiseLevel level = DetectPointwiseLevel());
// adjust_saturation(image, factor)
Status FloatSaturation(const FloatPixels& image, double factor, int api,
                       PointwiseLevel level = DetectPointwiseLevel());
// adjust_contrast(image, factor) of an image of three channels, which lies in memory row by row, with
// the channels first or last. kUnsupported also: v2 has other bits at one of these ends. REQUIRES:
// torch computes it on one thread.
Status FloatContrast(const FloatPixels& image, double factor, int api, ScratchBuffer& memory,
                     PointwiseLevel level = DetectPointwiseLevel());
// adjust_hue(image, factor). REQUIRES: -0.5 <= factor <= 0.5.
Status FloatHue(const FloatPixels& image, float factor, int api,
                PointwiseLevel level = DetectPointwiseLevel());
// invert(image)
void FloatInvert(const FloatPixels& image, PointwiseLevel level = DetectPointwiseLevel());
// solarize(image, threshold)
void FloatSolarize(const FloatPixels& image, double threshold,
                   PointwiseLevel level = DetectPointwiseLevel());
// posterize(image, bits) of v2. REQUIRES: 0 <= bits <= 8.
void FloatPosterize(const FloatPixels& image, int bits,
                    PointwiseLevel level = DetectPointwiseLevel());
// autocontrast(image). kUnsupported also: the least element of a channel is a zero of both signs.
Status FloatAutoContrast(const FloatPixels& image, int api,
                         PointwiseLevel level = DetectPointwiseLevel());
// Whether all elements of the held part of an image are finite.
[[nodiscard]] bool AreFinite(const Image& in, PointwiseLevel level = DetectPointwiseLevel());
// adjust_sharpness(image, factor). Uses scratch 0 and 1.
Status FloatSharpness(const FloatPixels& image, double factor, int api, OpContext& context,
                      PointwiseLevel level = DetectPointwiseLevel());
// affine or rotate by a matrix that counts from the center, as TensorAffine has it. Writes to `out`,
// which must not overlap the image.
Status FloatAffine(const Image& in, const AffineMatrix& matrix, const AffineArgs& args, int api,
                   const FloatPixels& out, PointwiseLevel level = DetectPointwiseLevel());
// perspective, as TensorPerspective has it.
Status FloatPerspective(const Image& in, const PerspectiveCoefficients& coefficients,
                        const AffineArgs& args, int api, const FloatPixels& out,
                        PointwiseLevel level = DetectPointwiseLevel());
// An elastic transform, as TensorElastic has it.
struct GridField;  // ops/vision/tensor/grid_kernels.h
Status FloatElastic(const Image& in, const GridField& field, const AffineArgs& args, int api,
                    const FloatPixels& out, PointwiseLevel level = DetectPointwiseLevel());
// rgb_to_grayscale of the held part of the image, in out->spec.channels equal channels.
// REQUIRES: out->held == in.held.
Status FloatGray(const Image& in, int api, ScratchBuffer& memory, ScratchBuffer& scratch,
                 Image* out, PointwiseLevel level = DetectPointwiseLevel());

}  // namespace headrace::ops
