#include "ops/vision/geometry/affine_args.h"

#include <string>
#include <utility>

#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Status ReadMode(const OpArgs& args, AffineArgs* made) {
  HR_TRY(made->interpolation, ReadInterpolation(args));
  const Interpolation mode = made->interpolation;
  if (made->tensor) {
    // For tensors, nearest-exact and nearest are different modes.
    const bool of_tensors =
        mode == Interpolation::kBilinear || args.Text("interpolation") == "nearest";
    if (of_tensors) return Status::Ok();
    return Unsupported("tensors are transformed by nearest or bilinear only");
  }
  if (mode == Interpolation::kNearest || mode == Interpolation::kBilinear ||
      mode == Interpolation::kBicubic) {
    return Status::Ok();
  }
  return Unsupported("PIL transforms by nearest, bilinear or bicubic only");
}

// The fill of an image. REQUIRES: there is one.
Result<std::array<std::uint8_t, 3>> ReadBytes(const OpArgs& args, ImageSpec input) {
  input.layout = Layout::kHwc;  // fractions are allowed
  HR_TRY(const ChannelValues fill, ReadFill(args, "fill", input));
  std::array<std::uint8_t, 3> bytes{};
  for (std::size_t c = 0; c < bytes.size(); ++c) bytes[c] = static_cast<std::uint8_t>(fill[c]);
  return bytes;
}

Result<MatrixProducts> ReadProducts(const OpArgs& args) {
  const std::int64_t value = args.Int("tensor_grids");
  for (const auto products :
       {MatrixProducts::kUnknown, MatrixProducts::kFusedWhereLarge, MatrixProducts::kNeverFused}) {
    if (value == static_cast<std::int64_t>(products)) return products;
  }
  return InvalidArgument("argument tensor_grids is not 0, 1 or 2");
}

// Reads the arguments "interpolation" and "fill" into `made`, which says whether they are a tensor's.
Result<AffineArgs> ReadSampling(const OpArgs& args, const ImageSpec& input, AffineArgs made) {
  HR_RETURN_IF_ERROR(ReadMode(args, &made));
  if (!args.Has("fill")) return made;
  if (made.tensor && input.dtype == DType::kF32) {
    HR_TRY(const ChannelValues fill, ReadFill(args, "fill", input));
    made.tensor_fill.emplace();
    for (std::size_t c = 0; c < 3; ++c) (*made.tensor_fill)[c] = static_cast<float>(fill[c]);
    return made;
  }
  HR_TRY(made.fill, ReadBytes(args, input));
  if (!made.tensor) return made;
  std::vector<double> values = args.Numbers("fill");  // as many as there are channels, or one
  values.resize(made.fill.size(), values.front());
  made.tensor_fill.emplace();
  for (std::size_t c = 0; c < values.size(); ++c) {
    if (!(values[c] >= 0 && values[c] <= 255))
      return Unsupported("fill is not a value of the image");
    (*made.tensor_fill)[c] = static_cast<float>(values[c]);
  }
  return made;
}

}  // namespace

std::vector<ArgSpec> AffineArgSpecs(MatrixProducts unsaid) {
  return {
      ArgSpec{
          "tensor_grids", ArgType::kInt, static_cast<std::int64_t>(unsaid),
          "how torch multiplies matrices, of tensors; 0: with bits that are not known, tensors are "
          "not native; 1: by fused operations where the product is large; 2: without any",
          /*required=*/false, /*only_pixels=*/true}
          .In(0, 2),
      ArgSpec{"interpolation", ArgType::kText, std::string("nearest"),
              "nearest or bilinear; of PIL images also nearest-exact and bicubic",
              /*required=*/false,
              /*only_pixels=*/true}
          .OneOf({"nearest", "nearest-exact", "bilinear", "bicubic"}),
      {"fill", ArgType::kNumbers, std::nullopt,
       "value outside of the image, or one for each channel; without it 0, and of tensors edges "
       "that fade",
       /*required=*/false, /*only_pixels=*/true}};
}

Result<AffineArgs> ReadAffineArgs(const OpArgs& args, const ImageSpec& input, bool tensor) {
  AffineArgs made;
  made.tensor = tensor;
  HR_TRY(made.products, ReadProducts(args));
  if (tensor && made.products == MatrixProducts::kUnknown) {
    return Unsupported("torch multiplies matrices with bits that are not known here");
  }
  return ReadSampling(args, input, std::move(made));
}

std::vector<ArgSpec> PilArgSpecs() {
  return {ArgSpec{"interpolation", ArgType::kText, std::string("nearest"),
                  "nearest, nearest-exact, bilinear or bicubic", /*required=*/false,
                  /*only_pixels=*/true}
              .OneOf({"nearest", "nearest-exact", "bilinear", "bicubic"}),
          {"fill", ArgType::kNumbers, std::nullopt,
           "value outside of the image, or one for each channel; 0 when left out",
           /*required=*/false, /*only_pixels=*/true}};
}

Result<AffineArgs> ReadPilArgs(const OpArgs& args, const ImageSpec& input) {
  return ReadSampling(args, input, {});
}

std::vector<ArgSpec> TensorArgSpecs() {
  return {ArgSpec{"interpolation", ArgType::kText, std::string("bilinear"), "nearest or bilinear",
                  /*required=*/false, /*only_pixels=*/true}
              .OneOf({"nearest", "bilinear"}),
          {"fill", ArgType::kNumbers, std::nullopt,
           "value outside of the image, or one for each channel; without it 0, and edges that fade",
           /*required=*/false, /*only_pixels=*/true}};
}

Result<AffineArgs> ReadTensorArgs(const OpArgs& args, const ImageSpec& input) {
  AffineArgs made;
  made.tensor = true;
  made.products = MatrixProducts::kNeverFused;  // there are none
  return ReadSampling(args, input, std::move(made));
}

}  // namespace headrace::ops
