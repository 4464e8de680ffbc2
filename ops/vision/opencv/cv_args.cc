#include "ops/vision/opencv/cv_args.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// Names and numbers of cv::BorderTypes.
constexpr std::array<std::pair<std::string_view, int>, 4> kBorders{
    {{"CONSTANT", 0}, {"REPLICATE", 1}, {"REFLECT", 2}, {"REFLECT_101", 4}}};

}  // namespace

Status CheckCvSides(const ImageSpec& spec) {
  if (spec.height <= kMostCvSide && spec.width <= kMostCvSide) return Status::Ok();
  return Unsupported("OpenCV: a picture with a side of over " + std::to_string(kMostCvSide) +
                     " pixels");
}

Status NeedsCvPicture(const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsPilImage(context));
  const int channels = InputOf(context).channels;
  if (channels == 1 || channels == 3) return Status::Ok();
  return Unsupported("has a native form for one and three channels, not for " +
                     std::to_string(channels));
}

ArgSpec CvBorderArg(std::string_view default_name) {
  return ArgSpec{"border", ArgType::kText, std::string(default_name),
                 "what stands for pixels outside: CONSTANT, REPLICATE, REFLECT or REFLECT_101"}
      .OneOf({"CONSTANT", "REPLICATE", "REFLECT", "REFLECT_101"});
}

Result<int> ReadCvBorder(const OpArgs& args) {
  const std::string& name = args.Text("border");
  const auto* const found =
      std::ranges::find(kBorders, name, &std::pair<std::string_view, int>::first);
  if (found == kBorders.end()) return Unsupported("border " + name);
  return found->second;
}

ArgSpec CvVersionArg() {
  return {"version", ArgType::kInt, std::nullopt, "major version of the program's cv2",
          /*required=*/true};
}

}  // namespace headrace::ops
