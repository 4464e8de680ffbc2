#include <algorithm>
#include <string>
#include <vector>

#include "ops/core/op_registry.h"
#include "ops/scale_jitter/scale_jitter.h"

namespace headrace::ops {
namespace {

constexpr float kLongestSide = 1 << 20;

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const Resizing resizing, ReadResizing(args, context));
  HR_TRY(const Size target, ReadSize(args, "target_size"));
  const std::vector<double> scale = args.Numbers("scale_range");
  if (scale.size() != 2) return Unsupported("scale_range without two numbers");
  if (!(scale[0] > 0 && scale[0] <= scale[1] && scale[1] <= 1024)) {
    return Unsupported("a scale_range that is none, or beyond 1024");
  }
  // torchvision divides the second number by the height.
  return MakeSchema<ScaleJitterSchema>(static_cast<double>(target.width),
                                       static_cast<double>(target.height), scale[0], scale[1],
                                       resizing);
}

}  // namespace

// Source: torchvision/transforms/v2/_geometry.py, ScaleJitter.make_params. torch computes with
// float32, in which it takes Python's numbers, too.
Result<ImageSpec> ScaleJitterSchema::Scaled(const ImageSpec& in, float number) const {
  const double fits = std::min(along_height_ / static_cast<double>(in.height),
                               along_width_ / static_cast<double>(in.width));
  const float scale = static_cast<float>(low_) + number * static_cast<float>(high_ - low_);
  const float ratio = static_cast<float>(fits) * scale;
  const float width = static_cast<float>(in.width) * ratio;
  const float height = static_cast<float>(in.height) * ratio;
  if (!(width < kLongestSide && height < kLongestSide)) {
    return InvalidArgument("a side that is too long");
  }
  ImageSpec out = in;
  out.width = static_cast<std::int64_t>(width);
  out.height = static_cast<std::int64_t>(height);
  return out;
}

Status ScaleJitterSchema::DrawnShape(const ImageSpec& in, Params params, ImageSpec* out) const {
  HR_TRY(const ImageSpec least, Scaled(in, 0.0F));
  HR_TRY(const ImageSpec most, Scaled(in, 1.0F));
  *out = in;
  out->height = params[0];
  out->width = params[1];
  if (out->height < std::max<std::int64_t>(least.height, 1) || out->height > most.height ||
      out->width < std::max<std::int64_t>(least.width, 1) || out->width > most.width) {
    return InvalidArgument("a size of " + std::to_string(params[0]) + " x " +
                           std::to_string(params[1]) + " is never drawn");
  }
  return resizing_.CheckOutput(*out);
}

Status ScaleJitterSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                    ImageSpec* out) const {
  HR_TRY(*out, Scaled(in, rng.Rand()));
  return resizing_.PutDrawn(*out, params);
}

void RegisterSchemaScaleJitter(SchemaRegistry& registry) {
  OpSpec spec{
      .name = "scale_jitter",
      .doc = "Resizes a PIL image or a tensor of uint8 to fit into a target, times a drawn scale.",
      .args = {ArgSpec{"target_size", ArgType::kInts, std::nullopt,
                       "[width, height], as torchvision takes it", /*required=*/true}
                   .In(1, 1 << 20)
                   .Count({1, 2})
                   .Unit("pixels"),
               ArgSpec{"scale_range", ArgType::kNumbers, std::vector<double>{0.1, 2.0},
                       "least and most of the scale"}
                   .Above(0, 1024)
                   .Count({2})},
      .classes = {"v2.ScaleJitter"},
      .draws = "torch: the scale (rand)",
      .shares_draws = SharedDraws::kAnyKind};
  for (ArgSpec& arg : ResizingArgs()) spec.args.push_back(std::move(arg));
  registry.Add(std::move(spec), Make);
}

}  // namespace headrace::ops
