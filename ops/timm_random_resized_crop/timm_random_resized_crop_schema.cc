#include <algorithm>
#include <utility>

#include "ops/core/op_registry.h"
#include "ops/timm_random_resized_crop/timm_random_resized_crop.h"
#include "ops/vision/geometry/central_crop.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const bool from_python, ReadFromPython(args));
  if (!from_python) return Unsupported("torch's generator, from which timm does not draw");
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  TimmRandomResizedCropSchema::Config config;
  HR_TRY(config.size, ReadSize(args, "size"));
  HR_TRY(config.area, PythonArea::Make(args));
  const std::vector<double> ratio = args.Numbers("ratio");
  if (ratio.size() != 2 || !(ratio[0] > 0 && ratio[1] > 0)) {
    return InvalidArgument("ratio should be a sequence of two positive numbers");
  }
  config.min_ratio = std::min(ratio[0], ratio[1]);
  config.max_ratio = std::max(ratio[0], ratio[1]);
  if (args.Text("interpolation") == "random") {
    config.ways = {Interpolation::kBilinear, Interpolation::kBicubic};
  } else {
    HR_TRY(const Interpolation way, ReadInterpolation(args));
    config.ways = {way};
  }
  return MakeSchema<TimmRandomResizedCropSchema>(std::move(config));
}

OpSpec Spec() {
  ArgSpec interpolation = InterpolationArg();
  interpolation.doc += "; random: bilinear or bicubic, drawn after the crop";
  interpolation.limits.choices.emplace_back("random");
  OpSpec spec{
      .name = "timm_random_resized_crop",
      .doc =
          "timm's crop of random area and aspect ratio of a PIL image, resized as by resize. It "
          "draws from Python's generator.",
      .args = {ArgSpec{"size", ArgType::kInts, std::nullopt, "side of a square, or [height, width]",
                       /*required=*/true}
                   .In(1, 1 << 20)
                   .Count({1, 2})
                   .Unit("pixels"),
               ArgSpec{"ratio", ArgType::kNumbers, std::vector<double>{3.0 / 4.0, 4.0 / 3.0},
                       "bounds of width / height"}
                   .Above(0)
                   .Count({2}),
               std::move(interpolation)},
      .classes = {"timm.RandomResizedCropAndInterpolation"},
      .draws =
          "Python: up to ten times an area, an aspect ratio and a place; then the interpolation, "
          "where it is random"};
  spec.args.push_back(GeneratorArg());
  for (ArgSpec& arg : PythonArea::ArgSpecs({0.08, 1.0})) spec.args.push_back(std::move(arg));
  return spec;
}

}  // namespace

// Source: timm/data/transforms.py, RandomResizedCropAndInterpolation.get_params.
Window TimmRandomResizedCropSchema::DrawCrop(const ImageSpec& in, PythonGenerator& rng) const {
  for (int attempt = 0; attempt < PythonArea::kAttempts; ++attempt) {
    const PythonArea::Draw side = config_.area.Next(in, rng, /*of_height=*/false);
    if (side.width > in.width || side.height > in.height) continue;
    const auto top = rng.Below(static_cast<std::uint32_t>(in.height - side.height + 1));
    const auto left = rng.Below(static_cast<std::uint32_t>(in.width - side.width + 1));
    return {top, left, side.height, side.width};
  }
  return CentralCrop(in, config_.min_ratio, config_.max_ratio);
}

Status TimmRandomResizedCropSchema::DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng,
                                                        MutableParams params,
                                                        ImageSpec* out) const {
  const Window crop = DrawCrop(in, rng);
  if (crop.height <= 0 || crop.width <= 0) return Unsupported("the crop has no pixels");
  params[0] = static_cast<std::int32_t>(crop.top);
  params[1] = static_cast<std::int32_t>(crop.left);
  params[2] = static_cast<std::int32_t>(crop.height);
  params[3] = static_cast<std::int32_t>(crop.width);
  const auto ways = static_cast<std::uint32_t>(config_.ways.size());
  params[4] = ways > 1 ? static_cast<std::int32_t>(rng.Below(ways)) : 0;
  return Shape(in, out);
}

void RegisterSchemaTimmRandomResizedCrop(SchemaRegistry& registry) { registry.Add(Spec(), Make); }

}  // namespace headrace::ops
