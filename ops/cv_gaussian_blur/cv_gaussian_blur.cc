#include "ops/cv_gaussian_blur/cv_gaussian_blur.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/opencv/opencv_library.h"

namespace headrace::ops {
namespace {

class CvGaussianBlurKernel final : public ImageKernel {
 public:
  CvGaussianBlurKernel(const CvGaussianBlurSchema& schema, const OpenCvTable& opencv)
      : kernel_(schema.kernel()), opencv_(opencv) {}

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const CvPicture picture = PictureOf(in, context.scratch(0));
    return CvStatus(opencv_.gaussian_blur(picture, kernel_.width, kernel_.height, kernel_.sigma_x,
                                          kernel_.sigma_y, kernel_.border, ResultOf(memory, out)));
  }

 private:
  CvGaussianBlurSchema::Kernel kernel_;
  const OpenCvTable& opencv_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  HR_TRY(const OpenCvTable* opencv, LoadOpenCv());
  return MakeKernel<CvGaussianBlurKernel>(static_cast<const CvGaussianBlurSchema&>(schema),
                                          *opencv);
}

}  // namespace

void RegisterKernelCvGaussianBlur(KernelRegistry& registry) {
  registry.Add("cv_gaussian_blur", Make);
}

}  // namespace headrace::ops
