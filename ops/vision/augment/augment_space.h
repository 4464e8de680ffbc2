#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/op_registry.h"
#include "ops/vision/geometry/affine_args.h"
#include "ops/vision/geometry/affine_matrix.h"
#include "ops/vision/image_schema.h"

// What torchvision's auto-augment transforms share: the operations that they choose from, and how
// large each may be. The magnitudes are numbers from the client's torch and libm, which no other
// library rounds the same way. So they come as arguments, and params say only which one is drawn.
namespace headrace::ops {

// Values go over the wire. RandAugment and TrivialAugmentWide choose from all but the last one.
enum class AugmentOp : std::uint8_t {
  kIdentity = 0,
  kShearX = 1,
  kShearY = 2,
  kTranslateX = 3,
  kTranslateY = 4,
  kRotate = 5,
  kBrightness = 6,
  kColor = 7,
  kContrast = 8,
  kSharpness = 9,
  kPosterize = 10,
  kSolarize = 11,
  kAutoContrast = 12,
  kEqualize = 13,
  kInvert = 14,
};
inline constexpr std::int64_t kAugmentOps = 15;
inline constexpr std::int64_t kRandomAugmentOps = 14;

// Identity, AutoContrast, Equalize and Invert have none.
[[nodiscard]] bool HasMagnitude(AugmentOp op);
// Posterize and Solarize have a magnitude, but no direction.
[[nodiscard]] bool IsSigned(AugmentOp op);

// An operation with its numbers.
struct Augmentation {
  AugmentOp op = AugmentOp::kIdentity;
  AffineMatrix matrix = kUnmoved;  // for shears, translations and rotations
  std::optional<int> turns;        // for a rotation by quarter turns
  double factor = 1;               // for brightness, color, contrast and sharpness
  int bits = 8;                    // for posterize
  double threshold = 256;          // for solarize
};

class AugmentSpace {
 public:
  // The params of one operation: the operation and its magnitude's position.
  static constexpr std::size_t kWords = 2;
  // The longest side for which translations by a part of the image are known.
  static constexpr std::int64_t kMostSide = 32768;  // pixels

  // The arguments list the magnitudes of bins first..first+count-1 of `bins`.
  struct Bins {
    std::int64_t count = 1;
    std::int64_t first = 0;
    std::int64_t bins = 2;
    bool by_size = false;  // translations are a part of the image, at the end part / of
    std::int64_t most_side = kMostSide;
    std::int64_t part = 150;
    std::int64_t of = 331;
    bool tensor = false;  // PIL images are made tensors
  };
  // kUnsupported: an input, interpolation or fill without a native form. kInvalidArgument: lists of
  // magnitudes that are not `count` long, or that no transform has.
  static Result<AugmentSpace> Make(const OpArgs& args, const CompileContext& context,
                                   const Bins& bins);
  // The arguments for Make.
  static std::vector<ArgSpec> ArgSpecs(bool by_size);
  // Sentences for an operator's page.
  static std::string SizeLimits();

  [[nodiscard]] int api() const { return api_; }
  // For tensors, the operations are torchvision's operations for tensors, and matrices count from
  // the image's center.
  [[nodiscard]] const AffineArgs& affine() const { return affine_; }

  // kUnsupported: the image is too large.
  [[nodiscard]] Status CheckSize(const ImageSpec& image) const;

  // Reverses half of the signed operations: v1 draws randint(2), v2 rand() <= 0.5.
  [[nodiscard]] bool DrawNegative(AugmentOp op, TorchGenerator& rng) const;
  // REQUIRES: words.size() == kWords.
  static void Write(AugmentOp op, std::int64_t level, bool negative, MutableParams words);
  // kUnsupported: the words make pixels in an order for which a mean is not known.
  [[nodiscard]] Status CheckStep(Params words, const ImageSpec& image) const;
  // Reads what Write wrote, for an image of that spec. kInvalidArgument: no draw writes such words.
  Result<Augmentation> Read(Params words, const ImageSpec& image) const;

 private:
  // Reads one of the lists of magnitudes, each value in [low, high].
  Result<std::vector<double>> List(const OpArgs& args, std::string_view name, std::int64_t each,
                                   double low, double high) const;
  Status ReadTranslations(const OpArgs& args);
  Result<double> Pixels(std::size_t level, std::int64_t side) const;
  void TurnAroundCorner(const ImageSpec& image, AffineMatrix& matrix) const;

  Bins bins_;
  int api_ = 1;
  AffineArgs affine_;
  std::vector<double> shear_x_, shear_y_, rotate_, enhance_, posterize_, solarize_;
  std::vector<double> translate_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> exceptions_;  // by bin and side
};

// The schema half of an operator with an AugmentSpace.
class AugmentSchema : public ImageSchema {
 public:
  explicit AugmentSchema(AugmentSpace space) : space_(std::move(space)) {}
  [[nodiscard]] Purity purity() const override { return Purity::kRandom; }
  Status Shape(const ImageSpec& in, ImageSpec* out) const override {
    *out = in;
    return space_.CheckSize(in);
  }
  [[nodiscard]] const AugmentSpace& space() const { return space_; }

 private:
  AugmentSpace space_;
};

}  // namespace headrace::ops
