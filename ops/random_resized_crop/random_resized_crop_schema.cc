#include <cmath>

#include "ops/core/op_registry.h"
#include "ops/random_resized_crop/random_resized_crop.h"
#include "ops/vision/geometry/central_crop.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const Size size, ReadSize(args, "size"));
  HR_TRY(const Resizing resizing, ReadResizing(args, context));
  HR_TRY(AreaSampler sampler, AreaSampler::Make(args, context));
  return MakeSchema<RandomResizedCropSchema>(size, std::move(sampler), resizing);
}

OpSpec Spec() {
  OpSpec spec{
      .name = "random_resized_crop",
      .doc =
          "A crop of random area and aspect ratio of a PIL image or a tensor of uint8 or float32, "
          "resized as by resize.",
      .args = {ArgSpec{"size", ArgType::kInts, std::nullopt, "side of a square, or [height, width]",
                       /*required=*/true}
                   .In(1, 1 << 20)
                   .Count({1, 2})
                   .Unit("pixels")},
      .classes = {"v1.RandomResizedCrop", "v2.RandomResizedCrop"},
      .draws =
          "torch: up to ten times an area and an aspect ratio (uniform_), then the first row and "
          "column (randint)",
      .shares_draws = SharedDraws::kAnyKind};
  for (ArgSpec& arg : ResizingArgs()) spec.args.push_back(std::move(arg));
  for (ArgSpec& arg : AreaSampler::ArgSpecs({0.08, 1.0}, {3.0 / 4.0, 4.0 / 3.0})) {
    spec.args.push_back(std::move(arg));
  }
  return spec;
}

}  // namespace

// Source: torchvision/transforms/transforms.py, RandomResizedCrop.get_params; v2 draws the same.
Status RandomResizedCropSchema::DrawCrop(const ImageSpec& in, TorchGenerator& rng,
                                         Window* crop) const {
  for (int attempt = 0; attempt < 10; ++attempt) {
    AreaSampler::Draw draw;
    HR_RETURN_IF_ERROR(sampler_.Next(in.height * in.width, rng, &draw));
    const std::int64_t width = RoundHalfEven(std::sqrt(draw.area * draw.aspect));
    const std::int64_t height = RoundHalfEven(std::sqrt(draw.area / draw.aspect));
    if (0 < width && width <= in.width && 0 < height && height <= in.height) {
      crop->top = rng.RandInt(0, in.height - height + 1);
      crop->left = rng.RandInt(0, in.width - width + 1);
      crop->height = height;
      crop->width = width;
      return Status::Ok();
    }
  }
  *crop = CentralCrop(in, sampler_.min_ratio(), sampler_.max_ratio());
  if (crop->height <= 0 || crop->width <= 0) {
    return Unsupported("the crop has no pixels");
  }
  return Status::Ok();
}

Status RandomResizedCropSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                          MutableParams params, ImageSpec* out) const {
  Window crop;
  HR_RETURN_IF_ERROR(DrawCrop(in, rng, &crop));
  params[0] = static_cast<std::int32_t>(crop.top);
  params[1] = static_cast<std::int32_t>(crop.left);
  params[2] = static_cast<std::int32_t>(crop.height);
  params[3] = static_cast<std::int32_t>(crop.width);
  return Shape(in, out);
}

void RegisterSchemaRandomResizedCrop(SchemaRegistry& registry) { registry.Add(Spec(), Make); }

}  // namespace headrace::ops
