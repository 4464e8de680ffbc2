#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/core/interpolation.h"
#include "ops/core/op_registry.h"

namespace headrace::ops {

// The schema half of an operator that transforms PIL images by a random matrix. Params: the matrix,
// six doubles. It is made of sines and cosines of the C library, which is torch's in the client.
class AffineSchema : public OpSchema {
 public:
  // As TransformAffine takes it (ops/image/affine.h).
  using Matrix = std::array<double, 6>;
  struct Pixels {
    Interpolation interpolation = Interpolation::kNearest;
    std::array<std::uint8_t, 3> fill{};
    TorchGenerator::Rounding rounding = TorchGenerator::Rounding::kFused;  // of uniform_
  };
  // kUnsupported: an input, interpolation or fill without a native form.
  static Result<Pixels> ReadPixels(const OpArgs& args, const CompileContext& context);
  // Of the arguments for ReadPixels.
  static std::vector<ArgSpec> ArgSpecs();

  explicit AffineSchema(const Pixels& pixels) : pixels_(pixels) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  [[nodiscard]] int param_words() const override { return sizeof(Matrix) / sizeof(std::int32_t); }
  [[nodiscard]] const Pixels& pixels() const { return pixels_; }

  // kInvalidArgument: no draw writes such params.
  static Result<Matrix> Read(Params params);

 protected:
  static void Write(const Matrix& matrix, MutableParams params);

 private:
  Pixels pixels_;
};

// Bounds of torch.empty(1).uniform_(low, high).
struct UniformBounds {
  float low = 0, high = 0;
};
// Pairs of bounds. kUnsupported: not pairs, or such as uniform_ raises on.
Result<std::vector<UniformBounds>> ReadBounds(const OpArgs& args, std::string_view name);

// math.radians
[[nodiscard]] double Radians(double degrees);

}  // namespace headrace::ops
