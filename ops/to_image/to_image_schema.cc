#include "ops/core/op_registry.h"
#include "ops/to_image/to_image.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& /*args*/, const CompileContext& /*context*/) {
  return MakeSchema<ToImageSchema>();
}

}  // namespace

void RegisterSchemaToImage(SchemaRegistry& registry) {
  registry.Add({.name = "to_image",
                .doc = "PIL image to a uint8 CHW tensor; tensors stay as they are.",
                .args = {},
                .classes = {"v2.ToImage"}},
               Make);
}

}  // namespace headrace::ops
