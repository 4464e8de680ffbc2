#include <algorithm>
#include <string>

#include "ops/core/op_registry.h"
#include "ops/timm_random_erasing/timm_random_erasing.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_TRY(const bool from_python, ReadFromPython(args));
  if (!from_python) return Unsupported("torch's generator, from which timm does not draw");
  HR_RETURN_IF_ERROR(NeedsTensor(context));
  TimmRandomErasingSchema::Config config;
  config.probability = args.Number("probability");
  HR_TRY(config.area, PythonArea::Make(args));
  config.least_count = args.Int("min_count");
  config.most_count = args.Int("max_count");
  if (config.least_count < 1 || config.most_count < config.least_count ||
      config.most_count > TimmRandomErasingSchema::kMostRectangles) {
    return Unsupported("counts of rectangles are not in 1.." +
                       std::to_string(TimmRandomErasingSchema::kMostRectangles));
  }
  return MakeSchema<TimmRandomErasingSchema>(config);
}

OpSpec Spec() {
  OpSpec spec{
      .name = "timm_random_erasing",
      .doc =
          "timm's erasing: sets random rectangles of a tensor to 0. It draws from Python's "
          "generator.",
      .args = {{"probability", ArgType::kNumber, 0.5, "of any rectangle"},
               ArgSpec{"min_count", ArgType::kInt, std::int64_t{1}, "fewest rectangles"}.In(1, 64),
               ArgSpec{
                   "max_count", ArgType::kInt, std::int64_t{1},
                   "most rectangles, up to 64; where it is more than min_count, their number is "
                   "drawn"}
                   .In(1, 64)},
      .classes = {"timm.RandomErasing"},
      .draws =
          "Python: a number that is compared with the probability, the count, and an area, an "
          "aspect ratio and a place for each rectangle"};
  spec.args.push_back(GeneratorArg());
  for (ArgSpec& arg : PythonArea::ArgSpecs({0.02, 1.0 / 3.0})) spec.args.push_back(std::move(arg));
  return spec;
}

}  // namespace

void TimmRandomErasingSchema::DrawRectangle(const ImageSpec& in, std::int64_t count,
                                            PythonGenerator& rng, MutableParams params) const {
  for (int attempt = 0; attempt < PythonArea::kAttempts; ++attempt) {
    const PythonArea::Draw side = config_.area.Next(in, rng, /*of_height=*/true, count);
    if (side.width >= in.width || side.height >= in.height) continue;
    const auto top = rng.Below(static_cast<std::uint32_t>(in.height - side.height + 1));
    const auto left = rng.Below(static_cast<std::uint32_t>(in.width - side.width + 1));
    params[0] = static_cast<std::int32_t>(top);
    params[1] = static_cast<std::int32_t>(left);
    params[2] = static_cast<std::int32_t>(side.height);
    params[3] = static_cast<std::int32_t>(side.width);
    return;
  }
}

// Source: timm/data/random_erasing.py, RandomErasing._erase.
Status TimmRandomErasingSchema::DrawImageFromPython(const ImageSpec& in, PythonGenerator& rng,
                                                    MutableParams params, ImageSpec* out) const {
  std::ranges::fill(params, 0);
  if (rng.Random() > config_.probability) return Shape(in, out);
  std::int64_t count = config_.least_count;
  if (config_.most_count > count) {
    count += rng.Below(static_cast<std::uint32_t>(config_.most_count - count + 1));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    DrawRectangle(in, count, rng, params.subspan(static_cast<std::size_t>(4 * i), 4));
  }
  return Shape(in, out);
}

void RegisterSchemaTimmRandomErasing(SchemaRegistry& registry) { registry.Add(Spec(), Make); }

}  // namespace headrace::ops
