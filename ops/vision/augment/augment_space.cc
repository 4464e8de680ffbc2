#include "ops/vision/augment/augment_space.h"

#include <cmath>
#include <optional>

#include "base/check.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

constexpr double kMostPixels = 1 << 20;

}  // namespace

bool HasMagnitude(AugmentOp op) { return op >= AugmentOp::kShearX && op <= AugmentOp::kSolarize; }

bool IsSigned(AugmentOp op) { return op >= AugmentOp::kShearX && op <= AugmentOp::kSharpness; }

std::vector<ArgSpec> AugmentSpace::ArgSpecs(bool by_size) {
  std::vector<ArgSpec> specs = {
      ArgSpec{"shear_x", ArgType::kNumbers, std::nullopt,
              "math.tan of the shear along x of each magnitude, as it stands in the matrix", true}
          .In(-1e4, 1e4),
      ArgSpec{"shear_y", ArgType::kNumbers, std::nullopt,
              "math.sin / math.cos of the shear along y of each magnitude", true}
          .In(-1e4, 1e4),
      ArgSpec{"rotate", ArgType::kNumbers, std::nullopt,
              "for each magnitude the cosine and the sine that PIL rotates by, then those of the "
              "negative "
              "magnitude"}
          .In(-1, 1),
      ArgSpec{"tensor_rotate", ArgType::kNumbers, std::nullopt,
              "the same of torchvision's matrices for tensors; left out where torch multiplies "
              "matrices "
              "with bits that are not known"}
          .In(-1, 1),
      ArgSpec{
          "enhance", ArgType::kNumbers, std::nullopt,
          "magnitudes of Brightness, Color, Contrast and Sharpness: what the factor has above 1",
          true}
          .In(-1e4, 1e4),
      ArgSpec{"posterize", ArgType::kInts, std::nullopt, "magnitudes of Posterize: bits that stay",
              true}
          .In(0, 8)
          .Unit("bits"),
      ArgSpec{"solarize", ArgType::kNumbers, std::nullopt,
              "magnitudes of Solarize: thresholds of 0..255", true}
          .In(-1e4, 1e4)};
  if (by_size) {
    specs.push_back({"translate_exceptions", ArgType::kInts, std::nullopt,
                     "bin, side, pixels for each side of an image of which torch.linspace makes "
                     "another number of pixels than exact arithmetic"});
  } else {
    specs.push_back(ArgSpec{"translate", ArgType::kInts, std::nullopt,
                            "magnitudes of translations in pixels", true}
                        .In(0, 1 << 20)
                        .Unit("pixels"));
  }
  // Workers of an older release know only these products and no such argument, so it is not sent.
  constexpr auto kUnsaid = MatrixProducts::kFusedWhereLarge;
  for (ArgSpec& arg : AffineArgSpecs(kUnsaid)) specs.push_back(std::move(arg));
  specs.push_back(ApiArg());
  return specs;
}

std::string AugmentSpace::SizeLimits() {
  return "Images with a side of more than " + std::to_string(kMostSide) +
         " pixels, and tensors of more than " + std::to_string(kMostPixelsOfMean) +
         " pixels, are made by the trainer. Of tensors for torch's AVX2 and AVX512 builds.";
}

Result<std::vector<double>> AugmentSpace::List(const OpArgs& args, std::string_view name,
                                               std::int64_t each, double low, double high) const {
  std::vector<double> values = args.Numbers(name);
  if (values.size() != static_cast<std::size_t>(bins_.count * each)) {
    return InvalidArgument(std::string(name) + " has " + std::to_string(values.size()) +
                           " values, not " + std::to_string(bins_.count * each));
  }
  for (const double value : values) {
    if (!(value >= low && value <= high)) {
      return InvalidArgument(std::string(name) + " is out of range");
    }
  }
  return values;
}

Status AugmentSpace::ReadTranslations(const OpArgs& args) {
  if (!bins_.by_size) {
    HR_TRY(translate_, List(args, "translate", 1, 0, kMostPixels));
    return Status::Ok();
  }
  if (!args.Has("translate_exceptions")) return Status::Ok();
  const std::vector<std::int64_t> list = args.Ints("translate_exceptions");
  if (list.size() % 3 != 0) return InvalidArgument("translate_exceptions are not in threes");
  for (std::size_t i = 0; i < list.size(); i += 3) {
    if (list[i + 2] < 0 || list[i + 2] > kMostSide) {
      return InvalidArgument("translate_exceptions are out of range");
    }
    exceptions_[{list[i], list[i + 1]}] = list[i + 2];
  }
  return Status::Ok();
}

Result<AugmentSpace> AugmentSpace::Make(const OpArgs& args, const CompileContext& context,
                                        const Bins& bins) {
  HR_RETURN_IF_ERROR(NeedsKnownBytes(context, bins.tensor));
  constexpr std::int64_t kMostBins = 1 << 20;
  if (bins.bins < 2 || bins.bins > kMostBins) return Unsupported("num_magnitude_bins below 2");
  AugmentSpace space;
  space.bins_ = bins;
  HR_TRY(space.api_, ReadApi(args));
  const bool tensor = bins.tensor || context.input.layout == Layout::kChw;
  HR_TRY(space.affine_, ReadAffineArgs(args, InputOf(context), tensor));
  const std::string_view rotate = tensor ? "tensor_rotate" : "rotate";
  if (!args.Has(rotate)) return Unsupported("torch's matrices of rotations are not known");
  constexpr double kMost = 1e4;
  HR_TRY(space.shear_x_, space.List(args, "shear_x", 1, -kMost, kMost));
  HR_TRY(space.shear_y_, space.List(args, "shear_y", 1, -kMost, kMost));
  HR_TRY(space.rotate_, space.List(args, rotate, 4, -1, 1));
  HR_TRY(space.enhance_, space.List(args, "enhance", 1, -kMost, kMost));
  HR_TRY(space.posterize_, space.List(args, "posterize", 1, tensor ? 0 : 1, 8));
  HR_TRY(space.solarize_, space.List(args, "solarize", 1, -kMost, kMost));
  HR_RETURN_IF_ERROR(space.ReadTranslations(args));
  return space;
}

