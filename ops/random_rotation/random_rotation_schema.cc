#include <algorithm>
#include <cmath>

#include "ops/core/op_registry.h"
#include "ops/core/schema_util.h"
#include "ops/random_rotation/random_rotation.h"

namespace headrace::ops {
namespace {

Result<RandomRotationSchema::OfPython> ReadOfPython(const OpArgs& args) {
  RandomRotationSchema::OfPython found;
  if (args.Has("choices")) {
    found.choices = args.Numbers("choices");
  } else {
    found.bounds = args.Numbers("degrees");
  }
  const std::vector<double>& all = found.choices.empty() ? found.bounds : found.choices;
  if (found.choices.empty() && found.bounds.size() != 2) {
    return Unsupported("degrees are not two bounds");
  }
  if (!std::ranges::all_of(all, [](double angle) { return std::isfinite(angle); })) {
    return Unsupported("an angle that is no number");
  }
  return found;
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const AffineSchema::Pixels pixels, AffineSchema::ReadPixels(args, context));
  if (args.Int("expand") != 0) return Unsupported("expand makes images of random sizes");
  HR_TRY(const std::optional<RandomRotationSchema::Point> center,
         RandomRotationSchema::ReadCenter(args));
  HR_TRY(const bool from_python, ReadFromPython(args));
  if (from_python) {
    HR_TRY(RandomRotationSchema::OfPython of_python, ReadOfPython(args));
    return MakeSchema<RandomRotationSchema>(pixels, std::move(of_python), center);
  }
  if (args.Has("choices")) return Unsupported("choices of angles by torch's generator");
  HR_TRY(const std::vector<UniformBounds> degrees, ReadBounds(args, "degrees"));
  if (degrees.size() != 1) return Unsupported("degrees are not two bounds");
  return MakeSchema<RandomRotationSchema>(pixels, degrees.front(), center);
}

}  // namespace

AffineSchema::Motion RandomRotationSchema::OfPil(double degrees, const ImageSpec& in) const {
  const PilTurn turn = PilTurnOf(degrees);
  const auto [x, y] = CenterOf(center_, in);
  return {PilRotation(turn.cosine, turn.sine, x, y), std::nullopt};
}

AffineSchema::Motion RandomRotationSchema::OfTensor(double degrees, const ImageSpec& in) const {
  const int api = pixels().api;
  const double angle = -(api == 1 ? degrees : FullTurn(degrees));
  const auto [x, y] = CenterOf(center_, in);
  Motion motion{InverseAffine(api, {.angle = angle}, x, y), std::nullopt};
  if (api == 2 && !center_) {
    motion.turns = QuarterTurns(std::cos(Radians(angle)), std::sin(Radians(angle)), in);
  }
  return motion;
}

Status RandomRotationSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                       MutableParams params, ImageSpec* out) const {
  return Rotate(rng.Uniform(degrees_.low, degrees_.high, pixels().rounding), in, params, out);
}

Status RandomRotationSchema::DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng,
                                                 MutableParams params, ImageSpec* out) const {
  const auto& [bounds, choices] = *of_python_;
  const double degrees = choices.empty()
                             ? rng.Uniform(bounds[0], bounds[1])
                             : choices[rng.Below(static_cast<std::uint32_t>(choices.size()))];
  return Rotate(degrees, in, params, out);
}

Status RandomRotationSchema::Rotate(double degrees, const ImageSpec& in, MutableParams params,
                                    ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  return Write(pixels().affine.tensor ? OfTensor(degrees, in) : OfPil(degrees, in), in, params);
}

void RegisterSchemaRandomRotation(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {
      ArgSpec{"degrees", ArgType::kNumbers, std::nullopt, "bounds of the angle, counter-clockwise",
              true}
          .In(-1e6, 1e6)
          .Count({2})
          .Unit("degrees"),
      ArgSpec{"expand", ArgType::kBool, std::int64_t{0},
              "0; a pipeline whose images grow with the angle runs as a Python stage"}
          .In(0, 0),
      ArgSpec{"choices", ArgType::kNumbers, std::nullopt,
              "the angles of which one is chosen; the degrees are of no account then"}
          .Unit("degrees"),
      GeneratorArg()};
  for (ArgSpec& arg : AffineSchema::ArgSpecs()) args.push_back(std::move(arg));
  registry.Add(
      {.name = "random_rotation",
       .doc = "Rotates by a random angle: a PIL image, as PIL does, or a tensor of uint8 or "
              "float32, as torchvision does (for torch's AVX2 and AVX512 builds).",
       .args = std::move(args),
       .classes = {"v1.RandomRotation", "v2.RandomRotation"},
       .draws = "torch: the angle (uniform_); Python: the angle (uniform, choice)",
       .shares_draws = SharedDraws::kSameKind},
      Make);
}

}  // namespace headrace::ops
