#include "ops/core/op_registry.h"
#include "ops/random_resize/random_resize.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const Resizing resizing, ReadResizing(args, context));
  HR_TRY(const Size least, ReadSize(args, "min_size"));
  HR_TRY(const Size end, ReadSize(args, "max_size"));
  if (least.height >= end.height) {
    return InvalidArgument("random_ expects 'from' to be less than 'to'");
  }
  HR_TRY(const bool from_python, ReadFromPython(args));
  return MakeSchema<RandomResizeSchema>(least.height, end.height, resizing, from_python);
}

}  // namespace

Status RandomResizeSchema::DrawnShape(const ImageSpec& in, Params params, ImageSpec* out) const {
  if (params[0] < least_ || params[0] >= end_) {
    return InvalidArgument("a length of " + std::to_string(params[0]) + " is never drawn");
  }
  return resizing_.ShorterEdgeTo(params[0], /*most=*/0, in, out);
}

Status RandomResizeSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                     ImageSpec* out) const {
  params[0] = static_cast<std::int32_t>(rng.RandInt(least_, end_));
  return DrawnShape(in, params, out);
}

Status RandomResizeSchema::DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng,
                                               MutableParams params, ImageSpec* out) const {
  const std::uint32_t above = rng.Below(static_cast<std::uint32_t>(end_ - least_));
  params[0] = static_cast<std::int32_t>(least_ + above);
  return DrawnShape(in, params, out);
}

void RegisterSchemaRandomResize(SchemaRegistry& registry) {
  OpSpec spec{
      .name = "random_resize",
      .doc =
          "Resizes the shorter edge of a PIL image or a tensor of uint8 to a random length. The "
          "size of the output is drawn, so an operator that makes one size follows it: a crop, "
          "or a resize to height and width.",
      .args = {ArgSpec{"min_size", ArgType::kInt, std::nullopt, "smallest length",
                       /*required=*/true}
                   .In(1, 1 << 20)
                   .Unit("pixels"),
               ArgSpec{"max_size", ArgType::kInt, std::nullopt,
                       "end of the lengths: it is never drawn",
                       /*required=*/true}
                   .In(1, 1 << 20)
                   .Unit("pixels"),
               GeneratorArg()},
      .classes = {"v2.RandomResize"},
      .draws = "torch: the length (randint); Python: the length (randrange)",
      .shares_draws = SharedDraws::kAnyKind};
  for (ArgSpec& arg : ResizingArgs()) spec.args.push_back(std::move(arg));
  registry.Add(std::move(spec), Make);
}

}  // namespace headrace::ops
