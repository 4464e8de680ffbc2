#include <algorithm>
#include <string>
#include <vector>

#include "ops/core/op_registry.h"
#include "ops/random_zoom_out/random_zoom_out.h"

namespace headrace::ops {
namespace {

constexpr double kMostSides = 64;

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsBytes(context));
  const std::vector<double> range = args.Numbers("side_range");
  if (range.size() != 2) return Unsupported("side_range without two numbers");
  if (!(range[0] >= 1 && range[0] <= range[1] && range[1] <= kMostSides)) {
    return Unsupported("a side_range that is none, or beyond 64");
  }
  HR_TRY(const ChannelValues fill,
         ReadBorderFill(args, "fill", PaddingMode::kConstant, /*api=*/2, InputOf(context)));
  return MakeSchema<RandomZoomOutSchema>(args.Number("p"), range[0], range[1], fill);
}

}  // namespace

Status RandomZoomOutSchema::DrawnShape(const ImageSpec& in, Params params, ImageSpec* out) const {
  *out = in;
  out->width += std::int64_t{params[0]} + params[2];
  out->height += std::int64_t{params[1]} + params[3];
  const auto most = [&](std::int64_t side) { return high_ * static_cast<double>(side) + 1; };
  const auto out_of_range = [&](std::int32_t word) {
    return word < 0 || (params[4] == 0 && word != 0);
  };
  if (params[4] > 1 || std::ranges::any_of(params, out_of_range) ||
      static_cast<double>(out->width) > most(in.width) ||
      static_cast<double>(out->height) > most(in.height)) {
    return InvalidArgument("a border that is never drawn");
  }
  return Status::Ok();
}

// Source: torchvision/transforms/v2/_geometry.py, RandomZoomOut.make_params. torch computes with
// float32, in which it takes Python's numbers, too.
Status RandomZoomOutSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                      MutableParams params, ImageSpec* out) const {
  std::ranges::fill(params, 0);
  *out = in;
  if (!Happens(rng, p_)) return Status::Ok();
  const float side = static_cast<float>(low_) + rng.Rand() * static_cast<float>(high_ - low_);
  const auto width = static_cast<std::int64_t>(static_cast<float>(in.width) * side);
  const auto height = static_cast<std::int64_t>(static_cast<float>(in.height) * side);
  const float across = rng.Rand(), down = rng.Rand();
  const auto left = static_cast<std::int64_t>(static_cast<float>(width - in.width) * across);
  const auto top = static_cast<std::int64_t>(static_cast<float>(height - in.height) * down);
  const std::int64_t borders[] = {left, top, width - (left + in.width), height - (top + in.height)};
  std::ranges::transform(borders, params.begin(),
                         [](std::int64_t border) { return static_cast<std::int32_t>(border); });
  params[4] = 1;
  return DrawnShape(in, params, out);
}

void RegisterSchemaRandomZoomOut(SchemaRegistry& registry) {
  registry.Add(
      {.name = "random_zoom_out",
       .doc = "With probability p, puts the image somewhere on a canvas that is larger.",
       .args = {{"p", ArgType::kNumber, 0.5, "probability"},
                ArgSpec{"side_range", ArgType::kNumbers, std::vector<double>{1.0, 4.0},
                        "least and most of the canvas's sides, in the image's"}
                    .In(1, 64)
                    .Count({2}),
                {"fill", ArgType::kNumbers, std::int64_t{0}, "value of the canvas",
                 /*required=*/false, /*only_pixels=*/true}},
       .classes = {"v2.RandomZoomOut"},
       .draws =
           "torch: a number that is compared with p (rand), then the side and the place (rand)",
       .shares_draws = SharedDraws::kAnyKind},
      Make);
}

}  // namespace headrace::ops
