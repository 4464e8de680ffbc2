#include <algorithm>
#include <array>
#include <bit>

#include "ops/core/op_registry.h"
#include "ops/random_perspective/random_perspective.h"
#include "ops/vision/geometry/affine_schema.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsKnownElements(args, context));
  const bool tensor = context.input.layout == Layout::kChw;
  RandomPerspectiveSchema::Options options;
  options.distortion = args.Number("distortion_scale");
  if (!(options.distortion >= 0 && options.distortion <= 1)) {
    return Unsupported("distortion_scale is not between 0 and 1");
  }
  options.p = args.Number("p");
  HR_TRY(options.pixels, tensor ? ReadAffineArgs(args, InputOf(context), true)
                                : ReadPilArgs(args, InputOf(context)));
  HR_TRY(options.api, ReadApi(args));
  options.torch = context.torch;
  return MakeSchema<RandomPerspectiveSchema>(options);
}

// How many values a corner's coordinate has along a side.
std::int64_t Reach(double distortion, std::int64_t side) {
  return static_cast<std::int64_t>(distortion * static_cast<double>(side / 2)) + 1;
}

}  // namespace

Status RandomPerspectiveSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  return options_.pixels.tensor ? CheckTensorSides(in) : Status::Ok();
}

Status RandomPerspectiveSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                          MutableParams params, ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  std::ranges::fill(params, 0);
  if (!Happens(rng, options_.p)) return Status::Ok();
  if (options_.torch == nullptr) return Unsupported("this process has no torch for the equations");
  const std::int64_t right = in.width - 1, bottom = in.height - 1;
  const Corners start{{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  Corners end{};
  for (std::size_t corner = 0; corner < 4; ++corner) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::int64_t side = axis == 0 ? in.width : in.height;
      const std::int64_t reach = Reach(options_.distortion, side);
      const bool far = axis == 0 ? corner == 1 || corner == 2 : corner >= 2;
      end[corner][axis] = far ? rng.RandInt(side - reach, side) : rng.RandInt(0, reach);
    }
  }
  std::array<float, 8> coefficients{};
  HR_RETURN_IF_ERROR(SolvePerspective(*options_.torch, start, end, coefficients));
  params[0] = 1;
  std::ranges::transform(coefficients, params.begin() + 1,
                         [](float value) { return std::bit_cast<std::int32_t>(value); });
  return Status::Ok();
}

void RegisterSchemaRandomPerspective(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {ArgSpec{"distortion_scale", ArgType::kNumber, 0.5,
                                       "part of half of a side by which a corner moves at most"}
                                   .In(0, 1),
                               {"p", ArgType::kNumber, 0.5, "probability"}};
  for (ArgSpec& arg : AffineArgSpecs(MatrixProducts::kUnknown)) args.push_back(std::move(arg));
  args.push_back(ApiArg());
  args.push_back(FloatsArg());
  registry.Add(
      {.name = "random_perspective",
       .doc =
           "Moves the corners of a PIL image, as PIL does, or of a tensor of uint8 or float32, as "
           "torchvision does (for torch's AVX2 and AVX512 builds). The coefficients are the "
           "solution of the client's own torch. The trainer makes images of which three "
           "corners come to lie on a line, and tensors where a pixel's place is divided by "
           "almost 0.",
       .args = std::move(args),
       .classes = {"v1.RandomPerspective", "v2.RandomPerspective"},
       .draws =
           "torch: a number that is compared with p (rand), then two for each corner (randint)",
       .shares_draws = SharedDraws::kSameKind},
      Make);
}

}  // namespace headrace::ops
