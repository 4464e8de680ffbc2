#include "ops/auto_augment/auto_augment.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {
namespace {

constexpr std::int64_t kBins = 10;

Result<std::vector<AutoAugmentSchema::Policy>> ReadPolicies(const OpArgs& args) {
  const std::vector<std::int64_t> ops = args.Ints("policy_ops");
  const std::vector<double> probabilities = args.Numbers("policy_probabilities");
  const std::vector<std::int64_t> levels = args.Ints("policy_magnitudes");
  constexpr std::size_t kMostPolicies = 10000;
  if (ops.empty() || ops.size() % AutoAugmentSchema::kSteps != 0 ||
      ops.size() > AutoAugmentSchema::kSteps * kMostPolicies ||
      probabilities.size() != ops.size() || levels.size() != ops.size()) {
    return InvalidArgument("policies are not pairs of operations");
  }
  std::vector<AutoAugmentSchema::Policy> policies(ops.size() / AutoAugmentSchema::kSteps);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i] < 0 || ops[i] >= kAugmentOps) {
      return InvalidArgument("policy_ops has " + std::to_string(ops[i]));
    }
    const auto op = static_cast<AugmentOp>(ops[i]);
    if (HasMagnitude(op) ? levels[i] < 0 || levels[i] >= kBins : levels[i] != -1) {
      return InvalidArgument("policy_magnitudes has " + std::to_string(levels[i]));
    }
    if (!(probabilities[i] >= 0 && probabilities[i] <= 1)) {
      return InvalidArgument("policy_probabilities are out of range");
    }
    policies[i / AutoAugmentSchema::kSteps][i % AutoAugmentSchema::kSteps] = {
        op, static_cast<float>(probabilities[i]), HasMagnitude(op) ? levels[i] : 0};
  }
  return policies;
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(AugmentSpace space,
         AugmentSpace::Make(args, context,
                            {.count = kBins, .first = 0, .bins = kBins, .by_size = true}));
  HR_TRY(std::vector<AutoAugmentSchema::Policy> policies, ReadPolicies(args));
  return MakeSchema<AutoAugmentSchema>(std::move(space), std::move(policies));
}

}  // namespace

Status AutoAugmentSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                    ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  const auto count = static_cast<std::int64_t>(policies_.size());
  const Policy& policy = policies_[static_cast<std::size_t>(rng.RandInt(0, count))];
  std::array<bool, kSteps> happens{};
  std::array<bool, kSteps> negative{};
  if (space().api() == 1) {
    // Draws all of it, needed or not.
    for (std::size_t i = 0; i < kSteps; ++i) happens[i] = rng.Rand() <= policy[i].probability;
    for (bool& sign : negative) sign = rng.RandInt(0, 2) == 0;
  } else {
    for (std::size_t i = 0; i < kSteps; ++i) {
      happens[i] = rng.Rand() <= policy[i].probability;
      if (happens[i]) negative[i] = space().DrawNegative(policy[i].op, rng);
    }
  }
  for (std::size_t i = 0; i < kSteps; ++i) {
    AugmentSpace::Write(happens[i] ? policy[i].op : AugmentOp::kIdentity, policy[i].level,
                        negative[i] && IsSigned(policy[i].op),
                        params.subspan(i * AugmentSpace::kWords, AugmentSpace::kWords));
  }
  return Status::Ok();
}

void RegisterSchemaAutoAugment(SchemaRegistry& registry) {
  std::vector<ArgSpec> args = {
      ArgSpec{
          "policy_ops", ArgType::kInts, std::nullopt,
          "two operations for each policy: 0 Identity, 1 ShearX, 2 ShearY, 3 TranslateX, 4 "
          "TranslateY, 5 Rotate, 6 Brightness, 7 Color, 8 Contrast, 9 Sharpness, 10 Posterize, 11 "
          "Solarize, 12 AutoContrast, 13 Equalize, 14 Invert",
          true}
          .In(0, 14),
      ArgSpec{"policy_probabilities", ArgType::kNumbers, std::nullopt, "of each operation", true}
          .In(0, 1),
      ArgSpec{"policy_magnitudes", ArgType::kInts, std::nullopt,
              "bin of each operation's magnitude, 0..9; -1 for one that has none", true}
          .In(-1, 9)};
  for (ArgSpec& arg : AugmentSpace::ArgSpecs(/*by_size=*/true)) args.push_back(std::move(arg));
  registry.Add({.name = "auto_augment",
                .doc = "Two operations of PIL images or tensors of uint8 by a random policy of a "
                       "list, such as ImageNet's. The lists of magnitudes have 10 values. " +
                       AugmentSpace::SizeLimits(),
                .args = std::move(args),
                .classes = {"v1.AutoAugment", "v2.AutoAugment"},
                .draws = "torch: the policy (randint), whether each of its two operations happens "
                         "(rand), and their signs"},
               Make);
}

}  // namespace headrace::ops
