#include "ops/core/element.h"
#include "ops/core/op_registry.h"
#include "ops/to_tensor/to_tensor.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& /*args*/, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  return MakeSchema<ToTensorSchema>();
}

}  // namespace

double ToTensorSchema::Map(int /*channel*/, double value) const {
  return RoundTo(DType::kF32, value / 255.0);
}

void RegisterSchemaToTensor(SchemaRegistry& registry) {
  registry.Add({.name = "to_tensor",
                .doc = "PIL image to a float32 CHW tensor: each value divided by 255.",
                .args = {},
                .classes = {"v1.ToTensor", "v2.ToTensor"}},
               Make);
}

}  // namespace headrace::ops
