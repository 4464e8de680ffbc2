#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/geometry/affine_matrix.h"
#include "ops/vision/image_schema.h"

namespace headrace::ops {

// The schema half of an operator that transforms images by a random matrix. Params: the matrix as
// six doubles, and a word with its number of quarter turns (-1: none). The matrix comes from sines
// and cosines of the C library, as in the client's torch.
class AffineSchema : public ImageSchema {
 public:
  struct Pixels {
    AffineArgs affine;
    int api = 1;
    TorchGenerator::Rounding rounding = TorchGenerator::Rounding::kFused;  // rounding of uniform_
  };
  struct Motion {
    AffineMatrix matrix = kUnmoved;  // for tensors it counts from the image's center
    std::optional<int> turns;
  };
  // x and y, from the upper left corner.
  using Point = std::array<double, 2>;
  // kUnsupported: an input, interpolation or fill without a native form.
  static Result<Pixels> ReadPixels(const OpArgs& args, const CompileContext& context);
  static Result<std::optional<Point>> ReadCenter(const OpArgs& args);
  // The arguments for both.
  static std::vector<ArgSpec> ArgSpecs();

  explicit AffineSchema(const Pixels& pixels) : pixels_(pixels) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override {
    return 1 + static_cast<int>(sizeof(AffineMatrix) / sizeof(std::int32_t));
  }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override;
  [[nodiscard]] const Pixels& pixels() const { return pixels_; }

  // kInvalidArgument: no draw writes such params for an image of that spec.
  static Result<Motion> Read(Params params, const ImageSpec& image);

 protected:
  // The point around which the matrix is made.
  [[nodiscard]] Point CenterOf(const std::optional<Point>& center, const ImageSpec& image) const;
  // kUnsupported: a motion whose pixels are not known.
  [[nodiscard]] Status Write(const Motion& motion, const ImageSpec& image,
                             MutableParams params) const;

 private:
  Pixels pixels_;
};

// kUnsupported: a tensor whose coordinates float32 does not hold.
Status CheckTensorSides(const ImageSpec& image);

// Bounds of torch.empty(1).uniform_(low, high).
struct UniformBounds {
  float low = 0, high = 0;
};
// Reads pairs of bounds. kUnsupported: not pairs, or bounds on which uniform_ raises.
Result<std::vector<UniformBounds>> ReadBounds(const OpArgs& args, std::string_view name);

}  // namespace headrace::ops
