#include <algorithm>
#include <cstddef>

#include "ops/core/op_registry.h"
#include "ops/random_shortest_size/random_shortest_size.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

constexpr std::int64_t kLongestEdge = 1 << 20;

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const Resizing resizing, ReadResizing(args, context));
  const std::vector<std::int64_t> lengths = args.Ints("min_size");
  const std::int64_t most = args.Has("max_size") ? args.Int("max_size") : 0;
  const auto fits = [](std::int64_t length) { return length > 0 && length <= kLongestEdge; };
  if (lengths.empty() || !std::ranges::all_of(lengths, fits) ||
      (args.Has("max_size") && !fits(most))) {
    return Unsupported("lengths that are no sizes of images");
  }
  return MakeSchema<RandomShortestSizeSchema>(lengths, most, resizing);
}

}  // namespace

// Source: torchvision/transforms/v2/_geometry.py, RandomShortestSize.make_params.
ImageSpec RandomShortestSizeSchema::Resized(const ImageSpec& in, std::int64_t length) const {
  const auto height = static_cast<double>(in.height), width = static_cast<double>(in.width);
  double ratio = static_cast<double>(length) / std::min(height, width);
  if (most_ > 0) ratio = std::min(ratio, static_cast<double>(most_) / std::max(height, width));
  ImageSpec out = in;
  out.width = static_cast<std::int64_t>(width * ratio);
  out.height = static_cast<std::int64_t>(height * ratio);
  return out;
}

Status RandomShortestSizeSchema::DrawnShape(const ImageSpec& in, Params params,
                                            ImageSpec* out) const {
  for (const std::int64_t length : lengths_) {
    *out = Resized(in, length);
    if (out->height == params[0] && out->width == params[1]) return resizing_.CheckOutput(*out);
  }
  return InvalidArgument("a size of " + std::to_string(params[0]) + " x " +
                         std::to_string(params[1]) + " is never drawn");
}

Status RandomShortestSizeSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                           MutableParams params, ImageSpec* out) const {
  const std::int64_t drawn = rng.RandInt(0, std::ssize(lengths_));
  *out = Resized(in, lengths_[static_cast<std::size_t>(drawn)]);
  return resizing_.PutDrawn(*out, params);
}

void RegisterSchemaRandomShortestSize(SchemaRegistry& registry) {
  OpSpec spec{
      .name = "random_shortest_size",
      .doc =
          "Resizes the shorter edge of a PIL image or a tensor of uint8 to one of several lengths, "
          "and the longer one at most to max_size.",
      .args = {ArgSpec{"min_size", ArgType::kInts, std::nullopt, "the lengths", /*required=*/true}
                   .In(1, 1 << 20)
                   .Unit("pixels"),
               ArgSpec{"max_size", ArgType::kInt, std::nullopt, "bound of the longer edge"}
                   .In(1, 1 << 20)
                   .Unit("pixels")},
      .classes = {"v2.RandomShortestSize"},
      .draws = "torch: which of the lengths (randint)",
      .shares_draws = SharedDraws::kAnyKind};
  for (ArgSpec& arg : ResizingArgs()) spec.args.push_back(std::move(arg));
  registry.Add(std::move(spec), Make);
}

}  // namespace headrace::ops
