#include <algorithm>
#include <array>
#include <string_view>

#include "ops/core/op_registry.h"
#include "ops/cv_cvt_color/cv_cvt_color.h"
#include "ops/vision/opencv/cv_args.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// cv::ColorConversionCodes between spaces of one and three channels. From HSV to BGR, OpenCV 4 and 5
// round differently.
struct Conversion {
  std::string_view name;
  int code, from, to;
};
constexpr std::array<Conversion, 18> kConversions{{
    {"BGR2GRAY", 6, 3, 1},
    {"RGB2GRAY", 7, 3, 1},
    {"GRAY2BGR", 8, 1, 3},
    {"GRAY2RGB", 8, 1, 3},
    {"BGR2YCrCb", 36, 3, 3},
    {"RGB2YCrCb", 37, 3, 3},
    {"YCrCb2BGR", 38, 3, 3},
    {"YCrCb2RGB", 39, 3, 3},
    {"BGR2HSV", 40, 3, 3},
    {"RGB2HSV", 41, 3, 3},
    {"BGR2Lab", 44, 3, 3},
    {"RGB2Lab", 45, 3, 3},
    {"BGR2HLS", 52, 3, 3},
    {"RGB2HLS", 53, 3, 3},
    {"Lab2BGR", 56, 3, 3},
    {"Lab2RGB", 57, 3, 3},
    {"BGR2YUV", 82, 3, 3},
    {"RGB2YUV", 83, 3, 3},
}};

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsCvPicture(context));
  const std::string& code = args.Text("code");
  const auto* const found = std::ranges::find(kConversions, code, &Conversion::name);
  if (found == kConversions.end()) return Unsupported("code " + code);
  if (InputOf(context).channels != found->from) {
    return Unsupported("code " + code + " takes " + std::to_string(found->from) +
                       " channels, not " + std::to_string(InputOf(context).channels));
  }
  return MakeSchema<CvCvtColorSchema>(found->code, found->to);
}

}  // namespace

void RegisterSchemaCvCvtColor(SchemaRegistry& registry) {
  std::vector<std::string> codes;
  for (const Conversion& known : kConversions) codes.emplace_back(known.name);
  registry.Add(
      {.name = "cv_cvt_color",
       .doc = "OpenCV's change of colours: `cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)`.",
       .args = {ArgSpec{"code", ArgType::kText, std::nullopt,
                        "as in cv2 without COLOR_: between BGR or RGB and GRAY, YCrCb, HSV, "
                        "Lab, HLS and YUV",
                        /*required=*/true}
                    .OneOf(std::move(codes)),
                CvVersionArg()},
       .classes = {"cv2.cvtColor"}},
      Make);
}

}  // namespace headrace::ops
