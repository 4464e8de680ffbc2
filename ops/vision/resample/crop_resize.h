#pragma once

#include <string_view>

#include "ops/core/op.h"
#include "ops/vision/geometry/resizing.h"
#include "ops/vision/resample/resample.h"

namespace headrace::ops {

// image.crop(crop).resize((out.width, out.height), interpolation), of which only a part is made:
// what the kernels of Resize and RandomResizedCrop share. Every output pixel is filtered with the
// weights, and in the order of passes, that the whole output has, so a part has the bits of the
// whole. Immutable; thread-safe.
class CropResize {
 public:
  CropResize(const Resizing& resizing, std::string_view pillow);

  // What Run reads of the image to make `wanted` of the output. REQUIRES: `crop` is inside of the
  // image, `wanted` inside of `out`.
  Result<Window> InputWindow(const Window& crop, const ImageSpec& out, const Window& wanted,
                             OpContext& context) const;
  // Makes out->held of an output of out->spec; `in` holds its InputWindow. As Kernel::Run.
  Status Run(const Window& crop, const Image& in, OpContext& context, ScratchBuffer& memory,
             Image* out) const;

 private:
  [[nodiscard]] ResizeSpec SpecOf(const Window& crop, const ImageSpec& out) const;

  Resizing resizing_;
  PassOrder order_;
};

}  // namespace headrace::ops
