#include "ops/cv_cvt_color/cv_cvt_color.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/opencv/opencv_library.h"

namespace headrace::ops {
namespace {

class CvCvtColorKernel final : public ImageKernel {
 public:
  CvCvtColorKernel(const CvCvtColorSchema& schema, const OpenCvTable& opencv)
      : code_(schema.code()), opencv_(opencv) {}

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const CvPicture picture = PictureOf(in, context.scratch(0));
    return CvStatus(opencv_.cvt_color(picture, code_, ResultOf(memory, out)));
  }

 private:
  int code_;
  const OpenCvTable& opencv_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  HR_TRY(const OpenCvTable* opencv, LoadOpenCv());
  return MakeKernel<CvCvtColorKernel>(static_cast<const CvCvtColorSchema&>(schema), *opencv);
}

}  // namespace

void RegisterKernelCvCvtColor(KernelRegistry& registry) { registry.Add("cv_cvt_color", Make); }

}  // namespace headrace::ops
