#include "ops/core/element.h"
#include "ops/core/op_registry.h"
#include "ops/normalize/normalize.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  HR_RETURN_IF_ERROR(NeedsTensor(context));
  if (!IsFloat(context.input.dtype)) {
    return InvalidArgument("Input tensor should be a float tensor");
  }
  HR_TRY(const ChannelValues mean, ReadFill(args, "mean", InputOf(context)));
  HR_TRY(const ChannelValues std_dev, ReadFill(args, "std", InputOf(context)));
  for (int c = 0; c < InputOf(context).channels; ++c) {
    if (std_dev[static_cast<std::size_t>(c)] == 0) {
      return InvalidArgument("std evaluated to zero, leading to division by zero.");
    }
  }
  return MakeSchema<NormalizeSchema>(context.input.dtype, mean, std_dev);
}

}  // namespace

double NormalizeSchema::Map(int channel, double value) const {
  const auto c = static_cast<std::size_t>(channel);
  const double shifted = RoundTo(dtype_, value - mean_[c]);
  return RoundTo(dtype_, shifted / std_dev_[c]);
}

void NormalizeSchema::MapFloats(int channel, std::span<float> values) const {
  const auto c = static_cast<std::size_t>(channel);
  const auto mean = static_cast<float>(mean_[c]);
  const auto std_dev = static_cast<float>(std_dev_[c]);
  for (float& value : values) value = (value - mean) / std_dev;
}

void RegisterSchemaNormalize(SchemaRegistry& registry) {
  registry.Add(
      {.name = "normalize",
       .doc = "(value - mean) / std for each channel of a float tensor.",
       .args = {{"mean", ArgType::kNumbers, std::nullopt, "for all channels, or one for each",
                 /*required=*/true},
                {"std", ArgType::kNumbers, std::nullopt, "for all channels, or one for each",
                 /*required=*/true},
                {"inplace", ArgType::kBool, std::nullopt, "without effect on the values"}},
       .classes = {"v1.Normalize", "v2.Normalize"}},
      Make);
}

}  // namespace headrace::ops
