#include <algorithm>

#include "ops/core/op_registry.h"
#include "ops/pad/pad.h"
#include "ops/vision/floats.h"
#include "ops/vision/geometry/border.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const Padding padding, ReadPadding(args, "padding"));
  Size least;
  if (args.Has("least")) {
    HR_TRY(least, ReadSize(args, "least"));
  }
  HR_TRY(const PaddingMode mode, ReadPaddingMode(args, "padding_mode"));
  HR_TRY(const int api, ReadApi(args));
  if (mode != PaddingMode::kConstant) HR_RETURN_IF_ERROR(NeedsBytesOrFloats(context));
  HR_TRY(const ChannelValues fill, ReadBorderFill(args, "fill", mode, api, InputOf(context)));
  return MakeSchema<PadSchema>(padding, least, mode, fill);
}

}  // namespace

Padding PadSchema::PaddingOf(const ImageSpec& in) const {
  Padding padding = padding_;
  padding.right += std::max<std::int64_t>(0, least_.width - in.width);
  padding.bottom += std::max<std::int64_t>(0, least_.height - in.height);
  return padding;
}

Status PadSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  const Padding padding = PaddingOf(in);
  HR_RETURN_IF_ERROR(CheckBorder(in.width, padding.left, padding.right, mode_));
  HR_RETURN_IF_ERROR(CheckBorder(in.height, padding.top, padding.bottom, mode_));
  *out = in;
  out->width += padding.left + padding.right;
  out->height += padding.top + padding.bottom;
  return Status::Ok();
}

void RegisterSchemaPad(SchemaRegistry& registry) {
  registry.Add(
      {.name = "pad",
       .doc = "A border around the image. A negative one: a Python stage.",
       .args = {ArgSpec{"padding", ArgType::kInts, std::nullopt,
                        "all sides, [left/right, top/bottom] or [left, top, right, bottom]",
                        /*required=*/true}
                    .In(0, 1 << 20)
                    .Count({1, 2, 4})
                    .Unit("pixels"),
                ArgSpec{"least", ArgType::kInts, std::nullopt,
                        "n or [height, width]: the right and the bottom get more, up to that size"}
                    .In(1, 1 << 20)
                    .Count({1, 2})
                    .Unit("pixels"),
                {"fill", ArgType::kNumbers, std::int64_t{0}, "value for padding_mode constant"},
                PaddingModeArg(),
                ApiArg()},
       .classes = {"v1.Pad", "v2.Pad"}},
      Make);
}

}  // namespace headrace::ops
