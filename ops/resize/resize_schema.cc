#include "ops/core/op_registry.h"
#include "ops/resize/resize.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const Resizing resizing, ReadResizing(args, context));
  std::vector<std::int64_t> sides;
  if (args.Has("size")) {
    HR_TRY(const Size checked, ReadSize(args, "size"));
    sides = args.Ints("size");
    if (sides.size() == 2) sides = {checked.height, checked.width};
  }
  const std::int64_t max_size = args.Has("max_size") ? args.Int("max_size") : 0;
  if (args.Has("max_size")) {
    if (max_size <= 0) return InvalidArgument("max_size must be positive");
    if (sides.size() == 2) {
      return InvalidArgument("max_size should only be passed if size specifies the smaller edge");
    }
    if (sides.size() == 1 && max_size <= sides[0]) {
      return InvalidArgument("max_size = " + std::to_string(max_size) +
                             " must be strictly greater than the requested size for the smaller "
                             "edge size = " +
                             std::to_string(sides[0]));
    }
  } else if (sides.empty()) {
    return InvalidArgument("max_size must be an integer when size is None");
  }
  return MakeSchema<ResizeSchema>(std::move(sides), max_size, resizing);
}

}  // namespace

Status ResizeSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  if (sides_.size() == 2) {
    out->height = sides_[0];
    out->width = sides_[1];
    return resizing_.CheckOutput(*out);
  }
  return resizing_.ShorterEdgeTo(sides_.empty() ? 0 : sides_[0], max_size_, in, out);
}

void RegisterSchemaResize(SchemaRegistry& registry) {
  OpSpec spec{
      .name = "resize",
      .doc =
          "Resizes a PIL image or a tensor of uint8 or float32 to a size, or the shorter edge to a "
          "length. "
          "Tensors for torch's AVX2 and AVX512 builds; those that become one column are made by "
          "the trainer.",
      .args = {ArgSpec{"size", ArgType::kInts, std::nullopt,
                       "length of the shorter edge, or [height, width]; left out: max_size decides"}
                   .In(1, 1 << 20)
                   .Count({1, 2})
                   .Unit("pixels"),
               ArgSpec{"max_size", ArgType::kInt, std::nullopt, "bound of the longer edge"}
                   .AtLeast(1)
                   .Unit("pixels")},
      .classes = {"v1.Resize", "v2.Resize"}};
  for (ArgSpec& arg : ResizingArgs()) spec.args.push_back(std::move(arg));
  registry.Add(std::move(spec), Make);
}

}  // namespace headrace::ops
