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

// Python's int(a * b / c) on integers below 2^53.
std::int64_t ScaleSide(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(static_cast<double>(a * b) / static_cast<double>(c));
}

}  // namespace

// Source: torchvision/transforms/functional.py, _compute_resized_output_size.
Status ResizeSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  if (sides_.size() == 2) {
    out->height = sides_[0];
    out->width = sides_[1];
    return resizing_.CheckOutput(*out);
  }
  const bool portrait = in.width <= in.height;
  const std::int64_t short_side = portrait ? in.width : in.height;
  const std::int64_t long_side = portrait ? in.height : in.width;
  std::int64_t new_short = 0;
  std::int64_t new_long = max_size_;
  if (sides_.empty()) {
    new_short = ScaleSide(max_size_, short_side, long_side);
  } else {
    new_short = sides_[0];
    new_long = ScaleSide(new_short, long_side, short_side);
    if (max_size_ > 0 && new_long > max_size_) {
      new_short = ScaleSide(max_size_, new_short, new_long);
      new_long = max_size_;
    }
  }
  if (new_short <= 0) return InvalidArgument("height and width must be > 0");
  out->width = portrait ? new_short : new_long;
  out->height = portrait ? new_long : new_short;
  return resizing_.CheckOutput(*out);
}

void RegisterSchemaResize(SchemaRegistry& registry) {
  OpSpec spec{
      .name = "resize",
      .doc =
          "Resizes a PIL image or a tensor of uint8 or float32 to a size, or the shorter edge to a "
          "length. "
          "Tensors for torch's AVX2 and AVX512 builds; those that become one column are made by "
          "the trainer.",
      .args = {{"size", ArgType::kInts, std::nullopt,
                "length of the shorter edge, or [height, width]; left out: max_size decides"},
               {"max_size", ArgType::kInt, std::nullopt, "bound of the longer edge"}},
      .classes = {"v1.Resize", "v2.Resize"}};
  for (ArgSpec& arg : ResizingArgs()) spec.args.push_back(std::move(arg));
  registry.Add(std::move(spec), Make);
}

}  // namespace headrace::ops
