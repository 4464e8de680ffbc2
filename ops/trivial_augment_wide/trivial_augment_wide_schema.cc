#include "ops/core/op_registry.h"
#include "ops/trivial_augment_wide/trivial_augment_wide.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  const std::int64_t bins = args.Int("num_magnitude_bins");
  HR_TRY(AugmentSpace space,
         AugmentSpace::Make(args, context, {.count = bins, .first = 0, .bins = bins}));
  return MakeSchema<TrivialAugmentWideSchema>(std::move(space), bins);
}

}  // namespace

Status TrivialAugmentWideSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                           MutableParams params, ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  const auto op = static_cast<AugmentOp>(rng.RandInt(0, kRandomAugmentOps));
  const std::int64_t level = HasMagnitude(op) ? rng.RandInt(0, bins_) : 0;
  AugmentSpace::Write(op, level, space().DrawNegative(op, rng), params);
  return space().CheckStep(params, in);
}

void RegisterSchemaTrivialAugmentWide(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {ArgSpec{"num_magnitude_bins", ArgType::kInt, std::int64_t{31},
                                       "length of each list of magnitudes"}
                                   .In(2, 1 << 20)};
  for (ArgSpec& arg : AugmentSpace::ArgSpecs(/*by_size=*/false)) args.push_back(std::move(arg));
  registry.Add(
      {.name = "trivial_augment_wide",
       .doc = "One random operation of a PIL image or a tensor of uint8 with a random "
              "magnitude. Tensors of more than " +
              std::to_string(kMostPixelsOfMean) +
              " pixels are made by the trainer. Of tensors for torch's AVX2 and AVX512 "
              "builds.",
       .args = std::move(args),
       .classes = {"v1.TrivialAugmentWide", "v2.TrivialAugmentWide"},
       .draws = "torch: the operation and the magnitude (randint), and a sign where it has one"},
      Make);
}

}  // namespace headrace::ops
