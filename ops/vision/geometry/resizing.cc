#include "ops/vision/geometry/resizing.h"

#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Status KnowsTensors(const OpArgs& args, const CompileContext& context) {
  const std::string& capability = context.libraries->cpu_capability;
  if (capability != "AVX2" && capability != "AVX512") {
    return Unsupported("torch's CPU capability \"" + capability +
                       "\" resizes tensors to other bits");
  }
  if (!args.Bool("tensors")) {
    return Unsupported("this torch and torchvision resize tensors to other bits");
  }
  return {};
}

bool Filters(Interpolation interpolation) {
  return interpolation == Interpolation::kBilinear || interpolation == Interpolation::kBicubic;
}

}  // namespace

Status Resizing::CheckOutput(const ImageSpec& out) const {
  if (arithmetic == ResizeArithmetic::kPillow || out.width > 1) return {};
  return Unsupported("tensors of one column are not resized natively");
}

std::vector<ArgSpec> ResizingArgs() {
  ArgSpec interpolation = InterpolationArg();
  interpolation.only_pixels = true;
  interpolation.doc += "; of tensors not box or hamming, and lanczos only in v2 with antialias";
  return {interpolation,
          {"antialias", ArgType::kBool, std::nullopt,
           "of tensors, where none is false and v1's bilinear and bicubic are native only with it; "
           "PIL images are always filtered",
           /*required=*/false, /*only_pixels=*/true},
          ApiArg(),
          {"tensors", ArgType::kBool, std::int64_t{0},
           "the client found that its torch and torchvision resize tensors to the bits that the "
           "operator makes",
           /*required=*/false, /*only_pixels=*/true}};
}

Result<Resizing> ReadResizing(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsBytes(context));
  Resizing made;
  HR_TRY(made.interpolation, ReadInterpolation(args));
  if (NeedsPilImage(context).ok()) return made;
  HR_TRY(const int api, ReadApi(args));
  const std::string& mode = args.Text("interpolation");
  made.antialias = args.Has("antialias") && args.Bool("antialias");
  made.arithmetic = ResizeArithmetic::kTorchBytes;
  if (made.interpolation == Interpolation::kNearest) {
    if (mode == "nearest-exact") made.interpolation = Interpolation::kNearestExact;
  } else if (api == 1) {
    if (!Filters(made.interpolation)) {
      return Unsupported("interpolation " + mode + " has no native form for tensors");
    }
    if (!made.antialias) {
      return Unsupported(
          "v1 without antialias has no native form for tensors: their bits depend on the number of "
          "torch's threads");
    }
    made.arithmetic = ResizeArithmetic::kTorchFloats;
  } else if (!Filters(made.interpolation) &&
             !(made.interpolation == Interpolation::kLanczos && made.antialias)) {
    return Unsupported("interpolation " + mode + (made.antialias ? "" : " without antialias") +
                       " has no native form for tensors");
  }
  HR_RETURN_IF_ERROR(KnowsTensors(args, context));
  return made;
}

}  // namespace headrace::ops
