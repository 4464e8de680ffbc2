#include <cmath>

#include "ops/core/element.h"
#include "ops/core/op_registry.h"
#include "ops/to_dtype/to_dtype.h"
#include "ops/vision/schema_util.h"

namespace headrace::ops {
namespace {

// Source: torchvision/transforms/_functional_tensor.py, convert_image_dtype, for v1;
// v2/functional/_misc.py, to_dtype_image.
Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  using Rule = ToDtypeSchema::Rule;
  HR_TRY(const int api, ReadApi(args));
  HR_TRY(const DType dtype, ReadDType(args, "dtype"));
  const DType from = context.input.dtype;
  if (context.input.layout == Layout::kHwc) {
    // v2 returns PIL images unchanged.
    if (api == 1) HR_RETURN_IF_ERROR(NeedsTensor(context));
    return MakeSchema<ToDtypeSchema>(from, Rule::kKeep);
  }
  if (dtype == from) return MakeSchema<ToDtypeSchema>(dtype, Rule::kKeep);
  if (IsFloat(from) && !IsFloat(dtype)) return Unsupported("float to integer has no native form");
  if (!IsFloat(from) && from != DType::kU8) {
    return Unsupported("from an integer type other than uint8 has no native form");
  }
  const bool scale = args.Bool("scale") && !IsFloat(from);
  Rule rule = Rule::kKeep;
  if (scale && !IsFloat(dtype)) {
    rule = Rule::kShift;
  } else if (scale) {
    rule = api == 1 ? Rule::kDivide : Rule::kMultiply;
  } else if (dtype == DType::kI8) {
    rule = Rule::kWrap;
  }
  return MakeSchema<ToDtypeSchema>(dtype, rule);
}

}  // namespace

double ToDtypeSchema::Map(int /*channel*/, double value) const {
  switch (rule_) {
    case ToDtypeSchema::Rule::kKeep:
      return RoundTo(dtype_, value);
    case ToDtypeSchema::Rule::kWrap:
      return value < 128 ? value : value - 256;
    case ToDtypeSchema::Rule::kDivide:
      return RoundTo(dtype_, value / 255.0);
    case ToDtypeSchema::Rule::kMultiply:
      // torch multiplies 16-bit floats by a float32 number.
      return RoundTo(dtype_, value * (dtype_ == DType::kF64 ? 1.0 / 255.0
                                                            : RoundTo(DType::kF32, 1.0 / 255.0)));
    case ToDtypeSchema::Rule::kShift:
      break;
  }
  const int value_bits = static_cast<int>(DTypeBytes(dtype_)) * 8 - 1;  // without the sign
  return std::floor(std::scalbn(value, value_bits - 8));
}

void RegisterSchemaToDtype(SchemaRegistry& registry) {
  registry.Add(
      {.name = "to_dtype",
       .doc = "Element type of a tensor: uint8 to another, or one float type to another. With "
              "scale, a uint8 image keeps its range of values: floats are in 0..1, by dividing in "
              "v1 and by multiplying with 1/255 in v2. v2 leaves PIL images as they are.",
       .args = {ArgSpec{"dtype", ArgType::kText, std::nullopt,
                        "uint8, int8, int16, int32, int64, float16, bfloat16, float32 or float64",
                        /*required=*/true}
                    .OneOf({"uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16",
                            "float32", "float64"}),
                {"scale", ArgType::kBool, std::int64_t{0}, "map the range of values too"},
                ApiArg()},
       .classes = {"v1.ConvertImageDtype", "v2.ConvertImageDtype", "v2.ToDtype"}},
      Make);
}

}  // namespace headrace::ops
