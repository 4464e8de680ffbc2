#include "ops/core/op_registry.h"
#include "ops/flip/flip.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& /*context*/) {
  const std::string& axis = args.Text("axis");
  if (axis != "horizontal" && axis != "vertical") {
    return InvalidArgument("axis must be horizontal or vertical, not " + axis);
  }
  return MakeSchema<FlipSchema>(axis == "horizontal");
}

}  // namespace

void RegisterSchemaFlip(SchemaRegistry& registry) {
  registry.Add({.name = "flip",
                .doc = "PIL's transpose, mirroring: always, and by a given axis.",
                .args = {ArgSpec{"axis", ArgType::kText, std::nullopt,
                                 "horizontal (left to right) or vertical", /*required=*/true}
                             .OneOf({"horizontal", "vertical"})},
                .classes = {"PIL.Image.Image.transpose"}},
               Make);
}

}  // namespace headrace::ops
