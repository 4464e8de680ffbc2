#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "ops/core/op_registry.h"
#include "ops/cv_resize/cv_resize.h"
#include "ops/vision/opencv/cv_args.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// Names and numbers of cv::InterpolationFlags.
constexpr std::array<std::pair<std::string_view, int>, 7> kInterpolations{{{"NEAREST", 0},
                                                                           {"LINEAR", 1},
                                                                           {"CUBIC", 2},
                                                                           {"AREA", 3},
                                                                           {"LANCZOS4", 4},
                                                                           {"LINEAR_EXACT", 5},
                                                                           {"NEAREST_EXACT", 6}}};

Result<std::int64_t> ReadSide(std::int64_t side) {
  if (side >= 1 && side <= kMostCvSide) return side;
  return Unsupported("a side of " + std::to_string(side) + " pixels");
}

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  using Rule = CvResizeSchema::Rule;
  HR_RETURN_IF_ERROR(NeedsCvPicture(context));
  const std::string& name = args.Text("interpolation");
  const auto* const found =
      std::ranges::find(kInterpolations, name, &std::pair<std::string_view, int>::first);
  if (found == kInterpolations.end()) return Unsupported("interpolation " + name);
  const std::vector<std::int64_t> size = args.Ints("size");
  const std::string& rule = args.Text("rule");
  if (rule == "sides") {
    if (size.size() != 2) return InvalidArgument("size is [height, width]");
    HR_TRY(const std::int64_t height, ReadSide(size[0]));
    HR_TRY(const std::int64_t width, ReadSide(size[1]));
    return MakeSchema<CvResizeSchema>(Rule::kSides, height, width, found->second);
  }
  if (rule != "longest" && rule != "shortest") return Unsupported("rule " + rule);
  if (size.size() != 1) return InvalidArgument("size is the one side");
  HR_TRY(const std::int64_t side, ReadSide(size[0]));
  return MakeSchema<CvResizeSchema>(rule == "longest" ? Rule::kLongest : Rule::kShortest, side,
                                    side, found->second);
}

}  // namespace

// Source: albumentations/augmentations/geometric/resize.py and functional.py, which round(side *
// scale) in Python.
Status CvResizeSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  out->height = height_;
  out->width = width_;
  if (rule_ != Rule::kSides) {
    const std::int64_t side =
        rule_ == Rule::kLongest ? std::max(in.height, in.width) : std::min(in.height, in.width);
    const double scale = static_cast<double>(height_) / static_cast<double>(side);
    const auto scaled = [&](std::int64_t from) {
      return std::max<std::int64_t>(1, RoundHalfEven(static_cast<double>(from) * scale));
    };
    out->height = scaled(in.height);
    out->width = scaled(in.width);
  }
  HR_RETURN_IF_ERROR(CheckCvSides(in));
  return CheckCvSides(*out);
}

void RegisterSchemaCvResize(SchemaRegistry& registry) {
  registry.Add(
      {.name = "cv_resize",
       .doc = "OpenCV's resize of pixels of 8 bits: `cv2.resize(image, (width, height), "
              "interpolation=cv2.INTER_AREA)`.",
       .args =
           {ArgSpec{"size", ArgType::kInts, std::nullopt, "[height, width], or the one side",
                    /*required=*/true}
                .In(1, kMostCvSide)
                .Count({1, 2})
                .Unit("pixels"),
            ArgSpec{"rule", ArgType::kText, std::string("sides"),
                    "sides: both are given; longest, shortest: that one is"}
                .OneOf({"sides", "longest", "shortest"}),
            ArgSpec{
                "interpolation", ArgType::kText, std::string("LINEAR"),
                "as in cv2 without INTER_: NEAREST, LINEAR, CUBIC, AREA, LANCZOS4, LINEAR_EXACT "
                "or NEAREST_EXACT"}
                .OneOf({"NEAREST", "LINEAR", "CUBIC", "AREA", "LANCZOS4", "LINEAR_EXACT",
                        "NEAREST_EXACT"}),
            CvVersionArg()},
       .classes = {"cv2.resize"}},
      Make);
}

}  // namespace headrace::ops
