#include "ops/core/op_registry.h"
#include "ops/reverse_channels/reverse_channels.h"
#include "ops/vision/opencv/cv_args.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& /*args*/, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsCvPicture(context));
  return MakeSchema<ReverseChannelsSchema>();
}

}  // namespace

void RegisterSchemaReverseChannels(SchemaRegistry& registry) {
  registry.Add({.name = "reverse_channels",
                .doc = "The channels of each pixel from the last to the first: "
                       "`cv2.cvtColor(image, cv2.COLOR_BGR2RGB)`, `image[:, :, ::-1]`.",
                .args = {},
                .classes = {"cv2.cvtColor", "numpy.ndarray"}},
               Make);
}

}  // namespace headrace::ops
