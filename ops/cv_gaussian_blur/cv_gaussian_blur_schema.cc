#include "ops/core/op_registry.h"
#include "ops/cv_gaussian_blur/cv_gaussian_blur.h"
#include "ops/vision/opencv/cv_args.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// Bounds on what one picture may cost. A kernel that OpenCV makes of a sigma is six of it wide.
constexpr std::int64_t kMostSide = 255;
constexpr double kMostSigma = 40;

bool IsSide(std::int64_t side, double sigma) {
  return side == 0 ? sigma > 0 : side > 0 && side <= kMostSide && side % 2 == 1;
}

bool IsSigma(double sigma) { return sigma >= 0 && sigma <= kMostSigma; }

// Source: modules/imgproc/src/smooth.dispatch.cpp, GaussianBlur and createGaussianKernels.
Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsCvPicture(context));
  const std::vector<std::int64_t> size = args.Ints("size");
  if (size.size() != 2) return InvalidArgument("size is [height, width]");
  const double sigma_x = args.Number("sigma_x");
  const double given_y = args.Number("sigma_y");
  const double sigma_y = given_y == 0 ? sigma_x : given_y;
  if (!IsSigma(sigma_x) || !IsSigma(sigma_y)) return Unsupported("that sigma");
  if (!IsSide(size[0], sigma_y) || !IsSide(size[1], sigma_x)) {
    return Unsupported("size has a native form for odd sides up to " + std::to_string(kMostSide) +
                       ", or 0 with a sigma");
  }
  HR_TRY(const int border, ReadCvBorder(args));
  return MakeSchema<CvGaussianBlurSchema>(CvGaussianBlurSchema::Kernel{
      static_cast<int>(size[1]), static_cast<int>(size[0]), sigma_x, given_y, border});
}

}  // namespace

Status CvGaussianBlurSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  return CheckCvSides(in);
}

void RegisterSchemaCvGaussianBlur(SchemaRegistry& registry) {
  registry.Add(
      {.name = "cv_gaussian_blur",
       .doc = "OpenCV's blur of pixels of 8 bits: `cv2.GaussianBlur(image, (5, 5), 0)`.",
       .args = {ArgSpec{"size", ArgType::kInts, std::nullopt,
                        "[height, width] of the kernel, odd; 0: made of sigma", /*required=*/true}
                    .In(0, 255)
                    .Count({2})
                    .Unit("pixels"),
                ArgSpec{"sigma_x", ArgType::kNumber, 0.0, "0: made of the width"}.In(0, 40).Unit(
                    "pixels"),
                ArgSpec{"sigma_y", ArgType::kNumber, 0.0, "0: sigma_x"}.In(0, 40).Unit("pixels"),
                CvBorderArg("REFLECT_101"), CvVersionArg()},
       .classes = {"cv2.GaussianBlur"}},
      Make);
}

}  // namespace headrace::ops
