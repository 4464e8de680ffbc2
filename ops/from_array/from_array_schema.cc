#include "ops/core/op_registry.h"
#include "ops/from_array/from_array.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  const std::string& mode = args.Text("mode");
  if (mode == "RGB") return MakeSchema<FromArraySchema>(3);
  if (mode == "L") return MakeSchema<FromArraySchema>(1);
  return Unsupported("mode " + mode);
}

}  // namespace

Status FromArraySchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = OutputKind(in);
  if (in == *out) return Status::Ok();
  return InvalidArgument("rows of the array are not images of " + std::to_string(channels_) +
                         " channels of uint8");
}

void RegisterSchemaFromArray(SchemaRegistry& registry) {
  registry.Add(
      {.name = "from_array",
       .doc = "A row of a uint8 array in memory as a PIL image: `Image.fromarray(row)`, as CIFAR10 "
              "(HWC) and MNIST (HW) make it. The first node of a chain over arrays.",
       .args = {ArgSpec{"mode", ArgType::kText, std::nullopt,
                        "\"RGB\" for [H, W, 3], \"L\" for [H, W]",
                        /*required=*/true}
                    .OneOf({"RGB", "L"})},
       .classes = {"datasets.CIFAR10", "datasets.MNIST"}},
      Make);
}

}  // namespace headrace::ops
