#include "ops/gaussian_blur/gaussian_blur.h"

#include <algorithm>
#include <bit>

#include "ops/core/op_registry.h"
#include "ops/core/schema_kernel.h"
#include "ops/vision/floats.h"
#include "ops/vision/geometry/blur.h"
#include "ops/vision/tensor/convolve.h"

namespace headrace::ops {
namespace {

class GaussianBlurKernel final : public SchemaKernel<FloatKernel, GaussianBlurSchema> {
 public:
  using SchemaKernel::SchemaKernel;

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    return std::optional(
        ConvolveReads(request.in, schema_.columns(), schema_.rows(), request.wanted));
  }

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    std::vector<float> numbers(params.size());
    std::ranges::transform(params, numbers.begin(),
                           [](std::int32_t word) { return std::bit_cast<float>(word); });
    const auto columns = static_cast<std::size_t>(schema_.columns());
    const ConvolveWeights weights{std::span(numbers).first(columns),
                                  std::span(numbers).subspan(columns)};
    if (!AreBlurWeights(weights.x) || !AreBlurWeights(weights.y)) {
      return InvalidArgument("weights of a blur are out of range");
    }
    const Window& wanted = out->held;
    const bool floats = in.spec.dtype == DType::kF32;
    out->pixel_stride =
        floats ? FloatPixelBytes(in.spec.channels) : static_cast<std::size_t>(in.spec.channels);
    out->row_stride = static_cast<std::size_t>(wanted.width) * out->pixel_stride;
    std::uint8_t* to = memory.Ensure(out->row_stride * static_cast<std::size_t>(wanted.height));
    out->data = to;
    if (floats) return ConvolveFloats(in, weights, wanted, context, reinterpret_cast<float*>(to));
    Convolve(in, weights, wanted, context, to);
    return Status::Ok();
  }
};

}  // namespace

void RegisterKernelGaussianBlur(KernelRegistry& registry) {
  registry.Add<GaussianBlurKernel, GaussianBlurSchema>("gaussian_blur");
}

}  // namespace headrace::ops
