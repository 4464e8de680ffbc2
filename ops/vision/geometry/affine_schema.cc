#include "ops/vision/geometry/affine_schema.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

constexpr std::int64_t kMostSide = 32768;  // pixels, of tensors

}  // namespace

Status CheckTensorSides(const ImageSpec& image) {
  if (image.height <= kMostSide && image.width <= kMostSide) return Status::Ok();
  return Unsupported("transforms tensors of at most " + std::to_string(kMostSide) +
                     " pixels on a side");
}

Result<AffineSchema::Pixels> AffineSchema::ReadPixels(const OpArgs& args,
                                                      const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsKnownElements(args, context));
  const bool tensor = context.input.layout == Layout::kChw;
  Pixels pixels;
  HR_TRY(pixels.api, ReadApi(args));
  HR_TRY(pixels.affine, ReadAffineArgs(args, InputOf(context), tensor));
  HR_TRY(pixels.rounding, UniformRounding(context));
  return pixels;
}

std::vector<ArgSpec> AffineSchema::ArgSpecs() {
  std::vector<ArgSpec> args = {ArgSpec{
      "center", ArgType::kNumbers, std::nullopt,
      "x and y of what stays in its place, from the upper left corner; the image's center when "
      "left out"}
                                   .Count({2})
                                   .Unit("pixels")};
  for (ArgSpec& arg : AffineArgSpecs(MatrixProducts::kUnknown)) args.push_back(std::move(arg));
  args.push_back(ApiArg());
  args.push_back(FloatsArg());
  return args;
}

Status AffineSchema::Shape(const ImageSpec& in, ImageSpec* out) const {
  *out = in;
  return pixels_.affine.tensor ? CheckTensorSides(in) : Status::Ok();
}

Result<std::optional<AffineSchema::Point>> AffineSchema::ReadCenter(const OpArgs& args) {
  if (!args.Has("center")) return std::optional<Point>();
  const std::vector<double> center = args.Numbers("center");
  if (center.size() != 2) return Unsupported("center is not x and y");
  return std::optional(Point{center[0], center[1]});
}

AffineSchema::Point AffineSchema::CenterOf(const std::optional<Point>& center,
                                           const ImageSpec& image) const {
  const Point middle{static_cast<double>(image.width) * 0.5,
                     static_cast<double>(image.height) * 0.5};
  if (!pixels_.affine.tensor) return center.value_or(middle);
  return center ? Point{(*center)[0] - middle[0], (*center)[1] - middle[1]} : Point{0, 0};
}

Result<AffineSchema::Motion> AffineSchema::Read(Params params, const ImageSpec& image) {
  Motion motion;
  std::memcpy(motion.matrix.data(), params.data(), sizeof(motion.matrix));
  for (const double value : motion.matrix) {
    if (!std::isfinite(value)) return InvalidArgument("matrix is not of finite numbers");
  }
  const std::int32_t turns = params.back();
  if (turns < -1 || turns > 3 || (turns > 0 && turns != 2 && image.height != image.width)) {
    return InvalidArgument("the image cannot be turned " + std::to_string(turns) + " times");
  }
  if (turns >= 0) motion.turns = turns;
  return motion;
}

Status AffineSchema::Write(const Motion& motion, const ImageSpec& image,
                           MutableParams params) const {
  constexpr double kMost = 1e6;  // for tensors; beyond it float32 runs out of numbers
  for (const double value : motion.matrix) {
    if (!std::isfinite(value) || (pixels_.affine.tensor && std::abs(value) > kMost)) {
      return Unsupported("the image is turned into a line");
    }
  }
  HR_RETURN_IF_ERROR(CheckTurn(motion.turns, image));
  std::memcpy(params.data(), motion.matrix.data(), sizeof(motion.matrix));
  params.back() = motion.turns.value_or(-1);
  return Status::Ok();
}

Result<std::vector<UniformBounds>> ReadBounds(const OpArgs& args, std::string_view name) {
  const std::vector<double> values = args.Numbers(name);
  if (values.size() % 2 != 0) return Unsupported(std::string(name) + " are not pairs of bounds");
  constexpr double kMost = 1e6;
  std::vector<UniformBounds> bounds;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    if (!(values[i] >= -kMost && values[i] <= values[i + 1] && values[i + 1] <= kMost)) {
      return Unsupported(std::string(name) + " are not bounds of random numbers");
    }
    bounds.push_back({static_cast<float>(values[i]), static_cast<float>(values[i + 1])});
  }
  return bounds;
}

}  // namespace headrace::ops
