#include "ops/cv_warp_affine/cv_warp_affine.h"

#include "ops/core/op_registry.h"
#include "ops/vision/image_kernel.h"
#include "ops/vision/opencv/opencv_library.h"
#include "ops/vision/opencv/opencv_warp.h"

namespace headrace::ops {
namespace {

constexpr int kInverseMap = 16;  // cv::WARP_INVERSE_MAP

// What OpenCV 4 computes, by the library itself, which is one of 4.
class LibraryKernel final : public ImageKernel {
 public:
  LibraryKernel(const CvWarpAffineSchema& schema, const OpenCvTable& opencv)
      : warp_(schema.warp()), opencv_(opencv) {}

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const CvPicture picture = PictureOf(in, context.scratch(0));
    return CvStatus(opencv_.warp_affine(picture, warp_.matrix.data(), warp_.flags, warp_.border,
                                        warp_.outside.data(), ResultOf(memory, out)));
  }

 private:
  CvWarpAffineSchema::Warp warp_;
  const OpenCvTable& opencv_;
};

// What OpenCV 5 computes, by our own kernel.
class OwnKernel final : public ImageKernel {
 public:
  explicit OwnKernel(const CvWarpAffineSchema::Warp& warp) {
    const bool inverse = (warp.flags & kInverseMap) != 0;
    warp_.matrix = inverse ? warp.matrix : images::Inverted(warp.matrix);
    warp_.border = BorderOf(warp.border);
    for (std::size_t i = 0; i < warp_.outside.size(); ++i) {
      warp_.outside[i] = static_cast<std::uint8_t>(warp.outside[i]);
    }
  }

  Status Run(const Image& in, Params /*params*/, OpContext& context, ScratchBuffer& memory,
             Image* out) const override {
    const CvPicture picture = PictureOf(in, context.scratch(0));
    const CvResult result = ResultOf(memory, out);
    const images::Pixels pixels{picture.data, picture.height, picture.width,
                                static_cast<std::ptrdiff_t>(picture.stride)};
    if (images::WarpLinear(pixels, warp_, result.height, result.width, result.data)) {
      return Status::Ok();
    }
    return Unsupported("warpAffine has no native form for this picture");
  }

 private:
  static images::Border BorderOf(int number) {
    constexpr int kReplicate = 1, kReflect = 2, kReflect101 = 4;  // cv::BorderTypes
    switch (number) {
      case kReplicate:
        return images::Border::kReplicate;
      case kReflect:
        return images::Border::kReflect;
      case kReflect101:
        return images::Border::kReflect101;
      default:
        return images::Border::kConstant;
    }
  }

  images::Warp warp_{};
};

Result<KernelPtr> Make(const OpSchema& any_schema, const CompileContext& /*context*/) {
  const auto& schema = static_cast<const CvWarpAffineSchema&>(any_schema);
  if (schema.warp().version >= 5) {
    if (images::HasKernels()) return MakeKernel<OwnKernel>(schema.warp());
    return Unsupported("this worker's CPU has no AVX2 for OpenCV 5's warpAffine");
  }
  HR_TRY(const OpenCvTable* opencv, LoadOpenCv());
  return MakeKernel<LibraryKernel>(schema, *opencv);
}

}  // namespace

void RegisterKernelCvWarpAffine(KernelRegistry& registry) { registry.Add("cv_warp_affine", Make); }

}  // namespace headrace::ops
