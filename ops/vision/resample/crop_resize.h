#pragma once

#include <string_view>

#include "ops/vision/geometry/resizing.h"
#include "ops/vision/image.h"
#include "ops/vision/resample/resample.h"

namespace headrace::ops {

// image.crop(crop).resize((out.width, out.height), interpolation), of which it makes only a part.
// The kernels of Resize and RandomResizedCrop share it. Every output pixel has the weights and the
// order of passes of the whole output. So a part has the bits of the whole. Immutable; thread-safe.
class CropResize {
 public:
  CropResize(const Resizing& resizing, std::string_view pillow);

  // The window that Run reads of the image to make `wanted` of the output. REQUIRES: `crop` is
  // inside the image, and `wanted` inside `out`.
  Result<Window> InputWindow(const Window& crop, const ImageSpec& out, const Window& wanted,
                             OpContext& context) const;
  // Makes out->held of an output of out->spec; `in` holds its InputWindow. Otherwise as
  // Kernel::Run.
  Status Run(const Window& crop, const Image& in, OpContext& context, ScratchBuffer& memory,
             Image* out) const;

 private:
  [[nodiscard]] ResizeSpec SpecOf(const Window& crop, const ImageSpec& out) const;

  Resizing resizing_;
  PassOrder order_;
};

}  // namespace headrace::ops
