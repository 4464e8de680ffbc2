#include <algorithm>
#include <cmath>

#include "ops/core/op_registry.h"
#include "ops/cv_warp_affine/cv_warp_affine.h"
#include "ops/vision/opencv/cv_args.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

constexpr int kNearest = 0, kLinear = 1, kInverseMap = 16;  // cv::InterpolationFlags
// OpenCV 4 computes positions in 32-bit numbers with ten bits for parts of a pixel.
constexpr double kFarthest = 1 << 20;
constexpr std::int64_t kGroup = 16;  // results that OpenCV 5 makes at a time

bool IsNear(const std::array<double, 6>& m, double width, double height) {
  for (std::size_t row = 0; row < 6; row += 3) {
    const double most =
        std::abs(m[row]) * width + std::abs(m[row + 1]) * height + std::abs(m[row + 2]);
    if (!(most < kFarthest)) return false;  // also what is not finite
  }
  return true;
}

// How OpenCV turns a matrix around.
std::array<double, 6> Inverse(std::array<double, 6> m) {
  double scale = m[0] * m[4] - m[1] * m[3];
  scale = scale != 0 ? 1.0 / scale : 0;
  const std::array<double, 4> a{m[4] * scale, -m[1] * scale, -m[3] * scale, m[0] * scale};
  return {a[0], a[1], -a[0] * m[2] - a[1] * m[5], a[2], a[3], -a[2] * m[2] - a[3] * m[5]};
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsCvPicture(context));
  CvWarpAffineSchema::Warp warp;
  const std::vector<double> matrix = args.Numbers("matrix");
  if (matrix.size() != 6) return InvalidArgument("matrix has six numbers");
  std::ranges::copy(matrix, warp.matrix.begin());
  const std::vector<std::int64_t> size = args.Ints("size");
  if (size.size() != 2) return InvalidArgument("size is [height, width]");
  if (std::min(size[0], size[1]) < 1 || std::max(size[0], size[1]) > kMostCvSide) {
    return Unsupported("a result of " + std::to_string(size[0]) + " x " + std::to_string(size[1]));
  }
  const std::string& interpolation = args.Text("interpolation");
  if (interpolation != "NEAREST" && interpolation != "LINEAR") {
    return Unsupported("interpolation " + interpolation);
  }
  const bool inverse = args.Bool("inverse");
  const auto width = static_cast<double>(size[1]), height = static_cast<double>(size[0]);
  if (!IsNear(inverse ? warp.matrix : Inverse(warp.matrix), width, height)) {
    return Unsupported("a matrix that leads further than 2^20 pixels away");
  }
  warp.flags = (interpolation == "LINEAR" ? kLinear : kNearest) | (inverse ? kInverseMap : 0);
  HR_TRY(warp.border, ReadCvBorder(args));
  const std::vector<double> outside = args.Numbers("outside");
  if (outside.size() > 4) return InvalidArgument("outside has at most four numbers");
  for (std::size_t i = 0; i < outside.size(); ++i) {
    if (!(outside[i] >= 0 && outside[i] <= 255) || outside[i] != std::floor(outside[i])) {
      return Unsupported("outside has a native form for whole numbers from 0 to 255");
    }
    warp.outside[i] = outside[i];
  }
  warp.version = args.Int("version");
  if (warp.version >= 5) {
    if (interpolation != "LINEAR" || InputOf(context).channels != 3 || size[1] % kGroup != 0) {
      return Unsupported(
          "OpenCV 5 has a native form for LINEAR, three channels and widths that "
          "are a multiple of " +
          std::to_string(kGroup));
    }
  }
  return MakeSchema<CvWarpAffineSchema>(size[0], size[1], warp);
}

}  // namespace

Status CvWarpAffineSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  out->height = height_;
  out->width = width_;
  return CheckCvSides(in);
}

void RegisterSchemaCvWarpAffine(SchemaRegistry& registry) {
  registry.Add(
      {.name = "cv_warp_affine",
       .doc = "OpenCV's affine warp by one matrix, of pixels of 8 bits: `cv2.warpAffine(image, M, "
              "(width, height))`.",
       .args = {ArgSpec{"matrix", ArgType::kNumbers, std::nullopt, "M, row by row",
                        /*required=*/true}
                    .Count({6}),
                ArgSpec{"size", ArgType::kInts, std::nullopt, "[height, width]", /*required=*/true}
                    .In(1, kMostCvSide)
                    .Count({2})
                    .Unit("pixels"),
                ArgSpec{"interpolation", ArgType::kText, std::string("LINEAR"), "NEAREST or LINEAR"}
                    .OneOf({"NEAREST", "LINEAR"}),
                {"inverse", ArgType::kBool, std::int64_t{0},
                 "M leads from the result to the source (WARP_INVERSE_MAP)"},
                CvBorderArg("CONSTANT"),
                ArgSpec{"outside", ArgType::kNumbers, 0.0, "a value for each channel, for CONSTANT"}
                    .In(0, 255)
                    .Count({1, 2, 3, 4}),
                CvVersionArg()},
       .classes = {"cv2.warpAffine"}},
      Make);
}

}  // namespace headrace::ops
