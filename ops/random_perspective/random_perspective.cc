#include "ops/random_perspective/random_perspective.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/perspective.h"
#include "ops/vision/tensor/float_ops.h"
#include "ops/vision/tensor/grid_sample.h"
#include "ops/vision/work.h"

namespace headrace::ops {
namespace {

class RandomPerspectiveKernel final : public FloatKernel {
 public:
  // The schema must outlive the kernel.
  explicit RandomPerspectiveKernel(const RandomPerspectiveSchema& schema)
      : options_(schema.options()) {}

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& /*context*/) const override {
    return std::optional(Happens(request.params) ? WholeOf(request.in) : request.wanted);
  }

  Status Run(const Image& in, Params params, OpContext& context, ScratchBuffer& memory,
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
    if (options_.pixels.tensor) return RunTensor(in, coefficients, context, memory, out);
    const Window& wanted = out->held;
    out->pixel_stride = static_cast<std::size_t>(in.spec.channels);
    out->row_stride = static_cast<std::size_t>(wanted.width) * out->pixel_stride;
    std::uint8_t* to = memory.Ensure(out->row_stride * static_cast<std::size_t>(wanted.height));
    TransformPerspective(in, coefficients, options_.pixels.interpolation, options_.pixels.fill,
                         wanted, to);
    out->data = to;
    return Status::Ok();
  }

 private:
  static bool Happens(Params params) { return params[0] != 0; }

  // Makes the whole image.
  [[nodiscard]] Status RunTensor(const Image& in, const PerspectiveCoefficients& coefficients,
                                 OpContext& context, ScratchBuffer& memory, Image* out) const {
    if (!Divides(coefficients, in.spec)) {
      return Unsupported("a place in the image is divided by almost 0");
    }
    out->held = WholeOf(out->spec);
    if (in.spec.dtype == DType::kF32) {
      const FloatPixels made = MakeFloats(in.spec, memory);
      made.Show(out);
      return FloatPerspective(in, coefficients, options_.pixels, options_.api, made);
    }
    Work work(in, memory, context.scratch(0));
    (void)work.Writable();  // packed
    work.Replace([&](std::uint8_t* pixels) {
      TensorPerspective(work.image(), coefficients, options_.pixels, options_.api, pixels);
    });
    out->data = work.image().data;
    out->pixel_stride = work.image().pixel_stride;
    out->row_stride = work.image().row_stride;
    return Status::Ok();
  }

  // Whether the divisor keeps its sign, and is far from 0, between the corners of the image.
  static bool Divides(const PerspectiveCoefficients& coefficients, const ImageSpec& image) {
    constexpr double kLeast = 1e-3;
    const auto at = [&](std::int64_t x, std::int64_t y) {
      return 1.0 + static_cast<double>(coefficients[6]) * static_cast<double>(x) +
             static_cast<double>(coefficients[7]) * static_cast<double>(y);
    };
    const double corners[4] = {at(0, 0), at(image.width, 0), at(0, image.height),
                               at(image.width, image.height)};
    return std::ranges::all_of(corners, [](double by) { return by > kLeast; }) ||
           std::ranges::all_of(corners, [](double by) { return by < -kLeast; });
  }

  const RandomPerspectiveSchema::Options& options_;
};

}  // namespace

void RegisterKernelRandomPerspective(KernelRegistry& registry) {
  registry.Add<RandomPerspectiveKernel, RandomPerspectiveSchema>("random_perspective");
}

}  // namespace headrace::ops
