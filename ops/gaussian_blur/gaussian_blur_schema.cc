#include <algorithm>
#include <bit>
#include <utility>

#include "ops/core/op_registry.h"
#include "ops/gaussian_blur/gaussian_blur.h"
#include "ops/vision/floats.h"
#include "ops/vision/geometry/blur.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<std::vector<float>> ReadPositions(const OpArgs& args, std::string_view name) {
  const std::vector<double> values = args.Numbers(name);
  if (values.size() % 2 == 0) {
    return InvalidArgument("Kernel size value should be an odd and positive number.");
  }
  if (values.size() > kMostBlurWeights)
    return Unsupported("kernels that large have no native form");
  std::vector<float> positions;
  for (const double value : values) positions.push_back(static_cast<float>(value));
  return positions;
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsBytesOrFloats(context));
  if (!args.Bool("known_sums")) {
    return Unsupported("torch convolves in an order that is not known here");
  }
  GaussianBlurSchema::Options options;
  HR_TRY(options.x, ReadPositions(args, "positions_x"));
  HR_TRY(options.y, ReadPositions(args, "positions_y"));
  const std::vector<double> sigma = args.Numbers("sigma");
  if (sigma.size() != 2) {
    return InvalidArgument("sigma should be a single number or a list/tuple with length 2.");
  }
  options.sigma_low = static_cast<float>(sigma[0]);
  options.sigma_high = static_cast<float>(sigma[1]);
  if (!(options.sigma_low > 0 && options.sigma_low <= options.sigma_high &&
        options.sigma_high < 1e6F)) {
    return InvalidArgument("sigma values should be positive and of the form (min, max).");
  }
  HR_TRY(options.api, ReadApi(args));
  HR_TRY(options.rounding, UniformRounding(context));
  options.torch = context.torch;
  return MakeSchema<GaussianBlurSchema>(std::move(options));
}

}  // namespace

Status GaussianBlurSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  return CheckBlur(in, columns(), rows());
}

Status GaussianBlurSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                     ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  if (options_.torch == nullptr) return Unsupported("this process has no torch for the weights");
  const float sigma = rng.Uniform(options_.sigma_low, options_.sigma_high, options_.rounding);
  std::vector<float> weights(params.size());
  const auto x = std::span(weights).first(options_.x.size());
  const auto y = std::span(weights).subspan(options_.x.size());
  HR_RETURN_IF_ERROR(GaussianWeights(*options_.torch, options_.x, sigma, options_.api, x));
  if (options_.x == options_.y) {
    std::ranges::copy(x, y.begin());
  } else {
    HR_RETURN_IF_ERROR(GaussianWeights(*options_.torch, options_.y, sigma, options_.api, y));
  }
  std::ranges::transform(weights, params.begin(),
                         [](float weight) { return std::bit_cast<std::int32_t>(weight); });
  return Status::Ok();
}

void RegisterSchemaGaussianBlur(SchemaRegistry& registry) {
  registry.Add(
      {.name = "gaussian_blur",
       .doc = "A Gaussian blur of a PIL image or a tensor of uint8 or float32, with a random "
              "standard deviation. Native where the client finds that its torch convolves as "
              "oneDNN 3.12 "
              "does with AVX2 and later. The trainer makes images that are smaller than half of "
              "the kernel, and images of one channel where a side of the kernel is 3 or less and "
              "the padded image has 20,480 pixels or less.",
       .args = {{"positions_x", ArgType::kNumbers, std::nullopt,
                 "torchvision's positions of the weights of a row, by the client's torch", true},
                {"positions_y", ArgType::kNumbers, std::nullopt, "the same for a column", true},
                ArgSpec{"sigma", ArgType::kNumbers, std::vector<double>{0.1, 2.0},
                        "bounds of the standard deviation, pixels"}
                    .Above(0, 1e6)
                    .Count({2})
                    .Unit("pixels"),
                {"known_sums", ArgType::kBool, std::int64_t{0},
                 "1: the client's torch sums in the native order"},
                ApiArg()},
       .classes = {"v1.GaussianBlur", "v2.GaussianBlur"},
       .draws = "torch: the standard deviation (uniform_)"},
      Make);
}

}  // namespace headrace::ops
