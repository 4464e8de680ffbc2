#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "ops/core/op_registry.h"
#include "ops/core/op_spec.h"
#include "ops/vision/image.h"

// What schemas of OpenCV's operators share. All that they let through, OpenCV takes.
namespace headrace::ops {

// OpenCV computes positions in 16 bits in places: no side of a picture may be longer.
inline constexpr std::int64_t kMostCvSide = 32767;

// kUnsupported: a side is longer than kMostCvSide.
Status CheckCvSides(const ImageSpec& spec);

// kUnsupported unless the operator's input is a picture of 8 bits in rows of pixels.
Status NeedsCvPicture(const CompileContext& context);

// The argument "border", by the name that it has in cv2 without BORDER_.
[[nodiscard]] ArgSpec CvBorderArg(std::string_view default_name);
// OpenCV's number of it. kUnsupported: another border.
Result<int> ReadCvBorder(const OpArgs& args);

// The argument "version": the major version of the program's cv2, on which bits depend.
[[nodiscard]] ArgSpec CvVersionArg();

}  // namespace headrace::ops
