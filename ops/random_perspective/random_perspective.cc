#include "ops/random_perspective/random_perspective.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/perspective.h"
#include "ops/vision/image_kernel.h"

namespace headrace::ops {
namespace {

class RandomPerspectiveKernel final : public ImageKernel {
 public:
  // The schema must outlive the kernel.
  explicit RandomPerspectiveKernel(const RandomPerspectiveSchema& schema)
      : pixels_(schema.pixels()) {}

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    return std::optional(Happens(request.params) ? WholeOf(request.in) : request.wanted);
  }

  Status Run(const Image& in, Params params, OpContext& /*context*/, ScratchBuffer& memory,
             Image* out) const override {
    if (!Happens(params)) {
      *out = in;
      return Status::Ok();
    }
    PerspectiveCoefficients coefficients{};
    std::ranges::transform(params.subspan(1), coefficients.begin(),
                           [](std::int32_t word) { return std::bit_cast<float>(word); });
    for (const float value : coefficients) {
      if (!std::isfinite(value)) return InvalidArgument("coefficients are not finite numbers");
    }
    const Window& wanted = out->held;
    out->pixel_stride = static_cast<std::size_t>(in.spec.channels);
    out->row_stride = static_cast<std::size_t>(wanted.width) * out->pixel_stride;
    std::uint8_t* to = memory.Ensure(out->row_stride * static_cast<std::size_t>(wanted.height));
    TransformPerspective(in, coefficients, pixels_.interpolation, pixels_.fill, wanted, to);
    out->data = to;
    return Status::Ok();
  }

 private:
  static bool Happens(Params params) { return params[0] != 0; }

  const AffineArgs& pixels_;
};

}  // namespace

void RegisterKernelRandomPerspective(KernelRegistry& registry) {
  registry.Add<RandomPerspectiveKernel, RandomPerspectiveSchema>("random_perspective");
}

}  // namespace headrace::ops
