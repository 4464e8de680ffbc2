#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/affine/affine.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// Far more than any image has pixels; coordinates stay numbers that every step can hold.
constexpr double kMost = 1e6;

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  AffineTransformSchema::Options options;
  const std::vector<double> matrix = args.Numbers("matrix");
  if (matrix.size() != options.matrix.size()) return InvalidArgument("matrix is not 6 numbers");
  if (!std::ranges::all_of(matrix, [](double v) { return std::abs(v) <= kMost; })) {
    return Unsupported("matrix has numbers beyond a million");
  }
  std::ranges::copy(matrix, options.matrix.begin());
  HR_TRY(options.interpolation, ReadInterpolation(args));
  if (options.interpolation != Interpolation::kNearest &&
      options.interpolation != Interpolation::kBilinear &&
      options.interpolation != Interpolation::kBicubic) {
    return Unsupported("PIL transforms by nearest, bilinear or bicubic only");
  }
  if (args.Has("fill")) {
    HR_TRY(const ChannelValues fill, ReadFill(args, "fill", InputOf(context)));
    for (std::size_t c = 0; c < options.fill.size(); ++c) {
      options.fill[c] = static_cast<std::uint8_t>(fill[c]);
    }
  }
  return MakeSchema<AffineTransformSchema>(options);
}

}  // namespace

void RegisterSchemaAffine(SchemaRegistry& registry) {
  registry.Add(
      {.name = "affine",
       .doc = "PIL's transform by a given affine matrix, to an image of the same size.",
       .args =
           {ArgSpec{
                "matrix", ArgType::kNumbers, std::nullopt,
                "[a, b, c, d, e, f]: the pixel (x, y) comes from (a x + b y + c, d x + e y + f)",
                /*required=*/true}
                .In(-1e6, 1e6)
                .Count({6}),
            InterpolationArg().OneOf({"nearest", "nearest-exact", "bilinear", "bicubic"}),
            {"fill", ArgType::kNumbers, std::nullopt,
             "value outside of the image, or one for each channel; without it 0"}},
       .classes = {"PIL.Image.Image.transform"}},
      Make);
}

}  // namespace headrace::ops
