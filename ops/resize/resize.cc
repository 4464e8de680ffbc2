#include "ops/resize/resize.h"

#include "ops/core/op_registry.h"
#include "ops/vision/floats.h"
#include "ops/vision/resample/crop_resize.h"

namespace headrace::ops {
namespace {

class ResizeKernel final : public FloatKernel {
 public:
  explicit ResizeKernel(const CropResize& resize) : resize_(resize) {}

  [[nodiscard]] Result<std::optional<Window>> InputWindow(const Request& request,
                                                          OpContext& context) const override {
    HR_TRY(const Window read,
           resize_.InputWindow(WholeOf(request.in), request.out, request.wanted, context));
    return std::optional(read);
  }

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    return resize_.Run(WholeOf(in.spec), in, context, memory, out);
  }

 private:
  CropResize resize_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& context) {
  return MakeKernel<ResizeKernel>(
      CropResize(static_cast<const ResizeSchema&>(schema).resizing(), context.libraries->pillow));
}

}  // namespace

void RegisterKernelResize(KernelRegistry& registry) { registry.Add("resize", Make); }

}  // namespace headrace::ops
