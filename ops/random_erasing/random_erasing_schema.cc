#include <cmath>

#include "ops/core/element.h"
#include "ops/core/op_registry.h"
#include "ops/random_erasing/random_erasing.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsTensor(context));
  const double p = args.Number("p");
  if (!(p >= 0 && p <= 1)) {
    return InvalidArgument("Random erasing probability should be between 0 and 1");
  }
  HR_TRY(AreaSampler sampler, AreaSampler::Make(args, context));
  HR_TRY(ChannelValues value, ReadFill(args, "value", InputOf(context)));
  const DType dtype = context.input.dtype;
  for (double& v : value) {
    const double single = RoundTo(DType::kF32, v);  // torch.tensor(value) is float32
    if (!IsFloat(dtype) && single != v) return Unsupported("value is rounded to float32");
    v = RoundTo(dtype, single);
  }
  return MakeSchema<RandomErasingSchema>(p, std::move(sampler), value);
}

OpSpec Spec() {
  OpSpec spec{
      .name = "random_erasing",
      .doc =
          "Sets a random rectangle of a tensor to a value, with probability p. A pipeline with the "
          "value \"random\" runs as a Python stage.",
      .args = {ArgSpec{"p", ArgType::kNumber, 0.5, "probability"}.In(0, 1),
               {"value", ArgType::kNumbers, std::int64_t{0}, "for all channels, or one for each"},
               {"inplace", ArgType::kBool, std::nullopt, "without effect on the values"}},
      .classes = {"v1.RandomErasing", "v2.RandomErasing"},
      .draws =
          "torch: a number that is compared with p (rand), then up to ten times an area and an "
          "aspect ratio (uniform_), and the first row and column (randint)"};
  for (ArgSpec& arg : AreaSampler::ArgSpecs({0.02, 0.33}, {0.3, 3.3})) {
    spec.args.push_back(std::move(arg));
  }
  return spec;
}

}  // namespace

// Source: torchvision/transforms/transforms.py, RandomErasing.get_params; v2 draws the same.
Status RandomErasingSchema::DrawImage(const ImageSpec& in, TorchGenerator& rng,
                                      MutableParams params, ImageSpec* out) const {
  for (int i = 0; i < 4; ++i) params[static_cast<std::size_t>(i)] = 0;
  if (!Happens(rng, p_)) return Shape(in, out);
  for (int attempt = 0; attempt < 10; ++attempt) {
    AreaSampler::Draw draw;
    HR_RETURN_IF_ERROR(sampler_.Next(in.height * in.width, rng, &draw));
    const std::int64_t height = RoundHalfEven(std::sqrt(draw.area * draw.aspect));
    const std::int64_t width = RoundHalfEven(std::sqrt(draw.area / draw.aspect));
    if (height >= in.height || width >= in.width) continue;
    params[0] = static_cast<std::int32_t>(rng.RandInt(0, in.height - height + 1));
    params[1] = static_cast<std::int32_t>(rng.RandInt(0, in.width - width + 1));
    params[2] = static_cast<std::int32_t>(height);
    params[3] = static_cast<std::int32_t>(width);
    break;
  }
  return Shape(in, out);
}

void RegisterSchemaRandomErasing(SchemaRegistry& registry) { registry.Add(Spec(), Make); }

}  // namespace headrace::ops
