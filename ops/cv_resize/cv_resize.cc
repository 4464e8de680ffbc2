#include "ops/cv_resize/cv_resize.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/opencv/opencv_library.h"
#include "ops/vision/opencv/opencv_resize.h"

namespace headrace::ops {
namespace {

constexpr int kLinear = 1, kArea = 3;  // cv::InterpolationFlags

class CvResizeKernel final : public ImageKernel {
 public:
  CvResizeKernel(const CvResizeSchema& schema, const OpenCvTable& opencv)
      : interpolation_(schema.interpolation()), opencv_(opencv) {}

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const CvPicture picture = PictureOf(in, context.scratch(0));
    const CvResult result = ResultOf(memory, out);
    if (RunOwn(picture, result)) return Status::Ok();
    return CvStatus(opencv_.resize(picture, interpolation_, result));
  }

 private:
  // Our own kernels have OpenCV's bits and take a half to a quarter of its time. They leave some
  // sizes to OpenCV.
  [[nodiscard]] bool RunOwn(const CvPicture& in, const CvResult& out) const {
    if (in.channels != 3 || !images::HasKernels()) return false;
    const images::Pixels pixels{in.data, in.height, in.width,
                                static_cast<std::ptrdiff_t>(in.stride)};
    if (interpolation_ == kLinear) {
      return images::ResizeLinear(pixels, out.height, out.width, out.data);
    }
    return interpolation_ == kArea && images::ResizeArea(pixels, out.height, out.width, out.data);
  }

  int interpolation_;
  const OpenCvTable& opencv_;
};

Result<KernelPtr> Make(const OpSchema& schema, const CompileContext& /*context*/) {
  HR_TRY(const OpenCvTable* opencv, LoadOpenCv());
  return MakeKernel<CvResizeKernel>(static_cast<const CvResizeSchema&>(schema), *opencv);
}

}  // namespace

void RegisterKernelCvResize(KernelRegistry& registry) { registry.Add("cv_resize", Make); }

}  // namespace headrace::ops
