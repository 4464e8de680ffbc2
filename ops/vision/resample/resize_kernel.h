#pragma once

#include <optional>
#include <string_view>

#include "ops/vision/floats.h"
#include "ops/vision/resample/crop_resize.h"

namespace headrace::ops {

// Resizes a whole image to the size that its output has.
class ResizeKernel final : public FloatKernel {
 public:
  // `pillow`: the version whose bits PIL images get.
  ResizeKernel(const Resizing& resizing, std::string_view pillow) : resize_(resizing, pillow) {}

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& context) const override {
    HR_TRY(const Window read,
           resize_.InputWindow(WholeOf(request.in), request.out, request.wanted, context));
    return std::optional(read);
  }
  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    return resize_.Run(WholeOf(in.spec), in, context, memory, out);
  }

 private:
  CropResize resize_;
};

}  // namespace headrace::ops
