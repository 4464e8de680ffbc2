#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ops/core/op_registry.h"
#include "ops/core/schema_util.h"
#include "ops/vision/image_schema.h"

// Helpers that schemas of images share: torchvision's ways to read arguments and to draw.
namespace headrace::ops {

// torchvision's _setup_size: n or [n] is (n, n), [h, w] is itself. kInvalidArgument otherwise.
struct Size {
  std::int64_t height = 0, width = 0;
};
Result<Size> ReadSize(const OpArgs& args, std::string_view name);

// torchvision's order of paddings: n or [n]; [left/right, top/bottom]; [left, top, right, bottom].
// kUnsupported: a negative one (that crops).
struct Padding {
  std::int64_t left = 0, top = 0, right = 0, bottom = 0;
  [[nodiscard]] bool any() const { return left > 0 || top > 0 || right > 0 || bottom > 0; }
};
Result<Padding> ReadPadding(const OpArgs& args, std::string_view name);

enum class PaddingMode : std::uint8_t { kConstant, kEdge, kReflect, kSymmetric };
Result<PaddingMode> ReadPaddingMode(const OpArgs& args, std::string_view name);

// The argument "padding_mode", with the list of its native values.
[[nodiscard]] ArgSpec PaddingModeArg();

// Reads one value for each channel of `input`, rounded to its type; a single number serves all. For
// integer tensors they must be whole numbers of the type. PIL images drop fractions first, as
// int(x) does.
Result<ChannelValues> ReadFill(const OpArgs& args, std::string_view name, const ImageSpec& input);

// Reads the same for the border that `mode` makes. On tensors v1 takes no list of values, and v2
// takes several as float32 for kConstant only.
Result<ChannelValues> ReadBorderFill(const OpArgs& args, std::string_view name, PaddingMode mode,
                                     int api, const ImageSpec& input);

// The transforms' API generation: 1 for torchvision.transforms, 2 for torchvision.transforms.v2.
[[nodiscard]] ArgSpec ApiArg();
Result<int> ReadApi(const OpArgs& args);

// kUnsupported unless the operator's input is still a PIL image (u8 HWC).
Status NeedsPilImage(const CompileContext& context);
// kUnsupported unless it is a PIL image or a uint8 tensor.
Status NeedsBytes(const CompileContext& context);
// Checks as NeedsBytes. For a tensor, the client's torch must also compute with fused operations,
// as its AVX2 and AVX512 builds do. `tensor`: this holds for PIL images too, which are made
// tensors.
Status NeedsKnownBytes(const CompileContext& context, bool tensor = false);
// Checks as NeedsKnownBytes. A tensor may be of float32, too, where the client says in the argument
// "floats" that its torch has the bits that the operator makes.
Status NeedsKnownElements(const OpArgs& args, const CompileContext& context);
[[nodiscard]] ArgSpec FloatsArg();
// kUnsupported unless it is a tensor.
Status NeedsTensor(const CompileContext& context);

// Most u8 values for which torch.mean is known: up to this number, its sums are exact.
inline constexpr std::int64_t kMostPixelsOfMean = 32 * ((1 << 24) / 255);
// kUnsupported: the image has more.
Status CheckMean(const ImageSpec& image);

// The image that the operator is given, without its size. REQUIRES: NeedsPilImage, NeedsBytes or
// NeedsTensor, or that the chain began with an image.
[[nodiscard]] ImageSpec InputOf(const CompileContext& context);

// The ten attempts of RandomResizedCrop and RandomErasing. Each draws an area, as a part of the
// image, and an aspect ratio as torchvision does.
class AreaSampler {
 public:
  // Reads scale, ratio and log_ratio. kInvalidArgument: uniform_ would raise.
  static Result<AreaSampler> Make(const OpArgs& args, const CompileContext& context);

  struct Draw {
    double area = 0;    // pixels
    double aspect = 0;  // torch.exp(...).item()
  };
  // kInvalidArgument: the plan has no table for torch.exp.
  Status Next(std::int64_t pixels, TorchGenerator& rng, Draw* out) const;

  [[nodiscard]] double min_ratio() const { return min_ratio_; }
  [[nodiscard]] double max_ratio() const { return max_ratio_; }
  [[nodiscard]] const ExpRange& exp_range() const { return log_ratio_; }
  // The arguments scale, ratio, log_ratio for an OpSpec.
  static std::vector<ArgSpec> ArgSpecs(std::vector<double> scale, std::vector<double> ratio);

 private:
  float scale_low_ = 0, scale_high_ = 0;
  double min_ratio_ = 0, max_ratio_ = 0;
  ExpRange log_ratio_;
  std::shared_ptr<const TorchExpTable> torch_exp_;
};

}  // namespace headrace::ops
