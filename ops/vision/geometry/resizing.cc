#include "ops/vision/geometry/resizing.h"

#include "ops/vision/floats.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Status KnowsTensors(const OpArgs& args, const CompileContext& context) {
  const bool floats = context.input.dtype == DType::kF32;
  const std::string& capability = context.libraries->cpu_capability;
  if (capability != "AVX2" && capability != "AVX512") {
    return Unsupported("torch's CPU capability \"" + capability +
                       "\" resizes tensors to other bits");
  }
  if (!args.Bool(floats ? "floats" : "tensors")) {
    return Unsupported(std::string("this torch and torchvision resize tensors ") +
                       (floats ? "of float32 " : "") + "to other bits");
  }
  return {};
}

bool Filters(Interpolation interpolation) {
  return interpolation == Interpolation::kBilinear || interpolation == Interpolation::kBicubic;
}

// Python's int(a * b / c) on integers below 2^53.
std::int64_t ScaleSide(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(static_cast<double>(a * b) / static_cast<double>(c));
}

}  // namespace

Status Resizing::CheckOutput(const ImageSpec& out) const {
  if (arithmetic == ResizeArithmetic::kPillow || out.width > 1) return {};
  return Unsupported("tensors of one column are not resized natively");
}

Status Resizing::PutDrawn(const ImageSpec& out, MutableParams params) const {
  if (out.height <= 0 || out.width <= 0) {
    return InvalidArgument("height and width must be > 0");
  }
  params[0] = static_cast<std::int32_t>(out.height);
  params[1] = static_cast<std::int32_t>(out.width);
  return CheckOutput(out);
}

// Source: torchvision/transforms/functional.py, _compute_resized_output_size.
Status Resizing::ShorterEdgeTo(std::int64_t shorter, std::int64_t most, const ImageSpec& in,
                               ImageSpec* out) const {
  *out = in;
  const bool portrait = in.width <= in.height;
  const std::int64_t short_side = portrait ? in.width : in.height;
  const std::int64_t long_side = portrait ? in.height : in.width;
  std::int64_t new_short = 0;
  std::int64_t new_long = most;
  if (shorter == 0) {
    new_short = ScaleSide(most, short_side, long_side);
  } else {
    new_short = shorter;
    new_long = ScaleSide(new_short, long_side, short_side);
    if (most > 0 && new_long > most) {
      new_short = ScaleSide(most, new_short, new_long);
      new_long = most;
    }
  }
  if (new_short <= 0) return InvalidArgument("height and width must be > 0");
  out->width = portrait ? new_short : new_long;
  out->height = portrait ? new_long : new_short;
  return CheckOutput(*out);
}

std::vector<ArgSpec> ResizingArgs() {
  ArgSpec interpolation = InterpolationArg();
  interpolation.only_pixels = true;
  interpolation.doc += "; of tensors not box or hamming, and lanczos only in v2 with antialias";
  return {interpolation,
          {"antialias", ArgType::kBool, std::nullopt,
           "of tensors, where none is false and bilinear and bicubic of v1 and of float32 are "
           "native only with it; PIL images are always filtered",
           /*required=*/false, /*only_pixels=*/true},
          ApiArg(),
          {"tensors", ArgType::kBool, std::int64_t{0},
           "the client found that its torch and torchvision resize tensors to the bits that the "
           "operator makes",
           /*required=*/false, /*only_pixels=*/true},
          {"floats", ArgType::kBool, std::int64_t{0}, "the same of tensors of float32",
           /*required=*/false, /*only_pixels=*/true}};
}

Result<Resizing> ReadResizing(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsBytesOrFloats(context));
  Resizing made;
  HR_TRY(made.interpolation, ReadInterpolation(args));
  if (NeedsPilImage(context).ok()) return made;
  HR_TRY(const int api, ReadApi(args));
  const std::string& mode = args.Text("interpolation");
  made.antialias = args.Has("antialias") && args.Bool("antialias");
  const bool floats = context.input.dtype == DType::kF32;
  made.arithmetic = floats ? ResizeArithmetic::kFloats : ResizeArithmetic::kTorchBytes;
  if (made.interpolation == Interpolation::kNearest) {
    if (mode == "nearest-exact") made.interpolation = Interpolation::kNearestExact;
  } else if (api == 1 || floats) {
    if (!Filters(made.interpolation)) {
      return Unsupported("interpolation " + mode + " has no native form for tensors");
    }
    if (!made.antialias) {
      return Unsupported(
          (floats ? std::string("float32") : std::string("v1")) +
          " without antialias has no native form for tensors: their bits depend on the number of "
          "torch's threads");
    }
    if (!floats) made.arithmetic = ResizeArithmetic::kTorchFloats;
  } else if (!Filters(made.interpolation) &&
             !(made.interpolation == Interpolation::kLanczos && made.antialias)) {
    return Unsupported("interpolation " + mode + (made.antialias ? "" : " without antialias") +
                       " has no native form for tensors");
  }
  HR_RETURN_IF_ERROR(KnowsTensors(args, context));
  return made;
}

}  // namespace headrace::ops
