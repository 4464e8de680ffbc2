#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/geometry/affine_matrix.h"

namespace headrace::ops {

// The schema half of an operator that transforms images by a random matrix. Params: the matrix, six
// doubles, and a word that says how many quarter turns it is, -1 where it is none. It is made of
// sines and cosines of the C library, which is torch's in the client.
class AffineSchema : public OpSchema {
 public:
  struct Pixels {
    AffineArgs affine;
    int api = 1;
    TorchGenerator::Rounding rounding = TorchGenerator::Rounding::kFused;  // of uniform_
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
  // Of the arguments for both.
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
  // Around which point the matrix is made.
  [[nodiscard]] Point CenterOf(const std::optional<Point>& center, const ImageSpec& image) const;
  // kUnsupported: a motion whose pixels are not known.
  [[nodiscard]] Status Write(const Motion& motion, const ImageSpec& image,
                             MutableParams params) const;

 private:
  Pixels pixels_;
};

// Bounds of torch.empty(1).uniform_(low, high).
struct UniformBounds {
  float low = 0, high = 0;
};
// Pairs of bounds. kUnsupported: not pairs, or such as uniform_ raises on.
Result<std::vector<UniformBounds>> ReadBounds(const OpArgs& args, std::string_view name);

}  // namespace headrace::ops
