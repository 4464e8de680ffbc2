#include <bit>
#include <span>

#include "ops/aug_mix/aug_mix.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// In the order of torchvision's augmentation space; the first kPartialOps without all_ops.
constexpr AugmentOp kOps[] = {
    AugmentOp::kShearX,   AugmentOp::kShearY,     AugmentOp::kTranslateX, AugmentOp::kTranslateY,
    AugmentOp::kRotate,   AugmentOp::kPosterize,  AugmentOp::kSolarize,   AugmentOp::kAutoContrast,
    AugmentOp::kEqualize, AugmentOp::kBrightness, AugmentOp::kColor,      AugmentOp::kContrast,
    AugmentOp::kSharpness};
constexpr std::int64_t kAllOps = std::size(kOps);
constexpr std::int64_t kPartialOps = 9;
constexpr std::int64_t kBins = 10;

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  AugMixSchema::Options options;
  options.severity = args.Int("severity");
  if (options.severity < 1 || options.severity > kBins) {
    return InvalidArgument("The severity must be between [1, 10]. Got " +
                           std::to_string(options.severity) + " instead.");
  }
  options.width = args.Int("mixture_width");
  if (options.width < 1 ||
      options.width > static_cast<std::int64_t>(TorchGenerator::kMostWeights)) {
    return Unsupported("mixture_width " + std::to_string(options.width) + " is not in 1..16");
  }
  constexpr std::int64_t kMostDepth = 100;
  options.depth = args.Int("chain_depth");
  if (options.depth > kMostDepth) {
    return Unsupported("chain_depth " + std::to_string(options.depth) + " is above 100");
  }
  constexpr float kMostAlpha = 1e4F;
  options.alpha = static_cast<float>(args.Number("alpha"));
  if (!(options.alpha > 0 && options.alpha <= kMostAlpha)) {
    return Unsupported("alpha is not above 0");
  }
  options.all_ops = args.Int("all_ops") != 0;
  HR_TRY(AugmentSpace space, AugmentSpace::Make(args, context,
                                                {.count = options.severity,
                                                 .first = 0,
                                                 .bins = kBins,
                                                 .by_size = true,
                                                 .most_side = AugMixSchema::kMostSide,
                                                 .part = 1,
                                                 .of = 3,
                                                 .tensor = true}));
  return MakeSchema<AugMixSchema>(std::move(space), options);
}

std::vector<ArgSpec> ArgSpecs() {
  std::vector<ArgSpec> args = {
      ArgSpec{"severity", ArgType::kInt, std::int64_t{3},
              "how many of 10 magnitudes there are: 1..10"}
          .In(1, 10),
      ArgSpec{"mixture_width", ArgType::kInt, std::int64_t{3}, "branches: 1..16"}.In(1, 16),
      ArgSpec{"chain_depth", ArgType::kInt, std::int64_t{-1},
              "operations of each branch: up to 100; below 1, a random number of 1..3"}
          .AtMost(100),
      ArgSpec{"alpha", ArgType::kNumber, 1.0,
              "of the Dirichlet distribution of the weights, above 0"}
          .Above(0, 1e4),
      {"all_ops", ArgType::kBool, std::int64_t{1},
       "with Brightness, Color, Contrast and Sharpness"}};
  for (ArgSpec& arg : AugmentSpace::ArgSpecs(/*by_size=*/true)) {
    if (arg.name == "rotate") continue;  // images become tensors
    if (arg.name == "tensor_rotate") {
      arg.required = true;
      arg.doc =
          "for each magnitude the cosine and the sine of torchvision's matrix for tensors, then "
          "those of the negative magnitude";
    }
    if (arg.name == "interpolation") {
      arg.doc = "nearest or bilinear";
      arg.limits.choices = {"nearest", "bilinear"};
    }
    if (arg.name == "fill") {
      arg.doc =
          "value outside of the image, or one for each channel; without it 0, and edges that fade";
    }
    args.push_back(std::move(arg));
  }
  return args;
}

}  // namespace

int AugMixSchema::param_words() const {
  return static_cast<int>(1 + static_cast<std::size_t>(options_.width) * branch_words());
}

Status AugMixSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                               ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  std::array<float, 2> mixed{};  // for the original, and for the branches
  std::array<float, TorchGenerator::kMostWeights> weights{};
  const auto width = static_cast<std::size_t>(options_.width);
  rng.Dirichlet(options_.alpha, mixed);
  rng.Dirichlet(options_.alpha, std::span(weights).first(width));
  params[0] = std::bit_cast<std::int32_t>(mixed[0]);
  for (std::size_t i = 0; i < width; ++i) {
    MutableParams words = params.subspan(1 + i * branch_words(), branch_words());
    words[0] = std::bit_cast<std::int32_t>(weights[i] * mixed[1]);
    const std::int64_t depth =
        options_.depth > 0 ? options_.depth : rng.RandInt(1, kMostRandomDepth + 1);
    for (std::size_t step = 0; step < max_depth(); ++step) {
      AugmentOp op = AugmentOp::kIdentity;
      std::int64_t level = 0;
      bool negative = false;
      if (static_cast<std::int64_t>(step) < depth) {
        op = kOps[rng.RandInt(0, options_.all_ops ? kAllOps : kPartialOps)];
        if (HasMagnitude(op)) level = rng.RandInt(0, options_.severity);
        negative = space().DrawNegative(op, rng);
      }
      AugmentSpace::Write(op, level, negative,
                          words.subspan(1 + step * AugmentSpace::kWords, AugmentSpace::kWords));
    }
  }
  return Status::Ok();
}

void RegisterSchemaAugMix(SchemaRegistry& registry) {
  registry.Add({.name = "aug_mix",
                .doc = "A random mixture of a PIL image or a tensor of uint8 and of branches of "
                       "random operations, "
                       "which are those that torchvision has for tensors. For torch's AVX2 and "
                       "AVX512 builds. Images with a side of more than 4096 pixels, or with more "
                       "than " +
                       std::to_string(kMostPixelsOfMean) + " pixels, are made by the trainer.",
                .args = ArgSpecs(),
                .classes = {"v1.AugMix", "v2.AugMix"},
                .draws = "torch: the weights (Dirichlet), and for each branch its length, "
                         "operations, magnitudes and signs"},
               Make);
}

}  // namespace headrace::ops
