#include <string>

#include "ops/core/op_registry.h"
#include "ops/five_crop/five_crop.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

std::string Pair(std::int64_t height, std::int64_t width) {
  std::string text("(");
  text.append(std::to_string(height)).append(", ").append(std::to_string(width)).append(")");
  return text;
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  HR_TRY(const Size size, ReadSize(args, "size"));
  const std::int64_t part = args.Int("part");
  if (part < FiveCropSchema::kTopLeft || part > FiveCropSchema::kCenter) {
    return InvalidArgument("part " + std::to_string(part) + " of five crops");
  }
  return MakeSchema<FiveCropSchema>(size, static_cast<FiveCropSchema::Part>(part));
}

// The position where the middle crop starts along one side.
std::int64_t Middle(std::int64_t image, std::int64_t crop) {
  return RoundHalfEven(static_cast<double>(image - crop) / 2.0);
}

}  // namespace

Status FiveCropSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  if (size_.height > in.height || size_.width > in.width) {
    return InvalidArgument("Requested crop size " + Pair(size_.height, size_.width) +
                           " is bigger than input size " + Pair(in.height, in.width));
  }
  *out = in;
  out->height = size_.height;
  out->width = size_.width;
  return Status::Ok();
}

Window FiveCropSchema::CropOf(const ImageSpec& in) const {
  const std::int64_t below = in.height - size_.height;
  const std::int64_t right = in.width - size_.width;
  if (part_ == kCenter) {
    return {Middle(in.height, size_.height), Middle(in.width, size_.width), size_.height,
            size_.width};
  }
  return {part_ == kBottomLeft || part_ == kBottomRight ? below : 0,
          part_ == kTopRight || part_ == kBottomRight ? right : 0, size_.height, size_.width};
}

void RegisterSchemaFiveCrop(SchemaRegistry& registry) {
  registry.Add(
      {.name = "five_crop",
       .doc = "One of the four corners of the image, or its middle.",
       .args = {ArgSpec{"size", ArgType::kInts, std::nullopt,
                        "side of a square, or [height, width]",
                        /*required=*/true}
                    .In(1, 1 << 20)
                    .Count({1, 2})
                    .Unit("pixels"),
                ArgSpec{"part", ArgType::kInt, std::nullopt,
                        "place in the tuple: 0 top left, 1 top right, 2 bottom left, 3 bottom "
                        "right, 4 middle",
                        /*required=*/true}
                    .In(0, 4)},
       .classes = {"v1.FiveCrop", "v2.FiveCrop"}},
      Make);
}

}  // namespace headrace::ops
