#include "ops/color_jitter/color_jitter.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/floats.h"
#include "ops/vision/pil/enhance.h"
#include "ops/vision/tensor/float_ops.h"
#include "ops/vision/tensor/tensor_ops.h"

namespace headrace::ops {
namespace {

class ColorJitterKernel final : public SchemaKernel<FloatKernel, ColorJitterSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  // Each pixel comes from the same pixel, except for contrast, which uses the mean of the image.
  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    if (schema_.has(ColorJitterSchema::kContrast)) return std::optional<Window>();
    return std::optional(request.wanted);
  }

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    if (in.spec.dtype == DType::kF32) {
      const FloatPixels pixels = CopyFloats(in, memory);
      HR_RETURN_IF_ERROR(ForEachStep(params, [&](std::size_t step, float factor) {
        return AdjustFloats(pixels, step, factor, context.scratch(0));
      }));
      pixels.Show(out);
      return Status::Ok();
    }
    const Canvas canvas = Copy(in.Part(in.held), memory);
    HR_RETURN_IF_ERROR(ForEachStep(params, [&](std::size_t step, float factor) {
      if (schema_.options().tensor) {
        return AdjustTensor(canvas, step, factor, schema_.options().api);
      }
      AdjustPil(canvas, step, factor);
      return Status::Ok();
    }));
    out->data = canvas.data;
    out->row_stride = canvas.row_stride;
    out->pixel_stride = canvas.pixel_stride;
    return Status::Ok();
  }

 private:
  // Calls adjust(step, factor) for those that are on, in the drawn order.
  template <typename Adjust>
  [[nodiscard]] Status ForEachStep(Params params, Adjust adjust) const {
    for (std::size_t i = 0; i < ColorJitterSchema::kSteps; ++i) {
      const std::size_t step = static_cast<std::uint32_t>(params[0]) >> (2 * i) & 3;
      if (!schema_.has(step)) continue;
      const auto factor = std::bit_cast<float>(params[1 + step]);
      if (!(std::abs(factor) <= 1e6F)) return InvalidArgument("factor is out of range");
      if (step == ColorJitterSchema::kHue && !(factor >= -0.5F && factor <= 0.5F)) {
        return InvalidArgument("hue_factor is not in [-0.5, 0.5].");
      }
      HR_RETURN_IF_ERROR(adjust(step, factor));
    }
    return Status::Ok();
  }

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

  static Status AdjustTensor(const Canvas& canvas, std::size_t step, float factor, int api) {
    switch (step) {
      case ColorJitterSchema::kBrightness:
        TensorBrightness(canvas, factor);
        return Status::Ok();
      case ColorJitterSchema::kContrast:
        return TensorContrast(canvas, factor, api);
      case ColorJitterSchema::kSaturation:
        TensorSaturation(canvas, factor, api);
        return Status::Ok();
      default:
        TensorHue(canvas, factor, api);
        return Status::Ok();
    }
  }

  [[nodiscard]] Status AdjustFloats(const FloatPixels& pixels, std::size_t step, float factor,
                                    ScratchBuffer& scratch) const {
    const int api = schema_.options().api;
    switch (step) {
      case ColorJitterSchema::kBrightness:
        FloatBrightness(pixels, factor, api);
        return Status::Ok();
      case ColorJitterSchema::kContrast:
        return FloatContrast(pixels, factor, api, scratch);
      case ColorJitterSchema::kSaturation:
        return FloatSaturation(pixels, factor, api);
      default:
        return FloatHue(pixels, factor, api);
    }
  }
};

}  // namespace

void RegisterKernelColorJitter(KernelRegistry& registry) {
  registry.Add<ColorJitterKernel, ColorJitterSchema>("color_jitter");
}

}  // namespace headrace::ops