Status AugmentSpace::CheckSize(const ImageSpec& image) const {
  if (bins_.by_size && (image.height > bins_.most_side || image.width > bins_.most_side)) {
    return Unsupported("translates images of at most " + std::to_string(bins_.most_side) +
                       " pixels on a side");
  }
  return affine_.tensor ? CheckMean(image) : Status::Ok();
}

Status AugmentSpace::CheckStep(Params words, const ImageSpec& image) const {
  HR_TRY(const Augmentation step, Read(words, image));
  return CheckTurn(step.turns, image);
}

bool AugmentSpace::DrawNegative(AugmentOp op, TorchGenerator& rng) const {
  if (!IsSigned(op)) return false;
  return api_ == 2 ? rng.Rand() <= 0.5F : rng.RandInt(0, 2) != 0;
}

void AugmentSpace::Write(AugmentOp op, std::int64_t level, bool negative, MutableParams words) {
  HR_CHECK(words.size() == kWords);
  words[0] = static_cast<std::int32_t>(op);
  words[1] = static_cast<std::int32_t>(negative ? -1 - level : level);
}

// torch.linspace(0.0, part / of * side, bins)[bin], truncated as by int().
Result<double> AugmentSpace::Pixels(std::size_t level, std::int64_t side) const {
  if (!bins_.by_size) return translate_[level];
  if (side > bins_.most_side) return InvalidArgument("the image is too large");
  const std::int64_t bin = bins_.first + static_cast<std::int64_t>(level);
  const auto found = exceptions_.find({bin, side});
  if (found != exceptions_.end()) return static_cast<double>(found->second);
  return static_cast<double>(bins_.part * side * bin / (bins_.of * (bins_.bins - 1)));
}

// Sets the translation of a shear around the upper left corner, for coordinates that count from the
// image's center. Source: torchvision's two versions of _get_inverse_affine_matrix.
void AugmentSpace::TurnAroundCorner(const ImageSpec& image, AffineMatrix& matrix) const {
  if (!affine_.tensor) return;
  const double x = static_cast<double>(image.width) * -0.5;
  const double y = static_cast<double>(image.height) * -0.5;
  if (api_ == 1) {
    matrix[2] = (matrix[0] * -x + matrix[1] * -y) + x;
    matrix[5] = (matrix[3] * -x + matrix[4] * -y) + y;
  } else {
    matrix[2] = x - matrix[0] * x - matrix[1] * y;
    matrix[5] = y - matrix[3] * x - matrix[4] * y;
  }
}

Result<Augmentation> AugmentSpace::Read(Params words, const ImageSpec& image) const {
  HR_CHECK(words.size() == kWords);
  if (words[0] < 0 || words[0] >= kAugmentOps) {
    return InvalidArgument("augmentation " + std::to_string(words[0]) + " is none");
  }
  Augmentation step;
  step.op = static_cast<AugmentOp>(words[0]);
  if (!HasMagnitude(step.op)) return step;
  const bool negative = words[1] < 0;
  const auto level = static_cast<std::size_t>(negative ? -1 - words[1] : words[1]);
  if (level >= static_cast<std::size_t>(bins_.count)) {
    return InvalidArgument("magnitude " + std::to_string(words[1]) + " is out of range");
  }
  const double sign = negative ? -1 : 1;
  switch (step.op) {
    case AugmentOp::kShearX:
      step.matrix[1] = sign * shear_x_[level];
      TurnAroundCorner(image, step.matrix);
      break;
    case AugmentOp::kShearY:
      step.matrix[3] = sign * shear_y_[level];
      TurnAroundCorner(image, step.matrix);
      break;
    case AugmentOp::kTranslateX: {
      HR_TRY(const double pixels, Pixels(level, image.width));
      step.matrix[2] = -sign * pixels;
      break;
    }
    case AugmentOp::kTranslateY: {
      HR_TRY(const double pixels, Pixels(level, image.height));
      step.matrix[5] = -sign * pixels;
      break;
    }
    case AugmentOp::kRotate: {
      const double cosine = rotate_[4 * level + (negative ? 2 : 0)];
      const double sine = rotate_[4 * level + (negative ? 3 : 1)];
      if (affine_.tensor) {
        step.matrix = {cosine, sine, 0, -sine, cosine, 0};
        if (api_ == 2) step.turns = QuarterTurns(cosine, sine, image);
        break;
      }
      step.matrix = PilRotation(cosine, sine, static_cast<double>(image.width) / 2,
                                static_cast<double>(image.height) / 2);
      break;
    }
    case AugmentOp::kPosterize:
      step.bits = static_cast<int>(posterize_[level]);
      break;
    case AugmentOp::kSolarize:
      step.threshold = solarize_[level];
      break;
    default:
      step.factor = 1.0 + sign * enhance_[level];
      break;
  }
  return step;
}

}  // namespace headrace::ops
