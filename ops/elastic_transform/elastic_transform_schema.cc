#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "ops/core/op_registry.h"
#include "ops/elastic_transform/elastic_transform.h"
#include "ops/vision/geometry/affine_schema.h"
#include "ops/vision/geometry/blur.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// Of an image. A worker keeps three floats for each, and the trainer skips two draws: more of them
// would keep it from its messages.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 20;

Result<std::vector<float>> ReadWeights(const OpArgs& args, const std::string& name) {
  std::vector<float> weights;
  if (!args.Has(name)) return weights;
  for (const double value : args.Numbers(name)) weights.push_back(static_cast<float>(value));
  if (weights.size() > kMostBlurWeights) {
    return Unsupported("kernels that large have no native form");
  }
  if (!weights.empty() && (weights.size() % 2 == 0 || !AreBlurWeights(weights))) {
    return InvalidArgument(name + " are not weights of a blur");
  }
  return weights;
}

Result<ElasticTransformSchema::Axis> ReadAxis(const OpArgs& args, double alpha,
                                              const std::string& name) {
  constexpr double kMost = 1e6;  // beyond it float32 runs out of numbers
  if (!(std::abs(alpha) <= kMost)) return Unsupported("alpha is not a number up to 1,000,000");
  ElasticTransformSchema::Axis axis{.alpha = alpha, .columns = {}, .rows = {}};
  HR_TRY(axis.columns, ReadWeights(args, name + "_columns"));
  HR_TRY(axis.rows, ReadWeights(args, name + "_rows"));
  if (axis.columns.empty() != axis.rows.empty()) {
    return InvalidArgument("displacements are blurred in one direction alone");
  }
  return axis;
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  const bool floats = context.input.dtype == DType::kF32;
  HR_RETURN_IF_ERROR(floats ? NeedsKnownElements(args, context) : NeedsKnownBytes(context, true));
  if (!args.Bool("known_sums")) {
    return Unsupported("torch makes displacements with bits that are not known here");
  }
  const std::vector<double> alpha = args.Numbers("alpha");
  if (alpha.size() != 2) return InvalidArgument("alpha should be two numbers");
  ElasticTransformSchema::Options options;
  HR_TRY(options.across, ReadAxis(args, alpha[0], "across"));
  HR_TRY(options.down, ReadAxis(args, alpha[1], "down"));
  HR_TRY(options.pixels, ReadTensorArgs(args, InputOf(context)));
  HR_TRY(options.api, ReadApi(args));
  return MakeSchema<ElasticTransformSchema>(std::move(options));
}

ArgSpec WeightsArg(std::string name, std::string doc) {
  return {std::move(name),     ArgType::kNumbers, std::nullopt, std::move(doc), /*required=*/false,
          /*only_pixels=*/true};
}

}  // namespace

Status ElasticTransformSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  HR_RETURN_IF_ERROR(CheckTensorSides(in));
  if (in.height * in.width > kMostPixels) return Unsupported("the image has too many pixels");
  ImageSpec plane = in;
  plane.channels = 1;
  for (const Axis* axis : {&options_.across, &options_.down}) {
    if (axis->columns.empty()) continue;
    HR_RETURN_IF_ERROR(CheckBlur(plane, std::ssize(axis->columns), std::ssize(axis->rows)));
  }
  return Status::Ok();
}

Status ElasticTransformSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                         MutableParams params, ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  const Mt19937& engine = rng.engine();
  std::ranges::transform(engine.words(), params.begin(),
                         [](std::uint32_t word) { return std::bit_cast<std::int32_t>(word); });
  params.back() = static_cast<std::int32_t>(engine.next());
  rng.Discard(2 * static_cast<std::uint64_t>(in.height * in.width));
  return Status::Ok();
}

Result<Mt19937> ElasticTransformSchema::Read(Params params) {
  const std::int32_t next = params.back();
  if (next < 0 || next > static_cast<std::int32_t>(Mt19937::kWords)) {
    return InvalidArgument("params are not a state of torch's generator");
  }
  Mt19937::Words words{};
  std::ranges::transform(params.first(words.size()), words.begin(),
                         [](std::int32_t word) { return std::bit_cast<std::uint32_t>(word); });
  return Mt19937(words, static_cast<std::uint32_t>(next));
}

void RegisterSchemaElasticTransform(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {
      ArgSpec{"alpha", ArgType::kNumbers, std::nullopt,
              "strength of the displacements across and down, in half pixels before the blur", true}
          .Count({2}),
      WeightsArg("across_columns",
                 "weights of a row of the blur of the displacements across, by "
                 "the client's torch; without it they are not blurred"),
      WeightsArg("across_rows", "the same of a column"),
      WeightsArg("down_columns", "the same of a row, for the displacements down"),
      WeightsArg("down_rows", "the same of a column"),
      {"known_sums", ArgType::kBool, std::int64_t{0},
       "1: the client's torch blurs and samples with the native bits"}};
  for (ArgSpec& arg : TensorArgSpecs()) args.push_back(std::move(arg));
  args.push_back(ApiArg());
  args.push_back(FloatsArg());
  registry.Add(
      {.name = "elastic_transform",
       .doc =
           "Moves each pixel of a PIL image or of a tensor of uint8 or float32 by blurred random "
           "displacements, as torchvision does (for torch's AVX2 and AVX512 builds). The worker "
           "draws the numbers again, from the generator's state. The trainer makes images that "
           "are smaller than half of the blur's kernel, and images of more than 1,048,576 "
           "pixels.",
       .args = std::move(args),
       .classes = {"v1.ElasticTransform", "v2.ElasticTransform"},
       .draws = "torch: two numbers for each pixel (rand)",
       .shares_draws = SharedDraws::kSameKind},
      Make);
}

}  // namespace headrace::ops
