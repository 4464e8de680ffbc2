#include "ops/core/op_registry.h"
#include "ops/pil_to_tensor/pil_to_tensor.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& /*args*/, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  return MakeSchema<PilToTensorSchema>();
}

}  // namespace

void RegisterSchemaPilToTensor(SchemaRegistry& registry) {
  registry.Add({.name = "pil_to_tensor",
                .doc = "PIL image to a uint8 CHW tensor.",
                .args = {},
                .classes = {"v1.PILToTensor", "v2.PILToTensor"}},
               Make);
}

}  // namespace headrace::ops
