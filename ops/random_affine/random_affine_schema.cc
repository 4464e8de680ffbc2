#include <cmath>

#include "ops/core/op_registry.h"
#include "ops/random_affine/random_affine.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const AffineSchema::Pixels pixels, AffineSchema::ReadPixels(args, context));
  RandomAffineSchema::Options options;
  HR_TRY(const std::vector<UniformBounds> degrees, ReadBounds(args, "degrees"));
  if (degrees.size() != 1) return Unsupported("degrees are not two bounds");
  options.degrees = degrees.front();
  if (args.Has("translate")) {
    options.translate = args.Numbers("translate");
    if (options.translate.size() != 2) return Unsupported("translate is not two parts");
    for (const double part : options.translate) {
      if (!(part >= 0 && part <= 1)) {
        return InvalidArgument("translation values should be between 0 and 1");
      }
    }
  }
  if (args.Has("scale")) {
    HR_TRY(const std::vector<UniformBounds> scale, ReadBounds(args, "scale"));
    if (scale.size() != 1) return Unsupported("scale is not two bounds");
    if (scale.front().low <= 0) return InvalidArgument("scale values should be positive");
    options.scale = scale.front();
  }
  if (args.Has("shear")) {
    HR_TRY(options.shear, ReadBounds(args, "shear"));
    if (options.shear.empty() || options.shear.size() > 2) {
      return Unsupported("shear is not two or four bounds");
    }
  }
  HR_TRY(options.center, RandomAffineSchema::ReadCenter(args));
  return MakeSchema<RandomAffineSchema>(pixels, std::move(options));
}

}  // namespace

Status RandomAffineSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                     ImageSpec* out) const {
  const auto uniform = [&](const UniformBounds& bounds) {
    return static_cast<double>(rng.Uniform(bounds.low, bounds.high, pixels().rounding));
  };
  const auto shift = [&](double part, std::int64_t side) {
    const auto most = static_cast<float>(part * static_cast<double>(side));
    return static_cast<double>(RoundHalfEven(uniform({-most, most})));
  };
  HR_RETURN_IF_ERROR(Shape(in, out));
  AffineMotion motion;
  motion.angle = uniform(options_.degrees);
  if (!options_.translate.empty()) {
    motion.x = shift(options_.translate[0], in.width);
    motion.y = shift(options_.translate[1], in.height);
  }
  if (options_.scale) motion.scale = uniform(*options_.scale);
  if (!options_.shear.empty()) motion.shear_x = uniform(options_.shear[0]);
  if (options_.shear.size() == 2) motion.shear_y = uniform(options_.shear[1]);
  const Point center = CenterOf(options_.center, in);
  return Write({InverseAffine(pixels().api, motion, center[0], center[1]), std::nullopt}, in,
               params);
}

void RegisterSchemaRandomAffine(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {
      ArgSpec{"degrees", ArgType::kNumbers, std::nullopt, "bounds of the angle, clockwise", true}
          .In(-1e6, 1e6)
          .Count({2})
          .Unit("degrees"),
      ArgSpec{"translate", ArgType::kNumbers, std::nullopt,
              "greatest translations, as parts of the width and of the height"}
          .In(0, 1)
          .Count({2}),
      ArgSpec{"scale", ArgType::kNumbers, std::nullopt, "bounds of the scale"}.Above(0, 1e6).Count(
          {2}),
      ArgSpec{"shear", ArgType::kNumbers, std::nullopt,
              "bounds of the shear along x in degrees, or those and bounds of the shear along y"}
          .In(-1e6, 1e6)
          .Count({2, 4})
          .Unit("degrees")};
  for (ArgSpec& arg : AffineSchema::ArgSpecs()) args.push_back(std::move(arg));
  registry.Add(
      {.name = "random_affine",
       .doc = "Rotates, translates, scales and shears a PIL image, as PIL does, or a tensor of "
              "uint8 or float32, as torchvision does (for torch's AVX2 and AVX512 builds).",
       .args = std::move(args),
       .classes = {"v1.RandomAffine", "v2.RandomAffine"},
       .draws =
           "torch: the angle, the translations, the scale and the shears that are given (uniform_)",
       .shares_draws = SharedDraws::kSameKind},
      Make);
}

}  // namespace headrace::ops
