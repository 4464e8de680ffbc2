#include "ops/color_jitter/color_jitter.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/pil/enhance.h"
#include "ops/vision/tensor/tensor_ops.h"

namespace headrace::ops {
namespace {

class ColorJitterKernel final : public ImageKernel {
 public:
  explicit ColorJitterKernel(const ColorJitterSchema& schema) : schema_(schema) {}

  // Each pixel comes from the same pixel, except for contrast, which uses the mean of the image.
  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    if (schema_.has(ColorJitterSchema::kContrast)) return std::optional<Window>();
    return std::optional(request.wanted);
  }

  Status Run(const Image& in, Params params, OpContext& /*context*/, ScratchBuffer& memory,
             Image* out) const override {
    const Canvas canvas = Copy(in.Part(in.held), memory);
    for (std::size_t i = 0; i < ColorJitterSchema::kSteps; ++i) {
      const std::size_t step = static_cast<std::uint32_t>(params[0]) >> (2 * i) & 3;
      if (!schema_.has(step)) continue;
      const auto factor = std::bit_cast<float>(params[1 + step]);
      if (!(std::abs(factor) <= 1e6F)) return InvalidArgument("factor is out of range");
      if (step == ColorJitterSchema::kHue && !(factor >= -0.5F && factor <= 0.5F)) {
        return InvalidArgument("hue_factor is not in [-0.5, 0.5].");
      }
      if (schema_.options().tensor) {
        AdjustTensor(canvas, step, factor, schema_.options().api);
      } else {
        AdjustPil(canvas, step, factor);
      }
    }
    out->data = canvas.data;
    out->row_stride = canvas.row_stride;
    out->pixel_stride = canvas.pixel_stride;
    return Status::Ok();
  }

 private:
  static Canvas Copy(const Image& in, ScratchBuffer& memory) {
    const std::size_t row_bytes = static_cast<std::size_t>(in.spec.width) * in.pixel_stride;
    const auto rows = static_cast<std::size_t>(in.spec.height);
    std::uint8_t* to = memory.Ensure(rows * row_bytes);
    for (std::size_t y = 0; y < rows; ++y) {
      std::memcpy(to + y * row_bytes, in.data + y * in.row_stride, row_bytes);
    }
    return {to, row_bytes, in.pixel_stride, in.spec};
  }

  static void AdjustPil(const Canvas& canvas, std::size_t step, float factor) {
    switch (step) {
      case ColorJitterSchema::kBrightness:
        return AdjustBrightness(canvas, factor);
      case ColorJitterSchema::kContrast:
        return AdjustContrast(canvas, factor);
      case ColorJitterSchema::kSaturation:
        return AdjustSaturation(canvas, factor);
      default:
        return AdjustHue(canvas, factor);
    }
  }

  static void AdjustTensor(const Canvas& canvas, std::size_t step, float factor, int api) {
    switch (step) {
      case ColorJitterSchema::kBrightness:
        return TensorBrightness(canvas, factor);
      case ColorJitterSchema::kContrast:
        return TensorContrast(canvas, factor, api);
      case ColorJitterSchema::kSaturation:
        return TensorSaturation(canvas, factor, api);
      default:
        return TensorHue(canvas, factor, api);
    }
  }

  const ColorJitterSchema& schema_;  // the chain's, which outlives its kernels
};

}  // namespace

void RegisterKernelColorJitter(KernelRegistry& registry) {
  registry.Add<ColorJitterKernel, ColorJitterSchema>("color_jitter");
}

}  // namespace headrace::ops
