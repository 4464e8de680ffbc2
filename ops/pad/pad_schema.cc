#include "ops/core/op_registry.h"
#include "ops/pad/pad.h"
#include "ops/vision/floats.h"
#include "ops/vision/geometry/border.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const Padding padding, ReadPadding(args, "padding"));
  HR_TRY(const PaddingMode mode, ReadPaddingMode(args, "padding_mode"));
  HR_TRY(const int api, ReadApi(args));
  if (mode != PaddingMode::kConstant) HR_RETURN_IF_ERROR(NeedsBytesOrFloats(context));
  HR_TRY(const ChannelValues fill, ReadBorderFill(args, "fill", mode, api, InputOf(context)));
  return MakeSchema<PadSchema>(padding, mode, fill);
}

}  // namespace

Status PadSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  HR_RETURN_IF_ERROR(CheckBorder(in.width, padding_.left, padding_.right, mode_));
  HR_RETURN_IF_ERROR(CheckBorder(in.height, padding_.top, padding_.bottom, mode_));
  *out = in;
  out->width += padding_.left + padding_.right;
  out->height += padding_.top + padding_.bottom;
  return Status::Ok();
}

void RegisterSchemaPad(SchemaRegistry& registry) {
  registry.Add(
      {.name = "pad",
       .doc = "A border around the image. A negative one: a Python stage.",
       .args = {{"padding", ArgType::kInts, std::nullopt,
                 "all sides, [left/right, top/bottom] or [left, top, right, bottom]",
                 /*required=*/true},
                {"fill", ArgType::kNumbers, std::int64_t{0}, "value for padding_mode constant"},
                PaddingModeArg(),
                ApiArg()},
       .classes = {"v1.Pad", "v2.Pad"}},
      Make);
}

}  // namespace headrace::ops
