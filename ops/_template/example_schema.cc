#include "ops/_template/example.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  return MakeSchema<ExampleSchema>(args.Number("p"));
}

}  // namespace

// Draws in the framework's order: each call here is one call there.
Status ExampleSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng, MutableParams params,
                                ImageSpec* out) const {
  params[0] = Happens(rng, p_) ? 1 : 0;
  return Shape(in, out);
}

void RegisterSchemaExample(SchemaRegistry& registry) {
  registry.Add({.name = "example",
                .doc = "Inverts a PIL image with probability p.",
                .args = {{"p", ArgType::kNumber, 0.5, "probability"}},
                .classes = {"v1.RandomInvert", "v2.RandomInvert"}},
               Make);
}

}  // namespace headrace::ops
