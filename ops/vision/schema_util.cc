#include "ops/vision/schema_util.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "ops/core/element.h"
#include "ops/vision/floats.h"

namespace headrace::ops {
namespace {

constexpr std::int64_t kMaxSide = 1 << 20;  // pixels; beyond it PIL itself runs out of memory

}  // namespace

Result<Size> ReadSize(const OpArgs& args, std::string_view name) {
  const std::vector<std::int64_t> v = args.Ints(name);
  if (v.empty() || v.size() > 2) {
    return InvalidArgument(std::string(name) + " has " + std::to_string(v.size()) +
                           " values, not 1 or 2");
  }
  for (const std::int64_t side : v) {
    if (side <= 0 || side > kMaxSide) {
      return InvalidArgument(std::string(name) + " " + std::to_string(side) + " is out of range");
    }
  }
  return Size{v.front(), v.back()};
}

Result<Padding> ReadPadding(const OpArgs& args, std::string_view name) {
  const std::vector<std::int64_t> v = args.Ints(name);
  for (const std::int64_t border : v) {
    if (border < 0) return Unsupported("negative padding crops; it has no native form");
    if (border > kMaxSide) return InvalidArgument("padding is out of range");
  }
  switch (v.size()) {
    case 1:
      return Padding{v[0], v[0], v[0], v[0]};
    case 2:
      return Padding{v[0], v[1], v[0], v[1]};
    case 4:
      return Padding{v[0], v[1], v[2], v[3]};
    default:
      return InvalidArgument("Padding must be an int or a 1, 2, or 4 element tuple, not a " +
                             std::to_string(v.size()) + " element tuple");
  }
}

ArgSpec PaddingModeArg() {
  return ArgSpec{
      "padding_mode",
      ArgType::kText,
      std::string("constant"),
      "constant; edge, reflect or symmetric, of PIL images and tensors of uint8 or float32 (of "
      "other tensors: a Python stage). An image that is too small for one reflection to fill the "
      "border is made by the trainer",
      /*required=*/false,
      /*only_pixels=*/true}
      .OneOf({"constant", "edge", "reflect", "symmetric"});
}

Result<PaddingMode> ReadPaddingMode(const OpArgs& args, std::string_view name) {
  const std::string& text = args.Text(name);
  if (text == "constant") return PaddingMode::kConstant;
  if (text == "edge") return PaddingMode::kEdge;
  if (text == "reflect") return PaddingMode::kReflect;
  if (text == "symmetric") return PaddingMode::kSymmetric;
  return InvalidArgument("Padding mode should be either constant, edge, reflect or symmetric");
}

Result<ChannelValues> ReadFill(const OpArgs& args, std::string_view name, const ImageSpec& input) {
  std::vector<double> v = args.Numbers(name);
  const auto channels = static_cast<std::size_t>(input.channels);
  if (v.size() == 1) v.resize(channels, v.front());
  if (v.size() != channels) {
    return Unsupported(std::string(name) + " has " + std::to_string(v.size()) +
                       " values for an image of " + std::to_string(channels) + " channels");
  }
  ChannelValues values{};
  for (std::size_t c = 0; c < channels; ++c) {
    double value = v[c];
    if (input.layout == Layout::kHwc) value = std::trunc(value);
    const double size = std::scalbn(1.0, 8 * static_cast<int>(DTypeBytes(input.dtype)));
    const bool is_signed = input.dtype != DType::kU8;
    const bool fits = value >= (is_signed ? -size / 2 : 0) && value < (is_signed ? size / 2 : size);
    if (!std::isfinite(value) || (!IsFloat(input.dtype) && (!fits || value != std::trunc(value)))) {
      return Unsupported(std::string(name) + " is not a value of the image");
    }
    values[c] = RoundTo(input.dtype, value);
  }
  return values;
}

Result<ChannelValues> ReadBorderFill(const OpArgs& args, std::string_view name, PaddingMode mode,
                                     int api, const ImageSpec& input) {
  HR_TRY(ChannelValues values, ReadFill(args, name, input));
  const bool tensor = input.layout == Layout::kChw;
  if (tensor && api == 1 && args.IsList(name)) {
    return Unsupported("v1 pads tensors with one number, not with a list as " + std::string(name));
  }
  if (!tensor || args.Numbers(name).size() == 1) return values;
  if (mode != PaddingMode::kConstant) {
    return Unsupported("several values of " + std::string(name) + " are for padding_mode constant");
  }
  for (double& value : values) value = RoundTo(input.dtype, RoundTo(DType::kF32, value));
  return values;
}

ArgSpec ApiArg() {
  return ArgSpec{"api", ArgType::kInt, std::int64_t{1},
                 "1: torchvision.transforms, 2: torchvision.transforms.v2"}
      .In(1, 2);
}

Result<int> ReadApi(const OpArgs& args) {
  const std::int64_t api = args.Int("api");
  if (api != 1 && api != 2) return Unsupported("api " + std::to_string(api));
  return static_cast<int>(api);
}

Status NeedsPilImage(const CompileContext& context) {
  if (context.input.layout == Layout::kHwc && context.input.dtype == DType::kU8) return {};
  return Unsupported("has a native form for PIL images only, not for tensors");
}

Status NeedsBytes(const CompileContext& context) {
  if (context.input.dtype == DType::kU8) return {};
  return Unsupported("has a native form for PIL images and tensors of uint8 only");
}

Status NeedsKnownBytes(const CompileContext& context, bool tensor) {
  HR_RETURN_IF_ERROR(NeedsBytes(context));
  const std::string& capability = context.libraries->cpu_capability;
  tensor = tensor || context.input.layout == Layout::kChw;
  if (!tensor || capability == "AVX2" || capability == "AVX512") return {};
  return Unsupported("torch's CPU capability \"" + capability + "\" has other bits for tensors");
}

Status NeedsKnownElements(const OpArgs& args, const CompileContext& context) {
  if (context.input.dtype != DType::kF32) {
    return context.input.dtype == DType::kU8 ? NeedsKnownBytes(context)
                                             : NeedsBytesOrFloats(context);
  }
  const std::string& capability = context.libraries->cpu_capability;
  if (capability != "AVX2" && capability != "AVX512") {
    return Unsupported("torch's CPU capability \"" + capability + "\" has other bits for tensors");
  }
  if (args.Bool("floats")) return {};
  return Unsupported("this torch and torchvision change tensors of float32 to other bits");
}

ArgSpec FloatsArg() {
  return {"floats",
          ArgType::kBool,
          std::int64_t{0},
          "the client found that its torch and torchvision change tensors of float32 to the bits "
          "that the operator makes",
          /*required=*/false,
          /*only_pixels=*/true};
}

Status CheckMean(const ImageSpec& image) {
  if (image.height * image.width <= kMostPixelsOfMean) return {};
  return Unsupported("the mean of that many pixels is not known");
}

Status NeedsTensor(const CompileContext& context) {
  if (context.input.layout == Layout::kChw) return {};
  return Unsupported("has a native form for tensors only, not for PIL images");
}

ImageSpec InputOf(const CompileContext& context) {
  const Result<ImageSpec> image = ImageSpec::From(context.input);
  HR_CHECK(image.ok());
  return *image;
}

std::vector<ArgSpec> AreaSampler::ArgSpecs(std::vector<double> scale, std::vector<double> ratio) {
  return {
      ArgSpec{"scale", ArgType::kNumbers, std::move(scale),
              "bounds of the area, as parts of the image's"}
          .In(0, 100)
          .Count({2}),
      ArgSpec{"ratio", ArgType::kNumbers, std::move(ratio), "bounds of width / height"}
          .Above(0, 1e6)
          .Count({2}),
      ArgSpec{
          "log_ratio", ArgType::kNumbers, std::nullopt,
          "torch.log(torch.tensor(ratio)) of the client's torch; when left out, rounded correctly"}
          .In(-20, 20)
          .Count({2}),
  };
}

Result<AreaSampler> AreaSampler::Make(const OpArgs& args, const CompileContext& context) {
  AreaSampler made;
  const std::vector<double> scale = args.Numbers("scale");
  const std::vector<double> ratio = args.Numbers("ratio");
  if (scale.size() != 2) return InvalidArgument("scale should be a sequence of two floats");
  if (ratio.size() != 2) return InvalidArgument("ratio should be a sequence of two floats");
  made.scale_low_ = static_cast<float>(scale[0]);
  made.scale_high_ = static_cast<float>(scale[1]);
  if (!(made.scale_low_ >= 0 && made.scale_low_ <= made.scale_high_ && made.scale_high_ <= 100)) {
    return InvalidArgument("scale should be of kind (min, max)");
  }
  made.min_ratio_ = std::min(ratio[0], ratio[1]);
  made.max_ratio_ = std::max(ratio[0], ratio[1]);
  if (!(ratio[0] > 0 && ratio[0] <= ratio[1] && ratio[1] < 1e6)) {
    return InvalidArgument("ratio should be of kind (min, max)");
  }
  // Goes through double: log of a float32 rounded twice differs from one rounding in 2^-29 of the
  // cases.
  const auto log32 = [](double r) {
    return static_cast<float>(std::log(static_cast<double>(static_cast<float>(r))));
  };
  made.log_ratio_.low = log32(ratio[0]);
  made.log_ratio_.high = log32(ratio[1]);
  if (args.Has("log_ratio")) {
    const std::vector<double> logs = args.Numbers("log_ratio");
    if (logs.size() != 2 || !(logs[0] <= logs[1]) || !(std::abs(logs[0]) < 20) ||
        !(std::abs(logs[1]) < 20)) {
      return InvalidArgument("log_ratio is not the logarithm of ratio");
    }
    made.log_ratio_.low = static_cast<float>(logs[0]);
    made.log_ratio_.high = static_cast<float>(logs[1]);
  }
  HR_TRY(made.log_ratio_.rounding, UniformRounding(context));
  if (context.torch_exp && context.torch_exp->Covers(made.log_ratio_)) {
    made.torch_exp_ = context.torch_exp;
  }
  return made;
}

Status AreaSampler::Next(std::int64_t pixels, TorchGenerator& rng, Draw* out) const {
  if (!torch_exp_) {
    return InvalidArgument("the plan's constant torch_exp is missing or does not cover this ratio");
  }
  const TorchGenerator::Rounding rounding = log_ratio_.rounding;
  out->area = static_cast<double>(pixels) * rng.Uniform(scale_low_, scale_high_, rounding);
  out->aspect = (*torch_exp_)(rng.Uniform(log_ratio_.low, log_ratio_.high, rounding));
  return Status::Ok();
}

}  // namespace headrace::ops
