#include "ops/channels_last/channels_last.h"
#include "ops/core/op_registry.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& /*args*/, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsTensor(context));
  return MakeSchema<ChannelsLastSchema>();
}

}  // namespace

// torch has several strides for a dimension of size 1, and its operators choose among them.
Status ChannelsLastSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  if (in.height == 1 || in.width == 1) {
    return Unsupported("the strides of a picture with one row or column have no native form");
  }
  *out = OutputKind(in);
  return Status::Ok();
}

void RegisterSchemaChannelsLast(SchemaRegistry& registry) {
  registry.Add({.name = "channels_last",
                .doc = "The elements of a tensor in the order of a picture's memory, as "
                       "`PILToTensor` and `ToImage` leave them: only of tensors that a batch "
                       "does not stack.",
                .args = {},
                .classes = {"torch.Tensor"}},
               Make);
}

}  // namespace headrace::ops
