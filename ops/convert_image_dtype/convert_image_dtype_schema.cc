#include "ops/convert_image_dtype/convert_image_dtype.h"
#include "ops/core/op_registry.h"
#include "ops/core/schema_util.h"

namespace headrace::ops {
namespace {

Result<SchemaPtr> Make(const OpArgs& args, const CompileContext& context) {
  using Rule = ConvertImageDtypeSchema::Rule;
  HR_TRY(const int api, ReadApi(args));
  HR_TRY(const DType dtype, ReadDType(args, "dtype"));
  HR_RETURN_IF_ERROR(NeedsTensor(context));
  const DType from = context.input.dtype;
  if (dtype == from) return MakeSchema<ConvertImageDtypeSchema>(from, Rule::kKeep);
  if (dtype != DType::kF32) return Unsupported("float to integer has no native form");
  return MakeSchema<ConvertImageDtypeSchema>(dtype, api == 1 ? Rule::kDivide : Rule::kMultiply);
}

}  // namespace

void RegisterSchemaConvertImageDtype(SchemaRegistry& registry) {
  registry.Add(
      {.name = "convert_image_dtype",
       .doc =
           "Element type of a tensor with its range of values: uint8 becomes float32 in 0..1, by "
           "dividing in v1 and by multiplying with 1/255 in v2.",
       .args = {{"dtype", ArgType::kText, std::string("float32"), "uint8 or float32"}, ApiArg()},
       .classes = {"v1.ConvertImageDtype", "v2.ConvertImageDtype"}},
      Make);
}

}  // namespace headrace::ops
