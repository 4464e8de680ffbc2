#include "ops/center_crop/center_crop.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  HR_TRY(const Size size, ReadSize(args, "size"));
  return MakeSchema<CenterCropSchema>(size);
}

// The position where the crop starts along one side.
std::int64_t Start(std::int64_t image, std::int64_t crop) {
  const std::int64_t before = crop > image ? (crop - image) / 2 : 0;
  const std::int64_t after = crop > image ? (crop - image + 1) / 2 : 0;
  return RoundHalfEven(static_cast<double>(image + before + after - crop) / 2.0) - before;
}

}  // namespace

Window CenterCropSchema::CropOf(const ImageSpec& in) const {
  return {Start(in.height, size_.height), Start(in.width, size_.width), size_.height, size_.width};
}

void RegisterSchemaCenterCrop(SchemaRegistry& registry) {
  registry.Add(
      {.name = "center_crop",
       .doc = "The middle of the image; zeros around it where it is smaller than the crop.",
       .args = {ArgSpec{"size", ArgType::kInts, std::nullopt,
                        "side of a square, or [height, width]",
                        /*required=*/true}
                    .In(1, 1 << 20)
                    .Count({1, 2})
                    .Unit("pixels")},
       .classes = {"v1.CenterCrop", "v2.CenterCrop"}},
      Make);
}

}  // namespace headrace::ops
