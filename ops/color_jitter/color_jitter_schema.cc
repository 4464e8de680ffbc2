#include <algorithm>
#include <bit>

#include "ops/color_jitter/color_jitter.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// Source: torchvision/transforms/transforms.py, ColorJitter._check_input.
Result<std::optional<ColorJitterSchema::Bounds>> ReadBounds(const OpArgs& args,
                                                            std::string_view name, double center,
                                                            double least, double most) {
  if (!args.Has(name)) return std::optional<ColorJitterSchema::Bounds>();
  std::vector<double> v = args.Numbers(name);
  if (v.size() == 1) {
    if (v[0] < 0) {
      return InvalidArgument("If " + std::string(name) +
                             " is a single number, it must be non negative.");
    }
    v = {center - v[0], center + v[0]};
    if (center == 1) v[0] = std::max(v[0], 0.0);
  }
  if (v.size() != 2) {
    return InvalidArgument(std::string(name) +
                           " should be a single number or a list/tuple with length 2.");
  }
  if (!(least <= v[0] && v[0] <= v[1] && v[1] <= most)) {
    return InvalidArgument(std::string(name) + " values are out of bounds");
  }
  if (v[0] == center && v[1] == center) return std::optional<ColorJitterSchema::Bounds>();
  return std::optional(
      ColorJitterSchema::Bounds{static_cast<float>(v[0]), static_cast<float>(v[1])});
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsKnownElements(args, context));
  constexpr double kMost = 1e6;
  ColorJitterSchema::Options options;
  options.tensor = context.input.layout == Layout::kChw;
  HR_TRY(options.api, ReadApi(args));
  ColorJitterSchema::AllBounds& bounds = options.bounds;
  HR_TRY(bounds[0], ReadBounds(args, "brightness", 1, 0, kMost));
  HR_TRY(bounds[1], ReadBounds(args, "contrast", 1, 0, kMost));
  HR_TRY(bounds[2], ReadBounds(args, "saturation", 1, 0, kMost));
  HR_TRY(bounds[3], ReadBounds(args, "hue", 0, -0.5, 0.5));
  HR_TRY(options.rounding, UniformRounding(context));
  if (args.Has("mean_pixels")) options.most_of_mean = args.Int("mean_pixels");
  if (context.input.dtype == DType::kF32 && bounds[1] && InputOf(context).channels == 1) {
    return Unsupported(
        "contrast of one channel of float32: the order of its sum depends on how it lies in "
        "memory");
  }
  return MakeSchema<ColorJitterSchema>(options);
}

}  // namespace

Status ColorJitterSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  return options_.tensor && has(kContrast) ? CheckContrast(in) : Status::Ok();
}

Status ColorJitterSchema::CheckContrast(const ImageSpec& in) const {
  if (in.dtype != DType::kF32) HR_RETURN_IF_ERROR(CheckMean(in));
  if (options_.most_of_mean <= 0 || in.height * in.width <= options_.most_of_mean) return {};
  return Unsupported("torch may share the work on that many elements among its threads");
}

Status ColorJitterSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                    ImageSpec* out) const {
  HR_RETURN_IF_ERROR(Shape(in, out));
  std::array<std::int64_t, kSteps> order;
  rng.RandPerm(order);
  params[0] = 0;
  for (std::size_t i = 0; i < kSteps; ++i) {
    params[0] |= static_cast<std::int32_t>(order[i]) << (2 * i);
    const std::optional<Bounds>& step = options_.bounds[i];
    const float factor = step ? rng.Uniform(step->low, step->high, options_.rounding) : 0.0F;
    params[1 + i] = std::bit_cast<std::int32_t>(factor);
  }
  return Status::Ok();
}

void RegisterSchemaColorJitter(SchemaRegistry& registry) {
  registry.Add(
      {.name = "color_jitter",
       .doc = "Brightness, contrast, saturation and hue by random factors, in random order: of PIL "
              "images, as PIL and torchvision change them, and of tensors of uint8 and float32, as "
              "torchvision does (for torch's AVX2 and AVX512 builds). Contrast of tensors of uint8 "
              "of more than " +
              std::to_string(kMostPixelsOfMean) +
              " pixels is made by the trainer. Contrast of float32 needs three channels.",
       .args =
           {ArgSpec{"brightness", ArgType::kNumbers, std::nullopt,
                    "spread around 1, or [low, high]"}
                .In(0, 1e6)
                .Count({1, 2}),
            ArgSpec{"contrast", ArgType::kNumbers, std::nullopt, "spread around 1, or [low, high]"}
                .In(0, 1e6)
                .Count({1, 2}),
            ArgSpec{"saturation", ArgType::kNumbers, std::nullopt,
                    "spread around 1, or [low, high]"}
                .In(0, 1e6)
                .Count({1, 2}),
            ArgSpec{"hue", ArgType::kNumbers, std::nullopt, "spread around 0, or [low, high]"}
                .In(-0.5, 0.5)
                .Count({1, 2}),
            ApiArg(),
            FloatsArg(),
            {"mean_pixels", ArgType::kInt, std::nullopt,
             "most pixels of a tensor whose contrast is changed; left out: as many as are known"}},
       .classes = {"v1.ColorJitter", "v2.ColorJitter"},
       .draws = "torch: the order (randperm), then a factor for each of the four that is given "
                "(uniform_)"},
      Make);
}

}  // namespace headrace::ops
