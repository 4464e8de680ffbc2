#include "ops/core/op_registry.h"
#include "ops/rand_augment/rand_augment.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  constexpr std::int64_t kMostOps = 100;
  const std::int64_t num_ops = args.Int("num_ops");
  if (num_ops < 0 || num_ops > kMostOps) {
    return Unsupported("num_ops " + std::to_string(num_ops) + " is not in 0..100");
  }
  const std::int64_t bins = args.Int("num_magnitude_bins");
  const std::int64_t magnitude = args.Int("magnitude");
  if (magnitude < 0 || magnitude >= bins) {
    return Unsupported("magnitude " + std::to_string(magnitude) + " is not a bin");
  }
  HR_TRY(AugmentSpace space,
         AugmentSpace::Make(args, context,
                            {.count = 1, .first = magnitude, .bins = bins, .by_size = true}));
  return MakeSchema<RandAugmentSchema>(std::move(space), num_ops);
}

}  // namespace

Status RandAugmentSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                    ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  for (; !params.empty(); params = params.subspan(AugmentSpace::kWords)) {
    const auto op = static_cast<AugmentOp>(rng.RandInt(0, kRandomAugmentOps));
    const bool negative = space().DrawNegative(op, rng);
    AugmentSpace::Write(op, 0, negative, params.first(AugmentSpace::kWords));
  }
  return Status::Ok();
}

void RegisterSchemaRandAugment(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {
      ArgSpec{"num_ops", ArgType::kInt, std::int64_t{2}, "operations, one after the other: 0..100"}
          .In(0, 100),
      ArgSpec{
          "magnitude", ArgType::kInt, std::int64_t{9},
          "bin of the magnitude, from 0 on (of the end, as Python counts with negative numbers: a "
          "Python stage)"}
          .AtLeast(0),
      ArgSpec{"num_magnitude_bins", ArgType::kInt, std::int64_t{31}, "number of bins"}.In(2,
                                                                                          1 << 20)};
  for (ArgSpec& arg : AugmentSpace::ArgSpecs(/*by_size=*/true)) args.push_back(std::move(arg));
  registry.Add(
      {.name = "rand_augment",
       .doc = "Random operations of PIL images or tensors of uint8, each with the same "
              "magnitude: the lists of magnitudes have one value. " +
              AugmentSpace::SizeLimits(),
       .args = std::move(args),
       .classes = {"v1.RandAugment", "v2.RandAugment"},
       .draws = "torch: for each operation which it is (randint), and a sign where it has one"},
      Make);
}

}  // namespace headrace::ops
